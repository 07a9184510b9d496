//! A REST API over a database: rows as JSON, for programs in any language.
//!
//! `cargo run -p bobak --features async --example http`

use bobak::prelude::*;
use bobak_http::HttpServer;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

#[derive(Record)]
struct City {
    id: i64,
    name: String,
}

/// A request over a connection of its own; returns the whole response.
fn request(address: SocketAddr, method: &str, path: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer secret-of-the-example\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("cities.db");
    let db = Db::builder().record::<City>().open(&format!("sqlite:{}", file.display()))?;
    db.create_missing_tables()?;
    let server = HttpServer::builder()
        .shared_database("main", db.engine()?)
        .token("secret-of-the-example")
        .tcp("127.0.0.1:0")
        .start()?;
    let address = server.addresses()[0];

    let created = request(address, "POST", "/tables/city/rows", r#"{"name": "Bern"}"#)?;
    println!("{}", created.lines().next().unwrap_or_default());
    let rows = request(address, "GET", "/tables/city/rows", "")?;
    println!("{}", rows.lines().last().unwrap_or_default());
    assert!(rows.contains("Bern"));

    server.stop();
    Ok(())
}

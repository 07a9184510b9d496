//! A server for Bobak's binary protocol, and a client with the same API as a local database.
//!
//! `cargo run -p bobak --features remote --example server_and_client`

use bobak::engine::memory::Memory;
use bobak::prelude::*;
use bobak_server::Server;

#[derive(Record, Debug, PartialEq)]
struct Note {
    id: i64,
    text: String,
}

fn main() -> bobak::Result<()> {
    let token = "correct horse battery staple";
    let server = Server::builder()
        .database("notes", Memory::new())
        .token(token)
        .tcp("127.0.0.1:0")
        .start()?;
    let address = server.addresses()[0];

    // Only the URL differs from a local database.
    let url = format!("bobak://{address}/notes?token={}", token.replace(' ', "%20"));
    let db = Db::builder().record::<Note>().open(&url)?;
    db.create_missing_tables()?;
    let id = db.table()?.insert(&Note { id: 0, text: "from the client".into() })?;
    println!("{:?}", db.table::<Note>()?.get(id)?);

    // Clients without the token are rejected.
    let other = Db::open(&format!("bobak://{address}/notes?token=wrong"));
    let rejected = other.and_then(|db| db.tables()).err();
    assert_eq!(rejected.as_ref().map(|error| error.kind()), Some(ErrorKind::Denied));
    println!("rejected: {rejected:?}");

    drop(db);
    server.stop();
    Ok(())
}

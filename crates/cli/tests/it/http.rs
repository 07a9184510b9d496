//! `bobak serve --http`: requests from another process, and shutdown by a signal.

use crate::program::Program;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// A server in a separate process; killed on drop.
pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    pub fn start(program: &Program, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bobak"))
            .args(["serve", "app.db", "--http", "127.0.0.1:0"])
            .args(arguments)
            .current_dir(program.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let output = child.stdout.take().expect("is piped");
        let mut lines = BufReader::new(output).lines().map(|line| line.expect("is text"));
        let line = lines.find(|line| line.starts_with("listening on http")).expect("says where");
        let place = line.trim_start_matches("listening on http");
        let address = place.trim_start_matches('s').strip_prefix("://").expect("says where");
        Self { address: address.to_owned(), child }
    }

    pub fn ask(&self, head: &str, body: &str) -> String {
        self.ask_with("0123456789abcdef", head, body)
    }

    /// Like [`ask`](Self::ask), with another token.
    pub fn ask_with(&self, token: &str, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
             authorization: Bearer {token}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("sends");
        let mut response = Vec::new();
        stream.read_to_end(&mut response).expect("a response");
        String::from_utf8_lossy(&response).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn any_table_of_a_file_is_served_until_a_signal() {
    let program = Program::new();
    std::fs::write(program.path("tokens"), "# mine\n0123456789abcdef\n").expect("writes");
    let url = format!("sqlite:{}", program.path("app.db").display());
    let db = bobak::Db::open(&url).expect("opens");
    let create = "CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT NOT NULL)";
    db.execute(create, ()).expect("creates");
    db.execute("INSERT INTO city VALUES (1, 'Bern'), (2, 'Thun')", ()).expect("inserts");
    drop(db);
    let mut server = Server::start(
        &program,
        &["--token-file", "tokens", "--http-sql", "read", "--track", "City"],
    );
    let list = server.ask("GET /tables/city/rows", "");
    assert!(list.starts_with("HTTP/1.1 200") && list.contains("\"Thun\""), "{list}");
    let made = server.ask("POST /tables/city/rows", r#"{"id":3,"name":"Basel"}"#);
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let read = server.ask("POST /sql", r#"{"sql":"SELECT count(*) FROM city"}"#);
    assert!(read.contains("[3]"), "{read}");
    let top = program.run(&["top", &server.address, "--token-file", "tokens", "--order", "count"]);
    assert_eq!(top.code, 0, "{top:?}");
    assert!(top.out.contains("SELECT count(*) FROM city  ("), "{top:?}");
    let top = program.run(&["top", &server.address]);
    assert_eq!(top.code, 1);
    assert!(top.err.contains("authentication required: pass --token-file"), "{top:?}");
    let mut events = TcpStream::connect(&server.address).expect("connects");
    let token = "authorization: Bearer 0123456789abcdef";
    let head = format!("GET /tables/city/changes?since=0 HTTP/1.1\r\nhost: x\r\n{token}\r\n\r\n");
    events.write_all(head.as_bytes()).expect("sends");
    let mut lines = BufReader::new(events).lines().map(|line| line.expect("comes"));
    let data = lines.find(|line| line.starts_with("data:")).expect("reports a change");
    assert!(data.contains("\"Basel\""), "{data}");
    let written = server.ask("POST /sql", r#"{"sql":"DELETE FROM city"}"#);
    assert!(written.starts_with("HTTP/1.1 403"), "{written}");
    let id = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kills").success());
    assert!(server.child.wait().expect("ends").success());
}

/// Columns that another program declared without one of SQLite's types have the types of their values, for clients of
/// either protocol; a value that the other program writes later stays: HTTP
/// returns it as it is, and a record has an error.
#[test]
fn columns_of_other_programs_have_the_types_of_their_values() {
    let program = Program::new();
    program.file("tokens", "0123456789abcdef\n");
    let url = format!("sqlite:{}?typed_sql=off", program.path("app.db").display());
    let db = bobak::Db::open(&url).expect("opens");
    let create = "CREATE TABLE post (id INTEGER PRIMARY KEY, day DATE, live BOOL, price DECIMAL(6,2), views TINYINT)";
    db.execute(create, ()).expect("creates");
    db.execute("INSERT INTO post VALUES (1, '2024-02-29', 1, 4.5, 300)", ()).expect("inserts");
    let run = ["serve", "app.db", "--unix", "s", "--type"];
    program.fails(1, "--type prize: there is no such column", &[&run[..], &["prize=f64"]].concat());
    let wrong = [&run[..], &["post.day=i64"]].concat();
    program.fails(1, "'2024-02-29' is not stored as i64 (table post, column day)", &wrong);
    let flags = ["--token-file", "tokens", "--unix", "s", "--type", "price=text"];
    program.fails(1, "4.5 is not stored as text", &[&["serve", "app.db"][..], &flags].concat());
    let server = Server::start(&program, &flags[..4]);
    let table = server.ask("GET /tables/post", "");
    for column in [r#""name":"day","type":"date""#, r#""type":"bool""#, r#""type":"f64""#] {
        assert!(table.contains(column), "{column}: {table}");
    }
    let wrong = server.ask("POST /tables/post/rows", r#"{"day":"soon","live":true}"#);
    assert!(wrong.starts_with("HTTP/1.1 422") && wrong.contains("day"), "{wrong}");
    let made =
        server.ask("POST /tables/post/rows", r#"{"day":"2024-03-01","live":true,"price":7}"#);
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let found = server.ask("GET /tables/post/rows?filter=live%3Dtrue", "");
    assert!(found.contains(r#""day":"2024-03-01","live":true,"price":7"#), "{found}");
    let stored = "SELECT count(*) FROM post WHERE day = '2024-03-01' AND live = 1 AND price = 7";
    assert_eq!(db.sql::<(i64,)>(stored, ()).expect("counts"), [(1,)]);
    let socket = format!("bobak+unix:{}", program.path("s").display());
    let schema = program.ok(&["schema", &socket]);
    assert!(schema.contains("day    date?"), "{schema}");
    db.execute("UPDATE post SET day = 'soon' WHERE id = 1", ()).expect("updates");
    let rows = server.ask("GET /tables/post/rows/1", "");
    assert!(rows.contains(r#"{"id":1,"day":"soon","live":true,"price":4.5,"#), "{rows}");
    let client = bobak::Db::open(&socket).expect("opens");
    let posts = client.dynamic("post").expect("is there");
    let post = posts.get((1,)).expect("reads").expect("a row");
    let error = post.get::<Option<bobak::types::Date>>("day").expect_err("is no date");
    assert_eq!(error.kind(), bobak::ErrorKind::Mismatch, "{error}");
    let after = "SELECT day FROM post WHERE id = 1";
    assert_eq!(db.sql::<(String,)>(after, ()).expect("reads"), [("soon".to_owned(),)]);
}

/// HTTPS with a trusted certificate, alongside a wire-protocol listener.
#[test]
fn http_over_tls() {
    let program = Program::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("is made");
    program.file("chain.pem", made.cert.pem()).file("key.pem", made.signing_key.serialize_pem());
    program.file("tokens", "0123456789abcdef\n");
    let flags = ["--tls-cert", "chain.pem", "--tls-key", "key.pem", "--token-file", "tokens"];
    let server = Server::start(&program, &flags);
    let port = server.address.rsplit_once(':').expect("has a port").1;
    let root = Certificate::from_pem(made.cert.pem().as_bytes()).expect("is a certificate");
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::from([root]))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let agent = ureq::Agent::config_builder().tls_config(tls).build().new_agent();
    let ask = |path: &str| {
        let url = format!("https://localhost:{port}{path}");
        let mut response =
            agent.get(url).header("authorization", "Bearer 0123456789abcdef").call()?;
        response.body_mut().read_to_string()
    };
    assert_eq!(ask("/tables").expect("a response"), "{\"tables\":[]}\n");
    assert!(matches!(ask("/tables/x"), Err(ureq::Error::StatusCode(404))));
    let plain = server.ask("GET /health", "");
    assert!(!plain.starts_with("HTTP/1.1 200"), "{plain}");
    let half = &["serve", "app.db", "--http", "127.0.0.1:0", "--tls-cert", "chain.pem"];
    program.fails(2, "--tls-key", half);
    let wrong = [&["serve", "app.db", "--http", "127.0.0.1:0"], &flags[..]].concat();
    program.file("key.pem", "no key");
    program.fails(1, "could not use key.pem for TLS", &wrong);
}

#[test]
fn public_listener_requires_authentication() {
    let program = Program::new();
    program.fails(1, "needs a token", &["serve", "app.db", "--http", "127.0.0.1:0"]);
    let track = ["serve", "app.db", "--track", "city", "--http-unix", "socket"];
    program.fails(1, "there is no table 'city' to track", &track);
}

#[test]
fn limits_apply_to_all_listeners() {
    let program = Program::new();
    let expected = "expected a whole number of percent, 1 to 100";
    program.fails(2, expected, &["serve", "app.db", "--client-quota", "0"]);
    program.fails(2, "expected a duration", &["serve", "app.db", "--shutdown-timeout", "soon"]);
    std::fs::write(program.path("tokens"), "0123456789abcdef\n").expect("writes");
    let limits = ["--token-file", "tokens", "--max-connections", "2", "--max-workers", "2"];
    let server = Server::start(&program, &limits);
    let ask = |stream: &mut TcpStream| {
        // A rejected connection may be closed before the request is sent.
        let _ = stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
        let mut first = [0; 12];
        stream.read_exact(&mut first).is_ok_and(|()| first == *b"HTTP/1.1 200")
    };
    let open = || TcpStream::connect(&server.address).expect("connects");
    let mut taken = [open(), open()];
    assert!(taken.iter_mut().all(&ask));
    assert!(!ask(&mut open()), "there are two connections, and no more");
}

/// With --stdio, standard output carries the protocol, so the chosen port is printed on standard error.
#[test]
fn with_stdio_the_port_is_printed_on_standard_error() {
    let program = Program::new();
    std::fs::write(program.path("tokens"), "0123456789abcdef\n").expect("writes");
    let mut child = Command::new(env!("CARGO_BIN_EXE_bobak"))
        .args(["serve", "app.db", "--stdio", "--http", "127.0.0.1:0"])
        .args(["--listen", "127.0.0.1:0", "--token-file", "tokens", "--quiet"])
        .current_dir(program.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stderr.take().expect("is piped")).lines();
    let mut place = || {
        let line = lines.next().expect("a line").expect("is text");
        line.strip_prefix("listening on ").expect("says where").to_owned()
    };
    let (wire, http) = (place(), place());
    let address = http.strip_prefix("http://").expect("is that of HTTP").to_owned();
    let server = Server { child, address };
    let response = server.ask("GET /tables", "");
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    let url = format!("bobak://{wire}/?token=0123456789abcdef");
    assert!(bobak::Db::open(&url).is_ok());
    let mut server = server;
    drop(server.child.stdin.take());
    let mut output = String::new();
    server.child.stdout.take().expect("is piped").read_to_string(&mut output).expect("ends");
    assert_eq!(output, "", "no request arrived there");
}

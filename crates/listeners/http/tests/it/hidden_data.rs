//! Two servers whose databases differ only in what a client may not see respond alike, whatever bytes it sends.

use bobak_core::Engine;
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_memory::Memory;
use bobak_permissions::{Access, new_token};
use bobak_sqlite::Sqlite;
use bobak_testkit::model::Random;
use bobak_testkit::{Mutator, hidden_data};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

/// Method and path, further headers, body.
struct Request {
    line: String,
    headers: String,
    body: String,
}

const COLUMNS: [&str; 9] = ["id", "owner", "total", "code", "kept", "name", "text", "n", "part_of"];
/// Headers of requests, next to the type of their body.
const HEADERS: [&str; 9] = [
    "",
    "",
    "",
    "accept: text/csv\r\n",
    "if-none-match: *\r\n",
    "if-match: \"x\"\r\n",
    "prefer: return=minimal\r\n",
    "accept-encoding: gzip\r\n",
    "origin: http://localhost\r\n",
];

fn one<'t>(random: &mut Random, from: &[&'t str]) -> &'t str {
    random.pick(from).copied().unwrap_or_default()
}

fn value(random: &mut Random, column: &str) -> String {
    match column {
        "id" => random.between(0, 40).to_string(),
        "owner" | "code" | "name" | "text" => {
            format!("\"{}\"", one(random, &["ada", "ada", "bob", "c1", "n2", "", "price 3"]))
        }
        _ => one(random, &["0", "1", "2", "5", "30", "500", "-1", "null", "\"x\""]).to_owned(),
    }
}

/// A row with some of the columns that a table has, and rarely with another one.
fn object(random: &mut Random, table: &str) -> String {
    let columns: &[&str] = match table {
        "orders" => &["id", "owner", "total", "code", "kept"],
        "lines" => &["id", "part_of", "n"],
        "prices" => &["id", "name"],
        "stock" => &["id", "name", "n"],
        "notes" => &["id", "text", "code"],
        "counter" => &["id", "n"],
        "secret" => &["id", "owner"],
        "vault" => &["id", "code"],
        _ => &["id", "text"],
    };
    let mut parts = Vec::new();
    for column in columns {
        if random.percent(85) {
            parts.push(format!("\"{column}\":{}", value(random, column)));
        }
    }
    if random.percent(4) {
        parts.push(format!("\"{}\":1", one(random, &COLUMNS)));
    }
    format!("{{{}}}", parts.join(","))
}

fn parameters(random: &mut Random) -> String {
    let column = one(random, &COLUMNS);
    let other = one(random, &COLUMNS);
    one(
        random,
        &[
            "",
            "",
            "?total",
            "?filter=C%20%3e%203",
            "?filter=C%20%3d%20'ada'%20or%20D%20%3c%2010",
            "?filter=C%20is%20null",
            "?C=2",
            "?order=C",
            "?order=-C&limit=3",
            "?columns=C,D",
            "?limit=2&offset=1",
            "?after=3&limit=2",
            "?values=count,sum(C)",
            "?group=C&values=count",
            "?values=max(C),min(D)",
            "?nosuch=1",
            "?expand=kept_ref",
            "?expand=part_of_ref.kept_ref,orders",
            "?expand=lines,orders,secret,vault",
            "?lines.filter=C%20%3e%201&total",
            "?filter=part_of_ref.C%20%3e%203",
            "?filter=kept_ref.C%20%3d%202",
            "?filter=lines.n%20%3e%201%20or%20not%20secret.id%20is%20null",
        ],
    )
    .replace('C', column)
    .replace('D', other)
}

/// The parameters of a query of expressions.
fn expressions(random: &mut Random) -> String {
    let (column, other) = (one(random, &COLUMNS), one(random, &COLUMNS));
    one(
        random,
        &[
            "",
            "?select=count(*),max(C)",
            "?select=C,count(*),sum(D)&group=C&order=-count",
            "?select=C,count(*)&group=C&having=count(*)%20%3e%201",
            "?select=C%20*%20D%20as%20x&filter=C%20%2b%201%20%3e%20D",
            "?select=C%20/%20D%20as%20x&order=x",
            "?select=upper(C)%20as%20x&distinct",
            "?select=1%20/%20(C%20-%20D)%20as%20x",
            "?filter=length(C)%20%3e%202%20or%20D%20is%20null&limit=2",
            "?select=C%20*%209223372036854775807%20as%20x",
        ],
    )
    .replace('C', column)
    .replace('D', other)
}

/// The parameters of an update by expressions.
fn assignments(random: &mut Random) -> String {
    let (column, other) = (one(random, &COLUMNS), one(random, &COLUMNS));
    one(
        random,
        &[
            "?filter=C%20%3e%200&set=D%20=%20D%20%2b%201",
            "?filter=C%20is%20not%20null&set=D%20=%20coalesce(D,C)",
            "?filter=true&set=C%20=%20C%20||%20'x'",
            "?filter=C%20%3c%2010&set=C%20=%20C%20*%20922337203685477580",
            "?filter=C%20%3e%205&set=D%20=%20iif(C%20%3e%20D,C,D)",
        ],
    )
    .replace('C', column)
    .replace('D', other)
}

fn sql(random: &mut Random) -> String {
    let names = match random.percent(50) {
        true => hidden_data::table_names(),
        false => hidden_data::hidden_names(),
    };
    let table = one(random, names);
    serde_json::json!({ "sql": hidden_data::statement(random, table) }).to_string()
}

/// A batch: operations on several tables.
fn operations(random: &mut Random) -> String {
    let mut lines = Vec::new();
    for _ in 0..random.between(1, 5) {
        let table = one(random, hidden_data::table_names());
        let op = one(random, &["insert", "insert", "update", "upsert", "delete"]);
        let row = object(random, table);
        lines.push(format!("{{\"op\":\"{op}\",\"table\":\"{table}\",\"row\":{row}}}"));
    }
    lines.join("\n")
}

fn request(random: &mut Random) -> Request {
    let (line, kind, body) = content(random);
    let headers = one(random, &HEADERS);
    let headers = match kind {
        "" => headers.to_owned(),
        kind => format!("{headers}content-type: application/{kind}\r\n"),
    };
    Request { line, headers, body }
}

/// The method and the path, the type of the body, and the body.
fn content(random: &mut Random) -> (String, &'static str, String) {
    const MODES: [&str; 5] =
        ["", "?mode=ignore", "?mode=upsert&errors=skip", "?mode=replace", "?mode=delete"];
    // Not `/metrics`, which has durations.
    const PATHS: [&str; 6] =
        ["/tables", "/openapi.json", "/", "/databases", "/nosuch", "/databases/main/tables"];
    let table = one(random, hidden_data::table_names());
    // A key that is taken in one database only cannot be hidden from a client that may insert it.
    let (key, taken) = (random.between(0, 40), one(random, &["1", "7", "500", "1000110"]));
    let json = object(random, table);
    let rows = format!("/tables/{table}/rows");
    let none = String::new;
    match random.weighted(&[14, 14, 14, 8, 8, 8, 4, 4, 6, 10, 10, 6, 3, 2, 4, 10, 6]) {
        0 => (format!("GET {rows}{}", parameters(random)), "", none()),
        1 => (format!("GET {rows}/{taken}"), "", none()),
        2 => (format!("POST {rows}{}", parameters(random)), "json", json),
        3 => (format!("PUT {rows}/{key}"), "json", json),
        4 => (format!("PATCH {rows}/{taken}"), "json", json),
        5 => (format!("DELETE {rows}/{taken}"), "", none()),
        6 => (format!("GET {rows}/{taken}/history"), "", none()),
        7 => (format!("GET /tables/{table}/export"), "", none()),
        8 => (format!("GET /tables/{table}/aggregate{}", parameters(random)), "", none()),
        9 => ("POST /batch".to_owned(), "x-ndjson", operations(random)),
        10 => ("POST /sql".to_owned(), "json", sql(random)),
        11 => (format!("POST /tables/{table}/import{}", one(random, &MODES)), "x-ndjson", json),
        12 => (format!("GET /tables/{table}"), "", none()),
        13 => (format!("OPTIONS {rows}"), "", none()),
        15 => (format!("GET /tables/{table}/query{}", expressions(random)), "", none()),
        16 => (format!("PATCH {rows}{}", assignments(random)), "", none()),
        _ => (format!("GET {}", one(random, &PATHS)), "", none()),
    }
}

fn server(engine: Arc<dyn Engine>, variant: i64, access: &Access) -> HttpServer {
    hidden_data::fill(&*engine, variant).unwrap();
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    let builder = HttpServer::builder().settings(settings).access(access.clone());
    builder.shared_database("main", engine).tcp("127.0.0.1:0").start().unwrap()
}

/// The bytes of a request. `change` changes all but what authenticates it, and what keeps the connection from waiting: it
/// is the last request, and its body has the length that the header says.
fn bytes(request: &Request, token: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let Request { line, headers, body } = request;
    let length = body.len();
    let fixed =
        format!("connection: close\r\ncontent-length: {length}\r\nauthorization: Bearer {token}");
    let rest = change(format!("{headers}\r\n{body}").into_bytes());
    let mut bytes = format!("{line} HTTP/1.1\r\nhost: x\r\n{fixed}\r\n").into_bytes();
    bytes.extend(rest);
    bytes.extend(b"\r\n\r\n");
    bytes.extend(vec![b' '; length]);
    bytes
}

/// The response of a server, without the times.
fn response(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut reply = Vec::new();
    // The server may respond and close before it has all of it.
    let _ = stream.write_all(bytes);
    let _ = stream.read_to_end(&mut reply);
    without_times(&reply.escape_ascii().to_string())
}

/// A text without the values of `date:` and `"at":`, and without what depends on the length of these.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    const AT: &str = "\\\"at\\\":\\\"";
    let before: &[&str] = match text.contains(AT) {
        true => &["ndate: ", "ncontent-length: ", "netag: ", AT],
        false => &["ndate: "],
    };
    while let Some(at) = before.iter().filter_map(|word| Some(rest.find(word)? + word.len())).min()
    {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        rest = after.split_once('\\').map_or("", |(_, rest)| rest);
    }
    out + rest
}

/// The events of a table since the first, up to the one with a text.
fn events(address: SocketAddr, token: &str, table: &str, last: &str) -> Vec<String> {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "GET /tables/{table}/changes?since=0 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut events = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        // Other lines are the head, and lengths of chunks.
        if ["id: ", "event: ", "data: "].iter().any(|start| line.starts_with(start)) {
            events.push(without_times(&line.escape_default().to_string()));
        }
        if line.contains(last) {
            break;
        }
    }
    events
}

fn compare_each(engine: impl Fn() -> Arc<dyn Engine>) {
    let (token, hash) = new_token().unwrap();
    let text = format!("role tester{}\ntoken ada {hash} roles tester\n", hidden_data::GRANTS);
    let access = Access::from_text(&text).unwrap();
    hidden_data::for_each_seed(2, |seed, requests| {
        let pair = [0, 1].map(|variant| server(engine(), variant, &access));
        let addresses = pair.each_ref().map(|server| server.addresses()[0]);
        let (mut random, mut mutator) = (hidden_data::random(seed), Mutator::new(seed));
        let mut other = Vec::new();
        for number in 0..requests {
            let request = request(&mut random);
            let bytes = match random.percent(60) {
                true => bytes(&request, &token, |bytes| bytes),
                false => bytes(&request, &token, |bytes| mutator.mutate(&bytes, &other, 4_096)),
            };
            let [a, b] = addresses.map(|address| response(address, &bytes));
            let sent = bytes.escape_ascii();
            assert_eq!(a, b, "request {number} of seed {seed}: {sent}");
            other = bytes;
        }
        let last = Request {
            line: "POST /tables/notes/rows".to_owned(),
            headers: "content-type: application/json\r\n".to_owned(),
            body: "{\"text\":\"the last note\"}".to_owned(),
        };
        let bytes = bytes(&last, &token, |bytes| bytes);
        let [a, b] = addresses.map(|address| {
            let stored = response(address, &bytes);
            assert!(stored.contains("201 Created"), "{stored}");
            events(address, &token, "notes", "the last note")
        });
        assert_eq!(a, b, "events after seed {seed}");
    });
}

#[test]
fn servers_with_sqlite_respond_alike() {
    compare_each(|| Arc::new(Sqlite::builder().open_memory().unwrap()));
}

#[test]
fn servers_with_memory_respond_alike() {
    compare_each(|| Arc::new(Memory::new()));
}

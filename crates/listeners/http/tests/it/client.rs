//! A server with a few tables, and a client for it.

use bobak_core::{
    ColumnRole, ColumnSchema, Currency, Date, Engine, SchemaChange, TableSchema, Timestamp, Type,
    Uuid,
};
use bobak_http::{HttpServer, Settings};
use bobak_memory::Memory;
use bobak_serving::ServerBuilder;
use bobak_sqlite::Sqlite;
use serde_json::Value;
use std::sync::Arc;
use ureq::Agent;
use ureq::http::Request;

pub const TOKEN: &str = "0123456789abcdef";

/// A running server, and a client for it.
pub struct TestServer {
    pub http: HttpServer,
    pub agent: Agent,
    pub base_url: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub text: String,
    pub bytes: Vec<u8>,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Asserts the status, and that the body is a problem document with this kind.
    pub fn is(&self, status: u16, kind: &str) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.json()["kind"], kind, "{self:?}");
        assert_eq!(self.header("content-type"), "application/problem+json");
        self
    }

    pub fn ok(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}

impl TestServer {
    /// A server with the tables of [`tables`] in an SQLite database in memory.
    pub fn open() -> Self {
        Self::with(Settings::default(), sqlite())
    }

    pub fn with(settings: Settings, engine: Arc<dyn Engine>) -> Self {
        Self::of(HttpServer::builder().settings(settings).shared_database("main", engine))
    }

    pub fn of(builder: ServerBuilder<HttpServer>) -> Self {
        let http = builder.token(TOKEN).tcp("127.0.0.1:0").start().expect("starts");
        let base_url = format!("http://{}", http.addresses()[0]);
        let config = Agent::config_builder().http_status_as_error(false).build();
        let headers = vec![("authorization".to_owned(), format!("Bearer {TOKEN}"))];
        Self { http, agent: config.new_agent(), base_url, headers }
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.send_bytes(method, path, headers, body.as_bytes())
    }

    pub fn send_bytes(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base_url));
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(headers.iter().copied()) {
            request = request.header(name, value);
        }
        let sent = if body.is_empty() {
            self.agent.run(request.body(()).expect("a request"))
        } else {
            self.agent.run(request.body(body.to_vec()).expect("a request"))
        };
        let mut response = sent.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let body = response.body_mut().with_config().limit(1 << 30).read_to_vec().expect("a body");
        Reply {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: String::from_utf8_lossy(&body).into_owned(),
            bytes: body,
        }
    }

    pub fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], "")
    }

    pub fn send(&self, method: &str, path: &str, json: &str) -> Reply {
        self.ask(method, path, &[("content-type", "application/json")], json)
    }
}

/// The tables of the tests: `person` with all types, `seat` with a key of two columns, `note` with
/// timestamps and a version, `thing` with a UUID key.
pub fn tables() -> Vec<TableSchema> {
    let person = TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("name").max_chars(20))
        .column(ColumnSchema::of::<Option<Date>>("born"))
        .column(ColumnSchema::of::<Option<Currency>>("balance"))
        .column(ColumnSchema::of::<Option<f64>>("rate"))
        .column(ColumnSchema::of::<bool>("active").default(true))
        .column(ColumnSchema::of::<Option<Vec<u8>>>("photo"))
        .column(ColumnSchema::new("tags", Type::Json).nullable(true))
        .column(ColumnSchema::of::<Option<Timestamp>>("seen"))
        .column(ColumnSchema::of::<Option<String>>("email").unique())
        .key(["id"]);
    let seat = TableSchema::builder("seat")
        .column(ColumnSchema::of::<String>("row"))
        .column(ColumnSchema::of::<i32>("number"))
        .column(ColumnSchema::of::<Option<String>>("holder"))
        .key(["row", "number"]);
    let note = TableSchema::builder("note")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("text"))
        .column(ColumnSchema::of::<Timestamp>("created").role(ColumnRole::CreatedAt))
        .column(ColumnSchema::of::<Timestamp>("changed").role(ColumnRole::ModifiedAt))
        .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
        .key(["id"]);
    let thing = TableSchema::builder("thing")
        .column(ColumnSchema::of::<Uuid>("id"))
        .column(ColumnSchema::of::<String>("name"))
        .key(["id"]);
    [person, seat, note, thing].map(|table| table.build().expect("a table")).into()
}

pub fn make(engine: &dyn Engine) {
    let changes: Vec<_> =
        tables().into_iter().map(|table| SchemaChange::CreateTable(Arc::new(table))).collect();
    engine.alter(&changes).expect("creates");
}

pub fn sqlite() -> Arc<dyn Engine> {
    let engine = Sqlite::open_memory().expect("opens");
    make(&engine);
    Arc::new(engine)
}

pub fn memory() -> Arc<dyn Engine> {
    let engine = Memory::new();
    make(&engine);
    Arc::new(engine)
}

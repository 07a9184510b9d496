//! SQL over HTTP, with its results in JSON.

use super::Rows;
use bobak::engine::sqlite::Sqlite;
use bobak_http::{HttpServer, Settings, SqlAccess};
use serde_json::Value as JsonValue;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

/// A server of a file.
pub struct HttpRoute {
    server: Option<HttpServer>,
    folder: tempfile::TempDir,
}

impl HttpRoute {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.sql = SqlAccess::Write;
        let server = HttpServer::builder()
            .settings(settings)
            .database("main", Sqlite::open(folder.path().join("compare.db")).unwrap())
            .token("0123456789abcdef")
            .tcp("127.0.0.1:0");
        Self { server: Some(server.start().unwrap()), folder }
    }

    pub fn file(&self) -> PathBuf {
        Path::join(self.folder.path(), "compare.db")
    }

    /// The rows of a query; the kind of an error.
    pub fn rows(&self, sql: &str) -> Result<Rows, String> {
        let response = self.send(sql)?;
        assert_eq!(response["more"], false);
        let cells = |row: &JsonValue| row.as_array().unwrap().iter().map(shown).collect();
        Ok(response["rows"].as_array().unwrap().iter().map(cells).collect())
    }

    /// The number of changed rows; the kind of an error.
    pub fn execute(&self, sql: &str) -> Result<u64, String> {
        Ok(self.send(sql)?["changed"].as_u64().unwrap())
    }

    fn send(&self, sql: &str) -> Result<JsonValue, String> {
        let address = self.server.as_ref().unwrap().addresses()[0];
        let body = serde_json::json!({ "sql": sql }).to_string();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST /sql HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer 0123456789abcdef\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let body: JsonValue =
            serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {head} {body}"));
        match body.get("kind") {
            Some(kind) => Err(kind.as_str().unwrap().to_owned()),
            None => Ok(body),
        }
    }
}

impl Drop for HttpRoute {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}

/// A cell as the comparison shows it, without the kind of its type.
fn shown(cell: &JsonValue) -> String {
    match cell {
        JsonValue::Null => "NULL".to_owned(),
        JsonValue::String(text) if text.len() > 19 && text.get(10..11) == Some("T") => {
            text.trim_end_matches('Z').to_owned()
        }
        JsonValue::String(text) => text.clone(),
        JsonValue::Number(number) => {
            let text = number.to_string();
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        }
        other => other.to_string(),
    }
}

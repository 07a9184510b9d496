//! The client of `GET /statements`: what a server has recorded of its statements.

use crate::error::{Error, Result};
use clap::Args;
use serde::Deserialize;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long the server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Which database of a server, and the caller's credentials.
#[derive(Debug, Args)]
pub struct StatementSource {
    /// The database, if it is not the server's default one
    #[arg(short, long, value_name = "NAME")]
    database: Option<String>,

    /// File whose first line is the token to authenticate with; a Unix socket needs none
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// The response of `GET /statements`, as far as it is shown.
#[derive(Deserialize)]
pub struct StatementList {
    pub statements: Vec<StatementLine>,
    pub total: u64,
}

#[derive(Deserialize)]
pub struct StatementLine {
    pub text: String,
    pub count: u64,
    pub errors: u64,
    pub rows: u64,
    pub total_ms: f64,
    pub mean_ms: f64,
    pub p95_ms: f64,
    pub max_ms: f64,
    pub waited_ms: f64,
    pub last_origin: Option<String>,
}

impl StatementSource {
    /// The recorded statements of a server, those first that have most of what `order` names.
    ///
    /// # Errors
    /// If the server can't be reached, rejects the client, or does not monitor its statements.
    pub fn list(&self, server: &str, order: &str, limit: u32) -> Result<StatementList> {
        let database = self.database.as_deref();
        let path = database.map_or_else(String::new, |name| format!("/databases/{}", encode(name)));
        let path = format!("{path}/statements?order={order}&limit={limit}");
        let mut request = format!("GET {path} HTTP/1.0\r\nhost: bobak\r\n");
        if let Some(token) = self.token()? {
            let _ = write!(request, "authorization: Bearer {token}\r\n");
        }
        request.push_str("\r\n");
        let response = send(server, &request)
            .map_err(|error| Error::io(format_args!("read the statements of {server}"), &error))?;
        read_response(&response).map_err(|message| Error::failed(format!("{server}: {message}")))
    }

    fn token(&self) -> Result<Option<String>> {
        let Some(path) = &self.token_file else { return Ok(None) };
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::io(format_args!("read {}", path.display()), &error))?;
        let token = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'));
        match token {
            Some(token) => Ok(Some(token.to_owned())),
            None => Err(Error::failed(format!("{} has no token", path.display()))),
        }
    }
}

/// Sends a request, and reads the response until the server closes the connection.
fn send(server: &str, request: &str) -> std::io::Result<Vec<u8>> {
    let server = server.strip_prefix("http://").unwrap_or(server);
    let server = server.trim_end_matches('/');
    if server.contains('/') {
        let stream = UnixStream::connect(server)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        return exchange(stream, request);
    }
    let stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    exchange(stream, request)
}

fn exchange(mut stream: impl Read + Write, request: &str) -> std::io::Result<Vec<u8>> {
    stream.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    let until = Instant::now() + TIMEOUT;
    let mut part = [0; 16 * 1024];
    loop {
        match stream.read(&mut part)? {
            0 => return Ok(response),
            _ if Instant::now() > until => return Err(std::io::ErrorKind::TimedOut.into()),
            length => response.extend_from_slice(part.get(..length).unwrap_or_default()),
        }
    }
}

/// The list, or why there is none.
pub fn read_response(response: &[u8]) -> Result<StatementList, String> {
    let text = String::from_utf8_lossy(response);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
    match status {
        Some(200) => serde_json::from_str(body)
            .map_err(|error| format!("the response is no list of statements: {error}")),
        Some(401) => Err("authentication required: pass --token-file".to_owned()),
        Some(status) => Err(match serde_json::from_str::<Problem>(body) {
            Ok(problem) => problem.detail,
            Err(_) => format!("the server returned the status {status}"),
        }),
        None => Err("this is no HTTP server".to_owned()),
    }
}

/// An error of the server.
#[derive(Deserialize)]
struct Problem {
    detail: String,
}

/// A name as a segment of a path.
fn encode(name: &str) -> String {
    let mut encoded = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                encoded.push(char::from(byte));
            }
            // Writing to a String does not fail.
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_responses_are_errors() {
        let error = |response: &str| read_response(response.as_bytes()).map(drop).unwrap_err();
        assert!(error("HTTP/1.1 401 Unauthorized\r\n\r\n").contains("--token-file"));
        let problem = "HTTP/1.1 403 Forbidden\r\n\r\n{\"detail\": \"needs more\"}";
        assert_eq!(error(problem), "needs more");
        assert!(error("HTTP/1.1 502 Bad\r\n\r\noops").contains("502"));
        assert_eq!(error("SSH-2.0"), "this is no HTTP server");
        assert_eq!(encode("a/b é"), "a%2Fb%20%C3%A9");
    }
}

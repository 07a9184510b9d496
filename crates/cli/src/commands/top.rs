//! `bobak top`: which statements take the time of a server.

use super::arguments::short_duration;
use crate::error::{Error, Result};
use crate::output::Terminal;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long the server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Show which statements take the time of a server.
///
/// On a terminal the table is refreshed until Ctrl-C; elsewhere it is printed once. SERVER is where `bobak serve` listens
/// for HTTP: HOST:PORT, or the path of a Unix socket. The client needs all permissions on the database.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TopCommand {
    /// Where the server listens for HTTP without TLS
    #[arg(value_name = "SERVER", default_value = "127.0.0.1:4716")]
    server: String,

    /// The database, if it is not the server's default one
    #[arg(short, long, value_name = "NAME")]
    database: Option<String>,

    /// File whose first line is the token to authenticate with; a Unix socket needs none
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// What the first statements have most of
    #[arg(short, long, value_enum, default_value_t = TopOrder::Total)]
    order: TopOrder,

    /// How many statements to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: u32,

    /// Time between two refreshes
    #[arg(short, long, value_name = "DURATION", default_value = "2s", value_parser = short_duration)]
    interval: Duration,

    /// Print the table once, also on a terminal
    #[arg(long)]
    once: bool,
}

/// An order of `GET /statements`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TopOrder {
    Total,
    Mean,
    P95,
    Max,
    Count,
    Rows,
    Waited,
    Errors,
}

const EXAMPLES: &str = "\
Examples:
  bobak top --token-file token.txt
  bobak top /run/app-http.socket
  bobak top 127.0.0.1:8080 --database orders --order mean --token-file token.txt
  bobak top --once --order errors --token-file token.txt > statements.txt";

/// The response of `GET /statements`, as far as it is shown.
#[derive(Deserialize)]
struct StatementList {
    statements: Vec<StatementLine>,
    total: u64,
}

#[derive(Deserialize)]
struct StatementLine {
    text: String,
    count: u64,
    errors: u64,
    rows: u64,
    total_ms: f64,
    mean_ms: f64,
    p95_ms: f64,
    max_ms: f64,
    waited_ms: f64,
    last_origin: Option<String>,
}

impl TopCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the server can't be reached, rejects the client, or does not monitor its statements.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let token = self.token()?;
        let mut output = std::io::stdout();
        loop {
            let list = self.list(token.as_deref())?;
            let width = screen.width().filter(|_| !self.once);
            let mut text = String::new();
            if width.is_some() {
                // Moves to the upper left corner and clears the screen.
                text.push_str("\x1b[H\x1b[J");
            }
            // Writing to a String does not fail.
            let _ = write_table(&mut text, &list, width);
            output.write_all(text.as_bytes()).map_err(|error| Error::output(&error))?;
            output.flush().map_err(|error| Error::output(&error))?;
            if width.is_none() {
                return Ok(());
            }
            std::thread::sleep(self.interval);
        }
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

    fn list(&self, token: Option<&str>) -> Result<StatementList> {
        let database = self.database.as_deref();
        let path = database.map_or_else(String::new, |name| format!("/databases/{}", encode(name)));
        let order = self.order.to_possible_value();
        let order = order.as_ref().map_or("total", |value| value.get_name());
        let path = format!("{path}/statements?order={order}&limit={}", self.limit);
        let mut request = format!("GET {path} HTTP/1.0\r\nhost: bobak\r\n");
        if let Some(token) = token {
            let _ = write!(request, "authorization: Bearer {token}\r\n");
        }
        request.push_str("\r\n");
        let response = self.send(&request).map_err(|error| {
            Error::io(format_args!("read the statements of {}", self.server), &error)
        })?;
        read_response(&response)
            .map_err(|message| Error::failed(format!("{}: {message}", self.server)))
    }

    /// Sends a request, and reads the response until the server closes the connection.
    fn send(&self, request: &str) -> std::io::Result<Vec<u8>> {
        let server = self.server.strip_prefix("http://").unwrap_or(&self.server);
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
fn read_response(response: &[u8]) -> Result<StatementList, String> {
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

/// Writes the table; lines end at the width of the terminal.
fn write_table(out: &mut String, list: &StatementList, width: Option<usize>) -> std::fmt::Result {
    writeln!(out, "{} of {} statements", list.statements.len(), list.total)?;
    let names = ["total", "calls", "mean", "p95", "max", "waited", "rows", "errors"];
    for name in names {
        write!(out, "{name:>9}")?;
    }
    writeln!(out, "  statement")?;
    for line in &list.statements {
        let mut row = String::new();
        write!(row, "{:>9}", time(line.total_ms))?;
        write!(row, "{:>9}", number(line.count))?;
        for millis in [line.mean_ms, line.p95_ms, line.max_ms, line.waited_ms] {
            write!(row, "{:>9}", time(millis))?;
        }
        write!(row, "{:>9}{:>9}", number(line.rows), number(line.errors))?;
        // Texts may have line breaks and control characters.
        let text = line.text.split_whitespace().collect::<Vec<_>>().join(" ");
        write!(row, "  {}", text.replace(char::is_control, "?"))?;
        if let Some(origin) = &line.last_origin {
            write!(row, "  ({})", origin.replace(char::is_control, "?"))?;
        }
        let cut: String = row.chars().take(width.unwrap_or(usize::MAX)).collect();
        writeln!(out, "{cut}")?;
    }
    Ok(())
}

/// A time with three digits and its unit.
fn time(millis: f64) -> String {
    match millis {
        0.0 => "0".to_owned(),
        _ if millis < 1.0 => format!("{:.0} µs", millis * 1e3),
        _ if millis < 10.0 => format!("{millis:.1} ms"),
        _ if millis < 10_000.0 => format!("{millis:.0} ms"),
        _ => format!("{:.0} s", millis / 1e3),
    }
}

/// A number in at most eight characters.
fn number(value: u64) -> String {
    match value {
        0..10_000_000 => value.to_string(),
        10_000_000..10_000_000_000 => format!("{} M", value / 1_000_000),
        _ => format!("{} G", value / 1_000_000_000),
    }
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
    fn table_fits_the_terminal_and_shows_no_control_characters() {
        let body = r#"{"total": 7, "statements": [{"text": "SELECT\n\u001b[31m a", "verb": "select",
            "count": 12345678, "errors": 0, "rows": 3, "total_ms": 70123.4, "mean_ms": 0.0567,
            "p95_ms": 1.25, "max_ms": 20.4, "waited_ms": 0.0, "last_origin": "ada: GET /tables"}]}"#;
        let response = format!("HTTP/1.1 200 OK\r\ncontent-type: a\r\n\r\n{body}");
        let list = read_response(response.as_bytes()).unwrap();
        let mut text = String::new();
        write_table(&mut text, &list, None).unwrap();
        let line = text.lines().last().unwrap();
        let start = "     70 s     12 M    57 µs   1.2 ms    20 ms        0        3        0";
        assert_eq!(line, format!("{start}  SELECT ?[31m a  (ada: GET /tables)"));
        text.clear();
        write_table(&mut text, &list, Some(20)).unwrap();
        assert!(text.lines().last().unwrap().chars().count() == 20, "{text}");
    }

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

//! `bobak top`: which statements take the time of a server.

use super::arguments::short_duration;
use super::statement_source::{StatementList, StatementSource};
use crate::error::{Error, Result};
use crate::output::Terminal;
use clap::{Args, ValueEnum};
use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

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

    #[command(flatten)]
    source: StatementSource,

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

impl TopCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the server can't be reached, rejects the client, or does not monitor its statements.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let order = self.order.to_possible_value();
        let order = order.as_ref().map_or("total", |value| value.get_name());
        let mut output = std::io::stdout();
        loop {
            let list = self.source.list(&self.server, order, self.limit)?;
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
pub fn time(millis: f64) -> String {
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

#[cfg(test)]
mod tests {
    use super::super::statement_source::read_response;
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
}

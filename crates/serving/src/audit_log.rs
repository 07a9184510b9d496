//! The audit log: which clients were rejected or disconnected, and why.
//!
//! A client cannot flood it: lines are limited per address and in total, and the log says how many
//! were dropped.

use crate::quotas::Principal;
use crate::rate_limiter::RateLimiter;
use bobak_core::{Error, ErrorKind, Timestamp};
use std::collections::VecDeque;
use std::fmt::Display;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Receives the lines of a log.
pub type LogSink = Arc<dyn Fn(&str) + Send + Sync>;

/// The most lines a minute about clients of one address.
const LINES_PER_ADDRESS: u32 = 20;
/// The most lines a minute about all clients.
const LINES_IN_TOTAL: u32 = 600;
/// The most characters of a line, which may quote what a client sent.
const LINE_LENGTH: usize = 500;

/// How many lines are kept in memory.
const RECENT_LINES: usize = 1_000;

/// The log of a server.
pub struct AuditLog {
    sink: LogSink,
    by_address: RateLimiter<Option<IpAddr>>,
    in_total: RateLimiter<()>,
    dropped: AtomicU64,
    /// The last lines with their times, for administrators.
    recent: Mutex<VecDeque<(Timestamp, String)>>,
}

impl AuditLog {
    /// A log that writes to `sink`.
    #[must_use]
    pub fn new(sink: LogSink) -> Self {
        let minute = Duration::from_secs(60);
        Self {
            sink,
            by_address: RateLimiter::new(LINES_PER_ADDRESS, minute),
            in_total: RateLimiter::new(LINES_IN_TOTAL, minute),
            dropped: AtomicU64::new(0),
            recent: Mutex::default(),
        }
    }

    /// Logs an event of the server itself. It is never dropped.
    pub fn server_event(&self, line: &str) {
        self.write(line);
    }

    /// The last lines with their times, oldest first: at most a thousand.
    #[must_use]
    pub fn recent(&self) -> Vec<(Timestamp, String)> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.iter().cloned().collect()
    }

    fn write(&self, line: &str) {
        {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            if recent.len() == RECENT_LINES {
                recent.pop_front();
            }
            recent.push_back((Timestamp::now(), line.to_owned()));
        }
        (self.sink)(line);
    }

    /// Logs an event of a client at an address, unless there were too many in the last minute.
    pub fn client_event(&self, address: Option<IpAddr>, line: impl Display) {
        // One client may have a whole IPv6 network.
        let network = Principal::from_address(address).address();
        if self.by_address.acquire(network).is_err() || self.in_total.acquire(()).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            self.write(&format!("{dropped} lines about clients were dropped: too many a minute"));
        }
        self.write(&one_line(&line.to_string()));
    }
}

/// The error as the log shows it: with the cause of a denial, which the client does not see.
#[must_use]
pub fn with_cause(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) if error.kind() == ErrorKind::Denied => format!("{error}: {cause}"),
        _ => error.to_string(),
    }
}

/// A text as one log line: control characters escaped, long texts cut.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(LINE_LENGTH));
    for (at, letter) in text.chars().enumerate() {
        if at == LINE_LENGTH {
            line.push('…');
            break;
        }
        if letter.is_control() {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_cannot_flood_the_log() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&lines);
        let log = AuditLog::new(Arc::new(move |line: &str| {
            written.lock().unwrap().push(line.to_owned());
        }));
        let from = |last: u8| Some(IpAddr::from([10, 0, 0, last]));
        (0..1_000).for_each(|_| log.client_event(from(1), "sent an invalid request"));
        // The bucket may gain another token meanwhile.
        let logged = lines.lock().unwrap().len();
        assert!((20..100).contains(&logged), "{logged}");
        for host in 0..1_000 {
            let address = std::net::Ipv6Addr::new(0x2001, 0xdb8, 1, 2, 3, 4, 5, host);
            log.client_event(Some(address.into()), "has many addresses");
        }
        let logged = lines.lock().unwrap().len() - logged;
        assert!((20..100).contains(&logged), "{logged}");
        log.client_event(from(2), format!("asked for\n{}", "x".repeat(10_000)));
        let lines = lines.lock().unwrap();
        let [.., dropped, last] = &lines[..] else { panic!("{lines:?}") };
        assert!(dropped.ends_with("lines about clients were dropped: too many a minute"));
        assert!(last.starts_with("asked for\\nxxx"), "{last}");
        assert!(last.chars().count() < 2 * LINE_LENGTH, "{last}");
    }
}

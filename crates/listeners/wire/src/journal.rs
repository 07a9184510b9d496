//! What the log hears of clients: who was refused or cut off, and why. A client can't fill the log:
//! so many lines for each address, and for all of them, and the rest are counted.

use crate::buckets::RateLimiter;
use crate::builder::Log;
use crate::shares::Holder;
use std::fmt::Display;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The most lines a minute about clients of one address, and about all of them.
const EACH: u32 = 20;
const ALL: u32 = 600;
/// The most characters of a line: what clients send may be in it.
const LONGEST: usize = 500;

/// The log, with its bounds.
pub struct Journal {
    log: Log,
    each: RateLimiter<Option<IpAddr>>,
    all: RateLimiter<()>,
    left_out: AtomicU64,
}

impl Journal {
    /// One that writes to a log.
    #[must_use]
    pub fn new(log: Log) -> Self {
        let minute = Duration::from_secs(60);
        let (each, all) = (RateLimiter::new(EACH, minute), RateLimiter::new(ALL, minute));
        Self { log, each, all, left_out: AtomicU64::new(0) }
    }

    /// Tells of the server itself.
    pub fn tell(&self, line: &str) {
        (self.log)(line);
    }

    /// Tells what became of a client at an address, unless there were too many such lines just now.
    pub fn tell_of(&self, address: Option<IpAddr>, line: impl Display) {
        // Whoever has one address of version 6 has its whole network.
        let network = Holder::at(address).address();
        if self.each.take(network).is_err() || self.all.take(()).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            (self.log)(&format!("{left_out} lines about clients were left out: too many a minute"));
        }
        (self.log)(&one_line(&line.to_string()));
    }
}

/// A text as a line of a log, whatever a client has put into it.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(LONGEST));
    for (at, letter) in text.chars().enumerate() {
        if at == LONGEST {
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
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_client_can_not_fill_the_log() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&lines);
        let journal = Journal::new(Arc::new(move |line: &str| {
            theirs.lock().unwrap().push(line.to_owned());
        }));
        let from = |last: u8| Some(IpAddr::from([10, 0, 0, last]));
        (0..1_000).for_each(|_| journal.tell_of(from(1), "sent what means nothing"));
        // A bucket may get another permit meanwhile.
        let told = lines.lock().unwrap().len();
        assert!((20..100).contains(&told), "{told}");
        for host in 0..1_000 {
            let address = std::net::Ipv6Addr::new(0x2001, 0xdb8, 1, 2, 3, 4, 5, host);
            journal.tell_of(Some(address.into()), "has many addresses");
        }
        let told = lines.lock().unwrap().len() - told;
        assert!((20..100).contains(&told), "{told}");
        journal.tell_of(from(2), format!("asked for\n{}", "x".repeat(10_000)));
        let lines = lines.lock().unwrap();
        let [.., left_out, last] = &lines[..] else { panic!("{lines:?}") };
        assert!(left_out.ends_with("lines about clients were left out: too many a minute"));
        assert!(last.starts_with("asked for\\nxxx"), "{last}");
        assert!(last.chars().count() < 2 * LONGEST, "{last}");
    }
}

//! Free loopback ports.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Error, Result};

/// Below the range from which systems take the ports of outgoing connections: while a killed server is down, nobody
/// takes its port by chance.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

/// A port that nobody listens on at this moment, and that this process has not given out before.
pub(crate) fn free() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Processes that run at the same time begin far from each other.
    let start = std::process::id().wrapping_mul(7919);
    for _ in 0..COUNT {
        let place = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let Ok(port) = u16::try_from(FIRST + place) else { continue };
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(Error::new(format!("no loopback port from {FIRST} to {} is free", FIRST + COUNT - 1)))
}

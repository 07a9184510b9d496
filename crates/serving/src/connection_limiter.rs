//! The limit on connections, and on those from one address.
//!
//! Unauthenticated clients have no name to count by, so addresses are limited: no single address
//! can keep all others from connecting.

use crate::quotas::{Permit, Permits, Principal, QuotaLimits, Scope};
use bobak_core::{Error, ErrorKind};
use std::net::IpAddr;

/// How many connections beyond the limit are reserved for trusted transports, so that the operator
/// can always connect.
const OPERATOR_RESERVE: usize = 64;

/// Counts the connections of a server, idle ones included.
#[derive(Clone, Debug)]
pub struct ConnectionLimiter {
    permits: Permits,
    limit: usize,
}

impl ConnectionLimiter {
    /// At most `limit` connections, of which one address may have half and half of `percent`: see
    /// [`QuotaLimits::with_share`].
    #[must_use]
    pub fn new(limit: usize, percent: u8) -> Self {
        // The total may be 0; then every client gets its error.
        let limits = QuotaLimits { total: limit, ..QuotaLimits::with_share(limit, percent) };
        Self { permits: Permits::new(limits), limit }
    }

    /// Counts a new connection until its permit is dropped. `trusted` is one over a transport that
    /// the operating system protects.
    ///
    /// # Errors
    /// `Busy` if the server, or the address, has reached its limit.
    pub fn acquire(&self, peer: Option<IpAddr>, trusted: bool) -> Result<Permit, Error> {
        if trusted && self.in_use() >= self.limit.saturating_add(OPERATOR_RESERVE) {
            return Err(self.error(&Scope::Total));
        }
        let principal = match trusted {
            true => Principal::operator(),
            false => Principal::from_address(peer.filter(is_remote)),
        };
        self.permits.acquire(&principal).map_err(|scope| self.error(&scope))
    }

    /// How many connections there are.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.permits.in_use()
    }

    fn error(&self, scope: &Scope) -> Error {
        match scope {
            Scope::Total => {
                let message =
                    format!("the server has reached its limit of {} connections", self.limit);
                Error::new(ErrorKind::Busy, message)
            }
            scope => scope.quota_error("connections"),
        }
    }
}

/// Whether an address tells clients apart. All programs of this machine use the loopback address,
/// and so do all clients of a proxy or tunnel that ends here: with a limit, one of them would keep
/// the others out. A local attacker has other means. So only the total applies to them.
fn is_remote(peer: &IpAddr) -> bool {
    !peer.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acquire(limiter: &ConnectionLimiter, peer: &str) -> Result<Permit, String> {
        let acquired = limiter.acquire(Some(peer.parse().unwrap()), false);
        acquired.map_err(|error| error.message().to_owned())
    }

    #[test]
    fn no_address_gets_all_connections() {
        let limiter = ConnectionLimiter::new(16, 50);
        let mut greedy: Vec<_> = (0..12).map(|_| acquire(&limiter, "192.0.2.7").unwrap()).collect();
        let rejected = acquire(&limiter, "192.0.2.7").unwrap_err();
        let expected = "your address has reached the limit of connections: try again later";
        assert_eq!(rejected, expected);
        let others: Vec<_> = (0..4).map(|_| acquire(&limiter, "192.0.2.8").unwrap()).collect();
        let full = acquire(&limiter, "192.0.2.9").unwrap_err();
        assert_eq!(full, "the server has reached its limit of 16 connections");
        let operator: Vec<_> =
            (0..OPERATOR_RESERVE).map(|_| limiter.acquire(None, true).unwrap()).collect();
        assert_eq!(limiter.acquire(None, true).unwrap_err().kind(), ErrorKind::Busy);
        drop((operator, others));
        greedy.pop();
        greedy.push(acquire(&limiter, "192.0.2.7").unwrap());
        assert!(acquire(&limiter, "192.0.2.7").is_err());
        drop(greedy);
        assert_eq!(limiter.in_use(), 0);
    }

    #[test]
    fn loopback_clients_may_use_all_connections() {
        let limiter = ConnectionLimiter::new(16, 50);
        let local = ["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.0.0.2"];
        let all: Vec<_> =
            local.iter().cycle().take(16).map(|peer| acquire(&limiter, peer)).collect();
        assert!(all.iter().all(Result::is_ok));
        assert!(acquire(&limiter, "127.0.0.1").is_err());
        assert!(ConnectionLimiter::new(0, 50).acquire(None, false).is_err());
    }
}

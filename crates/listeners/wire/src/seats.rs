//! How many connections there may be, and how many of them from one address: so that nobody who is
//! not even known yet keeps all others out.

use crate::shares::{Holder, Part, Permit, Permits, Portion};
use bobak_core::{Error, ErrorKind};
use std::net::IpAddr;

/// How many connections beyond their number there may be of those who come by a door that the
/// operating system guards: nobody keeps the operator out.
const RESERVE: usize = 64;

/// The connections of a server, idle ones included.
#[derive(Clone, Debug)]
pub struct ConnectionLimiter {
    permits: Permits,
    most: usize,
}

impl ConnectionLimiter {
    /// So many, of which one address may have half, and half of `percent`, of a hundred: as of all
    /// that is [shared](Portion::of).
    #[must_use]
    pub fn new(most: usize, percent: u8) -> Self {
        // Who has none at all is told so by the whole.
        let portion = Portion { whole: most, ..Portion::of(most, percent) };
        Self { permits: Permits::new(portion), most }
    }

    /// Takes a connection in. `trusted` is one by a door that the operating system guards.
    ///
    /// # Errors
    /// `Busy` where there are as many as may be, or as many of its address.
    pub fn take(&self, peer: Option<IpAddr>, trusted: bool) -> Result<Permit, Error> {
        if trusted && self.taken() >= self.most.saturating_add(RESERVE) {
            return Err(self.refusal(&Part::Whole));
        }
        let holder = if trusted { Holder::operator() } else { Holder::at(peer.filter(is_apart)) };
        self.permits.take(&holder).map_err(|part| self.refusal(&part))
    }

    /// How many there are.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.permits.taken()
    }

    fn refusal(&self, part: &Part) -> Error {
        match part {
            Part::Whole => {
                let message = format!("the server has {} connections already", self.most);
                Error::new(ErrorKind::Busy, message)
            }
            part => part.refusal("connections"),
        }
    }
}

/// Whether an address is that of some clients and not of others. All programs of this machine come
/// from the loopback address, and with them all clients of a proxy or a tunnel that ends here: one
/// of them would keep the others out, and who is on this machine can harm it otherwise. They have
/// the number of all.
fn is_apart(peer: &IpAddr) -> bool {
    !peer.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(seats: &ConnectionLimiter, peer: &str) -> Result<Permit, String> {
        let taken = seats.take(Some(peer.parse().unwrap()), false);
        taken.map_err(|error| error.message().to_owned())
    }

    #[test]
    fn no_address_has_all_connections() {
        let seats = ConnectionLimiter::new(16, 50);
        let mut greedy: Vec<_> = (0..12).map(|_| take(&seats, "192.0.2.7").unwrap()).collect();
        let refused = take(&seats, "192.0.2.7").unwrap_err();
        assert_eq!(refused, "your address has as many connections as may be: try again later");
        let others: Vec<_> = (0..4).map(|_| take(&seats, "192.0.2.8").unwrap()).collect();
        let full = take(&seats, "192.0.2.9").unwrap_err();
        assert_eq!(full, "the server has 16 connections already");
        // The operator has some beyond all, and not more.
        let operator: Vec<_> = (0..RESERVE).map(|_| seats.take(None, true).unwrap()).collect();
        assert_eq!(seats.take(None, true).unwrap_err().kind(), ErrorKind::Busy);
        drop((operator, others));
        greedy.pop();
        greedy.push(take(&seats, "192.0.2.7").unwrap());
        assert!(take(&seats, "192.0.2.7").is_err());
        drop(greedy);
        assert_eq!(seats.taken(), 0);
    }

    #[test]
    fn this_machine_may_have_them_all() {
        let seats = ConnectionLimiter::new(16, 50);
        let here = ["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.0.0.2"];
        let all: Vec<_> = here.iter().cycle().take(16).map(|peer| take(&seats, peer)).collect();
        assert!(all.iter().all(Result::is_ok));
        assert!(take(&seats, "127.0.0.1").is_err());
        assert!(ConnectionLimiter::new(0, 50).take(None, false).is_err());
    }
}

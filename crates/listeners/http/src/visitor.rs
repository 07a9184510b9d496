//! Who is at the other end of a connection, as far as that is known.

use crate::guests::Guest;
use crate::listener::Door;
use bobak_serving::Principal;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A connection's client.
pub(crate) struct Visitor {
    pub door: Door,
    /// By whom the last request was made, where it was let in.
    guest: Mutex<Option<Arc<Guest>>>,
}

impl Visitor {
    pub const fn new(door: Door) -> Self {
        Self { door, guest: Mutex::new(None) }
    }

    /// Notes who makes the request that is under way.
    pub fn is(&self, guest: Option<Arc<Guest>>) {
        *self.guest.lock().unwrap_or_else(PoisonError::into_inner) = guest;
    }

    /// As whom it is counted.
    pub fn principal(&self) -> Principal {
        let guest = self.guest.lock().unwrap_or_else(PoisonError::into_inner);
        match &*guest {
            Some(guest) if self.door.trusted && guest.is_operator() => Principal::operator(),
            Some(guest) => Principal::from_address(self.door.peer).with_name(&guest.name),
            None => Principal::from_address(self.door.peer),
        }
    }
}

/// `ada at 192.0.2.7`, or what is known of it.
impl fmt::Display for Visitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guest = self.guest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(guest) = &*guest {
            write!(f, "{} at ", guest.name)?;
        }
        match self.door.peer {
            Some(peer) => write!(f, "{peer}"),
            None => f.write_str("this machine"),
        }
    }
}

//! The client at the other end of a connection, as the log and the quotas identify it.

use bobak_serving::Principal;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The other end of a connection.
pub(crate) struct Peer {
    /// Whether the operating system controls access (a Unix socket), so that requests need no
    /// credentials.
    pub is_trusted: bool,
    /// `None` at a Unix socket.
    pub address: Option<IpAddr>,
    /// The client that authenticated the current request.
    identity: Mutex<Option<PeerIdentity>>,
}

/// An authenticated client.
pub(crate) struct PeerIdentity {
    pub name: Arc<str>,
    pub is_operator: bool,
}

impl Peer {
    pub const fn new(is_trusted: bool, address: Option<IpAddr>) -> Self {
        Self { is_trusted, address, identity: Mutex::new(None) }
    }

    /// Notes which client makes the current request.
    pub fn set_identity(&self, identity: Option<PeerIdentity>) {
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner) = identity;
    }

    /// The name of the client that makes the current request.
    pub fn name(&self) -> Option<Arc<str>> {
        let identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        identity.as_ref().map(|identity| Arc::clone(&identity.name))
    }

    /// The principal whose quotas the current request uses.
    pub fn principal(&self) -> Principal {
        let identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        match &*identity {
            Some(identity) if self.is_trusted && identity.is_operator => Principal::operator(),
            Some(identity) => Principal::from_address(self.address).with_name(&identity.name),
            None => Principal::from_address(self.address),
        }
    }
}

/// `ada at 192.0.2.7`, or as much of it as is known.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(identity) = &*identity {
            write!(f, "{} at ", identity.name)?;
        }
        match self.address {
            Some(address) => write!(f, "{address}"),
            None => f.write_str("this machine"),
        }
    }
}

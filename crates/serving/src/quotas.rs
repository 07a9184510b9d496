//! Per-client and per-address quotas for scarce resources: worker threads, connections, memory.
//!
//! Each resource has a total. One authenticated client may use a percentage of it, and all clients of
//! one address together half of the rest in addition. So a client that floods the server slows down
//! only itself: others always find something left.

use bobak_core::{Error, ErrorKind};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who uses, or asks for, a resource: a client and its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Principal {
    client: Option<Arc<str>>,
    address: Option<IpAddr>,
    exempt: bool,
}

/// What a limit applies to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All principals together.
    Total,
    /// One authenticated client, by its name.
    Client(Arc<str>),
    /// All clients of one address.
    Address(IpAddr),
}

/// How many units of a resource may be in use at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaLimits {
    /// By all together.
    pub total: usize,
    /// By one client.
    pub client: usize,
    /// By all clients of one address.
    pub address: usize,
}

/// How many units of a resource are in use, in total and by each scope.
#[derive(Debug)]
pub struct Quotas {
    limits: QuotaLimits,
    in_use: usize,
    by_scope: HashMap<Scope, usize>,
}

/// Quotas behind a lock. A [`Permit`] returns its unit when it is dropped. Clones share the same
/// quotas.
#[derive(Clone, Debug)]
pub struct Permits(Arc<Mutex<Quotas>>);

/// One unit of a resource, in use until this is dropped.
#[derive(Debug)]
pub struct Permit {
    permits: Permits,
    principal: Principal,
}

impl Principal {
    /// An unauthenticated client at an address. IPv6 addresses count by their /64 network, because
    /// one client usually controls all of it.
    #[must_use]
    pub fn from_address(address: Option<IpAddr>) -> Self {
        const NETWORK: u128 = !(u64::MAX as u128);
        let network = |address: IpAddr| match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6((u128::from(address) & NETWORK).into()),
            address => address,
        };
        Self { client: None, address: address.map(network), exempt: false }
    }

    /// The operator on a transport that the operating system protects. Limits do not apply, so the
    /// operator can always reach an overloaded server.
    #[must_use]
    pub const fn operator() -> Self {
        Self { client: None, address: None, exempt: true }
    }

    /// The same, authenticated under this name.
    #[must_use]
    pub fn with_name(mut self, client: &str) -> Self {
        self.client = Some(client.into());
        self
    }

    /// The address, or the IPv6 network that stands for it.
    #[must_use]
    pub const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Whether no limit applies.
    #[must_use]
    pub const fn is_exempt(&self) -> bool {
        self.exempt
    }

    /// The scopes it counts in, other than the total.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> {
        let client = self.client.clone().map(Scope::Client);
        client.into_iter().chain(self.address.map(Scope::Address))
    }
}

impl QuotaLimits {
    /// A total of which one client may use `percent`, and all clients of one address half of the
    /// rest in addition. Each limit is at least 1.
    #[must_use]
    pub fn with_share(total: usize, percent: u8) -> Self {
        let percent = usize::from(percent.min(100));
        let part = |percent: usize| (total.saturating_mul(percent) / 100).max(1);
        Self { total, client: part(percent), address: part(50 + percent / 2) }
    }
}

impl Scope {
    /// The error for a principal that has used up this scope's quota of `what`.
    #[must_use]
    pub fn quota_error(&self, what: &str) -> Error {
        let whose = match self {
            Self::Total => "the server has",
            Self::Client(_) => "you have",
            Self::Address(_) => "your address has",
        };
        let message = format!("{whose} reached the limit of {what}: try again later");
        Error::new(ErrorKind::Busy, message)
    }
}

impl Quotas {
    /// Quotas with nothing in use.
    #[must_use]
    pub fn new(limits: QuotaLimits) -> Self {
        Self { limits, in_use: 0, by_scope: HashMap::new() }
    }

    /// Takes one unit.
    ///
    /// # Errors
    /// The scope whose quota is used up.
    pub fn acquire(&mut self, principal: &Principal) -> Result<(), Scope> {
        if !principal.exempt {
            let mut scopes = std::iter::once(Scope::Total).chain(principal.scopes());
            if let Some(full) = scopes.find(|scope| self.is_exhausted(scope)) {
                return Err(full);
            }
        }
        self.in_use += 1;
        principal.scopes().for_each(|scope| *self.by_scope.entry(scope).or_default() += 1);
        Ok(())
    }

    /// Returns one unit.
    pub fn release(&mut self, principal: &Principal) {
        self.in_use = self.in_use.saturating_sub(1);
        for scope in principal.scopes() {
            if let Some(count) = self.by_scope.get_mut(&scope) {
                *count -= 1;
                if *count == 0 {
                    self.by_scope.remove(&scope);
                }
            }
        }
    }

    /// Whether a scope's quota is used up.
    #[must_use]
    pub fn is_exhausted(&self, scope: &Scope) -> bool {
        let limit = match scope {
            Scope::Total => return self.in_use >= self.limits.total,
            Scope::Client(_) => self.limits.client,
            Scope::Address(_) => self.limits.address,
        };
        self.by_scope.get(scope).is_some_and(|count| *count >= limit)
    }
}

impl Permits {
    /// Permits with none in use.
    #[must_use]
    pub fn new(limits: QuotaLimits) -> Self {
        Self(Arc::new(Mutex::new(Quotas::new(limits))))
    }

    /// Takes one unit.
    ///
    /// # Errors
    /// The scope whose quota is used up.
    pub fn acquire(&self, principal: &Principal) -> Result<Permit, Scope> {
        self.lock().acquire(principal)?;
        Ok(Permit { permits: self.clone(), principal: principal.clone() })
    }

    /// How many units are in use.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.lock().in_use
    }

    fn lock(&self) -> MutexGuard<'_, Quotas> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.permits.lock().release(&self.principal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_and_no_address_gets_everything() {
        let at = |last: u8| Principal::from_address(Some(IpAddr::from([10, 0, 0, last])));
        let permits = Permits::new(QuotaLimits::with_share(8, 50));
        let ada: Vec<_> = (0..4).map(|last| permits.acquire(&at(last).with_name("ada"))).collect();
        assert!(ada.iter().all(Result::is_ok));
        let fifth = permits.acquire(&at(9).with_name("ada"));
        assert_eq!(fifth.unwrap_err(), Scope::Client("ada".into()));
        drop(ada);
        let client = |number: i32| at(1).with_name(&format!("c{number}"));
        let crowd: Vec<_> = (0..6).map(|number| permits.acquire(&client(number))).collect();
        assert!(crowd.iter().all(Result::is_ok));
        assert!(matches!(permits.acquire(&at(1)), Err(Scope::Address(_))));
        let others = [permits.acquire(&at(2)), permits.acquire(&at(3))];
        assert_eq!(permits.acquire(&at(4)).unwrap_err(), Scope::Total);
        assert!(permits.acquire(&Principal::operator()).is_ok());
        assert_eq!(permits.in_use(), 8);
        drop((crowd, others));
        assert_eq!(permits.in_use(), 0);
        assert!(permits.0.lock().unwrap().by_scope.is_empty());
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_quota() {
        let at = |text: &str| Principal::from_address(Some(text.parse().unwrap()));
        assert_eq!(at("2001:db8:1:2:3::1"), at("2001:db8:1:2::7"));
        assert_ne!(at("2001:db8:1:2::1"), at("2001:db8:1:3::1"));
        assert_eq!(at("::ffff:10.0.0.1"), at("10.0.0.1"));
        assert_ne!(at("10.0.0.1"), at("10.0.0.2"));
        let one = QuotaLimits { total: 1, client: 1, address: 1 };
        assert_eq!(QuotaLimits::with_share(1, 0), one);
    }
}

//! Who has how much of what there is little of: so that no caller, and no address, has all of it.

use bobak_core::{Error, ErrorKind};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who has something, or wants it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    caller: Option<Arc<str>>,
    address: Option<IpAddr>,
    exempt: bool,
}

/// What a share is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// All that there is.
    Whole,
    /// What one caller may have.
    Caller(Arc<str>),
    /// What one address may have.
    Address(IpAddr),
}

/// How much of a number of things one holder may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    /// All together.
    pub whole: usize,
    /// One caller.
    pub caller: usize,
    /// All callers of one address.
    pub address: usize,
}

/// What is taken, and by whom.
#[derive(Debug)]
pub struct Quotas {
    most: Portion,
    taken: usize,
    by: HashMap<Part, usize>,
}

/// Quotas behind a lock, whose holders give them back by dropping what they got. Cheap to clone:
/// clones are the same.
#[derive(Clone, Debug)]
pub struct Permits(Arc<Mutex<Quotas>>);

/// Something that is taken, until it is dropped.
#[derive(Debug)]
pub struct Permit {
    permits: Permits,
    holder: Holder,
}

impl Holder {
    /// A client at an address, whom nobody knows yet. Addresses of version 6 count by their network
    /// of 64 bits, since a client has all of it.
    #[must_use]
    pub fn at(address: Option<IpAddr>) -> Self {
        const NETWORK: u128 = !(u64::MAX as u128);
        let network = |address: IpAddr| match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6((u128::from(address) & NETWORK).into()),
            address => address,
        };
        Self { caller: None, address: address.map(network), exempt: false }
    }

    /// The operator at a door that the operating system guards: no share keeps him out.
    #[must_use]
    pub const fn operator() -> Self {
        Self { caller: None, address: None, exempt: true }
    }

    /// The same, by the name of a caller that was let in.
    #[must_use]
    pub fn named(mut self, caller: &str) -> Self {
        self.caller = Some(caller.into());
        self
    }

    /// Where it is, or what stands for that.
    #[must_use]
    pub const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Whether no share keeps it out.
    #[must_use]
    pub const fn is_exempt(&self) -> bool {
        self.exempt
    }

    /// The shares that it is counted in.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        let caller = self.caller.clone().map(Part::Caller);
        caller.into_iter().chain(self.address.map(Part::Address))
    }
}

impl Portion {
    /// So many, of which one caller may have `percent`, and all callers of one address half of the
    /// rest besides; one at least each.
    #[must_use]
    pub fn of(whole: usize, percent: u8) -> Self {
        let percent = usize::from(percent.min(100));
        let part = |percent: usize| (whole.saturating_mul(percent) / 100).max(1);
        Self { whole, caller: part(percent), address: part(50 + percent / 2) }
    }
}

impl Part {
    /// What somebody is told who has as much as this lets him have of `what`.
    #[must_use]
    pub fn refusal(&self, what: &str) -> Error {
        let whose = match self {
            Self::Whole => "there are as many",
            Self::Caller(_) => "you have as many",
            Self::Address(_) => "your address has as many",
        };
        Error::new(ErrorKind::Busy, format!("{whose} {what} as may be: try again later"))
    }
}

impl Quotas {
    /// Nothing is taken.
    #[must_use]
    pub fn new(most: Portion) -> Self {
        Self { most, taken: 0, by: HashMap::new() }
    }

    /// Takes one.
    ///
    /// # Errors
    /// The share that is used up.
    pub fn take(&mut self, holder: &Holder) -> Result<(), Part> {
        if !holder.exempt {
            let mut parts = std::iter::once(Part::Whole).chain(holder.parts());
            if let Some(full) = parts.find(|part| self.is_full(part)) {
                return Err(full);
            }
        }
        self.taken += 1;
        holder.parts().for_each(|part| *self.by.entry(part).or_default() += 1);
        Ok(())
    }

    /// Gives one back that was taken.
    pub fn give_back(&mut self, holder: &Holder) {
        self.taken = self.taken.saturating_sub(1);
        for part in holder.parts() {
            if let Some(count) = self.by.get_mut(&part) {
                *count -= 1;
                if *count == 0 {
                    self.by.remove(&part);
                }
            }
        }
    }

    /// Whether nothing is left of a share.
    #[must_use]
    pub fn is_full(&self, part: &Part) -> bool {
        let most = match part {
            Part::Whole => return self.taken >= self.most.whole,
            Part::Caller(_) => self.most.caller,
            Part::Address(_) => self.most.address,
        };
        self.by.get(part).is_some_and(|count| *count >= most)
    }
}

impl Permits {
    /// Nothing is taken.
    #[must_use]
    pub fn new(most: Portion) -> Self {
        Self(Arc::new(Mutex::new(Quotas::new(most))))
    }

    /// Takes one.
    ///
    /// # Errors
    /// The share that is used up.
    pub fn take(&self, holder: &Holder) -> Result<Permit, Part> {
        self.lock().take(holder)?;
        Ok(Permit { permits: self.clone(), holder: holder.clone() })
    }

    /// How many are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.lock().taken
    }

    fn lock(&self) -> MutexGuard<'_, Quotas> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.permits.lock().give_back(&self.holder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_all() {
        let at = |last: u8| Holder::at(Some(IpAddr::from([10, 0, 0, last])));
        let permits = Permits::new(Portion::of(8, 50));
        let ada: Vec<_> = (0..4).map(|last| permits.take(&at(last).named("ada"))).collect();
        assert!(ada.iter().all(Result::is_ok));
        assert_eq!(permits.take(&at(9).named("ada")).unwrap_err(), Part::Caller("ada".into()));
        drop(ada);
        let crowd: Vec<_> =
            (0..6).map(|number| permits.take(&at(1).named(&format!("c{number}")))).collect();
        assert!(crowd.iter().all(Result::is_ok));
        assert!(matches!(permits.take(&at(1)), Err(Part::Address(_))));
        let others = [permits.take(&at(2)), permits.take(&at(3))];
        assert_eq!(permits.take(&at(4)).unwrap_err(), Part::Whole);
        assert!(permits.take(&Holder::operator()).is_ok());
        assert_eq!(permits.taken(), 8);
        drop((crowd, others));
        assert_eq!(permits.taken(), 0);
        assert!(permits.0.lock().unwrap().by.is_empty());
    }

    #[test]
    fn addresses_of_one_network_are_one() {
        let at = |text: &str| Holder::at(Some(text.parse().unwrap()));
        assert_eq!(at("2001:db8:1:2:3::1"), at("2001:db8:1:2::7"));
        assert_ne!(at("2001:db8:1:2::1"), at("2001:db8:1:3::1"));
        assert_eq!(at("::ffff:10.0.0.1"), at("10.0.0.1"));
        assert_ne!(at("10.0.0.1"), at("10.0.0.2"));
        let one = Portion { whole: 1, caller: 1, address: 1 };
        assert_eq!(Portion::of(1, 0), one);
    }
}

//! The memory that request and response bodies may occupy.
//!
//! Each body has a limit of its own, but there are many connections. So all bodies together have a
//! budget, with quotas for each client. Bodies of up to [`RESERVATION_UNIT`] bytes need no reservation.

use crate::problem::Problem;
use bobak_serving::{Permit, Permits, Principal, QuotaLimits};
use bytes::Bytes;

/// The unit of reservation, and the length up to which a body needs none.
const RESERVATION_UNIT: usize = 64 << 10;

/// Memory that clients share.
pub(crate) struct MemoryBudget(Permits);

/// A client's part of the budget; returned when dropped.
#[derive(Default)]
pub(crate) struct MemoryReservation(Vec<Permit>);

/// Bytes with the reservation for them.
struct ReservedBytes {
    bytes: Bytes,
    _reservation: MemoryReservation,
}

impl MemoryBudget {
    /// A budget of so many bytes, of which one client may have `share` percent.
    pub fn new(bytes: usize, share: u8) -> Self {
        Self(Permits::new(QuotaLimits::with_share(bytes / RESERVATION_UNIT, share)))
    }

    /// Raises a reservation to `bytes` in all.
    ///
    /// # Errors
    /// 503 if that is more than the client's quota, or than is left.
    pub fn grow(
        &self,
        reservation: &mut MemoryReservation,
        principal: &Principal,
        bytes: usize,
    ) -> Result<(), Problem> {
        while reservation.0.len() < bytes.saturating_sub(1) / RESERVATION_UNIT {
            let permit = self.0.acquire(principal);
            reservation.0.push(permit.map_err(|scope| scope.quota_error("bytes in transit"))?);
        }
        Ok(())
    }

    /// Reserves memory for `bytes`; returned when the last clone of the result is dropped.
    ///
    /// # Errors
    /// As [`grow`](Self::grow).
    pub fn reserve(&self, bytes: Bytes, principal: &Principal) -> Result<Bytes, Problem> {
        let mut reservation = MemoryReservation::default();
        self.grow(&mut reservation, principal, bytes.len())?;
        Ok(Bytes::from_owner(ReservedBytes { bytes, _reservation: reservation }))
    }

    /// Whether so few bytes need no reservation.
    pub const fn is_small(bytes: usize) -> bool {
        bytes <= RESERVATION_UNIT
    }
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_cannot_reserve_whole_budget() {
        let budget = MemoryBudget::new(8 * RESERVATION_UNIT, 50);
        let [ada, bob] = ["ada", "bob"].map(|name| Principal::from_address(None).with_name(name));
        let bytes = |blocks: usize| Bytes::from(vec![7; blocks * RESERVATION_UNIT]);
        let reserved = budget.reserve(bytes(5), &ada).unwrap();
        assert!(budget.reserve(bytes(2), &ada).is_err());
        assert!(budget.reserve(bytes(1), &ada).is_ok(), "one block needs no reservation");
        assert!(budget.reserve(bytes(5), &bob).is_ok());
        let slice = reserved.slice(1..3);
        drop(reserved);
        assert!(budget.reserve(bytes(2), &ada).is_err(), "a slice is left");
        assert_eq!(&slice[..], [7, 7]);
        drop(slice);
        assert!(budget.reserve(bytes(5), &ada).is_ok());
        let mut reservation = MemoryReservation::default();
        assert!(budget.grow(&mut reservation, &ada, 6 * RESERVATION_UNIT).is_err());
        assert!(budget.reserve(bytes(2), &ada).is_err());
        drop(reservation);
        assert_eq!(budget.0.in_use(), 0);
    }
}

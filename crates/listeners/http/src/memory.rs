//! How many bytes wait in memory, of bodies that come and of answers that go: each has its limit, but
//! there are many connections. So beyond a piece each they are shared, as workers are.

use crate::problem::Problem;
use bobak_serving::{Permit, Permits, Principal, QuotaLimits};
use bytes::Bytes;

/// What each has without asking, and by which more is counted.
const PIECE: usize = 64 << 10;

/// Memory that is shared.
pub(crate) struct Memory(Permits);

/// What somebody has of it, until this is dropped.
#[derive(Default)]
pub(crate) struct Taken(Vec<Permit>);

/// Bytes that have their memory.
struct Kept {
    bytes: Bytes,
    _taken: Taken,
}

impl Memory {
    /// So many bytes, of which one caller may have `share` percent.
    pub fn new(bytes: usize, share: u8) -> Self {
        Self(Permits::new(QuotaLimits::with_share(bytes / PIECE, share)))
    }

    /// Takes what `bytes` in all need.
    ///
    /// # Errors
    /// 503 where the caller has as much as may be.
    pub fn grow(
        &self,
        taken: &mut Taken,
        principal: &Principal,
        bytes: usize,
    ) -> Result<(), Problem> {
        while taken.0.len() < bytes.saturating_sub(1) / PIECE {
            let permit = self.0.acquire(principal);
            taken.0.push(permit.map_err(|scope| scope.quota_error("bytes in transit"))?);
        }
        Ok(())
    }

    /// The same bytes, whose memory is given back when they are dropped.
    ///
    /// # Errors
    /// As [`grow`](Self::grow).
    pub fn keep(&self, bytes: Bytes, principal: &Principal) -> Result<Bytes, Problem> {
        let mut taken = Taken::default();
        self.grow(&mut taken, principal, bytes.len())?;
        Ok(Bytes::from_owner(Kept { bytes, _taken: taken }))
    }

    /// Whether bytes are so few that they need none.
    pub const fn is_little(bytes: usize) -> bool {
        bytes <= PIECE
    }
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_fills_the_memory() {
        let memory = Memory::new(8 * PIECE, 50);
        let [ada, bob] = ["ada", "bob"].map(|name| Principal::from_address(None).with_name(name));
        let bytes = |pieces: usize| Bytes::from(vec![7; pieces * PIECE]);
        let kept = memory.keep(bytes(5), &ada).unwrap();
        assert!(memory.keep(bytes(2), &ada).is_err());
        assert!(memory.keep(bytes(1), &ada).is_ok(), "a piece each has without asking");
        assert!(memory.keep(bytes(5), &bob).is_ok());
        let part = kept.slice(1..3);
        drop(kept);
        assert!(memory.keep(bytes(2), &ada).is_err(), "a part is left");
        assert_eq!(&part[..], [7, 7]);
        drop(part);
        assert!(memory.keep(bytes(5), &ada).is_ok());
        let mut taken = Taken::default();
        assert!(memory.grow(&mut taken, &ada, 6 * PIECE).is_err());
        assert!(memory.keep(bytes(2), &ada).is_err());
        drop(taken);
        assert_eq!(memory.0.in_use(), 0);
    }
}

//! UUIDs: 16 bytes; Bobak makes keys of version 7.

use crate::{Error, ErrorKind, Field, Result, Type, Value, ValueRef};
use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
pub use uuid::Uuid;

impl Field for Uuid {
    const TYPE: Type = Type::Uuid;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        Ok(Value::Bytes(Cow::Borrowed(self.as_bytes())))
    }

    /// Reads 16 bytes, or any text form of a UUID.
    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Bytes(bytes) => Self::from_slice(bytes).map_err(|_| {
                Error::new(ErrorKind::Mismatch, format!("{} bytes, but a UUID has 16", bytes.len()))
            }),
            ValueRef::Text(text) => Self::try_parse(text).map_err(|error| {
                Error::new(ErrorKind::Mismatch, format!("'{text}' is not a UUID: {error}"))
            }),
            _ => Err(Error::mismatch("a UUID", value)),
        }
    }
}

/// A new key of version 7 (RFC 9562). It sorts after every key that this process made before.
///
/// It has 48 bits of milliseconds and a counter of 12 bits, then 62 bits of SipHash with a key from the
/// system's random source.
#[must_use]
pub(crate) fn new_v7() -> Uuid {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static LAST: AtomicU64 = AtomicU64::new(0);
    let millis = jiff::Timestamp::now().as_millisecond().max(0).cast_unsigned();
    // If more than 4,096 keys are made in a millisecond, or the clock goes back, the counter carries into
    // the milliseconds: the order matters more than the exact time.
    let next = |last: u64| (last + 1).max(millis << 12);
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
    let tick = next(last.unwrap_or_else(|last| last));
    let random = KEY.hash_one(tick).to_be_bytes();
    let [_, _, _, _, _, _, a, b] = (tick & 0xfff).to_be_bytes();
    let [c, d, e, f, g, h, i, j] = random;
    uuid::Builder::from_unix_timestamp_millis(tick >> 12, &[a, b, c, d, e, f, g, h, i, j])
        .into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_keys_are_ascending_and_of_version_7() {
        let keys: Vec<_> = (0..10_000).map(|_| new_v7()).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert!(keys.iter().all(|key| key.get_version_num() == 7));
        let now = jiff::Timestamp::now().as_millisecond();
        let made = i64::from_be_bytes(keys[0].as_bytes()[..8].try_into().unwrap()) >> 16;
        assert!((now - made).abs() < 60_000, "{made} is far from {now}");
    }
}

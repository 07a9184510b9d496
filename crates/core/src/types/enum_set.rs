//! Sets of the values of an enum in a column.

use crate::{Error, ErrorKind, Field, Result, Type, Value, ValueRef};
use serde_core::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// An enum whose values can be members of an [`EnumSet`]: `#[derive(Field)]` implements it for enums with `store = "integer"` whose
/// numbers are 0 to 62.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be in an `EnumSet`",
    note = "derive `Field` for an enum with `#[field(store = \"integer\")]` whose numbers are 0 to 62"
)]
pub trait SetMember: Sized + 'static {
    /// All values.
    const ALL: &'static [Self];

    /// The value's number, 0 to 62.
    fn number(&self) -> u32;
}

/// A set of values of an enum: the type of a column of integers, in which each member is one bit.
///
/// The member with the number n adds 2 to the power of n to the stored integer, so that the numbers must not change. A stored
/// integer with a bit that no value of the enum has is a `Mismatch`: nothing is lost.
///
/// ```
/// use bobak_core::{EnumSet, Field, SetMember, Value};
/// # #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Day { Saturday = 5, Sunday = 6 }
/// # impl SetMember for Day {
/// #     const ALL: &'static [Self] = &[Day::Saturday, Day::Sunday];
/// #     fn number(&self) -> u32 { *self as u32 }
/// # }
///
/// let mut days = EnumSet::from([Day::Sunday]);
/// days.insert(Day::Saturday);
/// assert_eq!(days.to_value()?, Value::Int(96));
/// assert!(days.contains(&Day::Sunday));
/// assert_eq!(format!("{days:?}"), "{Saturday, Sunday}");
/// # Ok::<(), bobak_core::Error>(())
/// ```
///
/// [`SetMethods`](crate::join::SetMethods) has conditions for queries. serde has it as a list.
pub struct EnumSet<E> {
    bits: i64,
    members: PhantomData<fn() -> E>,
}

impl<E: SetMember> EnumSet<E> {
    /// The set without members.
    #[must_use]
    pub const fn new() -> Self {
        Self::of_bits(0)
    }

    /// The set of all values.
    #[must_use]
    pub fn all() -> Self {
        Self::of_bits(E::ALL.iter().fold(0, |bits, member| bits | bit(member)))
    }

    /// Adds a member.
    pub fn insert(&mut self, member: E) {
        self.bits |= bit(&member);
    }

    /// Removes a member.
    pub fn remove(&mut self, member: &E) {
        self.bits &= !bit(member);
    }

    /// Whether it has a member.
    #[must_use]
    pub fn contains(&self, member: &E) -> bool {
        self.bits & bit(member) != 0
    }

    /// Whether it has one of the members of another set.
    #[must_use]
    pub const fn intersects(&self, other: &Self) -> bool {
        self.bits & other.bits != 0
    }

    /// Whether it has all members of another set.
    #[must_use]
    pub const fn is_superset(&self, other: &Self) -> bool {
        self.bits & other.bits == other.bits
    }

    /// Whether it has no member.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// The number of members.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bits.count_ones() as usize
    }

    /// The members, in the order of the enum.
    pub fn iter(&self) -> impl Iterator<Item = &'static E> {
        let bits = self.bits;
        E::ALL.iter().filter(move |member| bits & bit(*member) != 0)
    }
}

impl<E> EnumSet<E> {
    const fn of_bits(bits: i64) -> Self {
        Self { bits, members: PhantomData }
    }

    /// The stored integer.
    pub(crate) const fn bits(&self) -> i64 {
        self.bits
    }
}

fn bit<E: SetMember>(member: &E) -> i64 {
    1 << member.number().min(62)
}

impl<E: SetMember> Field for EnumSet<E> {
    const TYPE: Type = Type::I64;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        Ok(Value::Int(self.bits))
    }

    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        let ValueRef::Int(bits) = value else { return Err(Error::mismatch("an integer", value)) };
        let unknown = bits & !Self::all().bits;
        if unknown != 0 {
            let message =
                format!("the set {bits} has bits that no value of its enum has: {unknown}");
            return Err(Error::new(ErrorKind::Mismatch, message));
        }
        Ok(Self::of_bits(bits))
    }
}

impl<E: SetMember> FromIterator<E> for EnumSet<E> {
    fn from_iter<I: IntoIterator<Item = E>>(members: I) -> Self {
        Self::of_bits(members.into_iter().fold(0, |bits, member| bits | bit(&member)))
    }
}

impl<E: SetMember, const N: usize> From<[E; N]> for EnumSet<E> {
    fn from(members: [E; N]) -> Self {
        members.into_iter().collect()
    }
}

impl<E> Clone for EnumSet<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for EnumSet<E> {}

impl<E> Default for EnumSet<E> {
    fn default() -> Self {
        Self::of_bits(0)
    }
}

impl<E> PartialEq for EnumSet<E> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<E> Eq for EnumSet<E> {}

impl<E> Hash for EnumSet<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}

impl<E: SetMember + fmt::Debug> fmt::Debug for EnumSet<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<E: SetMember + Serialize> Serialize for EnumSet<E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, E: SetMember + Deserialize<'de>> Deserialize<'de> for EnumSet<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(|members| members.into_iter().collect())
    }
}

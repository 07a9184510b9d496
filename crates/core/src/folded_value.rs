//! Values that are keys of hash tables.

use crate::{Collation, ValueRef};

/// A value of a column, such that two are the same if and only if engines find them equal.
///
/// ```
/// use bobak_core::{Collation, FoldedValue, ValueRef};
/// let folded = |text| FoldedValue::new(ValueRef::Text(text), Collation::NoCase);
/// assert!(folded("Ada") == folded("ADA") && folded("Ada") != folded("Bob"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FoldedValue {
    /// An integer.
    Int(i64),
    /// In the folded form of the column's collation.
    Text(Box<str>),
    /// Bytes.
    Bytes(Box<[u8]>),
    /// The bits; zero and minus zero are one value.
    Float(u64),
}

impl FoldedValue {
    /// The value in a column of a collation; `None` for NULL, which equals nothing.
    #[must_use]
    pub fn new(value: ValueRef<'_>, collation: Collation) -> Option<Self> {
        Some(match value {
            ValueRef::Null => return None,
            ValueRef::Int(value) => Self::Int(value),
            ValueRef::Float(value) => Self::Float((value + 0.0).to_bits()),
            ValueRef::Text(value) => Self::Text(collation.fold(value).into()),
            ValueRef::Bytes(value) => Self::Bytes(value.into()),
        })
    }
}

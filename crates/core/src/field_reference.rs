//! References by several fields: each has the value of a field of the record that is referred to.

use std::marker::PhantomData;

/// The most fields of a reference: as many as a key has.
const MAX_FIELDS: usize = 8;

/// Two columns that have the same value in linked rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnPair {
    /// The index of the column in the table that the rows are linked from.
    pub from: usize,
    /// The index of the column in the linked table.
    pub to: usize,
}

impl ColumnPair {
    /// The pair in the other direction.
    #[must_use]
    pub const fn swapped(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

/// A field of `A` that has the value of a field of the `B` referred to: one of those of
/// [`ToOne::by_fields`](crate::ToOne::by_fields).
pub struct FieldReference<A, B> {
    pair: ColumnPair,
    nullable: bool,
    records: PhantomData<fn() -> (A, B)>,
}

impl<A, B> Clone for FieldReference<A, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A, B> Copy for FieldReference<A, B> {}

impl<A, B> FieldReference<A, B> {
    pub(crate) const fn new(pair: ColumnPair, nullable: bool) -> Self {
        Self { pair, nullable, records: PhantomData }
    }
}

/// The pairs of columns of a reference by fields, but for the first one.
#[derive(Clone, Copy)]
pub(crate) struct MorePairs {
    pairs: [ColumnPair; MAX_FIELDS - 1],
    count: usize,
}

impl MorePairs {
    pub const NONE: Self =
        Self { pairs: [ColumnPair { from: 0, to: 0 }; MAX_FIELDS - 1], count: 0 };

    /// The first pair, the others, and whether a field may be NULL.
    pub const fn of_fields<A, B, const N: usize>(
        fields: [FieldReference<A, B>; N],
    ) -> (ColumnPair, Self, bool) {
        assert!(N > 0 && N <= MAX_FIELDS, "a reference has 1 to 8 fields");
        let (mut more, mut nullable) = (Self::NONE, fields[0].nullable);
        while more.count + 1 < N {
            let field = fields[more.count + 1];
            more.pairs[more.count] = field.pair;
            nullable |= field.nullable;
            more.count += 1;
        }
        (fields[0].pair, more, nullable)
    }

    /// The pairs in the other direction.
    pub const fn swapped(mut self) -> Self {
        let mut at = 0;
        while at < self.count {
            self.pairs[at] = self.pairs[at].swapped();
            at += 1;
        }
        self
    }

    pub fn as_slice(&self) -> &[ColumnPair] {
        self.pairs.get(..self.count).unwrap_or_default()
    }
}

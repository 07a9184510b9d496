//! Sets of columns, as bits.

/// A set of columns of a table, by their indexes in the schema.
///
/// It is part of the key of every prepared-statement cache: updates of different columns are different
/// statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FieldSet([u64; 4]);

impl FieldSet {
    /// The largest number of columns that a table may have.
    pub const MAX: usize = 256;

    /// The empty set.
    pub const EMPTY: Self = Self([0; 4]);

    /// The columns `0..count`. Ignores columns from [`FieldSet::MAX`] on.
    #[must_use]
    pub fn first(count: usize) -> Self {
        (0..count).collect()
    }

    /// The set without the columns of another one.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        let mut words = self.0;
        words.iter_mut().zip(other.0).for_each(|(word, other)| *word &= !other);
        Self(words)
    }

    /// Adds a column. Ignores columns from [`FieldSet::MAX`] on.
    #[inline]
    pub fn insert(&mut self, column: usize) {
        if let Some(word) = self.0.get_mut(column / 64) {
            *word |= 1 << (column % 64);
        }
    }

    /// Removes a column.
    #[inline]
    pub fn remove(&mut self, column: usize) {
        if let Some(word) = self.0.get_mut(column / 64) {
            *word &= !(1 << (column % 64));
        }
    }

    /// Whether the column is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, column: usize) -> bool {
        self.0.get(column / 64).is_some_and(|word| word & (1 << (column % 64)) != 0)
    }

    /// The number of columns in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// The columns in ascending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let mut words = self.0;
        let mut at = 0;
        std::iter::from_fn(move || {
            loop {
                let word = words.get_mut(at)?;
                if *word != 0 {
                    let bit = word.trailing_zeros() as usize;
                    *word &= *word - 1;
                    return Some(at * 64 + bit);
                }
                at += 1;
            }
        })
    }

    /// The set with these four words. See [`words`](Self::words).
    #[must_use]
    pub const fn from_words(words: [u64; 4]) -> Self {
        Self(words)
    }

    /// The set's four words, with the lowest columns first: its form in a batch.
    #[must_use]
    pub const fn words(&self) -> [u64; 4] {
        self.0
    }
}

impl FromIterator<usize> for FieldSet {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> Self {
        let mut set = Self::EMPTY;
        columns.into_iter().for_each(|column| set.insert(column));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterator_returns_columns_of_every_word_in_order() {
        let columns = [0, 1, 63, 64, 127, 130, 255];
        let mut set: FieldSet = columns.into_iter().rev().collect();
        assert!(set.iter().eq(columns));
        set.remove(64);
        set.insert(FieldSet::MAX);
        assert_eq!((set.len(), set.contains(64), set.contains(255)), (6, false, true));
        assert_eq!(FieldSet::EMPTY.iter().next(), None);
        assert!(FieldSet::first(70).iter().eq(0..70));
    }
}

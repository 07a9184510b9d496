//! One table: its rows and their indexes.

use crate::hash_index::HashIndex;
use crate::order::{compare_rows, hash_value, integer_prefix, prefix, prefix_integer};
use crate::rows::{RowBytes, RowSlots};
use crate::search::SearchCache;
use crate::sorted::SortedSlots;
use bobak_core::codec::EncodedRow;
use bobak_core::compare_in_column;
use bobak_core::{Error, IndexSchema, Order, Result, Storage, TableSchema, ValueRef};
use bobak_engine_common::{RowRules, duplicate_error, exact_integer, no_key_left, with_generated};
use std::cmp::Ordering;
use std::hash::Hasher;
use std::sync::Arc;

/// A table's content at one moment. Clones share nearly all of it.
#[derive(Clone)]
pub(super) struct TableState {
    pub schema: Arc<TableSchema>,
    rules: Arc<RowRules>,
    rows: RowSlots,
    /// The key's index, then those of the schema in its order.
    indexes: Vec<TableIndex>,
    /// The largest key that the table ever had, if it never reuses keys.
    largest_key: Option<i64>,
    /// If the table is searched.
    search: Option<Arc<SearchCache>>,
}

/// An index of a table. The key has one, too.
#[derive(Clone)]
pub(super) struct TableIndex {
    /// The positions of its columns.
    pub columns: Vec<usize>,
    /// Whether no two rows may be equal in all columns, unless one of them is NULL.
    pub unique: bool,
    /// Its columns, followed by those of the key: no two rows are equal in all of these.
    all_columns: Vec<usize>,
    /// Whether a prefix is the whole value: a key of one integer column.
    exact: bool,
    /// The slots in order.
    pub order: SortedSlots,
    /// For unique indexes, unless they are exact.
    hash: Option<HashIndex>,
}

impl TableState {
    /// An empty table.
    ///
    /// # Errors
    /// `Unsupported` for an unknown rule, `Schema` if a rule names an unknown column.
    pub fn new(schema: Arc<TableSchema>) -> Result<Self> {
        let rules = RowRules::new(&schema)?;
        let key = IndexSchema { name: "key".into(), columns: schema.key().to_vec(), unique: true };
        let indexes = std::iter::once(&key)
            .chain(schema.indexes())
            .map(|index| TableIndex::new(&schema, index))
            .collect();
        let largest_key = schema.never_reuses_keys().then_some(0);
        let search = schema.search().map(|_| Arc::default());
        let (rules, rows) = (Arc::new(rules), RowSlots::default());
        Ok(Self { schema, rules, rows, indexes, largest_key, search })
    }

    /// The rows by slot.
    pub fn slots(&self) -> &RowSlots {
        &self.rows
    }

    /// The index of the last search, if the table is searched.
    pub fn search(&self) -> Option<&SearchCache> {
        self.search.as_deref()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row in a slot.
    #[inline]
    pub fn row(&self, slot: u32) -> Option<EncodedRow<'_>> {
        self.rows.get(slot).map(|bytes| EncodedRow::new(bytes))
    }

    /// The bytes of the row in a slot.
    #[inline]
    pub fn bytes(&self, slot: u32) -> Option<&RowBytes> {
        self.rows.get(slot)
    }

    /// The index over the key.
    #[inline]
    pub fn key(&self) -> &TableIndex {
        self.indexes.first().expect("the key's index is made first")
    }

    /// The key's index, then those of the schema.
    pub fn indexes(&self) -> &[TableIndex] {
        &self.indexes
    }

    /// The slot of the row with these values in the columns of a unique index, in the index's order.
    #[inline]
    pub fn find<'v>(
        &self,
        index: &TableIndex,
        value: impl Fn(usize) -> ValueRef<'v>,
    ) -> Option<u32> {
        index.find(self, value)
    }

    /// Another row with the same values in a unique index: the number of the index, and the slot.
    #[inline]
    pub fn conflict(&self, row: EncodedRow<'_>, own: Option<u32>) -> Option<(usize, u32)> {
        self.indexes.iter().enumerate().find_map(|(number, index)| {
            let slot = index.conflict(self, row)?;
            (Some(slot) != own).then_some((number, slot))
        })
    }

    /// Another row with the same values in one unique index.
    #[inline]
    pub fn conflict_in(&self, index: usize, row: EncodedRow<'_>) -> Option<u32> {
        self.indexes.get(index)?.conflict(self, row)
    }

    /// The error for a [`conflict`](Self::conflict).
    #[cold]
    pub fn duplicate(&self, index: usize) -> Error {
        duplicate_error(&self.schema, index)
    }

    /// One more than the largest key, 1 in an empty table.
    ///
    /// # Errors
    /// `Full` if the largest key is `i64::MAX`.
    #[inline]
    pub fn next_key(&self) -> Result<i64> {
        let last = self.key().order.last().map(|(prefix, _)| prefix_integer(prefix));
        match last.max(self.largest_key) {
            Some(last) => last.checked_add(1).ok_or_else(|| no_key_left(&self.schema)),
            None => Ok(1),
        }
    }

    /// The largest key that the table ever had, if it never reuses keys.
    pub fn largest_key(&self) -> Option<i64> {
        self.largest_key
    }

    /// Raises the largest key, if the table never reuses keys.
    pub fn raise_largest_key(&mut self, key: Option<i64>) {
        self.largest_key = self.largest_key.map(|largest| largest.max(key.unwrap_or(largest)));
    }

    /// The row with the values of its generated columns.
    ///
    /// # Errors
    /// `OutOfRange` for a number that its column can't hold.
    #[inline]
    pub fn complete(&self, row: RowBytes) -> Result<RowBytes> {
        if !self.schema.has_generated_columns() {
            return Ok(row);
        }
        let complete = with_generated(&self.schema, &self.rules, EncodedRow::new(&row))?;
        Ok(complete.map_or(row, Arc::from))
    }

    /// Checks a row's column types, NOT NULL and CHECK.
    ///
    /// # Errors
    /// `Constraint`, `Mismatch`, naming table and column.
    #[inline]
    pub fn check(&self, row: EncodedRow<'_>) -> Result<()> {
        self.rules.check(&self.schema, row)
    }

    /// Adds a row that was checked and has no conflict; returns its slot.
    ///
    /// # Errors
    /// `Full`.
    #[inline]
    pub fn add(&mut self, bytes: RowBytes) -> Result<u32> {
        let slot = self
            .rows
            .add(Arc::clone(&bytes))
            .map_err(|error| error.in_table(self.schema.name()))?;
        let row = EncodedRow::new(&bytes);
        for index in &mut self.indexes {
            index.insert(&self.schema, &self.rows, row, slot);
        }
        if let Some(largest) = &mut self.largest_key
            && let Some((prefix, _)) = self.indexes.first().and_then(|key| key.order.last())
        {
            *largest = prefix_integer(prefix).max(*largest);
        }
        Ok(slot)
    }

    /// Removes a row from the table and its indexes. Its slot is not reused before [`free`](Self::free).
    pub fn remove(&mut self, slot: u32) -> Option<RowBytes> {
        let bytes = Arc::clone(self.rows.get(slot)?);
        let row = EncodedRow::new(&bytes);
        for index in &mut self.indexes {
            index.remove(&self.schema, &self.rows, row, slot);
        }
        self.rows.set(slot, None)
    }

    /// Makes the slot of a removed row available again.
    pub fn free(&mut self, slot: u32) {
        self.rows.free(slot);
    }

    /// Restores a removed row in its slot, which was not freed.
    pub fn put_back(&mut self, slot: u32, bytes: &RowBytes) {
        self.rows.set(slot, Some(Arc::clone(bytes)));
        let row = EncodedRow::new(bytes);
        for index in &mut self.indexes {
            index.insert(&self.schema, &self.rows, row, slot);
        }
    }

    /// Replaces a row by one that was checked and has no conflict; returns the old one.
    pub fn replace(&mut self, slot: u32, bytes: &RowBytes) -> Option<RowBytes> {
        let old = Arc::clone(self.rows.get(slot)?);
        let (before, after) = (EncodedRow::new(&old), EncodedRow::new(bytes));
        let schema = &self.schema;
        let moved =
            |index: &TableIndex| compare_rows(schema, &index.all_columns, before, after).is_ne();
        let moved: Vec<bool> = self.indexes.iter().map(moved).collect();
        let moving = |indexes: &mut Vec<TableIndex>, step: &mut dyn FnMut(&mut TableIndex)| {
            let pairs = indexes.iter_mut().zip(&moved);
            pairs.filter(|(_, moved)| **moved).for_each(|(index, _)| step(index));
        };
        let rows = &self.rows;
        moving(&mut self.indexes, &mut |index| {
            index.remove(schema, rows, before, slot);
        });
        self.rows.set(slot, Some(Arc::clone(bytes)));
        let rows = &self.rows;
        moving(&mut self.indexes, &mut |index| {
            index.insert(schema, rows, after, slot);
        });
        Some(old)
    }
}

impl TableIndex {
    fn new(schema: &TableSchema, index: &IndexSchema) -> Self {
        let storage = |position: usize| schema.columns().get(position).map(|c| c.storage);
        let exact = index.columns == schema.key()
            && matches!(index.columns[..], [position] if storage(position) == Some(Storage::Int));
        let mut all_columns = index.columns.clone();
        for &position in schema.key() {
            if !all_columns.contains(&position) {
                all_columns.push(position);
            }
        }
        Self {
            columns: index.columns.clone(),
            unique: index.unique,
            all_columns,
            exact,
            order: SortedSlots::default(),
            hash: (index.unique && !exact).then(HashIndex::new),
        }
    }

    /// Its columns, followed by the other key columns: the sort order.
    pub fn all_columns(&self) -> &[usize] {
        &self.all_columns
    }

    /// Its first column.
    pub fn first_column(&self) -> usize {
        self.columns.first().copied().unwrap_or_default()
    }

    #[inline]
    fn find<'v>(&self, table: &TableState, value: impl Fn(usize) -> ValueRef<'v>) -> Option<u32> {
        if self.exact {
            let key = match value(0) {
                ValueRef::Int(key) => key,
                ValueRef::Float(float) => exact_integer(float)?,
                _ => return None,
            };
            return self.order.find(integer_prefix(key), |_| Ordering::Equal);
        }
        let schema = &table.schema;
        let hash = self.hash.as_ref()?;
        let hashed = self.hash_of(schema, hash, &value)?;
        hash.find(hashed, |slot| {
            table.row(slot).is_some_and(|row| {
                let mut columns = self.columns.iter().enumerate();
                columns.all(|(at, &column)| {
                    compare_in_column(schema, column, row.value(column), value(at)).is_eq()
                })
            })
        })
    }

    #[inline]
    fn conflict(&self, table: &TableState, row: EncodedRow<'_>) -> Option<u32> {
        if !self.unique {
            return None;
        }
        if self.exact {
            let prefix = prefix(&table.schema, self.first_column(), row.value(self.first_column()));
            // Keys usually arrive in ascending order.
            if self.order.last().is_none_or(|(last, _)| last < prefix) {
                return None;
            }
            return self.order.find(prefix, |_| Ordering::Equal);
        }
        self.find(table, |at| {
            let column = self.columns.get(at).copied();
            column.map_or(ValueRef::Null, |column| row.value(column))
        })
    }

    #[inline]
    fn insert(&mut self, schema: &TableSchema, rows: &RowSlots, row: EncodedRow<'_>, slot: u32) {
        let prefix = prefix(schema, self.first_column(), row.value(self.first_column()));
        let (columns, exact) = (&self.all_columns, self.exact);
        let before = |other| !exact && is_before(schema, columns, rows, other, row);
        self.order.insert(prefix, slot, before);
        if let Some(hash) = self.hash_of_row(schema, row)
            && let Some(index) = &mut self.hash
        {
            index.insert(hash, slot);
        }
    }

    fn remove(&mut self, schema: &TableSchema, rows: &RowSlots, row: EncodedRow<'_>, slot: u32) {
        let prefix = prefix(schema, self.first_column(), row.value(self.first_column()));
        let (columns, exact) = (&self.all_columns, self.exact);
        let before = |other| !exact && is_before(schema, columns, rows, other, row);
        let removed = self.order.remove(prefix, slot, before);
        debug_assert!(removed, "a row that is not in its index");
        if let Some(hash) = self.hash_of_row(schema, row)
            && let Some(index) = &mut self.hash
        {
            index.remove(hash, slot);
        }
    }

    #[inline]
    fn hash_of_row(&self, schema: &TableSchema, row: EncodedRow<'_>) -> Option<u64> {
        let hash = self.hash.as_ref()?;
        self.hash_of(schema, hash, &|at| {
            let column = self.columns.get(at).copied();
            column.map_or(ValueRef::Null, |column| row.value(column))
        })
    }

    /// The hash of values in the index's order; `None` if one is NULL, which equals no other value.
    #[inline]
    fn hash_of<'v>(
        &self,
        schema: &TableSchema,
        index: &HashIndex,
        value: &impl Fn(usize) -> ValueRef<'v>,
    ) -> Option<u64> {
        let mut hasher = index.hasher();
        for (at, &column) in self.columns.iter().enumerate() {
            let value = value(at);
            if value.is_null() {
                return None;
            }
            hash_value(schema, column, value, &mut hasher);
        }
        Some(hasher.finish())
    }
}

#[inline]
fn is_before(
    schema: &TableSchema,
    columns: &[usize],
    rows: &RowSlots,
    slot: u32,
    row: EncodedRow<'_>,
) -> bool {
    rows.get(slot)
        .is_some_and(|other| compare_rows(schema, columns, EncodedRow::new(other), row).is_lt())
}

/// Compares the rows in two slots by the steps of an order.
pub(super) fn compare_slots(table: &TableState, steps: &[Order], a: u32, b: u32) -> Ordering {
    let (Some(a), Some(b)) = (table.row(a), table.row(b)) else {
        return Ordering::Equal;
    };
    for step in steps {
        let column = step.column;
        let ordering = compare_in_column(&table.schema, column, a.value(column), b.value(column));
        if ordering.is_ne() {
            return if step.descending { ordering.reverse() } else { ordering };
        }
    }
    Ordering::Equal
}

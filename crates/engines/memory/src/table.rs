//! One table: its rows and the indexes over them, kept in step.

use crate::hash_index::HashIndex;
use crate::order::{compare_rows, hash_value, integer_prefix, prefix, prefix_integer};
use crate::rows::{RowBytes, Rows};
use crate::sorted::Sorted;
use bobak_core::codec::EncodedRow;
use bobak_core::compare_in_column;
use bobak_core::{Error, IndexSchema, Result, Storage, TableSchema, ValueRef};
use bobak_engine_common::{RowRules, duplicate_error, exact_integer, no_key_left};
use std::cmp::Ordering;
use std::hash::Hasher;
use std::sync::Arc;

/// A table's content at one moment. A clone shares nearly all of it.
#[derive(Clone)]
pub(super) struct TableState {
    pub schema: Arc<TableSchema>,
    rules: Arc<RowRules>,
    rows: Rows,
    /// The key's index, then those of the schema in its order.
    indexes: Vec<Index>,
}

/// An index over the rows of one table, the key's own among them.
#[derive(Clone)]
pub(super) struct Index {
    /// Its columns' places.
    pub columns: Vec<usize>,
    /// Whether no two rows may agree in all columns, none being NULL.
    pub unique: bool,
    /// Its columns, then those of the key: no two rows agree in all of these.
    all_columns: Vec<usize>,
    /// Whether a prefix says all: a key of one column of integers.
    exact: bool,
    /// The slots in order.
    pub order: Sorted,
    /// For unique indexes, unless they are exact.
    hash: Option<HashIndex>,
}

impl TableState {
    /// An empty table.
    ///
    /// # Errors
    /// `Unsupported` for a rule that is not known, `Schema` where one names an unknown column.
    pub fn new(schema: Arc<TableSchema>) -> Result<Self> {
        let rules = RowRules::new(&schema)?;
        let key = IndexSchema { name: "key".into(), columns: schema.key().to_vec(), unique: true };
        let indexes = std::iter::once(&key)
            .chain(schema.indexes())
            .map(|index| Index::new(&schema, index))
            .collect();
        Ok(Self { schema, rules: Arc::new(rules), rows: Rows::default(), indexes })
    }

    /// How many rows there are.
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
    pub fn key(&self) -> &Index {
        self.indexes.first().expect("the key's index is made first")
    }

    /// The key's index, then those of the schema.
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// The slot of the row that has these values in the columns of a unique index, in its order.
    #[inline]
    pub fn find<'v>(&self, index: &Index, value: impl Fn(usize) -> ValueRef<'v>) -> Option<u32> {
        index.find(self, value)
    }

    /// Another row with the row's values in a unique index: the index's number and the slot.
    #[inline]
    pub fn conflict(&self, row: EncodedRow<'_>, own: Option<u32>) -> Option<(usize, u32)> {
        self.indexes.iter().enumerate().find_map(|(number, index)| {
            let slot = index.conflict(self, row)?;
            (Some(slot) != own).then_some((number, slot))
        })
    }

    /// The error for a [`conflict`](Self::conflict).
    #[cold]
    pub fn duplicate(&self, index: usize) -> Error {
        duplicate_error(&self.schema, index)
    }

    /// One more than the largest key, 1 in an empty table.
    ///
    /// # Errors
    /// `Full` where the largest key is `i64::MAX`.
    #[inline]
    pub fn next_key(&self) -> Result<i64> {
        match self.key().order.last() {
            Some((prefix, _)) => {
                prefix_integer(prefix).checked_add(1).ok_or_else(|| no_key_left(&self.schema))
            }
            None => Ok(1),
        }
    }

    /// Checks a row's columns, NOT NULL and CHECK.
    ///
    /// # Errors
    /// `Constraint`, `Mismatch`, naming table and column.
    #[inline]
    pub fn check(&self, row: EncodedRow<'_>) -> Result<()> {
        self.rules.check(&self.schema, row)
    }

    /// Adds a row that was checked and conflicts with none; gives its slot.
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
        Ok(slot)
    }

    /// Takes a row out of the table and its indexes. Its slot is not used again before
    /// [`free`](Self::free).
    pub fn remove(&mut self, slot: u32) -> Option<RowBytes> {
        let bytes = Arc::clone(self.rows.get(slot)?);
        let row = EncodedRow::new(&bytes);
        for index in &mut self.indexes {
            index.remove(&self.schema, &self.rows, row, slot);
        }
        self.rows.set(slot, None)
    }

    /// Lets the slot of a removed row be used again.
    pub fn free(&mut self, slot: u32) {
        self.rows.free(slot);
    }

    /// Puts a removed row back in its slot, which was not freed.
    pub fn put_back(&mut self, slot: u32, bytes: &RowBytes) {
        self.rows.set(slot, Some(Arc::clone(bytes)));
        let row = EncodedRow::new(bytes);
        for index in &mut self.indexes {
            index.insert(&self.schema, &self.rows, row, slot);
        }
    }

    /// Puts another row in a row's place, which was checked and conflicts with none; gives the old.
    pub fn replace(&mut self, slot: u32, bytes: &RowBytes) -> Option<RowBytes> {
        let old = Arc::clone(self.rows.get(slot)?);
        let (before, after) = (EncodedRow::new(&old), EncodedRow::new(bytes));
        let schema = &self.schema;
        let moved = |index: &Index| compare_rows(schema, &index.all_columns, before, after).is_ne();
        let moved: Vec<bool> = self.indexes.iter().map(moved).collect();
        let moving = |indexes: &mut Vec<Index>, step: &mut dyn FnMut(&mut Index)| {
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

impl Index {
    fn new(schema: &TableSchema, index: &IndexSchema) -> Self {
        let storage = |place: usize| schema.columns().get(place).map(|c| c.storage);
        let exact = index.columns == schema.key()
            && matches!(index.columns[..], [place] if storage(place) == Some(Storage::Int));
        let mut all_columns = index.columns.clone();
        for &place in schema.key() {
            if !all_columns.contains(&place) {
                all_columns.push(place);
            }
        }
        Self {
            columns: index.columns.clone(),
            unique: index.unique,
            all_columns,
            exact,
            order: Sorted::default(),
            hash: (index.unique && !exact).then(HashIndex::new),
        }
    }

    /// Its columns, then those of the key that are not among them: what its order is by.
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
            // Keys mostly come in ascending order.
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
    fn insert(&mut self, schema: &TableSchema, rows: &Rows, row: EncodedRow<'_>, slot: u32) {
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

    fn remove(&mut self, schema: &TableSchema, rows: &Rows, row: EncodedRow<'_>, slot: u32) {
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

    /// The hash of values in the index's order; `None` where one is NULL: it equals no other.
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
    rows: &Rows,
    slot: u32,
    row: EncodedRow<'_>,
) -> bool {
    rows.get(slot)
        .is_some_and(|other| compare_rows(schema, columns, EncodedRow::new(other), row).is_lt())
}

//! One table: its rows and the indexes over them, kept in step.

use crate::check::Check;
use crate::hash_index::HashIndex;
use crate::order::{
    compare_rows, exact_integer, hash_value, integer_prefix, prefix, prefix_integer,
};
use crate::rows::{RowBytes, Rows};
use crate::sorted::Sorted;
use bobak_core::codec::EncodedRow;
use bobak_core::compare_in_column;
use bobak_core::{
    ColumnSchema, Error, ErrorKind, IndexSchema, Result, Storage, TableSchema, ValueRef,
};
use std::cmp::Ordering;
use std::hash::Hasher;
use std::sync::Arc;

/// A table's content at one moment. A clone shares nearly all of it.
#[derive(Clone)]
pub(super) struct TableState {
    pub schema: Arc<TableSchema>,
    rules: Arc<Rules>,
    rows: Rows,
    /// The key's index, then those of the schema in its order.
    indexes: Vec<Index>,
}

/// What each row is checked against.
struct Rules {
    /// For each column the tags of the codec that it may have, as bits.
    allowed: Vec<u8>,
    checks: Vec<Check>,
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

/// What the codec's tags are for.
const TAGS: u8 = 5;

impl TableState {
    /// An empty table.
    ///
    /// # Errors
    /// `Unsupported` for a rule that is not known, `Schema` where one names an unknown column.
    pub fn new(schema: Arc<TableSchema>) -> Result<Self> {
        let checks = schema
            .columns()
            .iter()
            .filter_map(|column| column.check.as_deref().map(|text| (column, text)))
            .map(|(column, text)| {
                Check::parse(text, &schema).map_err(|error| error.in_column(column.name.clone()))
            })
            .collect::<Result<_>>()?;
        let rules = Rules { allowed: schema.columns().iter().map(allowed_tags).collect(), checks };
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
        let columns = self.indexes.get(index).map_or(&[][..], |i| &i.columns);
        let names: Vec<&str> = columns
            .iter()
            .filter_map(|place| self.schema.columns().get(*place))
            .map(|column| column.name.as_ref())
            .collect();
        let what = if index == 0 { "key" } else { "value" };
        let message = match names[..] {
            [_] => format!("another row has this {what} already"),
            _ => format!("another row has these values in {} already", names.join(", ")),
        };
        let error = Error::new(ErrorKind::Duplicate, message).in_table(self.schema.name());
        match names.first() {
            Some(name) => error.in_column(*name),
            None => error,
        }
    }

    /// One more than the largest key, 1 in an empty table.
    ///
    /// # Errors
    /// `Full` where the largest key is `i64::MAX`.
    #[inline]
    pub fn next_key(&self) -> Result<i64> {
        match self.key().order.last() {
            Some((prefix, _)) => prefix_integer(prefix).checked_add(1).ok_or_else(|| {
                let message = "the largest key that there can be is taken, so none can be given";
                Error::new(ErrorKind::Full, message).in_table(self.schema.name())
            }),
            None => Ok(1),
        }
    }

    /// Checks a row's columns, NOT NULL and CHECK.
    ///
    /// # Errors
    /// `Constraint`, `Mismatch`, naming table and column.
    #[inline]
    pub fn check(&self, row: EncodedRow<'_>) -> Result<()> {
        let allowed = &self.rules.allowed;
        let tags = row.as_bytes().get(2..2 + allowed.len());
        let fits = |tags: &[u8]| {
            let mut pairs = tags.iter().zip(allowed);
            pairs.all(|(tag, allowed)| *tag < TAGS && allowed & (1 << tag) != 0)
        };
        if bobak_core::Row::len(&row) != allowed.len() || !tags.is_some_and(fits) {
            return Err(self.misfit(row));
        }
        match self.rules.checks.iter().find(|c| !c.holds(&self.schema, row)) {
            None => Ok(()),
            Some(check) => {
                let message = format!("the rule '{}' does not hold", check.text());
                let error = Error::new(ErrorKind::Constraint, message);
                let mut columns = self.schema.columns().iter();
                let column = columns.find(|c| c.check.as_deref() == Some(check.text()));
                let error = error.in_table(self.schema.name());
                Err(match column {
                    Some(column) => error.in_column(column.name.clone()),
                    None => error,
                })
            }
        }
    }

    #[cold]
    fn misfit(&self, row: EncodedRow<'_>) -> Error {
        let columns = self.schema.columns();
        let (found, wanted) = (bobak_core::Row::len(&row), columns.len());
        if found != wanted {
            let error = Error::wrong_number(ErrorKind::Mismatch, found, wanted, "column");
            return error.in_table(self.schema.name());
        }
        let wrong = columns.iter().enumerate().find_map(|(place, column)| {
            let value = row.value(place);
            let error = match value {
                ValueRef::Null if column.nullable => return None,
                ValueRef::Null => Error::new(ErrorKind::Constraint, "a required value is NULL"),
                _ if allowed_tags(column) & (1 << tag(value)) != 0 => return None,
                _ => Error::mismatch(column.storage.name(), value),
            };
            Some(error.in_column(column.name.clone()))
        });
        wrong
            .unwrap_or_else(|| Error::new(ErrorKind::Mismatch, "the row's bytes are damaged"))
            .in_table(self.schema.name())
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

fn allowed_tags(column: &ColumnSchema) -> u8 {
    let null = u8::from(column.nullable);
    null | match column.storage {
        Storage::Int => 1 << 1,
        Storage::Float => 1 << 2,
        Storage::Text => 1 << 3,
        Storage::Bytes => 1 << 4,
        Storage::Any => 0b1_1110,
    }
}

/// The codec's tag for a value.
pub(super) const fn tag(value: ValueRef<'_>) -> u8 {
    match value {
        ValueRef::Null => 0,
        ValueRef::Int(_) => 1,
        ValueRef::Float(_) => 2,
        ValueRef::Text(_) => 3,
        ValueRef::Bytes(_) => 4,
    }
}

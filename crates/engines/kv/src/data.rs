//! The layout of the file: one redb table, whose keys begin with a table's number and an index's.
//!
//! | key | value |
//! |---|---|
//! | table 0, index 0, the table's number | its schema, as JSON |
//! | table 0, index 1, the table's number | the largest key that the table ever had, if it never reuses keys: 8 bytes, the most significant first |
//! | table, 0, the key's sort key | the row, in the row codec |
//! | table, index, the index's sort key, the key's sort key | the length of the part before the key's sort key |
//!
//! Table numbers and lengths have 4 bytes, index numbers 2, the most significant first.

use crate::catalog::KvTable;
use crate::error::failed;
use bobak_core::codec::EncodedRow;
use bobak_core::{Error, ErrorKind, Result};
use bobak_engine_common::RowStore;
use redb::{
    AccessGuard, Range, ReadOnlyTable, ReadTransaction, ReadableTable, Table, TableDefinition,
};
use std::ops::Bound;

type Bytes = &'static [u8];

/// The one table of redb.
pub(super) const DATA: TableDefinition<'static, Bytes, Bytes> = TableDefinition::new("bobak");

/// Greater than any byte that follows a whole sort key, or a part of one.
pub(super) const AFTER: u8 = 0xff;

/// The data as a transaction sees it.
pub(super) enum Data<'t> {
    Reading(ReadOnlyTable<Bytes, Bytes>),
    Writing(Table<'t, Bytes, Bytes>),
}

/// What a key was before a change: its value, if it had one.
pub(super) type Undo = (Vec<u8>, Option<Vec<u8>>);

/// The data in a write transaction.
pub(super) struct DataWriter<'t> {
    pub data: Data<'t>,
    /// Where changes are recorded, if a savepoint is set.
    pub undo: Option<&'t mut Vec<Undo>>,
    /// Set if a change failed, so that part of it may be in the transaction.
    pub failed: &'t mut bool,
}

/// The rows of one table in a write transaction.
pub(super) struct TableRows<'w, 't> {
    pub writer: &'w mut DataWriter<'t>,
    pub table: &'w KvTable,
}

/// What the keys of an index of a table begin with.
pub(super) fn prefix(table: u32, index: usize) -> Vec<u8> {
    let mut key = table.to_be_bytes().to_vec();
    key.extend_from_slice(&(index as u16).to_be_bytes());
    key
}

/// The key of the largest key that a table ever had.
pub(super) fn largest_key_place(table: u32) -> Vec<u8> {
    [prefix(0, 1), table.to_be_bytes().to_vec()].concat()
}

/// The key of the row that an index entry names.
pub(super) fn row_key(table: &KvTable, entry: &[u8], value: &[u8]) -> Vec<u8> {
    let length = value.first_chunk().map_or(0, |length| u32::from_be_bytes(*length));
    let key = entry.get(length as usize..).unwrap_or_default();
    [&prefix(table.id, 0), key].concat()
}

impl Data<'_> {
    /// The data of a read transaction.
    pub fn reading(redb: &ReadTransaction) -> Result<Self> {
        redb.open_table(DATA).map(Self::Reading).map_err(|error| failed("read", error))
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<AccessGuard<'_, Bytes>>> {
        let found = match self {
            Self::Reading(table) => ReadableTable::get(table, key),
            Self::Writing(table) => table.get(key),
        };
        found.map_err(|error| failed("read", error))
    }

    /// The entries from one key on, and before another.
    pub fn range(&self, from: Bound<&[u8]>, to: &[u8]) -> Result<Range<'_, Bytes, Bytes>> {
        let bounds = (from, Bound::Excluded(to));
        let found = match self {
            Self::Reading(table) => ReadableTable::range::<&[u8]>(table, bounds),
            Self::Writing(table) => table.range::<&[u8]>(bounds),
        };
        found.map_err(|error| failed("read", error))
    }

    /// The row with this sort key in an index.
    pub fn find(
        &self,
        table: &KvTable,
        index: usize,
        key: &[u8],
    ) -> Result<Option<AccessGuard<'_, Bytes>>> {
        let mut place = prefix(table.id, index);
        place.extend_from_slice(key);
        if index == 0 {
            return self.get(&place);
        }
        let mut to = place.clone();
        to.push(AFTER);
        let entry = self.range(Bound::Included(&place), &to)?.next();
        let Some(entry) = entry.transpose().map_err(|error| failed("read", error))? else {
            return Ok(None);
        };
        self.get(&row_key(table, entry.0.value(), entry.1.value()))
    }

    /// The row with the largest key.
    pub fn last(&self, table: &KvTable) -> Result<Option<AccessGuard<'_, Bytes>>> {
        let from = prefix(table.id, 0);
        let to = prefix(table.id, 1);
        let last = self.range(Bound::Included(&from), &to)?.next_back();
        let last = last.transpose().map_err(|error| failed("read", error))?;
        Ok(last.map(|(_, row)| row))
    }

    /// Up to `limit` entries after a key and before another: for changes while walking.
    pub fn part(&self, after: &[u8], to: &[u8], limit: usize) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let entries = self.range(Bound::Excluded(after), to)?.take(limit);
        let owned = entries.map(|entry| {
            let (key, value) = entry.map_err(|error| failed("read", error))?;
            Ok((key.value().to_vec(), value.value().to_vec()))
        });
        owned.collect()
    }
}

impl DataWriter<'_> {
    /// Sets the value of a key, or removes the key.
    pub fn put(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let Data::Writing(table) = &mut self.data else {
            return Err(Error::new(ErrorKind::ReadOnly, "the transaction is read-only"));
        };
        let changed = match value {
            Some(value) => table.insert(key, value),
            None => table.remove(key),
        };
        match changed {
            Ok(old) => {
                if let Some(undo) = &mut self.undo {
                    undo.push((key.to_vec(), old.map(|old| old.value().to_vec())));
                }
                Ok(())
            }
            Err(error) => {
                *self.failed = true;
                Err(failed("write", error))
            }
        }
    }
}

impl RowStore for TableRows<'_, '_> {
    fn find(&self, index: usize, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let found = self.writer.data.find(self.table, index, key)?;
        Ok(found.map(|row| row.value().to_vec()))
    }

    fn last(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.writer.data.last(self.table)?.map(|row| row.value().to_vec()))
    }

    fn largest_key(&self) -> Result<i64> {
        let found = self.writer.data.get(&largest_key_place(self.table.id))?;
        let Some(found) = found else { return Ok(0) };
        let bytes = found.value().try_into().map_err(|_| {
            Error::new(ErrorKind::Corrupt, "the largest key is damaged")
                .in_table(self.table.stored.schema.name())
        })?;
        Ok(i64::from_be_bytes(bytes))
    }

    fn set_largest_key(&mut self, key: i64) -> Result<()> {
        self.writer.put(&largest_key_place(self.table.id), Some(&key.to_be_bytes()))
    }

    fn replace(&mut self, old: Option<EncodedRow<'_>>, new: Option<EncodedRow<'_>>) -> Result<()> {
        for index in 0..=self.table.stored.schema.indexes().len() {
            let [before, after] = [old, new].map(|row| row.map(|row| self.table.entry(index, row)));
            if before != after
                && let Some(before) = &before
            {
                self.writer.put(before, None)?;
            }
            if let (Some(after), Some(row)) = (&after, new)
                && (index == 0 || before.as_ref() != Some(after))
            {
                let key = self.table.stored.index_key(0, row).len();
                let length = (after.len().saturating_sub(key) as u32).to_be_bytes();
                let value = if index == 0 { row.as_bytes() } else { &length };
                self.writer.put(after, Some(value))?;
            }
        }
        Ok(())
    }
}

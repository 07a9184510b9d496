//! The tables that the file has, and changes of them.

use crate::NAME;
use crate::data::{AFTER, Data, DataWriter, TableRows, largest_key_place, prefix};
use crate::error::failed;
use bobak_core::codec::EncodedRow;
use bobak_core::{Error, ErrorKind, Result, SchemaChange, TableSchema, ValueRef};
use bobak_engine_common::{
    AlterTables, ListedTable, RowStore, StoredTable, TableList, TableRebuild, add_rebuilt,
    alter_tables, reject_references, reject_searches, table_from_json, table_to_json,
};
use std::ops::Bound;
use std::sync::Arc;

/// All tables at one moment.
pub(super) type TableCatalog = TableList<KvTable>;

/// A table with its number in the file.
pub(super) struct KvTable {
    pub id: u32,
    pub stored: StoredTable,
}

/// The number of the table that has the schemas.
const SCHEMAS: u32 = 0;
/// The number of rows that are copied at a time.
const COPIED_ROWS: usize = 512;

impl KvTable {
    /// The key of a row's entry in an index.
    pub fn entry(&self, index: usize, row: EncodedRow<'_>) -> Vec<u8> {
        let mut key = prefix(self.id, index);
        key.extend_from_slice(&self.stored.index_key(index, row));
        if index > 0 {
            key.extend_from_slice(&self.stored.index_key(0, row));
        }
        key
    }
}

impl ListedTable for KvTable {
    fn schema(&self) -> &Arc<TableSchema> {
        &self.stored.schema
    }
}

/// Reads the schemas.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(super) fn load(data: &Data<'_>) -> Result<TableCatalog> {
    let (from, to) = (prefix(SCHEMAS, 0), prefix(SCHEMAS, 1));
    let tables = data.range(Bound::Included(&from), &to)?.map(|entry| {
        let (key, value) = entry.map_err(|error| failed("read the schemas", error))?;
        let damaged = || Error::new(ErrorKind::Corrupt, "a stored schema is damaged");
        let id = key.value().get(from.len()..).and_then(|id| id.try_into().ok());
        let id = u32::from_be_bytes(id.ok_or_else(damaged)?);
        let json =
            serde_json::from_slice(value.value()).map_err(|error| damaged().with_source(error))?;
        Ok(KvTable { id, stored: StoredTable::new(Arc::new(table_from_json(&json)?))? })
    });
    tables.collect()
}

/// Makes all of the changes, or returns an error; the caller then undoes what was written.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(super) fn alter(
    catalog: &TableCatalog,
    writer: &mut DataWriter<'_>,
    changes: &[SchemaChange],
) -> Result<TableCatalog> {
    reject_searches(changes, NAME)?;
    let mut altered = AlteredCatalog { tables: catalog.clone(), writer };
    alter_tables(NAME, &mut altered, changes)?;
    Ok(altered.tables)
}

/// The tables while they are changed.
struct AlteredCatalog<'w, 't> {
    tables: TableCatalog,
    writer: &'w mut DataWriter<'t>,
}

impl AlterTables for AlteredCatalog<'_, '_> {
    type Table = KvTable;

    fn tables(&mut self) -> &mut TableCatalog {
        &mut self.tables
    }

    /// Gives a table the next number.
    fn create(&mut self, table: &Arc<TableSchema>) -> Result<KvTable> {
        reject_references(NAME, table)?;
        let id = self.tables.iter().map(|table| table.id).max().unwrap_or(SCHEMAS) + 1;
        let json = table_to_json(table).to_string();
        self.writer.put(&schema_key(id), Some(json.as_bytes()))?;
        Ok(KvTable { id, stored: StoredTable::new(Arc::clone(table))? })
    }

    /// Copies the table's rows to another number, and removes the old ones.
    fn rebuild(&mut self, old: &KvTable, rebuild: &TableRebuild) -> Result<KvTable> {
        let new = self.create(&rebuild.schema)?;
        let (mut after, to) = (prefix(old.id, 0), prefix(old.id, 1));
        loop {
            let part = self.writer.data.part(&after, &to, COPIED_ROWS)?;
            let Some((last, _)) = part.last() else { break };
            after.clone_from(last);
            let mut rows = TableRows { writer: self.writer, table: &new };
            for (_, row) in &part {
                add_rebuilt(&mut rows, &new.stored, rebuild, EncodedRow::new(row))?;
            }
        }
        if new.stored.schema.never_reuses_keys() {
            let mut key = TableRows { writer: self.writer, table: old }.largest_key()?;
            let last = TableRows { writer: self.writer, table: &new }.last()?;
            if let ([column], Some(row)) = (new.stored.schema.key(), last)
                && let ValueRef::Int(last) = EncodedRow::new(&row).value(*column)
            {
                key = key.max(last);
            }
            TableRows { writer: self.writer, table: &new }.set_largest_key(key)?;
        }
        self.remove(old)?;
        Ok(new)
    }

    fn remove(&mut self, old: &KvTable) -> Result<()> {
        self.writer.put(&schema_key(old.id), None)?;
        self.writer.put(&largest_key_place(old.id), None)?;
        let (from, mut to) = (prefix(old.id, 0), old.id.to_be_bytes().to_vec());
        to.push(AFTER);
        loop {
            let part = self.writer.data.part(&from, &to, COPIED_ROWS)?;
            if part.is_empty() {
                return Ok(());
            }
            part.iter().try_for_each(|(key, _)| self.writer.put(key, None))?;
        }
    }
}

fn schema_key(table: u32) -> Vec<u8> {
    [prefix(SCHEMAS, 0), table.to_be_bytes().to_vec()].concat()
}

//! The tables that the file has, and changes of them.

use crate::NAME;
use crate::data::{AFTER, Data, DataWriter, TableRows, largest_key_place, prefix};
use crate::error::failed;
use bobak_core::codec::EncodedRow;
use bobak_core::{Error, ErrorKind, Result, SchemaChange, TableAlteration, TableSchema};
use bobak_engine_common::{
    ColumnMap, ColumnMaps, RowStore, StoredTable, TableAdditions, TableRebuild, encode_row,
    missing_table, reject_references, table_exists, table_from_json, table_to_json,
};
use std::ops::Bound;
use std::sync::Arc;

/// All tables at one moment.
#[derive(Clone, Default)]
pub(super) struct TableCatalog {
    pub tables: Vec<Arc<KvTable>>,
    /// The schemas that were compared with their tables; replaced after each schema change.
    maps: Arc<ColumnMaps>,
}

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

impl TableCatalog {
    /// Reads the schemas.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn load(data: &Data<'_>) -> Result<Self> {
        let (from, to) = (prefix(SCHEMAS, 0), prefix(SCHEMAS, 1));
        let tables = data.range(Bound::Included(&from), &to)?.map(|entry| {
            let (key, value) = entry.map_err(|error| failed("read the schemas", error))?;
            let corrupt = |_| Error::new(ErrorKind::Corrupt, "a stored schema is damaged");
            let id = key.value().get(from.len()..).unwrap_or_default().try_into();
            let id = u32::from_be_bytes(id.map_err(corrupt)?);
            let json = serde_json::from_slice(value.value()).map_err(|error| {
                Error::new(ErrorKind::Corrupt, "a stored schema is damaged").with_source(error)
            })?;
            let stored = StoredTable::new(Arc::new(table_from_json(&json)?))?;
            Ok(Arc::new(KvTable { id, stored }))
        });
        Ok(Self { tables: tables.collect::<Result<_>>()?, maps: Arc::default() })
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.stored.schema.name().eq_ignore_ascii_case(name))
    }

    /// The stored table of a schema, whose columns are those of the schema in its order.
    ///
    /// # Errors
    /// `Schema` if it is missing, lacks columns, or needs a [map](Self::map).
    pub fn find(&self, schema: &TableSchema) -> Result<&KvTable> {
        match self.find_mapped(schema)? {
            (found, None) => Ok(found),
            (_, Some(_)) => {
                let message = "the stored table has its columns in other places";
                Err(Error::new(ErrorKind::Schema, message).in_table(schema.name()))
            }
        }
    }

    /// Where the schema's columns are in its table, if not in the same places.
    pub fn map(&self, schema: &TableSchema) -> Option<Arc<ColumnMap>> {
        self.find_mapped(schema).ok().and_then(|(_, map)| map)
    }

    fn find_mapped(&self, schema: &TableSchema) -> Result<(&KvTable, Option<Arc<ColumnMap>>)> {
        let position = self.position(schema.name());
        let found =
            position.and_then(|at| self.tables.get(at)).ok_or_else(|| missing_table(schema))?;
        Ok((found, self.maps.get(schema, &found.stored.schema)?))
    }

    /// Makes all of the changes, or returns an error; the caller then undoes what was written.
    ///
    /// # Errors
    /// As [`Session::alter`](bobak_core::Session::alter).
    pub fn alter(&self, writer: &mut DataWriter<'_>, changes: &[SchemaChange]) -> Result<Self> {
        let mut new = Self { tables: self.tables.clone(), maps: Arc::default() };
        let additions = TableAdditions::collect(changes)?;
        for change in changes {
            match change {
                SchemaChange::CreateTable(table) => {
                    if new.position(table.name()).is_some() {
                        return Err(table_exists(table));
                    }
                    let table = new.number(Arc::clone(table))?;
                    new.store(writer, table)?;
                }
                SchemaChange::AlterTable(alteration) => {
                    new.alter_table(writer, alteration)?;
                }
                SchemaChange::DropTable(table) => new.drop_table(writer, table)?,
                SchemaChange::AddColumn { .. } | SchemaChange::AddIndex { .. } => {}
                _ => return Err(Error::unsupported(NAME, "change capture")),
            }
        }
        for addition in &additions {
            new.add(writer, addition)?;
        }
        Ok(new)
    }

    /// Gives a table the next number.
    fn number(&self, schema: Arc<TableSchema>) -> Result<KvTable> {
        reject_references(NAME, &schema)?;
        let id = self.tables.iter().map(|table| table.id).max().unwrap_or(SCHEMAS) + 1;
        Ok(KvTable { id, stored: StoredTable::new(schema)? })
    }

    fn store(&mut self, writer: &mut DataWriter<'_>, table: KvTable) -> Result<()> {
        let json = table_to_json(&table.stored.schema).to_string();
        writer.put(&schema_key(table.id), Some(json.as_bytes()))?;
        self.tables.push(Arc::new(table));
        Ok(())
    }

    fn add(&mut self, writer: &mut DataWriter<'_>, addition: &TableAdditions) -> Result<()> {
        let (position, old) = self.stored(addition.table())?;
        let rebuild = addition.rebuild(&old.stored.schema)?;
        self.rebuild(writer, position, &old, &rebuild)
    }

    fn alter_table(
        &mut self,
        writer: &mut DataWriter<'_>,
        alteration: &TableAlteration,
    ) -> Result<()> {
        let (position, old) = self.stored(alteration.from())?;
        if self.position(alteration.to().name()).is_some_and(|other| other != position) {
            return Err(table_exists(alteration.to()));
        }
        let rebuild = TableRebuild::of(alteration, &old.stored.schema, false)?;
        self.rebuild(writer, position, &old, &rebuild)
    }

    fn drop_table(&mut self, writer: &mut DataWriter<'_>, table: &TableSchema) -> Result<()> {
        let (position, old) = self.stored(table)?;
        remove_all(writer, old.id)?;
        self.tables.remove(position);
        Ok(())
    }

    /// The table with this schema's name, and its position.
    fn stored(&self, schema: &TableSchema) -> Result<(usize, Arc<KvTable>)> {
        let position = self.position(schema.name()).ok_or_else(|| missing_table(schema))?;
        let table = self.tables.get(position).map(Arc::clone);
        Ok((position, table.ok_or_else(|| missing_table(schema))?))
    }

    /// Copies a table's rows to their new form, and removes the old one.
    fn rebuild(
        &mut self,
        writer: &mut DataWriter<'_>,
        position: usize,
        old: &KvTable,
        rebuild: &TableRebuild,
    ) -> Result<()> {
        let new = self.number(Arc::clone(&rebuild.schema))?;
        let (mut after, to) = (prefix(old.id, 0), prefix(old.id, 1));
        loop {
            let part = writer.data.part(&after, &to, COPIED_ROWS)?;
            let Some((last, _)) = part.last() else { break };
            after.clone_from(last);
            for (_, row) in &part {
                let row = EncodedRow::new(row);
                let row = encode_row(&new.stored.schema, |column| rebuild.value(row, column))?;
                let row = EncodedRow::new(&row);
                let mut rows = TableRows { writer: &mut *writer, table: &new };
                new.stored.check_new(&rows, row)?;
                rows.replace(None, Some(row))?;
            }
        }
        if new.stored.schema.never_reuses_keys() {
            let key = TableRows { writer: &mut *writer, table: old }.largest_key()?;
            TableRows { writer: &mut *writer, table: &new }.set_largest_key(key)?;
        }
        remove_all(writer, old.id)?;
        self.tables.remove(position);
        self.store(writer, new)
    }
}

/// Removes a table's schema, rows and index entries.
fn remove_all(writer: &mut DataWriter<'_>, table: u32) -> Result<()> {
    writer.put(&schema_key(table), None)?;
    writer.put(&largest_key_place(table), None)?;
    let from = prefix(table, 0);
    let mut to = table.to_be_bytes().to_vec();
    to.push(AFTER);
    loop {
        let part = writer.data.part(&from, &to, COPIED_ROWS)?;
        if part.is_empty() {
            return Ok(());
        }
        part.iter().try_for_each(|(key, _)| writer.put(key, None))?;
    }
}

fn schema_key(table: u32) -> Vec<u8> {
    let mut key = prefix(SCHEMAS, 0);
    key.extend_from_slice(&table.to_be_bytes());
    key
}

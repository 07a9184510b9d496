//! The table of an attached engine as a virtual table.

use crate::best_index;
use crate::cursor::TableCursor;
use crate::sessions::EngineSessions;
use crate::write;
use bobak_core::{Result, TableSchema};
use bobak_sql::{Dialect, declared_type, quote};
use bobak_sqlite::virtual_table::{IndexInfo, Module, RowChange, UpdateOutcome, VirtualTable};
use std::sync::Arc;

/// The name under which [`TableModule`] is registered.
pub(crate) const MODULE: &str = "bobak_attached";

/// Creates the virtual tables of one connection.
#[derive(Debug)]
pub(crate) struct TableModule(pub Arc<EngineSessions>);

/// A table of an attached engine.
#[derive(Debug)]
pub(crate) struct AttachedTable {
    pub(crate) sessions: Arc<EngineSessions>,
    /// The engine's position.
    pub(crate) engine: usize,
    pub(crate) schema: Arc<TableSchema>,
    /// The positions of engine and table, as `EXPLAIN` shows them.
    number: i32,
}

impl Module for TableModule {
    type Table = AttachedTable;

    const WRITABLE: bool = true;
    const EPONYMOUS: bool = false;

    fn connect(&self, name: &str, arguments: &[String]) -> Result<(AttachedTable, String)> {
        let (engine, at, schema) = self.0.attached().table_of(name, arguments)?;
        let declaration = declare(&schema);
        let number = (engine as i32) << 16 | (at & 0xffff) as i32;
        Ok((AttachedTable { sessions: Arc::clone(&self.0), engine, schema, number }, declaration))
    }
}

/// The positions of engine and table in a plan's number.
pub(crate) const fn split_number(number: i32) -> (usize, usize) {
    ((number >> 16) as usize, (number & 0xffff) as usize)
}

/// The `CREATE TABLE` statement that declares the columns to SQLite: with the types and collations
/// that they have in an SQLite file, so that SQLite compares and converts their values alike.
///
/// A key that its own engine hides is hidden here, too, so that `SELECT *` has the same columns.
///
/// An integer key is the rowid. Any other key is declared, since a table without rowids needs one.
/// SQLite accepts one key column, so a key of several columns gets a hidden one with all their bytes.
fn declare(table: &TableSchema) -> String {
    let mut columns: Vec<String> = table
        .columns()
        .iter()
        .enumerate()
        .map(|(position, column)| {
            let name = quote(Dialect::Sqlite, &column.name);
            let ty = declared_type(Dialect::Sqlite, column);
            let collation = best_index::collation_name(column.collation);
            let is_hidden = table.has_hidden_key() && table.key().contains(&position);
            let hidden = if is_hidden { " HIDDEN" } else { "" };
            format!("{name} {ty}{hidden} COLLATE {collation}")
        })
        .collect();
    let mut end = String::new();
    if !table.has_integer_key() {
        end.push_str(" WITHOUT ROWID");
        let key = match table.key() {
            [position] => {
                table.columns().get(*position).map_or(String::new(), |c| c.name.to_string())
            }
            _ => {
                let name = hidden_key(table);
                columns.push(format!("{} BLOB HIDDEN NOT NULL", quote(Dialect::Sqlite, &name)));
                name
            }
        };
        columns.push(format!("PRIMARY KEY ({})", quote(Dialect::Sqlite, &key)));
    }
    format!("CREATE TABLE x ({}){end}", columns.join(", "))
}

/// A name that no column has.
fn hidden_key(table: &TableSchema) -> String {
    let mut name = "bobak_key".to_owned();
    while table.column(&name).is_ok() {
        name.push('_');
    }
    name
}

impl VirtualTable for AttachedTable {
    type Cursor = TableCursor;

    fn best_index(&self, info: &mut IndexInfo<'_>) -> Result<bool> {
        let estimate = self.sessions.estimate(self.engine, &self.schema);
        best_index::choose(&self.schema, self.number, estimate, info)
    }

    fn open(&self) -> Result<TableCursor> {
        Ok(TableCursor::new(&self.sessions, self.engine, &self.schema))
    }

    fn update(&self, change: RowChange<'_>) -> Result<UpdateOutcome> {
        self.schema.check_writable()?;
        write::run(self, change).map_err(|error| error.in_table(self.schema.name()))
    }

    fn begin(&self) -> Result<()> {
        self.sessions.begin(self.engine).map_err(|error| error.in_table(self.schema.name()))
    }

    fn sync(&self) -> Result<()> {
        self.sessions.sync(self.engine)
    }

    fn commit(&self) {
        self.sessions.end(self.engine);
    }

    fn rollback(&self) {
        self.sessions.end(self.engine);
    }

    fn savepoint(&self, number: i32) -> Result<()> {
        self.sessions.savepoint(self.engine, number)
    }

    fn release(&self, number: i32) -> Result<()> {
        self.sessions.release(self.engine, number)
    }

    fn rollback_to(&self, number: i32) -> Result<()> {
        self.sessions.rollback_to(self.engine, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::{Collation, ColumnSchema, Uuid};

    #[test]
    fn columns_are_declared_as_in_an_sqlite_file() {
        let table = TableSchema::builder("t")
            .column(ColumnSchema::of::<Uuid>("id"))
            .column(ColumnSchema::of::<String>("bobak_key").collation(Collation::NoCase))
            .key(["id", "bobak_key"])
            .build()
            .unwrap();
        assert_eq!(
            declare(&table),
            "CREATE TABLE x (\"id\" UUID COLLATE BINARY, \"bobak_key\" TEXT COLLATE NOCASE, \
             \"bobak_key_\" BLOB HIDDEN NOT NULL, PRIMARY KEY (\"bobak_key_\")) WITHOUT ROWID"
        );
        let table = TableSchema::builder("t").column(ColumnSchema::of::<i64>("id")).key(["id"]);
        let declared = declare(&table.build().unwrap());
        assert_eq!(declared, "CREATE TABLE x (\"id\" INTEGER COLLATE BINARY)");
    }
}

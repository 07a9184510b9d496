//! A guest's table as a virtual table of the host.

use super::best_index;
use super::cursor::GuestCursor;
use super::guests::table_of;
use super::link::Link;
use super::write;
use crate::ffi::{IndexInfo, Module, RowChange, Updated, VirtualTable};
use bobak_core::{Result, TableSchema};
use bobak_sql::{Dialect, declared_type, quote};
use std::sync::Arc;

/// The name under which [`GuestModule`] is registered.
pub(crate) const MODULE: &str = "bobak_guest";

/// Makes the virtual tables of one connection.
#[derive(Debug)]
pub(crate) struct GuestModule(pub Arc<Link>);

/// A table of another engine.
#[derive(Debug)]
pub(crate) struct GuestTable {
    pub(super) link: Arc<Link>,
    /// The engine's place among the guests.
    pub(super) guest: usize,
    pub(super) schema: Arc<TableSchema>,
    /// What `EXPLAIN` shows of it.
    number: i32,
}

impl Module for GuestModule {
    type Table = GuestTable;

    const WRITABLE: bool = true;
    const EPONYMOUS: bool = false;

    fn connect(&self, name: &str, arguments: &[String]) -> Result<(GuestTable, String)> {
        let (guest, place, schema) = table_of(self.0.guests(), name, arguments)?;
        let declaration = declare(&schema);
        let number = (guest as i32) << 16 | (place & 0xffff) as i32;
        Ok((GuestTable { link: Arc::clone(&self.0), guest, schema, number }, declaration))
    }
}

/// The places of a guest and of its table, by the number of the table's plans.
pub(super) const fn split_number(number: i32) -> (usize, usize) {
    ((number >> 16) as usize, (number & 0xffff) as usize)
}

/// The columns as SQLite is told of them: with the types and collations that they have in a file
/// of SQLite, so that it compares and converts alike.
///
/// An integer key is the rowid. Any other key is declared, since a table without rowids needs one;
/// SQLite takes one column for it, so a key of several gets a hidden one, with the bytes of all.
fn declare(table: &TableSchema) -> String {
    let mut columns: Vec<String> = table
        .columns()
        .iter()
        .map(|column| {
            let name = quote(Dialect::Sqlite, &column.name);
            let ty = declared_type(Dialect::Sqlite, column);
            let collation = best_index::collation_name(column.collation);
            format!("{name} {ty} COLLATE {collation}")
        })
        .collect();
    let mut end = String::new();
    if !table.has_integer_key() {
        end.push_str(" WITHOUT ROWID");
        let key = match table.key() {
            [place] => table.columns().get(*place).map_or(String::new(), |c| c.name.to_string()),
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

impl VirtualTable for GuestTable {
    type Cursor = GuestCursor;

    fn best_index(&self, info: &mut IndexInfo<'_>) -> Result<bool> {
        let estimate = self.link.estimate(self.guest, &self.schema);
        best_index::choose(&self.schema, self.number, estimate, info)
    }

    fn open(&self) -> Result<GuestCursor> {
        Ok(GuestCursor::new(&self.link, self.guest, &self.schema))
    }

    fn update(&self, change: RowChange<'_>) -> Result<Updated> {
        write::run(self, change).map_err(|error| error.in_table(self.schema.name()))
    }

    fn begin(&self) -> Result<()> {
        self.link.begin(self.guest).map_err(|error| error.in_table(self.schema.name()))
    }

    fn sync(&self) -> Result<()> {
        self.link.sync(self.guest)
    }

    fn commit(&self) {
        self.link.end(self.guest);
    }

    fn rollback(&self) {
        self.link.end(self.guest);
    }

    fn savepoint(&self, number: i32) -> Result<()> {
        self.link.savepoint(self.guest, number)
    }

    fn release(&self, number: i32) -> Result<()> {
        self.link.release(self.guest, number)
    }

    fn rollback_to(&self, number: i32) -> Result<()> {
        self.link.rollback_to(self.guest, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::{Collation, ColumnSchema, Uuid};

    #[test]
    fn columns_are_declared_as_in_a_file() {
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

//! Tables as the catalog of a server lists them: a row for each table, column, and column of an index or a foreign key.

use crate::table_from_json;
use bobak_core::{
    ColumnSchema, ForeignKey, Result, Row, TableSchema, TableSchemaBuilder, Type, ValueRef,
};
use std::collections::BTreeMap;

/// The names that a database has for what belongs to a table.
pub trait ServerNames {
    /// A name of a table or a column as Bobak has it when it has read it. Some names have a substitute in the database.
    fn read_back(name: &str) -> String {
        name.to_owned()
    }

    /// The name of the index of a key that is no constraint.
    fn key_name(table: &TableSchema) -> String;

    /// The name of an index of one of Bobak's tables.
    fn index_name(table: &TableSchema, name: &str) -> String;
}

/// An index as the catalog has it.
#[derive(Debug)]
pub struct ServerIndex {
    name: String,
    shown: String,
    is_unique: bool,
    is_plain: bool,
    columns: Vec<String>,
}

/// A table as the catalog has it, with the names that Bobak has for it and its columns.
#[derive(Debug, Default)]
pub struct ServerTable {
    /// The table's name.
    pub name: String,
    /// The parts of the description that Bobak has written, by their numbers: JSON.
    pub description: BTreeMap<u32, String>,
    /// The columns, in order.
    pub columns: Vec<ColumnSchema>,
    /// Whether the server makes the key.
    pub is_made: bool,
    /// The name of the index of the key, if the catalog lists that among the indexes.
    pub key_name: String,
    /// The names of the key's columns.
    pub key: Vec<String>,
    indexes: Vec<ServerIndex>,
    references: Vec<(String, Vec<String>, ForeignKey)>,
}

/// Takes note of a row of the catalog.
pub type AddTableRow = fn(&mut ServerTable, &dyn Row);

/// A text of a row of the catalog; empty for another value.
#[must_use]
pub fn catalog_text(row: &dyn Row, place: usize) -> String {
    match row.get(place) {
        ValueRef::Text(text) => text.to_owned(),
        _ => String::new(),
    }
}

/// Reads tables: `parts` are queries of the catalog, each with what takes note of its rows, whose first column is the table's
/// name in the database. The rows of the first are the tables, in order.
///
/// # Errors
/// Those of `read`, which runs a query.
pub fn read_catalog<N: ServerNames>(
    parts: &[(&str, AddTableRow)],
    mut read: impl FnMut(&str, &mut dyn FnMut(&dyn Row)) -> Result<()>,
) -> Result<Vec<TableSchema>> {
    let mut order: Vec<String> = Vec::new();
    let mut found: BTreeMap<String, ServerTable> = BTreeMap::new();
    for (at, (sql, add)) in parts.iter().enumerate() {
        read(sql, &mut |row| {
            let name = catalog_text(row, 0);
            if at == 0 && !found.contains_key(&name) {
                order.push(name.clone());
                found.insert(name.clone(), ServerTable::default());
            }
            if let Some(table) = found.get_mut(&name) {
                add(table, row);
            }
        })?;
    }
    let tables = order.iter().filter_map(|name| found.remove(name));
    Ok(tables.filter_map(ServerTable::into_schema::<N>).collect())
}

impl ServerTable {
    /// Adds a column of an index; those of one index follow each other. `shown` is the index's name for programs. One that is
    /// not plain leaves rows out, or is of expressions: programs do not know it.
    pub fn add_index_column(
        &mut self,
        (name, shown): (String, String),
        is_unique: bool,
        is_plain: bool,
        column: String,
    ) {
        match self.indexes.last_mut() {
            Some(index) if index.name == name => index.columns.push(column),
            _ => {
                let columns = vec![column];
                self.indexes.push(ServerIndex { name, shown, is_unique, is_plain, columns });
            }
        }
    }

    /// Adds a column of a foreign key, and the column that it references; those of one key follow each other. `key` is the
    /// foreign key without columns.
    pub fn add_reference_column(
        &mut self,
        name: String,
        column: String,
        referenced: String,
        key: impl FnOnce() -> ForeignKey,
    ) {
        if self.references.last().is_none_or(|(known, ..)| *known != name) {
            self.references.push((name, Vec::new(), key()));
        }
        if let Some((_, columns, key)) = self.references.last_mut() {
            columns.push(column);
            key.referenced.push(referenced.into());
        }
    }

    fn into_schema<N: ServerNames>(self) -> Option<TableSchema> {
        self.own::<N>().or_else(|| self.foreign())
    }

    /// The description, unless another program has changed the columns since.
    fn own<N: ServerNames>(&self) -> Option<TableSchema> {
        let json: String = self.description.values().map(String::as_str).collect();
        let table = table_from_json(&serde_json::from_str(&json).ok()?).ok()?;
        let has_index = |name: String| self.indexes.iter().any(|known| known.name == name);
        let has_column = |column: &ColumnSchema| {
            let name = N::read_back(&column.name);
            self.columns.iter().any(|known| *known.name == *name)
        };
        let is_same = N::read_back(table.name()) == self.name
            && (!self.key.is_empty() || has_index(N::key_name(&table)))
            && table.columns().len() == self.columns.len()
            && table.indexes().iter().all(|index| has_index(N::index_name(&table, &index.name)))
            && table.columns().iter().all(has_column);
        is_same.then_some(table)
    }

    /// A table of another program; `None` if it has no key.
    fn foreign(self) -> Option<TableSchema> {
        if self.key.is_empty() {
            return None;
        }
        let mut builder = TableSchema::builder(self.name);
        for mut column in self.columns {
            // A key of another width that the server makes is what a key of 64 bits is to a program.
            if self.is_made && self.key == [column.name.to_string()] {
                column.ty = Type::I64;
            }
            builder = builder.column(column);
        }
        for (_, columns, key) in self.references {
            builder = builder.foreign_key(columns, key);
        }
        builder = builder.key(self.key.clone());
        if !self.is_made {
            builder = builder.given_key();
        }
        let (key, key_name) = (self.key, self.key_name);
        let is_of_key = |index: &ServerIndex| {
            !key_name.is_empty() && (index.name == key_name || index.columns == key)
        };
        let add = |builder: TableSchemaBuilder, index: ServerIndex| match index.is_unique {
            true => builder.unique_index(index.shown, index.columns),
            false => builder.index(index.shown, index.columns),
        };
        let plain = self.indexes.into_iter().filter(|index| index.is_plain && !is_of_key(index));
        plain.fold(builder, add).build().ok()
    }
}

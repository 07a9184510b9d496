//! Tables as the catalog of a server lists them: a row for each table, column, and column of an index or a foreign key.

use crate::{StatementDialect, index_name, key_name, table_from_json};
use bobak_core::{
    ColumnSchema, ForeignKey, Result, Row, TableSchema, TableSchemaBuilder, Type, ValueRef,
};
use std::collections::BTreeMap;

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
    /// The table as Bobak has described it otherwise.
    pub described: Option<TableSchema>,
    /// Whether a change of the table has not ended, so that indexes may be missing.
    pub is_changing: bool,
    /// Whether it is no table of a program's.
    pub is_hidden: bool,
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

/// An integer of a row of the catalog.
#[must_use]
pub fn catalog_integer(row: &dyn Row, place: usize) -> Option<i64> {
    match row.get(place) {
        ValueRef::Int(integer) => Some(integer),
        _ => None,
    }
}

/// The name of a table without a schema, and those of its columns.
pub type LostTable = (String, Vec<String>);

/// Reads tables, and the names of those that have no schema: `parts` are queries of the catalog, each with what takes note of its rows, whose first column is the table's
/// name in the database. The rows of the first are the tables, in order.
///
/// # Errors
/// Those of `read`, which runs a query.
pub fn read_catalog<N: StatementDialect>(
    names: &N,
    parts: &[(&str, AddTableRow)],
    mut read: impl FnMut(&str, &mut dyn FnMut(&dyn Row)) -> Result<()>,
) -> Result<(Vec<TableSchema>, Vec<LostTable>)> {
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
    let (mut tables, mut lost) = (Vec::new(), Vec::new());
    let found = order.iter().filter_map(|name| found.remove(name));
    for table in found.filter(|table| !table.is_hidden) {
        let columns = table.columns.iter().map(|column| column.name.to_string()).collect();
        let known = (table.name.clone(), columns);
        match table.into_schema(names) {
            Some(table) => tables.push(table),
            None => lost.push(known),
        }
    }
    Ok((tables, lost))
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

    fn into_schema<N: StatementDialect>(mut self, names: &N) -> Option<TableSchema> {
        self.own(names).or_else(|| self.foreign())
    }

    /// The description, unless another program has changed the columns since.
    fn own<N: StatementDialect>(&mut self, names: &N) -> Option<TableSchema> {
        let json: String = self.description.values().map(String::as_str).collect();
        let parsed = || table_from_json(&serde_json::from_str(&json).ok()?).ok();
        let table = self.described.take().or_else(parsed)?;
        let has_index = |name: String| self.indexes.iter().any(|known| known.name == name);
        let has_key = || !self.key.is_empty() || has_index(names.own_stored(key_name(&table)));
        let has_indexes = || {
            let mut indexes = table.indexes().iter();
            indexes.all(|index| has_index(names.own_stored(index_name(&table, &index.name))))
        };
        let has_column = |column: &ColumnSchema| {
            let name = names.shown(&names.stored(&column.name));
            self.columns.iter().any(|known| *known.name == *name)
        };
        let is_same = names.shown(&names.stored(table.name())) == self.name
            && (self.is_changing || has_key() && has_indexes())
            && table.columns().len() == self.columns.len()
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
            column.nullable &= !self.key.iter().any(|name| **name == *column.name);
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

//! The indexes of a table.

use super::column::{flag, text};
use crate::connection::Connection;
use bobak_core::{Result, Value};

/// An index over columns.
#[derive(Debug)]
pub(super) struct CatalogIndex {
    pub name: String,
    pub unique: bool,
    /// What created it: `c` CREATE INDEX, `u` a UNIQUE constraint, `pk` the primary key.
    pub origin: String,
    /// Its columns' names, in index order.
    pub columns: Vec<String>,
}

impl CatalogIndex {
    /// Whether it implements a column's `unique`: an index with the name that Bobak chooses, or a
    /// UNIQUE constraint on one column.
    pub(super) fn is_column_rule(&self, table: &str) -> bool {
        match &self.columns[..] {
            [column] if self.unique => {
                self.origin == "u" || self.name == format!("{table}_{column}_unique")
            }
            _ => false,
        }
    }

    /// A name that CREATE INDEX accepts: SQLite reserves those that it gives to UNIQUE constraints.
    pub(super) fn usable_name(&self, table: &str, all: &[Self]) -> String {
        if !self.name.to_ascii_lowercase().starts_with("sqlite_") {
            return self.name.clone();
        }
        let mut name = format!("{table}_{}_unique", self.columns.join("_"));
        while all.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
            name.push('_');
        }
        name
    }
}

/// The table's indexes, oldest first, without partial indexes and those on expressions.
pub(super) fn read(connection: &mut Connection, table: &str) -> Result<Vec<CatalogIndex>> {
    let name = Value::from(table);
    let list = connection.all_rows(
        "SELECT l.name, l.\"unique\", l.origin FROM pragma_index_list(?) AS l \
         LEFT JOIN main.sqlite_schema AS s ON s.type = 'index' AND s.name = l.name \
         WHERE l.partial = 0 ORDER BY s.rowid",
        &[name],
    )?;
    let mut indexes = Vec::new();
    for row in list {
        let mut row = row.into_iter();
        let name = text(row.next());
        let (unique, origin) = (flag(row.next()), text(row.next()));
        // Expressions have number -2 and rowids -1: neither has a name.
        let columns = connection.all_rows(
            "SELECT name FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno",
            &[Value::from(name.as_str())],
        )?;
        let columns: Vec<_> = columns.into_iter().map(|row| row.into_iter().next()).collect();
        if columns.iter().all(|column| matches!(column, Some(Value::Text(_)))) {
            let columns = columns.into_iter().map(text).collect();
            let name = bobak_sql::index_name(table, &name).to_owned();
            indexes.push(CatalogIndex { name, unique, origin, columns });
        }
    }
    Ok(indexes)
}

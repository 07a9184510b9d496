//! The foreign keys of a table.

use super::column::text;
use super::text::deferred_references;
use crate::connection::Connection;
use bobak_core::{OnDelete, OnUpdate, Reference, Result, Value};

/// A foreign key as SQLite describes it.
#[derive(Debug)]
pub(super) struct DeclaredForeignKey {
    pub columns: Vec<String>,
    pub table: String,
    /// The referenced columns; empty texts if the referenced table is missing.
    pub referenced: Vec<String>,
    /// `CASCADE` and so on.
    pub on_update: String,
    pub on_delete: String,
    pub deferred: bool,
}

impl DeclaredForeignKey {
    /// The foreign key in a schema, without its columns; `None` if SQLite does not find what it references.
    pub(super) fn schema(&self) -> Option<bobak_core::ForeignKey> {
        if self.referenced.iter().any(String::is_empty) {
            return None;
        }
        let on_delete = match self.on_delete.as_str() {
            "CASCADE" => OnDelete::Cascade,
            "SET NULL" => OnDelete::SetNull,
            // A table that Bobak creates has no RESTRICT: see `push_actions`.
            "NO ACTION" if !self.deferred => OnDelete::Restrict,
            "RESTRICT" => OnDelete::Restrict,
            _ => OnDelete::NoAction,
        };
        let (table, referenced) = (self.table.clone(), self.referenced.iter().cloned());
        let mut key = bobak_core::ForeignKey::new(table, referenced, on_delete);
        key.deferred = self.deferred;
        key.on_update = match self.on_update.as_str() {
            "CASCADE" => OnUpdate::Cascade,
            "SET NULL" => OnUpdate::SetNull,
            "RESTRICT" => OnUpdate::Restrict,
            _ => OnUpdate::NoAction,
        };
        Some(key)
    }

    /// The foreign key as a column's reference; `None` if it has several columns, or SQLite does not
    /// find what it references.
    pub(super) fn reference(&self) -> Option<(&str, Reference)> {
        let [column] = &self.columns[..] else { return None };
        Some((column, self.schema()?.into_reference()?))
    }

    /// As in SQL: `foreign key (a, b) references t (c, d)`.
    pub(super) fn describe(&self) -> String {
        let (columns, referenced) = (self.columns.join(", "), self.referenced.join(", "));
        format!("foreign key ({columns}) references {} ({referenced})", self.table)
    }
}

/// The table's foreign keys, in the order of its CREATE statement `sql`.
pub(super) fn read(
    connection: &mut Connection,
    table: &str,
    sql: &str,
) -> Result<Vec<DeclaredForeignKey>> {
    // SQLite numbers them from the last one. A reference without columns is to the key.
    let rows = connection.all_rows(
        "SELECT f.id, f.\"from\", f.\"table\", coalesce(f.\"to\", \
         (SELECT name FROM pragma_table_info(f.\"table\") WHERE pk = f.seq + 1)), \
         f.on_update, f.on_delete FROM pragma_foreign_key_list(?1) AS f ORDER BY f.id DESC, f.seq",
        &[Value::from(table)],
    )?;
    let mut keys: Vec<DeclaredForeignKey> = Vec::new();
    let mut last = None;
    for row in rows {
        let mut row = row.into_iter();
        let id = row.next();
        let (column, table, referenced) = (text(row.next()), text(row.next()), text(row.next()));
        let (on_update, on_delete) = (text(row.next()), text(row.next()));
        match keys.last_mut().filter(|_| last == id) {
            Some(key) => {
                key.columns.push(column);
                key.referenced.push(referenced);
            }
            None => keys.push(DeclaredForeignKey {
                columns: vec![column],
                table,
                referenced: vec![referenced],
                on_update,
                on_delete,
                deferred: false,
            }),
        }
        last = id;
    }
    for (key, deferred) in keys.iter_mut().zip(deferred_references(sql)) {
        key.deferred = deferred;
    }
    Ok(keys)
}

//! The SQL texts of statements over a table, generated once.

use bobak_core::{FieldSet, TableSchema, Verb};
use bobak_sql::Dialect;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many SQL texts are cached. When the cache is full, which does not happen in a usual program, all are dropped.
const MAX_TEXTS: usize = 2_048;

/// What a statement does with its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SqlTextKind {
    /// Inserts this many rows, with or without keys.
    Insert { verb: Verb, rows: usize, without_key: bool },
    /// Updates these fields of the row with the given version.
    Update(FieldSet),
    /// Updates these fields of the row in any version.
    Overwrite(FieldSet),
    /// Updates these fields of the row with the values of the upsert's columns, in any version.
    OverwriteBy(Verb, FieldSet),
    /// Reads the key of the row with the values of the upsert's columns.
    KeyBy(Verb),
    /// Deletes one row.
    Delete,
    /// Reads one row.
    Get,
    /// Locks the rows with this many keys.
    Lock(usize),
    /// Deletes this many rows.
    DeleteMany(usize),
}

/// SQL texts by schema, dialect and kind.
#[derive(Debug, Default)]
pub(crate) struct SqlTextCache(Mutex<HashMap<(u64, Dialect, SqlTextKind), Arc<str>>>);

impl SqlTextCache {
    /// The statement's text.
    pub(crate) fn text(
        &self,
        dialect: Dialect,
        table: &TableSchema,
        kind: SqlTextKind,
    ) -> Arc<str> {
        let key = (table.id(), dialect, kind);
        // The map is consistent even after a panic.
        let mut sql_texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = sql_texts.get(&key) {
            return Arc::clone(text);
        }
        if sql_texts.len() >= MAX_TEXTS {
            sql_texts.clear();
        }
        let text: Arc<str> = make(dialect, table, kind).into();
        sql_texts.insert(key, Arc::clone(&text));
        text
    }
}

fn make(dialect: Dialect, table: &TableSchema, kind: SqlTextKind) -> String {
    match kind {
        SqlTextKind::Insert { verb, rows, without_key } => {
            bobak_sql::insert(dialect, table, verb, FieldSet::EMPTY, rows, without_key)
        }
        SqlTextKind::Update(fields) => bobak_sql::update(dialect, table, fields),
        SqlTextKind::Overwrite(fields) => bobak_sql::overwrite(dialect, table, fields),
        SqlTextKind::OverwriteBy(verb, fields) => {
            bobak_sql::overwrite_by(dialect, table, fields, verb.conflict_columns(table))
        }
        SqlTextKind::KeyBy(verb) => bobak_sql::key_by(dialect, table, verb.conflict_columns(table)),
        SqlTextKind::Delete => bobak_sql::delete(dialect, table),
        SqlTextKind::Get => bobak_sql::get(dialect, table),
        SqlTextKind::Lock(keys) => bobak_sql::lock_keys(dialect, table, keys),
        SqlTextKind::DeleteMany(keys) => bobak_sql::delete_keys(dialect, table, keys),
    }
}

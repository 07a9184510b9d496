//! The sql_texts of statements over a table, made once.

use bobak_core::{FieldSet, TableSchema, Verb};
use bobak_sql::Dialect;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// More sql_texts than a program has: then all are forgotten.
const MOST: usize = 2_048;

/// What a statement does, beside its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StatementKind {
    /// New rows: so many, and whether the engine makes their keys.
    Insert { verb: Verb, rows: usize, without_key: bool },
    /// New values for these fields, of the given version.
    Update(FieldSet),
    /// New values for these fields, whatever the version.
    Overwrite(FieldSet),
    /// One row goes.
    Delete,
    /// One row is read.
    Get,
    /// So many keys are looked for and locked.
    Lock(usize),
    /// So many rows go.
    DeleteMany(usize),
}

/// SqlTexts by schema, dialect and kind.
#[derive(Debug, Default)]
pub(crate) struct SqlTexts(Mutex<HashMap<(u64, Dialect, StatementKind), Arc<str>>>);

impl SqlTexts {
    /// The statement's text.
    pub(crate) fn text(
        &self,
        dialect: Dialect,
        table: &TableSchema,
        kind: StatementKind,
    ) -> Arc<str> {
        let key = (table.id(), dialect, kind);
        // A map that a panic left behind is whole.
        let mut sql_texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = sql_texts.get(&key) {
            return Arc::clone(text);
        }
        if sql_texts.len() >= MOST {
            sql_texts.clear();
        }
        let text: Arc<str> = make(dialect, table, kind).into();
        sql_texts.insert(key, Arc::clone(&text));
        text
    }
}

fn make(dialect: Dialect, table: &TableSchema, kind: StatementKind) -> String {
    match kind {
        StatementKind::Insert { verb, rows, without_key } => {
            bobak_sql::insert(dialect, table, verb, FieldSet::EMPTY, rows, without_key)
        }
        StatementKind::Update(fields) => bobak_sql::update(dialect, table, fields),
        StatementKind::Overwrite(fields) => bobak_sql::overwrite(dialect, table, fields),
        StatementKind::Delete => bobak_sql::delete(dialect, table),
        StatementKind::Get => bobak_sql::get(dialect, table),
        StatementKind::Lock(keys) => bobak_sql::lock_keys(dialect, table, keys),
        StatementKind::DeleteMany(keys) => bobak_sql::delete_keys(dialect, table, keys),
    }
}

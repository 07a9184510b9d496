//! What the server knows of a table that its schema does not say: the types that its columns really
//! have, and the sequence that makes its keys.

use bobak_core::{TableSchema, Verb};
use bobak_sql::Dialect;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The dialect of everything here.
pub(crate) const SQL: Dialect = Dialect::Postgres;

pub(crate) struct TableInfo {
    /// The types of the columns, in schema order.
    pub types: Vec<u32>,
    /// The sequence, as text for `regclass`.
    pub sequence: Option<String>,
    /// The sequence has come so far at least: no smaller key needs to move it.
    reached: AtomicI64,
    pub sql_texts: SqlTexts,
}

/// Statements that are written once.
pub(crate) struct SqlTexts {
    pub get: String,
    pub delete: String,
    pub exists: String,
    /// An insert of a given key, and one whose key is made.
    pub insert: [String; 2],
    pub ignore: [String; 2],
    /// What goes before an insert-or-replace, with the places of its parameters.
    pub clear: [Option<(String, Vec<usize>)>; 2],
}

impl TableInfo {
    pub fn new(table: &Arc<TableSchema>, types: Vec<u32>, sequence: Option<String>) -> Self {
        let none = bobak_core::FieldSet::EMPTY;
        let insert = |verb, made| bobak_sql::insert(SQL, table, verb, none, 1, made);
        let sql_texts = SqlTexts {
            get: bobak_sql::get(SQL, table),
            delete: bobak_sql::delete(SQL, table),
            exists: bobak_sql::exists(SQL, table),
            insert: [insert(Verb::Insert, false), insert(Verb::Insert, true)],
            ignore: [insert(Verb::InsertOrIgnore, false), insert(Verb::InsertOrIgnore, true)],
            clear: [
                bobak_sql::delete_in_the_way(SQL, table, false),
                bobak_sql::delete_in_the_way(SQL, table, true),
            ],
        };
        Self { types, sequence, reached: AtomicI64::new(0), sql_texts }
    }

    /// The sequence, where a key that the user gave lies beyond it.
    pub fn sequence_behind(&self, key: i64) -> Option<&str> {
        let sequence = self.sequence.as_deref()?;
        (key > self.reached.load(Ordering::Relaxed)).then_some(sequence)
    }

    /// The sequence has come to this key.
    pub fn reached(&self, key: i64) {
        self.reached.fetch_max(key, Ordering::Relaxed);
    }

    /// Nothing is known of where the sequence stands.
    pub fn forget_reached(&self) {
        self.reached.store(0, Ordering::Relaxed);
    }
}

/// Moves a sequence on to a key, unless it is there already.
pub(crate) const MOVE_SEQUENCE: &str = "SELECT setval($1::regclass, $2::int8) WHERE $2::int8 > \
    coalesce(pg_sequence_last_value($1::regclass), 0)";

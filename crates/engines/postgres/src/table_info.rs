//! What the server knows about a table beyond its schema: the types of its columns, and the sequence that generates
//! its keys.

use bobak_core::{TableSchema, Verb};
use bobak_engine_common::NarrowAmounts;
use bobak_sql::Dialect;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The dialect of all SQL of this engine.
pub(crate) const SQL: Dialect = Dialect::Postgres;

pub(crate) struct TableInfo {
    /// The types of the columns, in schema order.
    pub types: Vec<u32>,
    /// The columns of other programs in which the server would round amounts.
    pub narrow: NarrowAmounts,
    /// The sequence, as text for `regclass`.
    pub sequence: Option<String>,
    /// The sequence has reached this key at least. Smaller keys need not advance it.
    reached: AtomicI64,
    pub sql_texts: SqlTexts,
}

/// SQL texts that are generated once.
pub(crate) struct SqlTexts {
    pub get: String,
    pub delete: String,
    pub exists: String,
    /// Inserts with a given key, and with a generated key.
    pub insert: [String; 2],
    pub ignore: [String; 2],
    /// The delete before an insert-or-replace, with the columns of its parameters.
    pub clear: [Option<(String, Vec<usize>)>; 2],
}

impl TableInfo {
    pub fn new(
        table: &Arc<TableSchema>,
        types: Vec<u32>,
        narrow: NarrowAmounts,
        sequence: Option<String>,
    ) -> Self {
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
        Self { types, narrow, sequence, reached: AtomicI64::new(0), sql_texts }
    }

    /// The sequence, if a given key is beyond it.
    pub fn sequence_behind(&self, key: i64) -> Option<&str> {
        let sequence = self.sequence.as_deref()?;
        (key > self.reached.load(Ordering::Relaxed)).then_some(sequence)
    }

    /// Notes that the sequence has reached this key.
    pub fn reached(&self, key: i64) {
        self.reached.fetch_max(key, Ordering::Relaxed);
    }

    /// Forgets how far the sequence is.
    pub fn forget_reached(&self) {
        self.reached.store(0, Ordering::Relaxed);
    }
}

/// Advances a sequence to a key, unless it is already beyond it.
pub(crate) const MOVE_SEQUENCE: &str = "SELECT setval($1::regclass, $2::int8) WHERE $2::int8 > \
    coalesce(pg_sequence_last_value($1::regclass), 0)";

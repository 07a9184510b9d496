//! The change log: the tables in which engines record every change of tracked tables.
//!
//! A tracked table has a *log*: a table with one row for each inserted, updated or deleted row. The
//! engine writes it in the same transaction as the change, by means that nothing bypasses: SQL engines
//! by triggers, the memory engine where it changes rows. Changes are numbered in the order of commits,
//! over all tables of the database.
//!
//! Columns of a log: `seq`, the number; `at`, the time in microseconds since 1970, never earlier than
//! the one before; `who`, the actor, or NULL if none was set; `verb`, a [`LoggedVerb`]; and for each
//! column of the table its value before, `old_NAME`, and after, `new_NAME`, which are NULL if there was
//! no such row.

mod layout;
mod moves;
mod trigger;

pub use layout::{
    LAYOUT_TABLE, layout, layout_before, layout_before_alteration, layout_schema, untracked_text,
};
pub use moves::TableMoves;
pub use trigger::{Trigger, is_capture_trigger, is_captured, is_captured_as_now};

use crate::{ColumnRole, ColumnSchema, Error, ErrorKind, Result, TableSchema, Type};
use std::sync::{Arc, OnceLock};

/// The table whose one row has the number of the last change and the current actor.
pub const COUNTER_TABLE: &str = "bobak_feed";
/// The table with the names of the tracked tables.
pub const TRACKED_TABLE: &str = "bobak_tracked";
/// The table in which a replica stores its position in the source's change log.
pub const REPLICA_TABLE: &str = "bobak_follow";
/// The table in which consumers store their positions.
pub const CONSUMER_TABLE: &str = "bobak_consumer";
/// The prefix of a log's name; the name of its table follows.
pub const LOG_PREFIX: &str = "bobak_log_";
/// The number of a log's columns before those of its table.
pub const LOG_COLUMNS: usize = 4;

/// The index of the column `seq` of a log.
pub const SEQ: usize = 0;
/// The index of the column `at` of a log.
pub const AT: usize = 1;
/// The index of the column `who` of a log.
pub const ACTOR: usize = 2;
/// The index of the column `verb` of a log.
pub const VERB: usize = 3;

/// What happened to a row: the number in a log's column `verb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoggedVerb {
    /// The row was inserted.
    Inserted = 1,
    /// The row was updated.
    Updated = 2,
    /// The row was deleted.
    Deleted = 3,
}

impl LoggedVerb {
    /// The verb with this number.
    ///
    /// # Errors
    /// `Corrupt` if there is none.
    pub fn of_number(number: i64) -> Result<Self> {
        match number {
            1 => Ok(Self::Inserted),
            2 => Ok(Self::Updated),
            3 => Ok(Self::Deleted),
            _ => {
                let message =
                    format!("the change log has a change with verb {number}; verbs are 1 to 3");
                Err(Error::new(ErrorKind::Corrupt, message))
            }
        }
    }
}

/// The index in a log of the value before, for the table's column at this index.
#[must_use]
pub const fn old_column(column: usize) -> usize {
    LOG_COLUMNS + 2 * column
}

/// The index in a log of the value after, for the table's column at this index.
#[must_use]
pub const fn new_column(column: usize) -> usize {
    LOG_COLUMNS + 2 * column + 1
}

/// Whether a table belongs to the change log. Engines leave these out of [`Session::tables`].
///
/// [`Session::tables`]: crate::Session::tables
#[must_use]
pub fn is_change_log_table(table: &str) -> bool {
    let begins = |prefix: &str| {
        table.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let is = |name: &&str| table.eq_ignore_ascii_case(name);
    let own = [COUNTER_TABLE, TRACKED_TABLE, LAYOUT_TABLE, REPLICA_TABLE, CONSUMER_TABLE];
    own.iter().any(is) || begins(LOG_PREFIX)
}

/// The log of a table. If `history` is set, it has an index over the key before and one over the key
/// after, to find the changes of one row.
///
/// # Errors
/// `Unsupported` for a table with more than 126 columns, because its log would have too many; for a
/// table of the change log; for a table without a primary key, whose rows cannot be identified.
pub fn log_schema(table: &TableSchema, history: bool) -> Result<TableSchema> {
    let reject = |message: &str| {
        Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
    };
    if is_change_log_table(table.name()) {
        return reject("the tables of the change log cannot be tracked");
    }
    if table.has_hidden_key() {
        return reject(
            "the table has no primary key: SQLite may renumber its rows, in a VACUUM or with another \
             key of the file, and the change log would identify others. Declare one, such as id INTEGER PRIMARY \
             KEY; where the table was tracked by an earlier version, untrack it first",
        );
    }
    if old_column(table.columns().len()) > crate::FieldSet::MAX {
        return reject("a table with more than 126 columns cannot be tracked");
    }
    let mut log = TableSchema::builder(format!("{LOG_PREFIX}{}", table.name()))
        .column(ColumnSchema::new("seq", Type::I64))
        .column(ColumnSchema::new("at", Type::I64))
        .column(ColumnSchema::of::<Option<String>>("who"))
        .column(ColumnSchema::new("verb", Type::I64));
    for column in table.columns() {
        log = log.column(logged_column(column, "old")).column(logged_column(column, "new"));
    }
    log = log.key(["seq"]).given_key();
    for when in ["old", "new"].into_iter().filter(|_| history) {
        let name = |&place: &usize| Some(format!("{when}_{}", table.columns().get(place)?.name));
        let key: Vec<String> = table.key().iter().filter_map(name).collect();
        log = log.index(format!("{LOG_PREFIX}{}_{when}", table.name()), key);
    }
    log.build()
}

/// Finds the current schema of a table in a list of all tables, and that of its log if it has one.
///
/// # Errors
/// `Schema` if the table is not in the list.
pub fn table_and_log(
    mut tables: Vec<TableSchema>,
    table: &TableSchema,
) -> Result<(TableSchema, Option<TableSchema>)> {
    let mut take = |name: &str| {
        let place = tables.iter().position(|other| other.name().eq_ignore_ascii_case(name));
        place.map(|place| tables.swap_remove(place))
    };
    let log = take(&format!("{LOG_PREFIX}{}", table.name()));
    let stored = take(table.name()).ok_or_else(|| {
        let message = "the table does not exist: create it first";
        Error::new(ErrorKind::Schema, message).in_table(table.name())
    })?;
    Ok((stored, log))
}

/// As [`table_and_log`], of a table that may be gone while its log is still there.
///
/// # Errors
/// `Schema` if neither of them is in the list.
pub fn log_to_drop(
    tables: Vec<TableSchema>,
    table: &TableSchema,
) -> Result<(TableSchema, Option<TableSchema>)> {
    let name = format!("{LOG_PREFIX}{}", table.name());
    let log = tables.iter().find(|other| other.name().eq_ignore_ascii_case(&name)).cloned();
    match table_and_log(tables, table) {
        Err(_) if log.is_some() => Ok((table.clone(), log)),
        found => found,
    }
}

/// The column of a log for the values of a table's column.
fn logged_column(column: &ColumnSchema, when: &str) -> ColumnSchema {
    ColumnSchema {
        name: format!("{when}_{}", column.name).into(),
        nullable: true,
        unique: false,
        collation: crate::Collation::Binary,
        default: None,
        default_sql: None,
        check: None,
        generated: None,
        reference: None,
        role: ColumnRole::Plain,
        ..column.clone()
    }
}

/// The schema of [`COUNTER_TABLE`]. Its one row has the `id` 1.
#[must_use]
pub fn counter_schema() -> &'static Arc<TableSchema> {
    static SCHEMA: OnceLock<Arc<TableSchema>> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let table = TableSchema::builder(COUNTER_TABLE)
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::new("seq", Type::I64))
            .column(ColumnSchema::new("at", Type::I64))
            .column(ColumnSchema::of::<Option<String>>("who"));
        fixed(table)
    })
}

/// The schema of [`TRACKED_TABLE`]. `pruned` is the largest number that was removed from the table's log.
#[must_use]
pub fn tracked_schema() -> &'static Arc<TableSchema> {
    static SCHEMA: OnceLock<Arc<TableSchema>> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let table = TableSchema::builder(TRACKED_TABLE)
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::of::<String>("name"))
            .column(ColumnSchema::new("pruned", Type::I64));
        fixed(table)
    })
}

/// The schema of [`REPLICA_TABLE`]. The row with the `id` 1 has the position; that with the `id` 2 has as `place` the number of
/// the last [move](TableMoves) of the source's tables that the replica has seen. `filled` is 0 during the first copy,
/// then the time of the last applied change, or 1 if that is unknown. `tables` has the names of the
/// replicated tables, one per line.
#[must_use]
pub fn replica_schema() -> &'static Arc<TableSchema> {
    static SCHEMA: OnceLock<Arc<TableSchema>> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let table = TableSchema::builder(REPLICA_TABLE)
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::new("place", Type::I64))
            .column(ColumnSchema::new("filled", Type::I64))
            .column(ColumnSchema::of::<String>("tables"));
        fixed(table)
    })
}

/// The schema of [`CONSUMER_TABLE`]: for each consumer the number of the last change that it acknowledged.
#[must_use]
pub fn consumer_schema() -> &'static Arc<TableSchema> {
    static SCHEMA: OnceLock<Arc<TableSchema>> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let table = TableSchema::builder(CONSUMER_TABLE)
            .column(ColumnSchema::of::<String>("name").max_chars(100))
            .column(ColumnSchema::new("place", Type::I64))
            .key(["name"]);
        Arc::new(table.build().expect("the schemas of the change log are valid"))
    })
}

fn fixed(table: crate::TableSchemaBuilder) -> Arc<TableSchema> {
    Arc::new(table.key(["id"]).build().expect("the schemas of the change log are valid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_has_old_and_new_value_of_each_column() {
        let table = TableSchema::builder("City")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema { unique: true, ..ColumnSchema::of::<String>("name") })
            .key(["id"])
            .build()
            .unwrap();
        let log = log_schema(&table, false).unwrap();
        assert_eq!(log.name(), "bobak_log_City");
        assert_eq!(log.columns()[old_column(1)].name, "old_name");
        assert_eq!(log.columns()[new_column(1)].name, "new_name");
        assert!(log.columns()[new_column(1)].nullable && log.indexes().is_empty());
        let with_history = log_schema(&table, true).unwrap();
        assert_eq!(with_history.indexes()[1].columns, [new_column(0)]);
        assert!(
            is_change_log_table("BOBAK_LOG_city")
                && is_change_log_table(COUNTER_TABLE)
                && !is_change_log_table("bobak_logbook")
        );
        assert_eq!(log_schema(&log, true).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn table_with_too_many_columns_cannot_be_tracked() {
        let table = |count: usize| {
            (0..count)
                .fold(TableSchema::builder("t"), |table, place| {
                    table.column(ColumnSchema::new(format!("c{place}"), Type::I64))
                })
                .key(["c0"])
                .build()
                .unwrap()
        };
        assert!(log_schema(&table(126), true).is_ok());
        assert_eq!(log_schema(&table(127), true).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

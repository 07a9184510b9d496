//! The change feed: what engines write down of each change, where, and how it is read.
//!
//! A tracked table has a *log* beside it: a table of its own, with one row for each row that was
//! inserted, updated or deleted. The engine writes it in the same transaction, by means that nothing
//! goes past: SQL engines by triggers, the memory engine where it changes rows. Numbers are given
//! out in the order of commits, over all tables of the database.
//!
//! Columns of a log: `seq`, `at` (microseconds since 1970, never less than the one before), `who`
//! (NULL where nobody said), `verb` ([`LoggedVerb`]), and for each column of the table what it was
//! before, `old_NAME`, and after, `new_NAME`: NULL where there was no row.

mod trigger;

pub use trigger::{Trigger, is_capture_trigger, is_captured};

use crate::{ColumnSchema, Error, ErrorKind, Result, Role, TableSchema, Type};
use std::sync::{Arc, OnceLock};

/// The table whose one row counts changes, and names who is writing.
pub const COUNTER_TABLE: &str = "bobak_feed";
/// The table with the names of the tables that are tracked.
pub const TRACKED_TABLE: &str = "bobak_tracked";
/// The table in which a follower notes how far it has come.
pub const REPLICA_TABLE: &str = "bobak_follow";
/// What the name of a log begins with; its table's name follows.
pub const LOG_PREFIX: &str = "bobak_log_";
/// How many columns of a log come before those of its table.
pub const LOG_COLUMNS: usize = 4;

/// The place of `seq` in a log.
pub const SEQ: usize = 0;
/// The place of `at` in a log.
pub const AT: usize = 1;
/// The place of `who` in a log.
pub const ACTOR: usize = 2;
/// The place of `verb` in a log.
pub const VERB: usize = 3;

/// What happened to a row: the number in a log's column `verb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoggedVerb {
    /// It is new.
    Inserted = 1,
    /// It has other values.
    Updated = 2,
    /// It is gone.
    Deleted = 3,
}

impl LoggedVerb {
    /// The kind with this number.
    ///
    /// # Errors
    /// `Corrupt` where there is none.
    pub fn of_number(number: i64) -> Result<Self> {
        match number {
            1 => Ok(Self::Inserted),
            2 => Ok(Self::Updated),
            3 => Ok(Self::Deleted),
            _ => {
                let message = format!("a change of kind {number} is in the log: there are 1 to 3");
                Err(Error::new(ErrorKind::Corrupt, message))
            }
        }
    }
}

/// Where in a log the value before is of the table's column at this place.
#[must_use]
pub const fn old_column(column: usize) -> usize {
    LOG_COLUMNS + 2 * column
}

/// Where in a log the value after is of the table's column at this place.
#[must_use]
pub const fn new_column(column: usize) -> usize {
    LOG_COLUMNS + 2 * column + 1
}

/// Whether a table is the feed's own: engines leave these out of [`Session::tables`].
///
/// [`Session::tables`]: crate::Session::tables
#[must_use]
pub fn is_change_log_table(table: &str) -> bool {
    let begins = |prefix: &str| {
        table.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let is = |name: &&str| table.eq_ignore_ascii_case(name);
    [COUNTER_TABLE, TRACKED_TABLE, REPLICA_TABLE].iter().any(is) || begins(LOG_PREFIX)
}

/// The log of a table; where `history` is set with an index over the key before and one over the key
/// after, for who asks what became of one row.
///
/// # Errors
/// `Unsupported` for a table with more than 126 columns: its log would have too many; for one that
/// is the feed's own; for one without a key of its own, whose rows could not be told apart.
pub fn log_schema(table: &TableSchema, history: bool) -> Result<TableSchema> {
    let refuse = |message: &str| {
        Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
    };
    if is_change_log_table(table.name()) {
        return refuse("the feed's own tables can't be tracked");
    }
    if table.has_hidden_key() {
        return refuse(
            "the table has no primary key: SQLite may number its rows anew, at a VACUUM or with another \
             key of the file, and the feed would name others. Declare one, such as id INTEGER PRIMARY \
             KEY; where the table was tracked by an earlier version, untrack it first",
        );
    }
    if old_column(table.columns().len()) > crate::FieldSet::MAX {
        return refuse("a table with more than 126 columns can't be tracked");
    }
    let mut log = TableSchema::builder(format!("{LOG_PREFIX}{}", table.name()))
        .column(ColumnSchema::new("seq", Type::I64))
        .column(ColumnSchema::new("at", Type::I64))
        .column(ColumnSchema::of::<Option<String>>("who"))
        .column(ColumnSchema::new("verb", Type::I64));
    for column in table.columns() {
        log = log.column(logged(column, "old")).column(logged(column, "new"));
    }
    log = log.key(["seq"]).given_key();
    for when in ["old", "new"].into_iter().filter(|_| history) {
        let name = |&place: &usize| Some(format!("{when}_{}", table.columns().get(place)?.name));
        let key: Vec<String> = table.key().iter().filter_map(name).collect();
        log = log.index(format!("{LOG_PREFIX}{}_{when}", table.name()), key);
    }
    log.build()
}

/// Of all tables the one with this table's name, and its log where it has one.
///
/// # Errors
/// `Schema` where it is not there.
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
        let message = "the table is not there: create it first";
        Error::new(ErrorKind::Schema, message).in_table(table.name())
    })?;
    Ok((stored, log))
}

/// A column that keeps what another one had.
fn logged(column: &ColumnSchema, when: &str) -> ColumnSchema {
    ColumnSchema {
        name: format!("{when}_{}", column.name).into(),
        nullable: true,
        unique: false,
        collation: crate::Collation::Binary,
        default: None,
        default_sql: None,
        check: None,
        reference: None,
        role: Role::Plain,
        ..column.clone()
    }
}

/// The table [`COUNTER_TABLE`]: its one row has the `id` 1.
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

/// The table [`TRACKED_TABLE`]. `pruned` is the largest number that was taken out of the table's log.
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

/// The table [`REPLICA_TABLE`]: its one row has the `id` 1. `filled` is 0 while the first copy is made,
/// then the time of the last change that was made, or 1 where that is not known; `tables` are the names of the followed tables, a line each.
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

fn fixed(table: crate::TableSchemaBuilder) -> Arc<TableSchema> {
    Arc::new(table.key(["id"]).build().expect("the feed's own tables are well made"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_have_both_values_of_each_column() {
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
    fn too_wide_a_table_is_refused() {
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

//! Statements for change capture: see [`bobak_core::change_log`].
//!
//! Triggers capture the changes, so that SQL of any program and the effects of foreign keys are captured, too. A change is
//! numbered when it is made. Numbers are in commit order, because the transaction that takes one holds a lock until it ends.
//! SQLite has one writer anyway. In MariaDB and MySQL the lock is the counter's row. PostgreSQL takes an advisory lock before
//! a statement's first row, and numbers come from a sequence: with a counter row, two transactions that update one row would
//! conflict there.

use crate::capture_triggers::{LOCK, drop_verb_triggers, mysql_triggers};
use crate::dialect::quote;
use crate::log_moves::note_text;
use crate::postgres_capture::{drop_postgres_triggers, postgres_triggers};
use crate::sqlite_capture::sqlite_triggers;
use crate::writer::Writer;
use crate::{Dialect, add_column, create_table};
use bobak_core::change_log::{
    COUNTER_TABLE, LAYOUT_TABLE, TRACKED_TABLE, counter_schema, layout, layout_before,
    layout_before_alteration, layout_schema, log_schema, tracked_schema, untracked_text,
};
use bobak_core::{Error, ErrorKind, Result, TableAlteration, TableSchema, ValueRef};

/// How a table came to what it is when it is tracked.
#[derive(Clone, Copy, Debug)]
pub enum TrackReason<'a> {
    /// It must be tracked from now on.
    Track {
        /// Whether the triggers of its log are all there.
        captured: bool,
        /// Whether a new log gets indexes over the key.
        history: bool,
    },
    /// This column was just added to it.
    Added(&'a str),
    /// It was just altered, in a way that its log follows.
    Altered(&'a TableAlteration),
}

/// What has a table tracked, or tracked as it is now. `log` is the log that there is. If changes of the table were not
/// captured completely, because its triggers are gone, SQL altered it, or it was untracked, this notes a gap: readers positioned
/// before get `NotFound`.
///
/// # Errors
/// `Unsupported` for a table that can't be; as [`log_schema`]; `Schema` if a column has another type than its log.
pub fn track(
    dialect: Dialect,
    table: &TableSchema,
    log: Option<&TableSchema>,
    reason: TrackReason<'_>,
) -> Result<Vec<String>> {
    reject_unseen(dialect, table)?;
    let history = matches!(reason, TrackReason::Track { history: true, .. });
    let wanted = log_schema(table, history && log.is_none())?;
    let mut texts = shared(dialect)?;
    match log {
        Some(log) => {
            reject_other(table, &wanted, log)?;
            reject_retyped(table, &wanted, log)?;
            let missing = add_to_log(dialect, &wanted, log)?;
            texts.extend(match reason {
                TrackReason::Added(column) => gap(dialect, table, &[layout_before(table, column)]),
                TrackReason::Altered(alteration) => {
                    // A killed process may have noted the new one.
                    let before = layout_before_alteration(table, alteration);
                    gap(dialect, table, &[before, layout(table)])
                }
                TrackReason::Track { captured: true, .. } if missing.is_empty() => {
                    gap(dialect, table, &[layout(table)])
                }
                TrackReason::Track { .. } => gap(dialect, table, &[]),
            });
            texts.extend(missing);
        }
        None => {
            texts.extend(create_table(dialect, &wanted)?);
            let name = ValueRef::Text(table.name());
            let mut note = Writer::new(dialect);
            note.raw("INSERT INTO ")
                .name(TRACKED_TABLE)
                .raw(" (")
                .name("name")
                .raw(", ")
                .name("pruned");
            note.raw(") VALUES (").literal(name).raw(", 0)");
            texts.push(note.into_text());
            let again = was_untracked(dialect, table);
            texts.extend(gap_if(dialect, table, &again));
            texts.push(format!("{} WHERE {again}", note_text(dialect, &untracked_text(table))));
        }
    }
    texts.extend(match dialect {
        Dialect::Sqlite => sqlite_triggers(table, &wanted),
        Dialect::MariaDb | Dialect::MySql => mysql_triggers(dialect, table, &wanted),
        Dialect::Postgres => postgres_triggers(table, &wanted),
    });
    if let TrackReason::Altered(alteration) = reason
        && alteration.renames_table()
        && dialect.is_mysql()
    {
        // They went with the table.
        texts.extend(drop_triggers(dialect, alteration.from()));
    }
    texts.push(note_layout(dialect, table));
    Ok(texts)
}

/// The number of the last change, from the [counter](push_counter).
pub(crate) fn push_last_change(out: &mut Writer<'_>) {
    match out.dialect {
        Dialect::Postgres => out.raw("CASE WHEN is_called THEN last_value ELSE 0 END"),
        _ => out.name("seq"),
    };
}

pub(crate) fn push_counter(out: &mut Writer<'_>) {
    let is_postgres = out.dialect == Dialect::Postgres;
    out.name(if is_postgres { "bobak_feed_seq" } else { COUNTER_TABLE });
}

/// The statements that add the columns to a log that `wanted` has and it has not.
///
/// # Errors
/// None for the log of a table that is tracked.
pub(crate) fn add_to_log(
    dialect: Dialect,
    wanted: &TableSchema,
    log: &TableSchema,
) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for (place, column) in wanted.columns().iter().enumerate() {
        if log.column(&column.name).is_err() {
            texts.extend(add_column(dialect, wanted, place)?);
        }
    }
    Ok(texts)
}

/// Rejects a table with a name that another table took from its log.
fn reject_other(table: &TableSchema, wanted: &TableSchema, log: &TableSchema) -> Result<()> {
    let mut own = wanted.columns().iter().take(bobak_core::change_log::LOG_COLUMNS);
    if own.all(|column| log.column(&column.name).is_ok()) {
        return Ok(());
    }
    let name = log.name();
    let message =
        format!("the table '{name}' is no change log, but has the name of one: rename it");
    Err(Error::new(ErrorKind::Schema, message).in_table(table.name()))
}

/// Rejects a table with a column whose log would convert its values.
fn reject_retyped(table: &TableSchema, wanted: &TableSchema, log: &TableSchema) -> Result<()> {
    let other = |column: &&bobak_core::ColumnSchema| {
        let logged = log.column(&column.name).ok().and_then(|place| log.columns().get(place));
        logged.is_some_and(|logged| (logged.ty, logged.storage) != (column.ty, column.storage))
    };
    let Some(place) = wanted.columns().iter().position(|column| other(&column)) else {
        return Ok(());
    };
    let column = place.saturating_sub(bobak_core::change_log::LOG_COLUMNS) / 2;
    let column = table.columns().get(column).map_or("", |column| &column.name).to_owned();
    let message = "the column has another type than its change log: untrack the table, which deletes \
                   its history, and track it again";
    Err(Error::new(ErrorKind::Schema, message).in_table(table.name().to_owned()).in_column(column))
}

/// The condition that the last layout of a table is, or is not, among these texts.
fn last_layout(dialect: Dialect, table: &TableSchema, is: &str, texts: &[String]) -> String {
    let mut out = Writer::new(dialect);
    let own = |out: &mut Writer<'_>| {
        out.raw(" FROM ").name(LAYOUT_TABLE).raw(" WHERE ").name("name").raw(" = ");
        out.literal(ValueRef::Text(table.name()));
    };
    out.raw("EXISTS (SELECT 1");
    own(&mut out);
    out.raw(" AND ").name("layout").raw(is);
    for (number, text) in texts.iter().enumerate() {
        out.raw(if number == 0 { "(" } else { ", " }).literal(ValueRef::Text(text));
    }
    out.raw(")");
    out.raw(" AND ").name("id").raw(" = (SELECT max(").name("id").raw(")");
    own(&mut out);
    out.raw("))");
    out.into_text()
}

/// Statements that record that the changes of a table up to now are unknown, unless the last layout is among these.
pub(crate) fn gap(dialect: Dialect, table: &TableSchema, known: &[String]) -> Vec<String> {
    match known {
        [] => note_gap(dialect, table),
        _ => gap_if(dialect, table, &last_layout(dialect, table, " NOT IN ", known)),
    }
}

/// As [`gap`], if a condition holds.
fn gap_if(dialect: Dialect, table: &TableSchema, condition: &str) -> Vec<String> {
    let mut texts = note_gap(dialect, table);
    for text in texts.iter_mut().filter(|text| text.starts_with("UPDATE ")) {
        let join = if text.contains(" WHERE ") { " AND " } else { " WHERE " };
        text.push_str(join);
        text.push_str(condition);
    }
    texts
}

/// The condition that a table was tracked before, and then no longer.
fn was_untracked(dialect: Dialect, table: &TableSchema) -> String {
    let mut out = Writer::new(dialect);
    out.raw("EXISTS (SELECT 1 FROM ").name(LAYOUT_TABLE).raw(" WHERE ").name("name").raw(" = ");
    out.literal(ValueRef::Text("")).raw(" AND ").name("layout").raw(" = ");
    out.literal(ValueRef::Text(&untracked_text(table))).raw(")");
    out.into_text()
}

/// The statement that records the layout of a table, unless it is the last one.
fn note_layout(dialect: Dialect, table: &TableSchema) -> String {
    let now = layout(table);
    let mut note = Writer::new(dialect);
    note.raw("INSERT INTO ").name(LAYOUT_TABLE).raw(" (").name("name").raw(", ").name("seq");
    note.raw(", ").name("layout").raw(") SELECT ").literal(ValueRef::Text(table.name())).raw(", ");
    push_last_change(&mut note);
    note.raw(", ").literal(ValueRef::Text(&now)).raw(" FROM ");
    push_counter(&mut note);
    note.raw(" WHERE NOT ").raw(&last_layout(dialect, table, " IN ", std::slice::from_ref(&now)));
    note.into_text()
}

fn note_gap(dialect: Dialect, table: &TableSchema) -> Vec<String> {
    let name = |name: &str| quote(dialect, name);
    let (feed, seq) = (name(COUNTER_TABLE), name("seq"));
    let (mut texts, number) = match dialect {
        // The lock first, as writers take it.
        Dialect::Postgres => (
            vec![format!("SELECT pg_advisory_xact_lock({LOCK})")],
            "nextval('bobak_feed_seq')".to_owned(),
        ),
        _ => (
            vec![format!("UPDATE {feed} SET {seq} = {seq} + 1")],
            format!("(SELECT {seq} FROM {feed})"),
        ),
    };
    let mut note = Writer::new(dialect);
    note.raw("UPDATE ").name(TRACKED_TABLE).raw(" SET ").name("pruned").raw(" = ").raw(&number);
    note.raw(" WHERE ").name("name").raw(" = ").literal(ValueRef::Text(table.name()));
    texts.push(note.into_text());
    texts
}

/// The statement that lists the triggers of the database's tables: each one's table, its own name, and whether it is one of
/// change capture that an earlier version of Bobak created.
#[must_use]
pub const fn list_triggers(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => {
            "SELECT tbl_name, name, name LIKE 'bobak!_log!_%' ESCAPE '!' AND \
             sql NOT LIKE '%BEGIN /* bobak: log 2 */%' FROM main.sqlite_master WHERE type = 'trigger' \
             AND sql NOT LIKE '%BEGIN /* bobak: search */%'"
        }
        Dialect::Postgres => {
            "SELECT c.relname::text, t.tgname::text, t.tgname = 'bobak_log' OR t.tgname = \
             '!bobak_log' AND p.prosrc NOT LIKE '/* bobak: log 3 */%' OR t.tgname = '!bobak_log' AND \
             c.relkind = 'p' AND EXISTS (SELECT 1 FROM pg_partition_tree(c.oid) q \
             JOIN pg_class r ON r.oid = q.relid WHERE r.relkind IN ('r', 'p') AND NOT EXISTS \
             (SELECT 1 FROM pg_trigger w WHERE w.tgrelid = q.relid AND w.tgname = 'bobak_whole')) \
             FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid \
             WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND c.relnamespace = \
             (SELECT oid FROM pg_namespace WHERE nspname = current_schema())"
        }
        Dialect::MariaDb | Dialect::MySql => {
            "SELECT EVENT_OBJECT_TABLE, TRIGGER_NAME, TRIGGER_NAME LIKE 'bobak!_log!_%' ESCAPE '!' AND \
             ACTION_STATEMENT NOT LIKE 'BEGIN /* bobak: log 2 */%' FROM information_schema.TRIGGERS \
             WHERE EVENT_OBJECT_SCHEMA = DATABASE()"
        }
    }
}

/// The statements that drop the triggers of change capture.
pub(crate) fn drop_triggers(dialect: Dialect, table: &TableSchema) -> Vec<String> {
    match dialect {
        Dialect::Sqlite | Dialect::MariaDb | Dialect::MySql => drop_verb_triggers(dialect, table),
        Dialect::Postgres => drop_postgres_triggers(table),
    }
}

/// Rejects a table some of whose changes set off no trigger.
pub(crate) fn reject_unseen(dialect: Dialect, table: &TableSchema) -> Result<()> {
    let keys = table.all_foreign_keys();
    let follows = |key: &&bobak_core::ForeignKey| {
        key.on_delete.changes_rows() || key.on_update.changes_rows()
    };
    match keys.iter().find(follows) {
        Some(key) if dialect.is_mysql() => {
            let message = "this server runs no triggers for rows that a foreign key deletes or \
                           changes, so the table cannot be tracked";
            let error = Error::new(ErrorKind::Unsupported, message).in_table(table.name());
            Err(error.in_column(table.column_names(&key.columns)))
        }
        _ => Ok(()),
    }
}

/// The tables that all logs share, where they are missing.
pub(crate) fn shared(dialect: Dialect) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for table in [counter_schema(), tracked_schema(), layout_schema()] {
        let made = create_table(dialect, table)?.into_iter();
        texts.extend(
            made.map(|text| text.replacen("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1)),
        );
    }
    let name = |name: &str| quote(dialect, name);
    let (feed, columns) = (name(COUNTER_TABLE), ["id", "seq", "at"].map(name).join(", "));
    texts.push(format!(
        "INSERT INTO {feed} ({columns}) SELECT 1, 0, 0 FROM (SELECT 1 AS one) AS one \
         WHERE NOT EXISTS (SELECT 1 FROM {feed})"
    ));
    if dialect == Dialect::Postgres {
        texts.push("CREATE SEQUENCE IF NOT EXISTS bobak_feed_seq".to_owned());
        texts.push("CREATE SEQUENCE IF NOT EXISTS bobak_feed_at".to_owned());
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::sql_token::{SqlSyntax, SqlTokenizer};
    use bobak_core::{ColumnSchema, OnDelete, Type};

    const TRACK: TrackReason<'static> = TrackReason::Track { captured: true, history: false };

    fn city() -> TableSchema {
        TableSchema::builder("city")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::of::<String>("name"))
            .key(["id"])
            .build()
            .unwrap()
    }

    #[test]
    fn a_trigger_counts_and_writes_both_images() {
        let texts = track(Dialect::Sqlite, &city(), None, TRACK).unwrap();
        let update = texts.iter().find(|text| text.contains("AFTER UPDATE")).unwrap();
        assert!(update.starts_with(
            "CREATE TRIGGER \"bobak_log_update_city\" AFTER UPDATE ON \"city\" BEGIN \
             /* bobak: log 2 */ UPDATE \"bobak_feed\" SET \"seq\" = \"seq\" + 1, \"at\" = max("
        ));
        assert!(update.contains(
            " INSERT INTO \"bobak_log_city\" (\"seq\", \"at\", \"who\", \"verb\", \"old_id\", \
             \"new_id\", \"old_name\", \"new_name\") SELECT \"bobak_feed\".\"seq\", \
             \"bobak_feed\".\"at\", \"bobak_feed\".\"who\", CASE WHEN bobak_row.\"id\" IS NULL THEN 3 \
             ELSE 2 END, OLD.\"id\", bobak_row.\"id\", OLD.\"name\", bobak_row.\"name\" FROM \
             \"bobak_feed\" LEFT JOIN \"city\" AS bobak_row ON bobak_row.\"id\" = NEW.\"id\" WHERE "
        ));
    }

    #[test]
    fn a_log_that_is_there_gets_what_it_lacks() {
        let log = log_schema(&city(), false).unwrap();
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MariaDb] {
            let texts = track(dialect, &city(), Some(&log), TRACK).unwrap();
            assert!(!texts.iter().any(|text| text.starts_with("CREATE TABLE \"")), "{texts:?}");
            assert!(!texts.iter().any(|text| text.contains("DROP TABLE")), "{texts:?}");
            let id_only = TableSchema::builder("city")
                .column(ColumnSchema::new("id", Type::I64))
                .key(["id"])
                .build()
                .unwrap();
            let old = log_schema(&id_only, false).unwrap();
            let texts = track(dialect, &city(), Some(&old), TRACK).unwrap();
            let added = |text: &String| text.contains("old_name") && text.contains("ADD COLUMN");
            assert!(texts.iter().any(added), "{texts:?}");
            assert!(texts.iter().any(|text| text.contains("pruned")), "{texts:?}");
        }
    }

    /// The body of the log's function is a string that a name must not end.
    #[test]
    fn names_end_no_string() {
        let table = TableSchema::builder("t'")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::of::<String>("x$bobak$; DROP TABLE y; --"))
            .key(["id"])
            .build()
            .unwrap();
        for text in track(Dialect::Postgres, &table, None, TRACK).unwrap() {
            let tokens = SqlTokenizer::new(SqlSyntax::Postgres, &text);
            assert!(!tokens.clone().any(|token| token.is_operator(";")), "{text}");
            assert!(tokens.clone().all(|token| token.is_terminated), "{text}");
        }
    }

    #[test]
    fn servers_without_triggers_for_cascades_reject() {
        let table = TableSchema::builder("street")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::new("city", Type::I64).references(
                "city",
                "id",
                OnDelete::Cascade,
            ))
            .key(["id"])
            .build()
            .unwrap();
        assert!(track(Dialect::Postgres, &table, None, TRACK).is_ok());
        let error = track(Dialect::MariaDb, &table, None, TRACK).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(error.column(), Some("city"));
    }
}

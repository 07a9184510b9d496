//! The triggers of change capture on SQLite.
//!
//! SQLite runs foreign keys' actions before the triggers of the row that caused them, and newer triggers before older ones.
//! So when a trigger logs a change, the row may have been changed again, and that is logged already. The change that
//! is logged is therefore the one that leads to the row that is stored by then: the last change of a row in the log
//! is always what the table has.

use crate::Dialect;
use crate::capture_triggers::{
    VERBS, create_trigger, images, insert_change, of_key, sides, take_number,
};
use crate::dialect::quote;
use bobak_core::{KeyGeneration, TableSchema};

const SQLITE: Dialect = Dialect::Sqlite;

/// Begins the bodies of triggers. Those of earlier versions lack it, see [`list_triggers`](crate::list_triggers).
const MARK: &str = "/* bobak: log 2 */";

/// The row that is stored by now.
const STORED: &str = "bobak_row";

/// What creates the triggers.
pub(crate) fn sqlite_triggers(table: &TableSchema, log: &TableSchema) -> Vec<String> {
    let bodies = [inserted(table, log), updated(table, log), deleted(table, log)];
    let create = |((verb, _), inserts): ((&str, u8), String)| {
        let body = format!("{MARK} {} {inserts}", take_number(SQLITE));
        create_trigger(SQLITE, table, verb, &body)
    };
    VERBS.into_iter().zip(bodies).flat_map(create).collect()
}

fn insert(
    table: &TableSchema,
    log: &TableSchema,
    verb: &str,
    sides: [Option<&str>; 2],
    from: &str,
) -> String {
    insert_change(SQLITE, log, verb, images(SQLITE, table, log, sides), from)
}

fn inserted(table: &TableSchema, log: &TableSchema) -> String {
    let from = format!(" JOIN {}", stored(table, "NEW"));
    let main = insert(table, log, "1", [None, Some(STORED)], &from);
    format!("{main}{}", without_key(table, log, 1))
}

fn updated(table: &TableSchema, log: &TableSchema) -> String {
    // Another row may have the old key now, and was logged: that it is gone must not come after it.
    let moved = of_key(SQLITE, table, " OR ", |column| format!("OLD.{column} IS NOT NEW.{column}"));
    let name = quote(SQLITE, table.name());
    let taken = is_row(table, "bobak_taken", "OLD");
    let moved = format!("({moved}) AND EXISTS (SELECT 1 FROM {name} AS bobak_taken WHERE {taken})");
    let stored = stored(table, "NEW");
    let has_key = has_key(table).map_or(String::new(), |has_key| format!(" AND {has_key}"));
    let from = format!(" LEFT JOIN {stored} WHERE NOT ({moved}){has_key}");
    let main = insert(table, log, &verb(table), [Some("OLD"), Some(STORED)], &from);
    let from = format!(" JOIN {stored} WHERE {moved}");
    let other = insert(table, log, "1", [None, Some(STORED)], &from);
    format!("{main} {other}{}", without_key(table, log, 2))
}

fn deleted(table: &TableSchema, log: &TableSchema) -> String {
    let from = format!(" LEFT JOIN {}", stored(table, "OLD"));
    insert(table, log, &verb(table), [Some("OLD"), Some(STORED)], &from)
}

/// A table and the condition of a join: the stored row with the key of another one.
fn stored(table: &TableSchema, side: &str) -> String {
    format!("{} AS {STORED} ON {}", quote(SQLITE, table.name()), is_row(table, STORED, side))
}

fn is_row(table: &TableSchema, one: &str, other: &str) -> String {
    of_key(SQLITE, table, " AND ", |column| format!("{one}.{column} = {other}.{column}"))
}

/// An update, or a deletion if no row is stored.
fn verb(table: &TableSchema) -> String {
    let is_gone = of_key(SQLITE, table, " AND ", |column| format!("{STORED}.{column} IS NULL"));
    format!("CASE WHEN {is_gone} THEN 3 ELSE 2 END")
}

/// The condition that a row has a whole key; `None` if all have, as their key is the rowid.
fn has_key(table: &TableSchema) -> Option<String> {
    let is_rowid = table.key_generation() == KeyGeneration::Engine;
    let not_null = |column| format!("NEW.{column} IS NOT NULL");
    (!is_rowid).then(|| of_key(SQLITE, table, " AND ", not_null))
}

/// What logs a change of a row with NULL in its key, which identifies no stored row.
fn without_key(table: &TableSchema, log: &TableSchema, verb: u8) -> String {
    let Some(has_key) = has_key(table) else { return String::new() };
    let from = format!(" WHERE NOT ({has_key})");
    format!(" {}", insert(table, log, &verb.to_string(), sides(verb), &from))
}

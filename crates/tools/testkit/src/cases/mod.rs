//! The cases, in groups: each is a function that takes new stores from a
//! [`Harness`] and says what is wrong.
//!
//! What a case asserts is in the documentation of [`Session`](bobak_core::Session) and of the
//! types that it takes.

pub mod alterations;
pub mod batches;
pub mod changes;
pub mod checks;
pub mod conditions;
pub mod cursors;
pub mod described;
pub mod errors;
pub mod feed;
pub mod generated;
pub mod joins;
pub mod keys;
pub mod links;
pub mod lists;
pub mod long_batches;
pub mod patterns;
pub mod plans;
pub mod readers;
pub mod reopen;
pub mod row_locks;
pub mod rules;
pub mod schema;
pub mod search;
pub mod selects;
pub mod sql;
pub mod sql_types;
pub mod subqueries;
pub mod transactions;
pub mod value_parts;
pub mod values;
pub mod vectors;
pub mod versions;
pub mod writes;

use crate::{Check, Failure, Fixture, Harness, Probe, Table, Values, holds, same};
use bobak_core::{Comparison, Condition, GeneratedKey, Outcome, ResultColumn, Value};

/// A new row with an explicit key.
const NEW: Outcome = Outcome::Inserted(None);
/// One row was updated or deleted.
const ONE: Outcome = Outcome::Changed(1);
/// No row was.
const NONE: Outcome = Outcome::Changed(0);

/// A new row with a generated key.
const fn made(key: i64) -> Outcome {
    Outcome::Inserted(Some(GeneratedKey::Int(key)))
}

/// The generated key of a new row. If the engine generates keys densely, it must be `dense`.
#[track_caller]
fn key_of(probe: &Probe<'_>, what: &str, outcome: Outcome, dense: i64) -> Check<i64> {
    match outcome {
        Outcome::Inserted(Some(GeneratedKey::Int(key))) => {
            if probe.capabilities.sequential_keys {
                same(what, key, dense)?;
            }
            Ok(key)
        }
        other => Err(Failure::new(format!("{what}: {other:?} where the engine makes a key"))),
    }
}

/// The generated keys, in order; other outcomes are left out. Each is
/// larger than the one before.
#[track_caller]
fn keys_of(what: &str, outcomes: impl IntoIterator<Item = Outcome>) -> Check<Vec<i64>> {
    let made = outcomes.into_iter().filter_map(|outcome| match outcome {
        Outcome::Inserted(Some(GeneratedKey::Int(key))) => Some(key),
        _ => None,
    });
    let keys: Vec<i64> = made.collect();
    holds(&format!("{what}: keys ascend"), keys.is_sorted_by(|a, b| a < b))?;
    Ok(keys)
}

/// The texts that the engine accepts as keys: some engines reject NUL, and Oracle the empty text.
fn possible<'t>(store: &Fixture, texts: &[&'t str]) -> Vec<&'t str> {
    let nuls = store.engine().capabilities().nul_in_text;
    let empty = store.engine().name() != "oracle";
    let takes = |text: &&str| (nuls || !text.contains('\0')) && (empty || !text.is_empty());
    texts.iter().copied().filter(takes).collect()
}

/// Whether an engine with finite floats only rejects the value.
fn is_infinite(value: &Value<'_>) -> bool {
    matches!(value, Value::Float(float) if float.is_infinite())
}

/// Runs `case` in a session of a new store with these tables.
fn with(harness: &dyn Harness, tables: &[&Table], case: impl FnOnce(&Probe<'_>) -> Check) -> Check {
    let store = harness.fresh()?;
    let probe = Probe::with_tables(store.engine(), tables)?;
    case(&probe)
}

/// `column = value`.
fn equal(column: usize, value: impl Into<Value<'static>>) -> Condition {
    compare(column, Comparison::Equal, value)
}

fn compare(column: usize, comparison: Comparison, value: impl Into<Value<'static>>) -> Condition {
    Condition::Compare { column, comparison, value: value.into() }
}

/// The names of columns.
fn names(columns: &[ResultColumn]) -> Vec<&str> {
    columns.iter().map(|column| &*column.name).collect()
}

/// The first column of each row, as integers; 0 if it is not one.
fn ids(rows: &[Values]) -> Vec<i64> {
    let first = |row: &Values| match row.first() {
        Some(Value::Int(id)) => *id,
        _ => 0,
    };
    rows.iter().map(first).collect()
}

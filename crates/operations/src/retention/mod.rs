//! Removing old changes from the change log.

use crate::replication::in_transaction;
use bobak_changes::ChangeLog;
use bobak_core::change_log::{self, AT, SEQ};
use bobak_core::{
    Assign, BulkChange, Comparison, Condition, Engine, Result, Session, Timestamp, Value,
};
use std::time::Duration;

/// Which changes [`prune`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// This many of the last changes, over all tables. Numbers that no change has count too.
    Last(u64),
    /// Changes that are not older than this.
    Newer(Duration),
    /// Changes with numbers above this one, which every reader has read.
    Since(u64),
}

/// Removes changes from an engine's change log, and so from the history of its records; returns their number. Readers
/// that have not read them yet get `NotFound` when they continue.
///
/// # Errors
/// Those of the engine; nothing is removed then.
pub fn prune(engine: &dyn Engine, keep: Keep) -> Result<u64> {
    let logs = bobak_changes::logs(engine)?;
    let session = engine.session()?;
    let to = last_to_remove(&*session, &logs, keep)?;
    if to == 0 {
        return Ok(0);
    }
    drop(session);
    in_transaction(engine, |session| remove(session, &logs, to))
}

/// The largest number that may be removed.
fn last_to_remove(session: &dyn Session, logs: &[ChangeLog], keep: Keep) -> Result<u64> {
    let last = bobak_changes::last_id(session, logs)?;
    match keep {
        Keep::Last(changes) => Ok(last.saturating_sub(changes)),
        Keep::Since(id) => Ok(id.min(last)),
        Keep::Newer(age) => {
            let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
            let moment = Timestamp::now().as_microsecond().saturating_sub(age);
            let older = Condition::Compare {
                column: AT,
                comparison: Comparison::Less,
                value: moment.into(),
            };
            // Times ascend as numbers do.
            logs.iter().try_fold(0, |to, log| Ok(to.max(log.last(session, Some(older.clone()))?)))
        }
    }
}

fn remove(session: &dyn Session, logs: &[ChangeLog], to: u64) -> Result<u64> {
    let gone = bobak_changes::compare_number(SEQ, Comparison::LessOrEqual, to);
    let tracked = bobak_changes::tracked(session)?;
    logs.iter().try_fold(0, |sum, log| {
        // A reader of tables of which nothing after its position is removed misses nothing.
        let last = log.last(session, Some(gone.clone()))?;
        let is_own = |name: &str| log.table.name().eq_ignore_ascii_case(name);
        let own = tracked.iter().find(|tracked| is_own(&tracked.name));
        if let Some(own) = own.filter(|_| last > 0) {
            note_removed(session, &own.name, last)?;
        }
        let change = BulkChange { table: &log.schema, condition: Some(&gone), assign: None };
        Ok(sum + session.change(&change)?)
    })
}

/// Records that a table's changes up to a number may be gone.
fn note_removed(session: &dyn Session, table: &str, to: u64) -> Result<()> {
    let value = Value::Int(i64::try_from(to).unwrap_or(i64::MAX));
    let name = Condition::Compare {
        column: 1,
        comparison: Comparison::Equal,
        value: Value::from(table.to_owned()),
    };
    let behind = bobak_changes::compare_number(2, Comparison::Less, to);
    let assign = [Assign::Set { column: 2, value }];
    let change = BulkChange {
        table: change_log::tracked_schema(),
        condition: Some(&Condition::And(vec![name, behind])),
        assign: Some(&assign),
    };
    session.change(&change).map(drop)
}

//! The end of the change log: the largest number, read in one statement.
//!
//! A statement sees a transaction completely or not at all, so the largest number it sees is the end
//! of a transaction.

use crate::change::integer;
use crate::log::{ChangeLog, last_move, tracked};
use bobak_core::change_log::counter_schema;
use bobak_core::{Error, ErrorKind, Result, Select, Session, Source, ValueRef};

/// The largest number of all changes, removed ones included.
///
/// # Errors
/// Those of the engine.
pub fn last_id(session: &dyn Session, logs: &[ChangeLog]) -> Result<u64> {
    last_boundary(session, logs).map(|(last, _)| last)
}

/// The largest number of all changes, and whether it is certain that a transaction ends with it.
pub(crate) fn last_boundary(session: &dyn Session, logs: &[ChangeLog]) -> Result<(u64, bool)> {
    use ErrorKind::{Denied, Syntax, Unsupported};
    let counted = counted(session)?;
    if counted > 0 {
        return Ok((counted, true));
    }
    // Either there are no changes yet, or the engine numbers changes without this counter.
    let pruned = tracked(session)?.iter().map(|tracked| tracked.pruned).max().unwrap_or(0);
    // The changes of a table that is no longer tracked were numbered, too.
    let pruned = pruned.max(last_move(session)?);
    let one_by_one = || {
        logs.iter().try_fold(0, |last: u64, log| Ok::<_, Error>(last.max(log.last(session, None)?)))
    };
    if logs.len() < 2 {
        return Ok((one_by_one()?.max(pruned), true));
    }
    match last_of_all(session, logs) {
        Ok(last) => Ok((last.max(pruned), true)),
        // The engine has no SQL, this client may not use it, or the dialect rejects the statement: read the
        // logs one by one.
        Err(error) if matches!(error.kind(), Unsupported | Denied | Syntax) => {
            let last = one_by_one()?;
            Ok((last.max(pruned), last == 0))
        }
        Err(error) => Err(error),
    }
}

/// The value of the change counter; 0 if there is none.
fn counted(session: &dyn Session) -> Result<u64> {
    let mut counted = 0;
    let select = Select { limit: Some(1), ..Select::all(counter_schema()) };
    let read = session.query(&Source::Select(&select), &mut |row| {
        counted = integer(row, 1)?.unsigned_abs();
        Ok(true)
    });
    match read {
        Err(error) if error.kind() == ErrorKind::Schema => Ok(0),
        read => read.map(|()| counted),
    }
}

/// The largest number in all logs, read in one statement of standard SQL.
fn last_of_all(session: &dyn Session, logs: &[ChangeLog]) -> Result<u64> {
    let of_log = |log: &ChangeLog| {
        let name = log.schema.name().replace('"', "\"\"");
        format!("SELECT max(seq) AS top FROM \"{name}\"")
    };
    let all: Vec<String> = logs.iter().map(of_log).collect();
    let text = format!("SELECT max(top) FROM ({}) AS logs", all.join(" UNION ALL "));
    let mut last = 0;
    session.query(&Source::Sql { text: &text, parameters: &[] }, &mut |row| {
        if let ValueRef::Int(number) = row.get(0) {
            last = number.unsigned_abs();
        }
        Ok(true)
    })?;
    Ok(last)
}

//! Pages of changes: the logs of several tables, merged in the order of commits.
//!
//! Numbers are assigned in the order of commits, so whoever sees a change sees all changes with
//! smaller numbers. A page first reads the largest number, then only changes up to it: so reads of
//! different logs fit together although they happen at different moments.

use crate::boundary::last_border;
use crate::change::Change;
use crate::log::{ChangeLog, TrackedTable, compare_number, tracked};
use bobak_core::change_log::SEQ;
use bobak_core::{Comparison, Condition, Error, ErrorKind, Result, Session, Timestamp};

/// About the most bytes of a page's rows, of each log.
const PAGE_BYTES: usize = 8 << 20;

/// Some changes, and where to go on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChangePage {
    /// The changes, by their numbers.
    pub changes: Vec<Change>,
    /// What [`Changes::since`] is to be given for the next page. Larger than the last change's
    /// number where others follow, of tables that were not asked for.
    pub next: u64,
    /// The feed's end when the page was read: its number is `next`, or larger where the page does not
    /// reach it. `None` where the engine can't tell: on PostgreSQL for a caller who may run no SQL.
    pub border: Option<TransactionBoundary>,
}

/// A number with which a transaction ends: all changes up to it are of transactions that were
/// committed, and all of those are among them. Such is the end of the feed for whoever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionBoundary {
    /// The number.
    pub id: u64,
    /// When that was seen, by the clock of this machine: what was committed before is not above it.
    pub read: Timestamp,
}

impl ChangePage {
    /// Whether the page ends with a transaction's end, and the next one begins with a transaction.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.border.is_some_and(|border| border.id == self.next)
    }
}

/// At most `limit` changes of the `wanted` logs with numbers above `since`, fewer where their rows
/// are long, and up to where that is all. `all` are the logs of all tracked tables.
///
/// # Errors
/// `NotFound` where changes after that number were taken out; those of the engine.
pub fn page(
    session: &dyn Session,
    all: &[ChangeLog],
    wanted: &[ChangeLog],
    since: u64,
    limit: usize,
) -> Result<ChangePage> {
    let read = Timestamp::now();
    let (last, is_border) = last_border(session, all)?;
    let border = is_border.then_some(TransactionBoundary { id: last, read });
    if last <= since {
        return Ok(ChangePage { changes: Vec::new(), next: since, border });
    }
    let (mut changes, mut last) = (Vec::new(), last);
    for log in wanted {
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        let (found, more) =
            log.list_within(session, between(since, last), Some(most), PAGE_BYTES)?;
        if let Some(end) = found.last().filter(|_| more) {
            // Behind it this log has changes that were not read.
            last = end.id;
        }
        changes.extend(found);
    }
    changes.retain(|change| change.id <= last);
    // What is taken out is noted in the same moment: nothing that was to be read is missing where
    // nothing is noted now.
    let pruned = pruned(session, wanted)?;
    if pruned > since {
        let message = format!(
            "changes up to {pruned} were taken out of the feed, and {since} is before that: begin \
             with a copy"
        );
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    changes.sort_by_key(|change| change.id);
    changes.truncate(limit);
    let next = match changes.last() {
        Some(change) if changes.len() >= limit => change.id,
        _ => last,
    };
    Ok(ChangePage { changes, next, border })
}

/// The largest number that was taken out of some logs.
pub(crate) fn pruned(session: &dyn Session, wanted: &[ChangeLog]) -> Result<u64> {
    let is_wanted = |tracked: &TrackedTable| {
        wanted.iter().any(|log| log.table.name().eq_ignore_ascii_case(&tracked.name))
    };
    let tracked = tracked(session)?;
    let pruned = tracked.iter().filter(|tracked| is_wanted(tracked)).map(|tracked| tracked.pruned);
    Ok(pruned.max().unwrap_or(0))
}

/// Changes with numbers above one and not above another.
fn between(above: u64, to: u64) -> Condition {
    Condition::And(vec![
        compare_number(SEQ, Comparison::Greater, above),
        compare_number(SEQ, Comparison::LessOrEqual, to),
    ])
}

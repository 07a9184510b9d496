//! Pages of changes: the logs of several tables, merged in the order of commits.
//!
//! Numbers are assigned in the order of commits, so a reader that sees a change sees all changes with
//! smaller numbers. A page first reads the largest number, then only changes up to it: so reads of
//! different logs fit together although they happen at different moments.

use crate::boundary::last_boundary;
use crate::change::Change;
use crate::log::{ChangeLog, compare_number, tracked, tracked_again};
use bobak_core::change_log::SEQ;
use bobak_core::{Comparison, Condition, Error, ErrorKind, Result, Session, Timestamp};

/// The largest size of a page's rows from each log, approximately.
const PAGE_BYTES: usize = 8 << 20;

/// A page of changes, and where the next one starts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChangePage {
    /// The changes, by number.
    pub changes: Vec<Change>,
    /// The argument of [`Changes::since`](crate::Changes::since) for the next page. Larger than the last
    /// change's number if changes of other tables follow.
    pub next: u64,
    /// The end of the change log when the page was read: its number is `next`, or larger if there are
    /// more pages. `None` if the engine cannot tell: on PostgreSQL, for clients that may not run SQL.
    pub boundary: Option<TransactionBoundary>,
}

/// The end of a transaction in the change log: it contains every change up to this number of every
/// transaction that it contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionBoundary {
    /// The number of the transaction's last change.
    pub id: u64,
    /// When the boundary was read, by the clock of this machine: changes committed earlier have numbers
    /// up to it.
    pub read: Timestamp,
}

impl ChangePage {
    /// Whether the page ends at a transaction boundary.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.boundary.is_some_and(|boundary| boundary.id == self.next)
    }
}

/// Reads at most `limit` changes of the `wanted` logs with numbers above `since`; fewer if their rows
/// are long. `all` are the logs of all tracked tables.
///
/// # Errors
/// `NotFound` if changes after `since` were removed; those of the engine.
pub fn page(
    session: &dyn Session,
    all: &[ChangeLog],
    wanted: &[ChangeLog],
    since: u64,
    limit: usize,
) -> Result<ChangePage> {
    let page = read(session, all, wanted, since, limit)?;
    check(session, wanted, since, false)?;
    Ok(page)
}

/// As [`page`], without a [`check`], which must follow.
pub(crate) fn read(
    session: &dyn Session,
    all: &[ChangeLog],
    wanted: &[ChangeLog],
    since: u64,
    limit: usize,
) -> Result<ChangePage> {
    let read = Timestamp::now();
    let (last, is_boundary) = last_boundary(session, all)?;
    let boundary = is_boundary.then_some(TransactionBoundary { id: last, read });
    if last <= since {
        return Ok(ChangePage { changes: Vec::new(), next: since, boundary });
    }
    let (mut changes, mut last) = (Vec::new(), last);
    for log in wanted {
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        let (found, more) =
            log.list_within(session, between(since, last), Some(most), PAGE_BYTES)?;
        if let Some(end) = found.last().filter(|_| more) {
            // This log has more changes after that one, which were not read.
            last = end.id;
        }
        changes.extend(found);
    }
    changes.retain(|change| change.id <= last);
    changes.sort_by_key(|change| change.id);
    changes.truncate(limit);
    let next = match changes.last() {
        Some(change) if changes.len() >= limit => change.id,
        _ => last,
    };
    Ok(ChangePage { changes, next, boundary })
}

/// Checks that no change after `since` was removed before a page was read.
pub(crate) fn check(
    session: &dyn Session,
    wanted: &[ChangeLog],
    since: u64,
    over_untracked: bool,
) -> Result<()> {
    // Removing changes updates this number in the same transaction. So if it is not above `since` now,
    // no change is missing from what was read.
    let pruned = pruned(session, wanted, over_untracked)?;
    if pruned <= since {
        return Ok(());
    }
    let message = format!(
        "changes up to {pruned} were pruned from the change log, or not captured, and {since} is before \
         that: begin with a copy, or, as a consumer, skip to {pruned}"
    );
    Err(Error::new(ErrorKind::NotFound, message))
}

/// The largest number of a change that was removed from some logs. `over_untracked` leaves out that a table was not tracked for
/// a while.
pub(crate) fn pruned(
    session: &dyn Session,
    wanted: &[ChangeLog],
    over_untracked: bool,
) -> Result<u64> {
    let mut pruned = 0;
    for tracked in tracked(session)? {
        let is_own = |log: &&ChangeLog| log.table.name().eq_ignore_ascii_case(&tracked.name);
        let Some(log) = wanted.iter().find(is_own).filter(|_| tracked.pruned > pruned) else {
            continue;
        };
        if !over_untracked || tracked_again(session, &log.table)? != tracked.pruned {
            pruned = tracked.pruned;
        }
    }
    Ok(pruned)
}

/// Changes with numbers above `above`, up to `to`.
fn between(above: u64, to: u64) -> Condition {
    Condition::And(vec![
        compare_number(SEQ, Comparison::Greater, above),
        compare_number(SEQ, Comparison::LessOrEqual, to),
    ])
}

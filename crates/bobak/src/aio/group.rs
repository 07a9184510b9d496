//! Writes of single rows, committed together.

use crate::write_queue::write_group;
use bobak_core::{Engine, Error, ErrorKind, Outcome, Result, WriteBatch};
use std::sync::Arc;

/// The most rows in one transaction.
pub(super) const MAX_ROWS: usize = 1_000;
/// The size of rows in one transaction after which no further row is added.
const MAX_BYTES: usize = 4 << 20;

/// A queued write of one row.
pub(super) trait GroupedWrite: Send + Sync {
    /// Starts the write, which can't be cancelled any more; `false` if it was cancelled.
    fn start(&self) -> bool;

    /// Adds the row to a batch.
    ///
    /// # Errors
    /// Those of the row, which is not added then.
    fn encode(&self, batch: &mut WriteBatch) -> Result<()>;

    /// Writes the row by itself, and completes the write.
    fn write_alone(&self);

    /// Completes the write with its outcome.
    fn complete(&self, outcome: Result<Outcome>);
}

/// Writes all rows, and completes their writes.
pub(super) fn write(engine: &dyn Engine, writes: Vec<Arc<dyn GroupedWrite>>) {
    let mut started =
        StartedWrites(writes.into_iter().filter(|write| write.start()).rev().collect());
    while !started.0.is_empty() {
        if let [write] = &started.0[..] {
            write.write_alone();
            started.0.clear();
        } else {
            write_together(engine, &mut started);
        }
    }
}

/// Started writes without an outcome, the next one last. Those left by a panic get an error, since nobody may wait
/// forever.
struct StartedWrites(Vec<Arc<dyn GroupedWrite>>);

impl Drop for StartedWrites {
    fn drop(&mut self) {
        for write in &self.0 {
            let message = "the thread that wrote for several panicked";
            write.complete(Err(Error::new(ErrorKind::Unknown, message)));
        }
    }
}

/// Writes as many rows as fit in one transaction.
fn write_together(engine: &dyn Engine, started: &mut StartedWrites) {
    let mut batch = WriteBatch::new();
    let mut sent = StartedWrites(Vec::new());
    while batch.bytes() < MAX_BYTES
        && let Some(write) = started.0.pop()
    {
        match write.encode(&mut batch) {
            Ok(()) => sent.0.push(write),
            Err(error) => write.complete(Err(error)),
        }
    }
    let mut outcomes = write_group(engine, &mut batch, 0);
    if outcomes.error().is_some_and(|error| may_depend_on_row(error.kind())) {
        sent.0.reverse();
        while let Some(write) = sent.0.last() {
            write.write_alone();
            sent.0.pop();
        }
        return;
    }
    for write in std::mem::take(&mut sent.0) {
        write.complete(outcomes.next_row());
    }
}

/// Whether the failure of a group may be due to some rows only, so that the others succeed by themselves. The other kinds
/// would fail each row alike, or leave it unknown whether the rows were committed.
fn may_depend_on_row(kind: ErrorKind) -> bool {
    !matches!(
        kind,
        ErrorKind::Unknown
            | ErrorKind::Busy
            | ErrorKind::Unreachable
            | ErrorKind::Io
            | ErrorKind::Full
            | ErrorKind::ReadOnly
            | ErrorKind::Timeout
    )
}

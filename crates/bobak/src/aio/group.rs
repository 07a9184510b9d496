//! Single records, written together: one transaction, one sync, and a result for each.

use bobak_core::{Batch, Engine, Error, ErrorKind, OnError, Outcome, Result};
use std::sync::Arc;

/// The most records in one transaction.
pub(super) const MOST_ROWS: usize = 1_000;
/// The most bytes of records in one transaction, but for the last that was added.
const MOST_BYTES: usize = 4 << 20;

/// A record that waits to be written.
pub(super) trait LoneWrite: Send + Sync {
    /// Whether it is still wanted; from now on it can't be cancelled.
    fn begin(&self) -> bool;

    /// Adds it to a batch.
    ///
    /// # Errors
    /// Those of the record; nothing is added then.
    fn push(&self, batch: &mut Batch) -> Result<()>;

    /// Writes it by itself, and puts its result.
    fn write(&self);

    /// Puts what came of it.
    fn finish(&self, outcome: Result<Outcome>);
}

/// Writes all of them, and puts their results.
pub(super) fn write(engine: &dyn Engine, writes: Vec<Arc<dyn LoneWrite>>) {
    let mut begun = Begun(writes.into_iter().filter(|write| write.begin()).rev().collect());
    while !begun.0.is_empty() {
        if let [write] = &begun.0[..] {
            write.write();
            begun.0.clear();
        } else {
            together(engine, &mut begun);
        }
    }
}

/// Those that were begun and have no result yet, the next one last. What a panic leaves over gets
/// an error: nobody may wait for ever.
struct Begun(Vec<Arc<dyn LoneWrite>>);

impl Drop for Begun {
    fn drop(&mut self) {
        for write in &self.0 {
            let message = "the thread that wrote for several panicked";
            write.finish(Err(Error::new(ErrorKind::Unknown, message)));
        }
    }
}

/// Writes as many as fit in one transaction.
fn together(engine: &dyn Engine, begun: &mut Begun) {
    let mut batch = Batch::new();
    let mut sent = Begun(Vec::new());
    while batch.bytes() < MOST_BYTES
        && let Some(write) = begun.0.pop()
    {
        match write.push(&mut batch) {
            Ok(()) => sent.0.push(write),
            Err(error) => write.finish(Err(error)),
        }
    }
    batch.stamp();
    let mut outcomes = Vec::with_capacity(sent.0.len());
    let mut each = |outcome| outcomes.push(outcome);
    let whole =
        engine.session().and_then(|session| session.batch(&batch, OnError::Continue, &mut each));
    match whole {
        Ok(()) => {
            let mut outcomes = outcomes.into_iter();
            for write in std::mem::take(&mut sent.0) {
                let outcome = outcomes.next().unwrap_or_else(|| {
                    Err(Error::new(ErrorKind::Engine, "the engine gave no outcome for the row"))
                });
                write.finish(outcome.map_err(Error::without_row));
            }
        }
        Err(error) if may_be_at_fault(error.kind()) => {
            sent.0.reverse();
            while let Some(write) = sent.0.last() {
                write.write();
                sent.0.pop();
            }
        }
        Err(error) => {
            for write in std::mem::take(&mut sent.0) {
                write.finish(Err(error.to_bare()));
            }
        }
    }
}

/// Whether the error may be that of some records only, so that the others get through by
/// themselves. From the rest each would suffer alike, and where nobody knows whether all were
/// written nothing is tried again.
fn may_be_at_fault(kind: ErrorKind) -> bool {
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

//! Writing a group of rows in one transaction.

use crate::retry;
use bobak_core::{Engine, Error, ErrorKind, GeneratedKey, OnError, Outcome, Result, WriteBatch};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::vec::IntoIter;

/// The outcomes of a group, row by row.
pub(crate) struct GroupOutcomes<'b> {
    batch: &'b WriteBatch,
    /// The outcomes that the engine reported; fewer than rows if the whole group failed.
    rows: IntoIter<Result<Outcome>>,
    whole: Result<()>,
    next: u64,
}

/// Writes a batch in one transaction, and repeats it up to `retries` times after a conflict. A panic of the engine
/// becomes an error: every waiter must get a result.
pub(crate) fn write_group<'b>(
    engine: &dyn Engine,
    batch: &'b mut WriteBatch,
    retries: u32,
) -> GroupOutcomes<'b> {
    batch.stamp();
    let batch = &*batch;
    let mut retry = 0;
    loop {
        let mut rows = Vec::with_capacity(batch.rows() as usize);
        let mut each = |outcome| rows.push(outcome);
        let whole = catch_unwind(AssertUnwindSafe(|| {
            engine.session()?.batch(batch, OnError::Continue, &mut each)
        }));
        let whole = whole.unwrap_or_else(|_| {
            let message = "the engine panicked: it is unknown whether the write was committed";
            Err(Error::new(ErrorKind::Unknown, message))
        });
        match &whole {
            // Nothing was committed, as after a failed transaction.
            Err(error) if retry < retries && retry::is_retryable(error, true) => {
                std::thread::sleep(retry::pause(retry));
                retry += 1;
            }
            _ => return GroupOutcomes { batch, rows: rows.into_iter(), whole, next: 0 },
        }
    }
}

impl GroupOutcomes<'_> {
    /// The error of the whole group, if it failed.
    #[cfg(feature = "async")]
    pub(crate) fn error(&self) -> Option<&Error> {
        self.whole.as_ref().err()
    }

    /// The outcome of the next row. Errors have no row number, since callers do not know their group.
    pub(crate) fn next_row(&mut self) -> Result<Outcome> {
        let row = self.next;
        self.next += 1;
        match (self.rows.next(), &self.whole) {
            (Some(Err(error)), _) => Err(error.without_row()),
            (_, Err(error)) => Err(error.to_bare()),
            (Some(Ok(Outcome::Inserted(None))), Ok(())) => {
                Ok(Outcome::Inserted(self.batch.generated_key(row).map(GeneratedKey::Uuid)))
            }
            (Some(outcome), Ok(())) => outcome,
            (None, Ok(())) => {
                Err(Error::new(ErrorKind::Engine, "the engine reported no outcome for the write"))
            }
        }
    }
}

//! The results of a batch.

use super::outcomes::BatchOutcomes;
use bobak_core::{Error, Key, Outcome, Result};

/// The most errors kept if outcomes are not kept.
const MAX_ERRORS: usize = 1_000;

/// The results of a batch.
#[derive(Debug, Default)]
pub struct BatchReport {
    /// How many writes were sent.
    pub rows: u64,
    /// How many rows were inserted, including replacements and upserts of new rows.
    pub inserted: u64,
    /// How many rows were updated, including by upserts, or deleted.
    pub changed: u64,
    /// How many inserts were skipped because their row exists.
    pub ignored: u64,
    /// How many rows failed.
    pub failed: u64,
    /// The first thousand errors, with their row numbers, if outcomes are not kept.
    pub errors: Vec<Error>,
    outcomes: BatchOutcomes,
}

impl BatchReport {
    /// The outcome of a row, counted from 0 in the order of the calls; `None` if there is no such row, or outcomes are not
    /// kept.
    #[must_use]
    pub fn outcome(&self, row: usize) -> Option<Result<Outcome, &Error>> {
        self.outcomes.get(row as u64)
    }

    /// The outcomes of all rows, in the order of the calls; none if they are not kept.
    pub fn outcomes(&self) -> impl Iterator<Item = Result<Outcome, &Error>> {
        self.outcomes.iter()
    }

    /// The key that the engine or Bobak generated for a row, or that of a row that an
    /// [`upsert_on`](crate::Batch::upsert_on) updated; `None` if the caller gave it, or the row was not inserted.
    #[must_use]
    pub fn generated_key<K: Key>(&self, row: usize) -> Option<K> {
        match self.outcome(row)? {
            Ok(Outcome::Inserted(Some(key)) | Outcome::Updated(key)) => key.to_key().ok(),
            _ => None,
        }
    }
}

impl BatchReport {
    #[inline]
    pub(super) fn record(&mut self, outcome: Outcome, keep: bool) {
        self.rows += 1;
        match outcome {
            Outcome::Inserted(_) => self.inserted += 1,
            Outcome::Changed(rows) => self.changed += rows,
            Outcome::Updated(_) => self.changed += 1,
            Outcome::Ignored => self.ignored += 1,
        }
        if keep {
            self.outcomes.push(Ok(outcome));
        }
    }

    #[cold]
    pub(super) fn fail(&mut self, error: Error, keep: bool) {
        self.rows += 1;
        self.failed += 1;
        if keep {
            self.outcomes.push(Err(error));
        } else if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }
}

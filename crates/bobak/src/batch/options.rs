//! How a batch is sent.

use bobak_core::{OnError, choices, settings};

settings! {
    /// How a [`Batch`](super::Batch) is sent, and which results it keeps.
    ///
    /// ```
    /// use bobak::BatchOptions;
    /// use bobak::batch::{OnConflict, OnError};
    /// let options = BatchOptions::new()
    ///     .on_conflict(OnConflict::Ignore)
    ///     .on_error(OnError::Continue)
    ///     .commit_every(50_000);
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct BatchOptions with pub(super) settings {
        /// What inserts do if the row exists.
        on_conflict: OnConflict = OnConflict::Fail;
        /// What happens after a row's error.
        ///
        /// [`Stop`](OnError::Stop) rolls back everything since the last commit.
        on_error: OnError = OnError::Stop;
        /// Commits after this many rows; 0 commits once at the end, all or nothing.
        ///
        /// Inside a transaction, rows are committed with the transaction.
        commit_every: u64 = 10_000, unit = "rows";
        /// Whether every row's outcome is kept.
        ///
        /// Inserts with consecutive keys take no memory, an error or a generated UUID some dozens of bytes. Turn it off
        /// for endless input, if the counts and the first thousand errors are enough.
        keep_outcomes: bool = true;
    }
}

/// What an insert of a batch does if its key or a unique value exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OnConflict {
    /// The row fails with `Duplicate`.
    #[default]
    Fail,
    /// The row is skipped: `Outcome::Ignored`.
    Ignore,
    /// The existing rows are deleted first.
    Replace,
}

choices!(OnConflict: "fail" => Fail, "ignore" => Ignore, "replace" => Replace);

impl BatchOptions {
    /// Commits every 10,000 rows, stops at the first error, and keeps every row's outcome.
    pub fn new() -> Self {
        Self::default()
    }
}

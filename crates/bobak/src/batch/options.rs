//! How a batch is sent.

use bobak_core::OnError;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    pub(super) on_conflict: OnConflict,
    pub(super) on_error: OnError,
    pub(super) commit_every: u64,
    pub(super) keep_outcomes: bool,
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

impl BatchOptions {
    /// Commits every 10,000 rows, stops at the first error, and keeps every row's outcome.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            on_conflict: OnConflict::Fail,
            on_error: OnError::Stop,
            commit_every: 10_000,
            keep_outcomes: true,
        }
    }

    /// What inserts do if the row exists. Default: `Fail`.
    #[must_use]
    pub const fn on_conflict(mut self, on_conflict: OnConflict) -> Self {
        self.on_conflict = on_conflict;
        self
    }

    /// What happens after a row's error. Default: `Stop`, which rolls back everything since the last commit.
    #[must_use]
    pub const fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Commits after this many rows; 0 commits once at the end, all or nothing. Inside a transaction, rows are committed
    /// with the transaction. Default: 10,000.
    #[must_use]
    pub const fn commit_every(mut self, rows: u64) -> Self {
        self.commit_every = rows;
        self
    }

    /// Whether every row's outcome is kept. Inserts with consecutive keys take no memory, an error or a generated UUID some
    /// dozens of bytes. Turn it off for endless input, if the counts and the first thousand errors are enough. Default:
    /// on.
    #[must_use]
    pub const fn keep_outcomes(mut self, keep: bool) -> Self {
        self.keep_outcomes = keep;
        self
    }
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self::new()
    }
}

//! How far changes are made again.

use bobak_core::Timestamp;

/// How far changes are made again. Transactions are made wholly or not at all: see [`ReplayOptions::partial`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryTarget {
    /// All of them, but for those at the end whose transaction the folder may not have wholly.
    End,
    /// Up to this change, and with it. Refused where a transaction is not known to end with it.
    Change(u64),
    /// Those that were made before this moment, or at it, but for those whose transaction may have been
    /// under way then. Changes have the time of their statement, not of the commit.
    Moment(Timestamp),
}

/// How changes are made again: up to where, and whether a transaction may be made in part. An [`RecoveryTarget`] is
/// one, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOptions {
    pub(super) until: RecoveryTarget,
    pub(super) partial: bool,
}

impl ReplayOptions {
    /// Up to there, and whole transactions.
    #[must_use]
    pub const fn new(until: RecoveryTarget) -> Self {
        Self { until, partial: false }
    }

    /// Whether every change is made up to there, be it the first part of a transaction. Default: no, and
    /// what is left out so is [counted](crate::ReplayReport::left_out).
    #[must_use]
    pub const fn partial(mut self, partial: bool) -> Self {
        self.partial = partial;
        self
    }
}

impl From<RecoveryTarget> for ReplayOptions {
    fn from(until: RecoveryTarget) -> Self {
        Self::new(until)
    }
}

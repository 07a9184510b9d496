//! Options of a restore and of a replay.

use bobak_core::Timestamp;
use std::path::PathBuf;

/// How a backup is restored.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RestoreOptions {
    pub(super) overwrite: bool,
    pub(super) changes: Option<(PathBuf, ReplayOptions)>,
}

impl RestoreOptions {
    /// To a file that does not exist yet, as of the moment of the backup.
    #[must_use]
    pub const fn new() -> Self {
        Self { overwrite: false, changes: None }
    }

    /// Whether an existing database is replaced once the restored one is verified. Default: no, the restore fails with
    /// `Conflict`.
    #[must_use]
    pub const fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Replays the changes of an [`Archive`](crate::archive::Archive)'s folder before the database is renamed into
    /// place: see [`replay`](super::replay()).
    #[must_use]
    pub fn changes(
        mut self,
        folder: impl Into<PathBuf>,
        options: impl Into<ReplayOptions>,
    ) -> Self {
        self.changes = Some((folder.into(), options.into()));
        self
    }
}

/// Where a replay ends. A transaction is replayed completely or not at all, unless [`ReplayOptions::partial`] is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryTarget {
    /// After all changes, except those at the end whose transaction may not be complete in the folder.
    End,
    /// After the change with this number. Rejected if no transaction is known to end with it.
    Change(u64),
    /// After the changes made before or at this moment, except those whose transaction may have been open then. A
    /// change has the time of its statement, not of the commit.
    Moment(Timestamp),
}

/// Where a replay ends, and whether it may apply a part of a transaction. A [`RecoveryTarget`] converts to this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayOptions {
    pub(super) until: RecoveryTarget,
    pub(super) partial: bool,
}

impl ReplayOptions {
    /// Replays complete transactions up to the target.
    #[must_use]
    pub const fn new(until: RecoveryTarget) -> Self {
        Self { until, partial: false }
    }

    /// Whether every change up to the target is applied, even if it is in the first part of a transaction. Default: no;
    /// [`ReplayReport::left_out`](super::ReplayReport::left_out) counts the changes left out.
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

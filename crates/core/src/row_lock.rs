//! Row locks: a query that locks the rows it reads until its transaction ends.

use std::time::Duration;

/// How a query locks the rows that it reads. See [`Query::lock`](crate::Query::lock).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowLock {
    /// Waits for rows that another transaction has locked: for each at most the engine's busy timeout, then fails
    /// with `Busy`.
    Wait,
    /// Waits for each locked row at most this long, then fails with `Busy`. MariaDB counts whole seconds: a part of a
    /// second is rounded up. MySQL has no such timeout and fails with `Unsupported`.
    WaitAtMost(Duration),
    /// Fails with `Busy` at once if another transaction has locked one of the rows.
    NoWait,
    /// Leaves out rows that another transaction has locked: for queues.
    SkipLocked,
}

impl RowLock {
    /// How long to wait for a locked row, if the lock says so: in milliseconds, at least one.
    #[must_use]
    pub fn wait_millis(self) -> Option<u32> {
        match self {
            Self::WaitAtMost(time) => {
                Some(u32::try_from(time.as_millis()).unwrap_or(u32::MAX).max(1))
            }
            _ => None,
        }
    }
}

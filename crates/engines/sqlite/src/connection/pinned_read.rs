//! A read transaction that is kept open between single operations.
//! | If one connection is the only one and there is no write-ahead log to check for changes,
//! nobody else can write. So the read transaction that SQLite begins and ends around every
//! statement can stay open from one operation to the next, which saves a tenth of a lookup by
//! key. A statement that is positioned on a row keeps it open. All other operations reset that
//! statement first: SQLite rejects some statements, such as `DROP TABLE`, while another is
//! running.

use crate::ffi::StatementId;

/// The number of consecutive single operations after which pinning pays off.
pub(super) const PIN_AFTER: u8 = 8;

/// A query with one row whatever tables exist, which reads the database.
pub(super) const PINNING_QUERY: &str = "SELECT 1 FROM (SELECT 1) LEFT JOIN sqlite_schema";

/// The state of a connection's pinned read transaction.
#[derive(Debug, Default)]
pub(crate) struct PinnedRead {
    pub(super) allowed: bool,
    pub(super) single_operations: u8,
    pub(super) statement: Option<StatementId>,
}

impl PinnedRead {
    /// `allowed` only for the single connection of a database without a write-ahead log.
    pub(crate) fn new(allowed: bool) -> Self {
        Self { allowed, ..Self::default() }
    }
}

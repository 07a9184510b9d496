//! A read transaction that is kept open between single operations.
//! | If one connection is the only one and there is no write-ahead log to check for changes,
//! nobody else can write. So the read transaction that SQLite begins and ends around every
//! statement can stay open from one operation to the next, which saves a tenth of a lookup by
//! key. A statement that is positioned on a row keeps it open. All other operations reset that
//! statement first: SQLite rejects some statements, such as `DROP TABLE`, while another is
//! running.

use super::Connection;
use crate::ffi::StatementId;
use bobak_core::ValueRef;

/// The number of consecutive single operations after which pinning pays off.
const PIN_AFTER: u8 = 8;

/// A query with one row whatever tables exist, which reads the database.
pub(super) const PINNING_QUERY: &str = "SELECT 1 FROM (SELECT 1) LEFT JOIN sqlite_schema";

/// The state of a connection's pinned read transaction.
#[derive(Debug, Default)]
pub(crate) struct PinnedRead {
    allowed: bool,
    single_operations: u8,
    statement: Option<StatementId>,
}

impl PinnedRead {
    /// `allowed` only for the single connection of a database without a write-ahead log.
    pub(crate) fn new(allowed: bool) -> Self {
        Self { allowed, ..Self::default() }
    }
}

impl Connection {
    /// Called before a single operation outside transactions.
    #[inline]
    pub(crate) fn pin_read(&mut self) {
        if self.pinned_read.allowed && self.pinned_read.statement.is_none() {
            self.start_pinned_read();
        }
    }

    /// Called before any other operation.
    #[inline]
    pub(crate) fn unpin_read(&mut self) {
        if let Some(id) = self.pinned_read.statement.take() {
            self.db.reset(id);
        }
        self.pinned_read.single_operations = 0;
    }

    #[cold]
    fn start_pinned_read(&mut self) {
        self.pinned_read.single_operations += 1;
        if self.pinned_read.single_operations < PIN_AFTER {
            return;
        }
        self.pinned_read.single_operations = 0;
        // If it fails, the operation fails too, or does not need it.
        if let Ok(id) = self.text_statement(PINNING_QUERY)
            && self.db.begin(id, std::iter::empty::<ValueRef<'_>>()).is_ok()
            && matches!(self.db.step(id), Ok(Some(_)))
        {
            self.pinned_read.statement = Some(id);
        }
    }
}

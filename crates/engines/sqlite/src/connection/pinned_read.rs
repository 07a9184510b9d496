//! A read transaction that is kept open between single operations.
//! | If one connection is the only one and there is no write-ahead log to check for changes,
//! nobody else can write. So the read transaction that SQLite begins and ends around every
//! statement can stay open from one operation to the next, which saves a tenth of a lookup by
//! key. A statement that is positioned on a row keeps it open. All other operations reset that
//! statement first: SQLite rejects some statements, such as `DROP TABLE`, while another is
//! running.

use crate::ffi::{Connection, StatementId};
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

    /// Counts a single operation: whether the transaction is to begin before it.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.allowed && self.statement.is_none() && self.count()
    }

    #[cold]
    fn count(&mut self) -> bool {
        self.single_operations += 1;
        let is_due = self.single_operations >= PIN_AFTER;
        if is_due {
            self.single_operations = 0;
        }
        is_due
    }

    /// Begins it with the prepared [`PINNING_QUERY`]. If it fails, the operation fails too, or does not need it.
    pub(super) fn start(&mut self, db: &mut Connection, id: StatementId) {
        if db.begin(id, std::iter::empty::<ValueRef<'_>>()).is_ok()
            && matches!(db.step(id), Ok(Some(_)))
        {
            self.statement = Some(id);
        }
    }

    /// Ends it, if it has begun.
    #[inline]
    pub(super) fn end(&mut self, db: &mut Connection) {
        if let Some(id) = self.statement.take() {
            db.reset(id);
        }
        self.single_operations = 0;
    }
}

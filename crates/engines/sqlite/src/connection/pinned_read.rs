//! A read transaction kept open between lone operations.
//!
//! Where one connection is all that there is, and no log needs to be read anew, nobody else can
//! write: so the read transaction that SQLite begins and ends round every statement may as well
//! stay open from one to the next, which is a tenth of what a lookup by key costs. A statement that
//! stands on a row keeps it open. Whatever is not a lone operation has it reset first: some
//! statements (those that drop a table, or change a setting) are refused while another stands.

use crate::ffi::StatementId;

/// After so many lone operations in a row it pays to begin.
pub(super) const PIN_AFTER: u8 = 8;

/// A row whatever tables there are, read in a read transaction.
pub(super) const PINNING_QUERY: &str = "SELECT 1 FROM (SELECT 1) LEFT JOIN sqlite_schema";

/// What a connection knows of its kept transaction.
#[derive(Debug, Default)]
pub(crate) struct PinnedRead {
    pub(super) allowed: bool,
    pub(super) lone: u8,
    pub(super) statement: Option<StatementId>,
}

impl PinnedRead {
    /// Allowed for the only connection of a database that keeps no log.
    pub(crate) fn new(allowed: bool) -> Self {
        Self { allowed, ..Self::default() }
    }
}

//! A read transaction kept open between lone operations.
//!
//! Where one connection is all that there is, and no log needs to be read anew, nobody else can
//! write: so the read transaction that SQLite begins and ends round every statement may as well
//! stay open from one to the next, which is a tenth of what a lookup by key costs. A statement that
//! stands on a row keeps it open. Whatever is not a lone operation has it reset first: some
//! statements (those that drop a table, or change a setting) are refused while another stands.

use crate::connection::Connection;
use crate::ffi::StatementId;
use bobak_core::ValueRef;

/// After so many lone operations in a row it pays to begin.
const PATIENCE: u8 = 8;

/// A row whatever tables there are, read in a read transaction.
const STANDING: &str = "SELECT 1 FROM (SELECT 1) LEFT JOIN sqlite_schema";

/// What a connection knows of its kept transaction.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    allowed: bool,
    lone: u8,
    standing: Option<StatementId>,
}

impl Hold {
    /// Allowed for the only connection of a database that keeps no log.
    pub(crate) fn new(allowed: bool) -> Self {
        Self { allowed, ..Self::default() }
    }
}

impl Connection {
    /// To be called before a lone operation.
    #[inline]
    pub(crate) fn hold(&mut self) {
        if self.hold.allowed && self.hold.standing.is_none() {
            self.begin_holding();
        }
    }

    /// To be called before anything else.
    #[inline]
    pub(crate) fn let_go(&mut self) {
        if let Some(id) = self.hold.standing.take() {
            self.db.reset(id);
        }
        self.hold.lone = 0;
    }

    #[cold]
    fn begin_holding(&mut self) {
        self.hold.lone += 1;
        if self.hold.lone < PATIENCE {
            return;
        }
        self.hold.lone = 0;
        // Where it fails the operation does too, or does not need it.
        if let Ok(id) = self.text_statement(STANDING)
            && self.db.begin(id, std::iter::empty::<ValueRef<'_>>()).is_ok()
            && matches!(self.db.step(id), Ok(Some(_)))
        {
            self.hold.standing = Some(id);
        }
    }
}

//! Errors of tables that the caller may not see: a trigger writes to them, and fails there.

use super::engine::View;
use super::session::GuardedSession;
use bobak_core::feed::is_own_trigger;
use bobak_core::{Error, ErrorKind};

/// SQLite's code for a check that refused a row: it says which, but not of which table.
const CHECK: i32 = 275;

impl GuardedSession<'_> {
    /// The error as the caller may know it that writes to this table, or by SQL to any.
    pub(super) fn conceal(&self, written: Option<&str>, error: Error) -> Error {
        if !is_of_rows(error.kind()) {
            return error;
        }
        // Whose rights are gone learns nothing more.
        if self
            .guard
            .view()
            .is_ok_and(|view| view.is_whole() || !self.betrays(&view, written, &error))
        {
            return error;
        }
        let message = "a trigger of the table, or a rule behind one, refuses the row";
        let concealed = Error::new(ErrorKind::Constraint, message);
        let concealed = match written {
            Some(table) => concealed.in_table(table.to_owned()),
            None => concealed,
        };
        match error.row() {
            Some(row) => concealed.at_row(row),
            None => concealed,
        }
    }

    /// Whether an error tells of a table that the caller may not see, or may do so.
    fn betrays(&self, view: &View, written: Option<&str>, error: &Error) -> bool {
        let is_written = |table| written.is_some_and(|own| own.eq_ignore_ascii_case(table));
        let sees = |table| is_written(table) || view.sees(self.guard.database(), table);
        error.table().is_some_and(|table| !sees(table))
            || error.code() == Some(CHECK) && self.is_triggered(written)
    }

    /// Whether a table, or any, has triggers that are not the feed's.
    fn is_triggered(&self, table: Option<&str>) -> bool {
        let Ok(triggers) = self.inner.triggers() else { return true };
        triggers.unwrap_or_default().iter().any(|trigger| {
            let of_table = table.is_none_or(|table| table.eq_ignore_ascii_case(&trigger.table));
            of_table && !is_own_trigger(&trigger.name)
        })
    }
}

/// Whether a row that is written is to blame.
const fn is_of_rows(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Constraint
            | ErrorKind::Duplicate
            | ErrorKind::Mismatch
            | ErrorKind::OutOfRange
            | ErrorKind::TooLong
    )
}

//! Errors of tables that the caller may not see: a trigger writes to them, and fails there.

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
        let hides = match self.guard.view() {
            Ok(view) => {
                !view.is_whole() && {
                    let own = error.table().is_some_and(|table| {
                        written.is_some_and(|written| written.eq_ignore_ascii_case(table))
                            || view.sees(self.guard.database(), table)
                    });
                    match error.table() {
                        Some(_) if !own => true,
                        _ => error.code() == Some(CHECK) && self.is_triggered(written),
                    }
                }
            }
            // Whose rights are gone learns nothing more.
            Err(_) => true,
        };
        if !hides {
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

//! Errors of tables that the caller cannot see: a trigger wrote to one and failed there.

use super::permission_engine::PermissionView;
use super::permission_session::PermissionSession;
use bobak_core::change_log::is_capture_trigger;
use bobak_core::{Error, ErrorKind};

/// SQLite's code for a failed CHECK. Its message names the check, but not the table.
const SQLITE_CONSTRAINT_CHECK: i32 = 275;

impl PermissionSession<'_> {
    /// Replaces an error that leaks a hidden table. `written` is the table that the caller wrote to;
    /// `None` for SQL, which may write to several.
    pub(super) fn redact(&self, written: Option<&str>, error: Error) -> Error {
        if !is_about_rows(error.kind()) {
            return error;
        }
        // If the permissions are gone, the error is redacted as well.
        let view = self.engine.view();
        if view.is_ok_and(|view| view.is_unrestricted() || !self.leaks(&view, written, &error)) {
            return error;
        }
        let message = "a trigger of the table, or a constraint on what it writes, rejected the row";
        let redacted = Error::new(ErrorKind::Constraint, message);
        let redacted = match written {
            Some(table) => redacted.in_table(table.to_owned()),
            None => redacted,
        };
        match error.row() {
            Some(row) => redacted.at_row(row),
            None => redacted,
        }
    }

    /// Whether an error reveals, or may reveal, a table that the caller cannot see.
    fn leaks(&self, view: &PermissionView, written: Option<&str>, error: &Error) -> bool {
        let is_written = |table| written.is_some_and(|own| own.eq_ignore_ascii_case(table));
        let can_see = |table| is_written(table) || view.can_see(self.engine.database(), table);
        error.table().is_some_and(|table| !can_see(table))
            || error.code() == Some(SQLITE_CONSTRAINT_CHECK) && self.has_triggers(written)
    }

    /// Whether a table, or any table, has triggers other than those of change capture.
    fn has_triggers(&self, table: Option<&str>) -> bool {
        let Ok(triggers) = self.inner.triggers() else { return true };
        triggers.unwrap_or_default().iter().any(|trigger| {
            let of_table = table.is_none_or(|table| table.eq_ignore_ascii_case(&trigger.table));
            of_table && !is_capture_trigger(&trigger.name)
        })
    }
}

/// Whether errors of this kind are about the row that was written.
const fn is_about_rows(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Constraint
            | ErrorKind::Duplicate
            | ErrorKind::Invalid
            | ErrorKind::Mismatch
            | ErrorKind::OutOfRange
            | ErrorKind::TooLong
    )
}

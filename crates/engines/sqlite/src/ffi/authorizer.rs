//! SQLite's authorizer callback: reports what a statement does while it is prepared.

use super::actions::{StatementAction, StatementWatch, WriteKind};
use super::connection::{Connection, copy_text};
use libsqlite3_sys as sys;
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Connection {
    /// Starts to collect what statements do as they are prepared.
    pub(crate) fn watch(&mut self) -> &StatementWatch {
        if self.watch.is_none() {
            let watch = Box::<StatementWatch>::default();
            let pointer: *const StatementWatch = &raw const *watch;
            // SAFETY: the handle is open; what the pointer is to is boxed, and lives until the
            // connection is closed.
            unsafe {
                sys::sqlite3_set_authorizer(
                    self.raw.as_ptr(),
                    Some(authorize),
                    pointer.cast_mut().cast(),
                );
            }
            self.watch = Some(watch);
        }
        self.watch.as_ref().expect("it was just put there")
    }
}

unsafe extern "C" fn authorize(
    watch: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    database: *const c_char,
    _: *const c_char,
) -> c_int {
    // SAFETY: the pointer is the connection's `StatementWatch` (see `watch`).
    let watch = unsafe { &*watch.cast::<StatementWatch>() };
    let allowed = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: SQLite passes null, or texts that end with NUL.
        let text = |start: *const c_char| unsafe { copy_text(start) };
        let (table, database) = (text(first), text(database));
        watch.note(match action {
            sys::SQLITE_READ => StatementAction::Read { database, table },
            sys::SQLITE_INSERT => {
                StatementAction::Write { database, table, kind: WriteKind::Insert }
            }
            sys::SQLITE_UPDATE => {
                StatementAction::Write { database, table, kind: WriteKind::Update }
            }
            sys::SQLITE_DELETE => {
                StatementAction::Write { database, table, kind: WriteKind::Delete }
            }
            sys::SQLITE_FUNCTION => StatementAction::Function(text(second)),
            sys::SQLITE_SELECT | sys::SQLITE_RECURSIVE => return true,
            sys::SQLITE_ATTACH => StatementAction::Attach,
            sys::SQLITE_DETACH => StatementAction::Detach(table),
            sys::SQLITE_ALTER_TABLE => StatementAction::Schema(table),
            sys::SQLITE_PRAGMA => {
                StatementAction::Pragma(table, (!second.is_null()).then(|| text(second)))
            }
            sys::SQLITE_TRANSACTION
            | sys::SQLITE_SAVEPOINT
            | sys::SQLITE_ANALYZE
            | sys::SQLITE_REINDEX => StatementAction::Other,
            _ => StatementAction::Schema(database),
        })
    }));
    if allowed.unwrap_or(false) { sys::SQLITE_OK } else { sys::SQLITE_DENY }
}

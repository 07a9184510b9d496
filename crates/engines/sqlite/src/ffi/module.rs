//! Virtual tables behind SQLite's C interface: each callback finds its table or cursor, calls the
//! safe trait, and converts the result to a code. No panic leaves a callback.

use super::connection::{Connection, Failure, copy_text};
use super::index_info::IndexInfo;
use super::pending::PendingError;
use super::running::RunningStatement;
use super::values::{Arguments, Output};
use super::virtual_table::{
    ConflictAction, Module, RowChange, UpdateOutcome, VirtualCursor as _, VirtualTable as _,
};
use bobak_core::{Error, ErrorKind, Result};
use libsqlite3_sys as sys;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

type CursorOf<M> = <<M as Module>::Table as super::virtual_table::VirtualTable>::Cursor;

/// A registered module.
struct RegisteredModule<M> {
    module: M,
    pending: PendingError,
}

/// Starts with SQLite's part, so that a pointer to one is a pointer to the other.
#[repr(C)]
struct RawTable<M: Module> {
    base: sys::sqlite3_vtab,
    db: *mut sys::sqlite3,
    table: M::Table,
    pending: PendingError,
}

#[repr(C)]
struct RawCursor<M: Module> {
    base: sys::sqlite3_vtab_cursor,
    cursor: CursorOf<M>,
}

impl Connection {
    /// Registers a module of virtual tables. Errors of its tables become the causes of failures.
    pub(crate) fn register_module<M: Module>(
        &mut self,
        name: &str,
        module: M,
    ) -> Result<(), Failure> {
        let name = CString::new(name)
            .map_err(|_| Failure::own(sys::SQLITE_ERROR, "a NUL in the name of a module"))?;
        let pending = self.pending().clone();
        let registered = Box::into_raw(Box::new(RegisteredModule { module, pending }));
        // SAFETY: the handle is open; the module's functions are of one type `M`, as is what the
        // pointer is to; SQLite frees it by `drop_module`, even if the call fails.
        let code = unsafe {
            sys::sqlite3_create_module_v2(
                self.raw.as_ptr(),
                name.as_ptr(),
                Callbacks::<M>::MODULE,
                registered.cast(),
                Some(drop_module::<M>),
            )
        };
        self.check(code)
    }
}

unsafe extern "C" fn drop_module<M: Module>(registered: *mut c_void) {
    // SAFETY: SQLite calls it once, with what `register_module` has made.
    drop(unsafe { Box::from_raw(registered.cast::<RegisteredModule<M>>()) });
}

struct Callbacks<M>(PhantomData<M>);

impl<M: Module> Callbacks<M> {
    const MODULE: &'static sys::sqlite3_module = &sys::sqlite3_module {
        iVersion: 2,
        xCreate: if M::EPONYMOUS { None } else { Some(create::<M>) },
        xConnect: Some(connect::<M>),
        xBestIndex: Some(best_index::<M>),
        xDisconnect: Some(disconnect::<M>),
        xDestroy: Some(disconnect::<M>),
        xOpen: Some(open::<M>),
        xClose: Some(close::<M>),
        xFilter: Some(filter::<M>),
        xNext: Some(next::<M>),
        xEof: Some(eof::<M>),
        xColumn: Some(column::<M>),
        xRowid: Some(rowid::<M>),
        xUpdate: if M::WRITABLE { Some(update::<M>) } else { None },
        xBegin: if M::WRITABLE { Some(begin::<M>) } else { None },
        xSync: if M::WRITABLE { Some(sync::<M>) } else { None },
        xCommit: if M::WRITABLE { Some(commit::<M>) } else { None },
        xRollback: if M::WRITABLE { Some(rollback::<M>) } else { None },
        xFindFunction: None,
        xRename: None,
        xSavepoint: if M::WRITABLE { Some(savepoint::<M>) } else { None },
        xRelease: if M::WRITABLE { Some(release::<M>) } else { None },
        xRollbackTo: if M::WRITABLE { Some(rollback_to::<M>) } else { None },
        xShadowName: None,
        xIntegrity: None,
    };
}

/// Runs code that may fail or panic.
fn guard<R>(run: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// Converts a panic to an error.
#[cold]
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let message = format!("a function has panicked: {}", text.unwrap_or("without a text"));
    Error::new(ErrorKind::Engine, message)
}

/// SQLite's code for a table's error. Constraint violations have a code of their own, so that a
/// statement can skip the row.
fn code_of(error: &Error) -> c_int {
    match error.kind() {
        ErrorKind::Duplicate | ErrorKind::Constraint => sys::SQLITE_CONSTRAINT,
        _ => sys::SQLITE_ERROR,
    }
}

/// A copy of a text that SQLite frees.
fn sqlite_text(text: &str) -> *mut c_char {
    // SAFETY: what is allocated has room for the text and a NUL.
    unsafe {
        let copy = sys::sqlite3_malloc64(text.len() as u64 + 1).cast::<u8>();
        if !copy.is_null() {
            ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
            copy.add(text.len()).write(0);
        }
        copy.cast()
    }
}

/// Keeps a table's error, and gives its code.
///
/// # Safety
/// The pointer is to a table of this module.
#[cold]
unsafe fn fail<M: Module>(table: *mut sys::sqlite3_vtab, error: Error) -> c_int {
    let code = code_of(&error);
    // SAFETY: the caller says so; SQLite's own text, if any, is freed before it is replaced.
    unsafe {
        let raw = table.cast::<RawTable<M>>();
        sys::sqlite3_free((*raw).base.zErrMsg.cast());
        (*raw).base.zErrMsg = sqlite_text(&error.to_string());
        (*raw).pending.set(error);
    }
    code
}

/// Runs a method of a table.
///
/// # Safety
/// The pointer is to a table of this module, and nobody else changes it meanwhile.
unsafe fn on_table<M: Module>(
    table: *mut sys::sqlite3_vtab,
    run: impl FnOnce(&M::Table) -> Result<()>,
) -> c_int {
    // SAFETY: the caller says so.
    let result = guard(|| run(unsafe { &(*table.cast::<RawTable<M>>()).table }));
    match result {
        Ok(()) => sys::SQLITE_OK,
        // SAFETY: as above.
        Err(error) => unsafe { fail::<M>(table, error) },
    }
}

/// Runs a method of a cursor.
///
/// # Safety
/// The pointer is to a cursor of this module, and nobody else uses it meanwhile.
#[inline]
unsafe fn on_cursor<M: Module>(
    cursor: *mut sys::sqlite3_vtab_cursor,
    run: impl FnOnce(&mut CursorOf<M>) -> Result<()>,
) -> c_int {
    // SAFETY: the caller says so.
    let result = guard(|| run(unsafe { &mut (*cursor.cast::<RawCursor<M>>()).cursor }));
    match result {
        Ok(()) => sys::SQLITE_OK,
        // SAFETY: as above; a cursor knows its table.
        Err(error) => unsafe { fail::<M>((*cursor).pVtab, error) },
    }
}

unsafe extern "C" fn create<M: Module>(
    db: *mut sys::sqlite3,
    aux: *mut c_void,
    count: c_int,
    texts: *const *const c_char,
    table: *mut *mut sys::sqlite3_vtab,
    message: *mut *mut c_char,
) -> c_int {
    // SAFETY: what SQLite passes is passed on.
    unsafe { connect::<M>(db, aux, count, texts, table, message) }
}

unsafe extern "C" fn connect<M: Module>(
    db: *mut sys::sqlite3,
    aux: *mut c_void,
    count: c_int,
    texts: *const *const c_char,
    table: *mut *mut sys::sqlite3_vtab,
    message: *mut *mut c_char,
) -> c_int {
    // SAFETY: the pointer is what `register_module` has made, and lives as long as the module.
    let registered = unsafe { &*aux.cast::<RegisteredModule<M>>() };
    let made = guard(|| {
        // SAFETY: SQLite passes so many texts that end with NUL.
        let text = |place: usize| unsafe { copy_text(*texts.add(place)) };
        let count = usize::try_from(count).unwrap_or(0);
        let name = if count > 2 { text(2) } else { String::new() };
        let arguments: Vec<String> = (3..count).map(text).collect();
        registered.module.connect(&name, &arguments)
    });
    let (made, declaration) = match made {
        Ok(made) => made,
        Err(error) => {
            // SAFETY: SQLite takes the text over.
            unsafe { *message = sqlite_text(&error.to_string()) };
            registered.pending.set(error);
            return sys::SQLITE_ERROR;
        }
    };
    let Ok(declaration) = CString::new(declaration) else {
        return sys::SQLITE_ERROR;
    };
    // SAFETY: the connection is the one that connects the table; the options take an int, or
    // nothing, after them.
    unsafe {
        let code = sys::sqlite3_declare_vtab(db, declaration.as_ptr());
        if code != sys::SQLITE_OK {
            *message = sqlite_text(&copy_text(sys::sqlite3_errmsg(db)));
            return code;
        }
        if M::WRITABLE {
            sys::sqlite3_vtab_config(db, sys::SQLITE_VTAB_CONSTRAINT_SUPPORT, 1 as c_int);
        }
        let pending = registered.pending.clone();
        let base = sys::sqlite3_vtab { pModule: ptr::null(), nRef: 0, zErrMsg: ptr::null_mut() };
        let raw = Box::new(RawTable::<M> { base, db, table: made, pending });
        *table = Box::into_raw(raw).cast();
    }
    sys::SQLITE_OK
}

unsafe extern "C" fn disconnect<M: Module>(table: *mut sys::sqlite3_vtab) -> c_int {
    // SAFETY: SQLite gives back, once, what `connect` has made; its text is SQLite's to free.
    let raw = unsafe { Box::from_raw(table.cast::<RawTable<M>>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(raw)));
    sys::SQLITE_OK
}

unsafe extern "C" fn best_index<M: Module>(
    table: *mut sys::sqlite3_vtab,
    info: *mut sys::sqlite3_index_info,
) -> c_int {
    let mut possible = true;
    // SAFETY: SQLite passes a table of this module, and a question that lives for this call.
    let code = unsafe {
        on_table::<M>(table, |table| {
            possible = table.best_index(&mut IndexInfo::new(info))?;
            Ok(())
        })
    };
    if possible { code } else { sys::SQLITE_CONSTRAINT }
}

unsafe extern "C" fn open<M: Module>(
    table: *mut sys::sqlite3_vtab,
    cursor: *mut *mut sys::sqlite3_vtab_cursor,
) -> c_int {
    // SAFETY: SQLite passes a table of this module, and takes what is opened.
    unsafe {
        on_table::<M>(table, |opened| {
            let opened = opened.open()?;
            let base = sys::sqlite3_vtab_cursor { pVtab: table };
            *cursor = Box::into_raw(Box::new(RawCursor::<M> { base, cursor: opened })).cast();
            Ok(())
        })
    }
}

unsafe extern "C" fn close<M: Module>(cursor: *mut sys::sqlite3_vtab_cursor) -> c_int {
    // SAFETY: SQLite gives back, once, what `open` has made.
    let raw = unsafe { Box::from_raw(cursor.cast::<RawCursor<M>>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(raw)));
    sys::SQLITE_OK
}

unsafe extern "C" fn filter<M: Module>(
    cursor: *mut sys::sqlite3_vtab_cursor,
    _: c_int,
    plan: *const c_char,
    count: c_int,
    values: *mut *mut sys::sqlite3_value,
) -> c_int {
    // SAFETY: SQLite passes a cursor of this module, which knows its table and so its connection,
    // the plan's text that ends with NUL, and so many values, all of which live for this call.
    unsafe {
        let table = (*cursor).pVtab.cast::<RawTable<M>>();
        let running = RunningStatement::new((*table).db, &(*table).pending);
        on_cursor::<M>(cursor, |cursor| {
            let plan = if plan.is_null() { c"" } else { CStr::from_ptr(plan) };
            cursor.filter(plan.to_str().unwrap_or(""), Arguments::new(values, count), running)
        })
    }
}

unsafe extern "C" fn next<M: Module>(cursor: *mut sys::sqlite3_vtab_cursor) -> c_int {
    // SAFETY: SQLite passes a cursor of this module.
    unsafe { on_cursor::<M>(cursor, |cursor| cursor.next()) }
}

unsafe extern "C" fn eof<M: Module>(cursor: *mut sys::sqlite3_vtab_cursor) -> c_int {
    // SAFETY: SQLite passes a cursor of this module. Looking at a flag panics nowhere.
    c_int::from(unsafe { (*cursor.cast::<RawCursor<M>>()).cursor.is_at_end() })
}

unsafe extern "C" fn column<M: Module>(
    cursor: *mut sys::sqlite3_vtab_cursor,
    context: *mut sys::sqlite3_context,
    place: c_int,
) -> c_int {
    // SAFETY: SQLite passes a cursor of this module, and the context of this call.
    unsafe {
        on_cursor::<M>(cursor, |cursor| {
            cursor.column(usize::try_from(place).unwrap_or(usize::MAX), &mut Output::new(context));
            Ok(())
        })
    }
}

unsafe extern "C" fn rowid<M: Module>(
    cursor: *mut sys::sqlite3_vtab_cursor,
    rowid: *mut sys::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes a cursor of this module, and a place for the number.
    unsafe {
        on_cursor::<M>(cursor, |cursor| {
            *rowid = cursor.rowid();
            Ok(())
        })
    }
}

unsafe extern "C" fn update<M: Module>(
    table: *mut sys::sqlite3_vtab,
    count: c_int,
    values: *mut *mut sys::sqlite3_value,
    rowid: *mut sys::sqlite3_int64,
) -> c_int {
    let mut ignored = false;
    // SAFETY: SQLite passes a table of this module with its connection, so many values that live
    // for this call, and a place for the rowid of a new row.
    let code = unsafe {
        let conflict = match sys::sqlite3_vtab_on_conflict((*table.cast::<RawTable<M>>()).db) {
            sys::SQLITE_IGNORE => ConflictAction::Ignore,
            sys::SQLITE_REPLACE => ConflictAction::Replace,
            _ => ConflictAction::Abort,
        };
        on_table::<M>(table, |table| {
            let values = Arguments::new(values, count);
            let change = match values.len() {
                0 | 1 => RowChange::Delete { row: values },
                _ if values.get(0).is_null() => RowChange::Insert { values, conflict },
                _ => RowChange::Update { values, conflict },
            };
            match table.update(change)? {
                UpdateOutcome::Written(Some(made)) => *rowid = made,
                UpdateOutcome::Written(None) => {}
                UpdateOutcome::Ignored => ignored = true,
            }
            Ok(())
        })
    };
    // SQLite skips a row that violates a constraint, and does not count it, if the statement
    // permits that.
    if ignored { sys::SQLITE_CONSTRAINT } else { code }
}

macro_rules! steps {
    ($($name:ident),+) => {$(
        unsafe extern "C" fn $name<M: Module>(table: *mut sys::sqlite3_vtab) -> c_int {
            // SAFETY: SQLite passes a table of this module.
            unsafe { on_table::<M>(table, |table| table.$name()) }
        }
    )+};
}
steps!(begin, sync);

macro_rules! ends {
    ($($name:ident),+) => {$(
        unsafe extern "C" fn $name<M: Module>(table: *mut sys::sqlite3_vtab) -> c_int {
            // SAFETY: SQLite passes a table of this module.
            unsafe {
                on_table::<M>(table, |table| {
                    table.$name();
                    Ok(())
                })
            }
        }
    )+};
}
ends!(commit, rollback);

macro_rules! marks {
    ($($name:ident),+) => {$(
        unsafe extern "C" fn $name<M: Module>(
            table: *mut sys::sqlite3_vtab,
            number: c_int,
        ) -> c_int {
            // SAFETY: SQLite passes a table of this module.
            unsafe { on_table::<M>(table, |table| table.$name(number)) }
        }
    )+};
}
marks!(savepoint, release, rollback_to);

//! Replaces SQLite's `sum()`, which fails if a sum of integers exceeds 64 bits on the way
//! although the total fits, and so depends on the order of the rows. This one fails only if the
//! total does not fit, as in every other engine ([`Sum`]).

use super::connection::{Connection, Failure};
use bobak_core::{Sum, Value};
use libsqlite3_sys as sys;
use std::ffi::c_int;
use std::ptr;

impl Connection {
    /// Registers the function, also for window frames.
    pub(crate) fn register_sum(&mut self) -> Result<(), Failure> {
        let flags = sys::SQLITE_UTF8 | sys::SQLITE_DETERMINISTIC | sys::SQLITE_INNOCUOUS;
        // SAFETY: the handle is open, the name ends with NUL, the function needs no data.
        let code = unsafe {
            sys::sqlite3_create_window_function(
                self.raw.as_ptr(),
                c"sum".as_ptr(),
                1,
                flags,
                ptr::null_mut(),
                Some(step),
                Some(total),
                Some(total),
                Some(inverse),
                None,
            )
        };
        self.check(code)
    }
}

// SQLite aligns the memory of an aggregate for 64 bits.
const _: () = assert!(align_of::<Sum>() <= 8, "the sum is kept in SQLite's memory");

/// The sum of the running call; `None` if there is none yet and `make` is false, or if there is no memory.
///
/// # Safety
/// The context is that of a running call of this aggregate.
unsafe fn place(context: *mut sys::sqlite3_context, make: bool) -> Option<&'static mut Sum> {
    let size = if make { size_of::<Sum>() as c_int } else { 0 };
    // SAFETY: the memory is zeroed at first, which is a sum of nothing, and lives until the aggregate
    // has finished; nobody else refers to it.
    unsafe { sys::sqlite3_aggregate_context(context, size).cast::<Sum>().as_mut() }
}

/// A value to add or subtract.
enum Number {
    Integer(i64),
    Float(f64),
}

/// The call's value; `None` for NULL.
///
/// # Safety
/// The values are those of a running call, which has one.
unsafe fn number(values: *mut *mut sys::sqlite3_value) -> Option<Number> {
    // SAFETY: as above.
    unsafe {
        let value = *values;
        match sys::sqlite3_value_numeric_type(value) {
            sys::SQLITE_NULL => None,
            sys::SQLITE_INTEGER => Some(Number::Integer(sys::sqlite3_value_int64(value))),
            _ => Some(Number::Float(sys::sqlite3_value_double(value))),
        }
    }
}

unsafe extern "C" fn step(
    context: *mut sys::sqlite3_context,
    _: c_int,
    values: *mut *mut sys::sqlite3_value,
) {
    // SAFETY: the context is that of this call, which has one value.
    unsafe {
        let Some(number) = number(values) else { return };
        let Some(sum) = place(context, true) else {
            return sys::sqlite3_result_error_nomem(context);
        };
        match number {
            Number::Integer(integer) => sum.add_integer(integer),
            Number::Float(float) => sum.add_float(float),
        }
    }
}

unsafe extern "C" fn inverse(
    context: *mut sys::sqlite3_context,
    _: c_int,
    values: *mut *mut sys::sqlite3_value,
) {
    // SAFETY: as in `step`.
    unsafe {
        let Some(number) = number(values) else { return };
        let Some(sum) = place(context, false) else { return };
        match number {
            Number::Integer(integer) => sum.remove_integer(integer),
            Number::Float(float) => sum.remove_float(float),
        }
    }
}

/// NULL if there was no value.
unsafe extern "C" fn total(context: *mut sys::sqlite3_context) {
    // SAFETY: as in `step`; the text is copied, with its length.
    unsafe {
        let Some(sum) = place(context, false) else { return };
        match sum.total() {
            Ok(Value::Int(integer)) => sys::sqlite3_result_int64(context, integer),
            Ok(Value::Float(float)) => sys::sqlite3_result_double(context, float),
            Ok(_) => sys::sqlite3_result_null(context),
            Err(_) => {
                // SQLite's own message.
                let text = "integer overflow";
                sys::sqlite3_result_error(context, text.as_ptr().cast(), text.len() as c_int);
            }
        }
    }
}

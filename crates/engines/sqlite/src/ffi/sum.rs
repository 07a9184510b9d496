//! Replaces SQLite's `sum()`, which fails if a sum of integers exceeds 64 bits on the way
//! although the total fits, and so depends on the order of the rows. This one fails only if the
//! total does not fit, as in every other engine. For floats it computes the same, step by step.

use super::connection::{Connection, Failure};
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

/// The intermediate sum, in memory that SQLite zeroes for each group. It is aligned for 64 bits
/// only.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// The lower and the upper half of the integers' sum.
    low: u64,
    high: i64,
    /// The number of values.
    count: i64,
    /// The sum and its accumulated rounding error, from the first float on.
    float: f64,
    lost: f64,
    inexact: bool,
}

impl Sum {
    fn add(&mut self, integer: i64) {
        if self.inexact {
            return self.step_integer(integer.into());
        }
        let (low, carries) = self.low.overflowing_add(integer.cast_unsigned());
        self.low = low;
        self.high += (integer >> 63) + i64::from(carries);
    }

    fn take_away(&mut self, integer: i64) {
        if self.inexact {
            return self.step_integer(-i128::from(integer));
        }
        let (low, borrows) = self.low.overflowing_sub(integer.cast_unsigned());
        self.low = low;
        self.high -= (integer >> 63) + i64::from(borrows);
    }

    fn add_float(&mut self, value: f64) {
        if !self.inexact {
            self.inexact = true;
            self.step_integer(self.integers());
        }
        self.step(value);
    }

    fn integers(&self) -> i128 {
        (i128::from(self.high) << 64) | i128::from(self.low)
    }

    fn step_integer(&mut self, integer: i128) {
        // In two steps, each of which a float represents exactly.
        let small = if integer.unsigned_abs() < 1 << 52 { 0 } else { integer % 16_384 };
        self.step((integer - small) as f64);
        if small != 0 {
            self.step(small as f64);
        }
    }

    /// Kahan-Babuška-Neumaier summation.
    fn step(&mut self, value: f64) {
        let sum = self.float + value;
        self.lost += if self.float.abs() > value.abs() {
            (self.float - sum) + value
        } else {
            (value - sum) + self.float
        };
        self.float = sum;
    }

    fn as_float(&self) -> f64 {
        // An infinite value makes the rounding error meaningless.
        if self.lost.is_finite() { self.float + self.lost } else { self.float }
    }
}

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
        sum.count += 1;
        match number {
            Number::Integer(integer) => sum.add(integer),
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
        sum.count -= 1;
        match number {
            Number::Integer(integer) => sum.take_away(integer),
            Number::Float(float) => sum.step(-float),
        }
    }
}

/// NULL if there was no value.
unsafe extern "C" fn total(context: *mut sys::sqlite3_context) {
    // SAFETY: as in `step`; the text is copied, with its length.
    unsafe {
        let Some(sum) = place(context, false).filter(|sum| sum.count > 0) else { return };
        if sum.inexact {
            return sys::sqlite3_result_double(context, sum.as_float());
        }
        match i64::try_from(sum.integers()) {
            Ok(integer) => sys::sqlite3_result_int64(context, integer),
            Err(_) => {
                // SQLite's own message.
                let text = "integer overflow";
                sys::sqlite3_result_error(context, text.as_ptr().cast(), text.len() as c_int);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_in_both_directions() {
        let mut sum = Sum::default();
        let values = [i64::MAX, i64::MAX, i64::MIN, -1, 0, 1, i64::MIN, 7, i64::MIN];
        let mut exact = 0;
        for value in values {
            sum.add(value);
            exact += i128::from(value);
            assert_eq!(sum.integers(), exact);
        }
        for value in values {
            sum.take_away(value);
            exact -= i128::from(value);
            assert_eq!(sum.integers(), exact);
        }
        assert_eq!(exact, 0);
    }
}

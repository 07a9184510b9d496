//! Functions written in Rust, behind SQLite's C interface. No panic leaves a callback.

use super::connection::{Connection, Failure};
use super::module::panicked;
use super::pending::PendingError;
use super::values::{Arguments, Output};
use bobak_core::{Error, Result, Value, ValueRef};
use bobak_sql_typing::STORED_FUNCTIONS;
use libsqlite3_sys as sys;
use std::ffi::{CString, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

/// A function of each row's values.
pub(crate) type Scalar = Arc<dyn Fn(&[ValueRef<'_>]) -> Result<Value<'static>> + Send + Sync>;
/// Creates the state of an aggregate function.
pub(crate) type MakeAggregate = Arc<dyn Fn() -> Box<dyn Gather> + Send + Sync>;

/// The state of an aggregate function.
pub(crate) trait Gather: Send {
    /// Adds the arguments of a row.
    fn step(&mut self, arguments: &[ValueRef<'_>]) -> Result<()>;

    /// Returns the result.
    fn finish(self: Box<Self>) -> Result<Value<'static>>;
}

struct RegisteredFunction<F> {
    function: F,
    pending: PendingError,
}

impl Connection {
    /// Registers a function with this number of arguments (-1: any number).
    pub(crate) fn register_scalar(
        &mut self,
        name: &str,
        arguments: i32,
        function: Scalar,
    ) -> Result<(), Failure> {
        self.register_scalar_with(name, (arguments, sys::SQLITE_UTF8), function)
    }

    fn register_scalar_with(
        &mut self,
        name: &str,
        arguments: (i32, c_int),
        function: Scalar,
    ) -> Result<(), Failure> {
        let pending = self.pending().clone();
        let data = Box::into_raw(Box::new(RegisteredFunction { function, pending })).cast();
        let drop_data: Destroy = drop_registered::<Scalar>;
        self.register(name, arguments, data, (Some(call_scalar), None, None), drop_data)
    }

    /// Registers the functions that statements in stored units call. They are pure, so views and
    /// indexes may call them, too.
    pub(crate) fn register_stored_functions(&mut self) -> Result<(), Failure> {
        let flags = sys::SQLITE_UTF8 | sys::SQLITE_DETERMINISTIC | sys::SQLITE_INNOCUOUS;
        for function in STORED_FUNCTIONS {
            let arguments = (c_int::from(function.arguments), flags);
            let call: Scalar = Arc::new(|arguments| function.call(arguments));
            self.register_scalar_with(function.name, arguments, call)?;
        }
        Ok(())
    }

    /// Registers an aggregate function.
    pub(crate) fn register_aggregate(
        &mut self,
        name: &str,
        arguments: i32,
        make: MakeAggregate,
    ) -> Result<(), Failure> {
        let pending = self.pending().clone();
        let data = Box::into_raw(Box::new(RegisteredFunction { function: make, pending })).cast();
        let drop_data: Destroy = drop_registered::<MakeAggregate>;
        let flags = sys::SQLITE_UTF8;
        self.register(name, (arguments, flags), data, (None, Some(step), Some(finish)), drop_data)
    }

    fn register(
        &mut self,
        name: &str,
        (arguments, flags): (i32, c_int),
        data: *mut c_void,
        (call, step, finish): (Option<Call>, Option<Call>, Option<Finish>),
        drop_data: Destroy,
    ) -> Result<(), Failure> {
        let Ok(name) = CString::new(name) else {
            // SAFETY: `data` was made just now, of the type that `drop_data` frees.
            unsafe { drop_data(data) };
            return Err(Failure::own(sys::SQLITE_ERROR, "a NUL in the name of a function"));
        };
        // SAFETY: the handle is open; the callbacks expect the data that they are given, which
        // SQLite frees by `drop_data`, even if this call fails.
        let code = unsafe {
            sys::sqlite3_create_function_v2(
                self.raw.as_ptr(),
                name.as_ptr(),
                arguments,
                flags,
                data,
                call,
                step,
                finish,
                Some(drop_data),
            )
        };
        self.check(code)
    }
}

type Call = unsafe extern "C" fn(*mut sys::sqlite3_context, c_int, *mut *mut sys::sqlite3_value);
type Finish = unsafe extern "C" fn(*mut sys::sqlite3_context);
type Destroy = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" fn drop_registered<F>(data: *mut c_void) {
    // SAFETY: SQLite calls it once, with what was registered.
    drop(unsafe { Box::from_raw(data.cast::<RegisteredFunction<F>>()) });
}

unsafe extern "C" fn call_scalar(
    context: *mut sys::sqlite3_context,
    count: c_int,
    values: *mut *mut sys::sqlite3_value,
) {
    // SAFETY: the data is what `register_scalar` has given; the values live for this call.
    unsafe {
        let data = &*sys::sqlite3_user_data(context).cast::<RegisteredFunction<Scalar>>();
        let result = guard(|| (data.function)(&Arguments::new(values, count).to_vec()));
        set_result(context, &data.pending, result);
    }
}

/// The state of an aggregate function between rows, in memory that SQLite keeps for the group.
/// | # Safety
/// The context is that of a running call of an aggregate.
unsafe fn place(
    context: *mut sys::sqlite3_context,
    make: bool,
) -> Option<&'static mut *mut Box<dyn Gather>> {
    let size = if make { size_of::<*mut Box<dyn Gather>>() as c_int } else { 0 };
    // SAFETY: the memory is zeroed at first, aligned for a pointer, and lives until the aggregate
    // has finished; nobody else refers to it.
    unsafe {
        let place = sys::sqlite3_aggregate_context(context, size).cast::<*mut Box<dyn Gather>>();
        place.as_mut()
    }
}

unsafe extern "C" fn step(
    context: *mut sys::sqlite3_context,
    count: c_int,
    values: *mut *mut sys::sqlite3_value,
) {
    // SAFETY: the data is what `register_aggregate` has given; the values live for this call; the
    // place holds null, or what this function has put there.
    unsafe {
        let data = &*sys::sqlite3_user_data(context).cast::<RegisteredFunction<MakeAggregate>>();
        let Some(place) = place(context, true) else {
            sys::sqlite3_result_error_nomem(context);
            return;
        };
        let result = guard(|| {
            if place.is_null() {
                *place = Box::into_raw(Box::new((data.function)()));
            }
            (**place).step(&Arguments::new(values, count).to_vec())
        });
        if let Err(error) = result {
            set_result(context, &data.pending, Err(error));
        }
    }
}

unsafe extern "C" fn finish(context: *mut sys::sqlite3_context) {
    // SAFETY: as in `step`; SQLite calls this once for each group, even if a query ends early,
    // so the box is taken back once.
    unsafe {
        let data = &*sys::sqlite3_user_data(context).cast::<RegisteredFunction<MakeAggregate>>();
        let taken = place(context, false).map(|place| std::mem::replace(place, ptr::null_mut()));
        let result = guard(|| match taken.filter(|taken| !taken.is_null()) {
            Some(taken) => Box::from_raw(taken).finish(),
            // A group without rows.
            None => (data.function)().finish(),
        });
        set_result(context, &data.pending, result);
    }
}

fn guard<R>(run: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// # Safety
/// The context is that of a running call.
unsafe fn set_result(
    context: *mut sys::sqlite3_context,
    pending: &PendingError,
    result: Result<Value<'static>, Error>,
) {
    match result {
        // SAFETY: the caller says so.
        Ok(value) => unsafe { Output::new(context) }.set(value.as_ref().into()),
        Err(error) => {
            let text = error.to_string();
            let length = c_int::try_from(text.len()).unwrap_or(c_int::MAX);
            // SAFETY: the text is copied, with its length.
            unsafe { sys::sqlite3_result_error(context, text.as_ptr().cast(), length) };
            pending.set(error);
        }
    }
}

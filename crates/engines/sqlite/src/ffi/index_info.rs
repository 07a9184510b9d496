//! What SQLite's planner asks a virtual table, and where the answer goes.

use libsqlite3_sys as sys;
use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::slice;

/// One question of the planner, lent for the call.
#[derive(Debug)]
pub(crate) struct IndexInfo<'a> {
    raw: *mut sys::sqlite3_index_info,
    call: PhantomData<&'a mut ()>,
}

/// A condition that the planner could hand to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Constraint {
    /// The column's place; `None` for the rowid.
    pub column: Option<usize>,
    /// One of SQLite's `INDEX_CONSTRAINT` numbers.
    pub operator: c_int,
    /// Whether its value is known by the time the table is read, in the order of tables that is
    /// being looked at.
    pub usable: bool,
}

/// One step of the order that the query wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderStep {
    /// The column's place; `None` for the rowid.
    pub column: Option<usize>,
    /// Whether the largest come first.
    pub descending: bool,
}

/// What a plan costs, by the table's own reckoning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Costs {
    /// Of one run of the plan.
    pub cost: f64,
    /// About how many rows it gives.
    pub rows: u64,
    /// Whether it gives one row at most.
    pub unique: bool,
}

impl IndexInfo<'_> {
    /// # Safety
    /// The pointer is that of a running call of `xBestIndex`.
    pub(super) unsafe fn new(raw: *mut sys::sqlite3_index_info) -> Self {
        Self { raw, call: PhantomData }
    }

    /// The conditions, in an order that their places refer to.
    pub(crate) fn constraints(&self) -> Vec<Constraint> {
        // SAFETY: SQLite's array has as many as it says; the struct is valid for this call.
        let all = unsafe {
            let count = usize::try_from((*self.raw).nConstraint).unwrap_or(0);
            array((*self.raw).aConstraint, count)
        };
        let constraint = |c: &sys::sqlite3_index_constraint| Constraint {
            column: usize::try_from(c.iColumn).ok(),
            operator: c_int::from(c.op),
            usable: c.usable != 0,
        };
        all.iter().map(constraint).collect()
    }

    /// The order that the query wants.
    pub(crate) fn order(&self) -> Vec<OrderStep> {
        // SAFETY: as in `constraints`.
        let all = unsafe {
            let count = usize::try_from((*self.raw).nOrderBy).unwrap_or(0);
            array((*self.raw).aOrderBy, count)
        };
        let step = |step: &sys::sqlite3_index_orderby| OrderStep {
            column: usize::try_from(step.iColumn).ok(),
            descending: step.desc != 0,
        };
        all.iter().map(step).collect()
    }

    /// Whether the query reads this column.
    pub(crate) fn reads(&self, column: usize) -> bool {
        // SAFETY: the struct is valid for this call.
        let used = unsafe { (*self.raw).colUsed };
        // The last bit stands for all columns from there on.
        used & (1 << column.min(63)) != 0
    }

    /// The name of the collation by which a condition compares.
    pub(crate) fn collation(&self, constraint: usize) -> &str {
        // SAFETY: the constraint's place is looked at by SQLite; its answer is null or a text that
        // outlives the call.
        unsafe {
            let name = sys::sqlite3_vtab_collation(self.raw, constraint as c_int);
            if name.is_null() { "BINARY" } else { CStr::from_ptr(name).to_str().unwrap_or("") }
        }
    }

    /// Whether the condition is an `IN` whose list the table may take as a whole.
    pub(crate) fn is_list(&self, constraint: usize) -> bool {
        // SAFETY: SQLite looks at the place itself.
        unsafe { sys::sqlite3_vtab_in(self.raw, constraint as c_int, -1) != 0 }
    }

    /// Takes the list of such an `IN` as a whole.
    pub(crate) fn take_list(&mut self, constraint: usize) {
        // SAFETY: as above.
        unsafe { sys::sqlite3_vtab_in(self.raw, constraint as c_int, 1) };
    }

    /// Has a condition's value handed over, as the argument of this number, counted from 0; with
    /// `omit` SQLite need not look at the condition again.
    pub(crate) fn take(&mut self, constraint: usize, argument: usize, omit: bool) {
        // SAFETY: the array has an entry for each constraint.
        unsafe {
            let count = usize::try_from((*self.raw).nConstraint).unwrap_or(0);
            if constraint < count {
                let usage = &mut *(*self.raw).aConstraintUsage.add(constraint);
                usage.argvIndex = argument as c_int + 1;
                usage.omit = u8::from(omit);
            }
        }
    }

    /// Says that rows will come in the order wanted.
    pub(crate) fn keep_order(&mut self) {
        // SAFETY: the struct is valid for this call.
        unsafe { (*self.raw).orderByConsumed = 1 };
    }

    /// Names the plan, for `filter`, with a number that `EXPLAIN` shows, and says what it costs. `false` where memory has run out.
    pub(crate) fn answer(&mut self, number: i32, plan: &str, costs: Costs) -> bool {
        // SAFETY: the struct is valid for this call; the text is allocated by SQLite, which frees
        // it, and has room for the closing NUL.
        unsafe {
            let length = plan.len();
            let text = sys::sqlite3_malloc64(length as u64 + 1).cast::<u8>();
            if text.is_null() {
                return false;
            }
            std::ptr::copy_nonoverlapping(plan.as_ptr(), text, length);
            text.add(length).write(0);
            let info = &mut *self.raw;
            info.idxNum = number;
            info.idxStr = text.cast();
            info.needToFreeIdxStr = 1;
            info.estimatedCost = costs.cost;
            info.estimatedRows = costs.rows.max(1).try_into().unwrap_or(i64::MAX);
            if costs.unique {
                info.idxFlags |= sys::SQLITE_INDEX_SCAN_UNIQUE;
            }
        }
        true
    }
}

/// # Safety
/// The pointer is null or to so many elements that live for `'a`.
unsafe fn array<'a, T>(start: *mut T, count: usize) -> &'a [T] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { slice::from_raw_parts(start, count) }
}

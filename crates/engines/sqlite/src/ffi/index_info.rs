//! The question of SQLite's planner to a virtual table (`xBestIndex`), and its answer.

use libsqlite3_sys as sys;
use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::slice;

/// One question of the planner, valid until the call ends.
#[derive(Debug)]
pub struct IndexInfo<'a> {
    raw: *mut sys::sqlite3_index_info,
    call: PhantomData<&'a mut ()>,
}

/// A condition that the planner offers to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// The column's position; `None` for the rowid.
    pub column: Option<usize>,
    /// How the column is compared.
    pub operator: ConstraintOperator,
    /// Whether the value is known when the table is read, in the join order under consideration.
    pub usable: bool,
}

/// The operator of a [`Constraint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintOperator {
    /// `=`, or `IN` (see [`IndexInfo::is_list`])
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `IS`
    Is,
    /// `IS NOT`
    IsNot,
    /// `IS NULL`
    IsNull,
    /// `IS NOT NULL`
    IsNotNull,
    /// `LIKE`
    Like,
    /// `GLOB`
    Glob,
    /// `LIMIT`: the value is the number of rows.
    Limit,
    /// `OFFSET`: the value is the number of rows to skip.
    Offset,
    /// `MATCH`, `REGEXP`, or a function.
    Other,
}

/// One term of the query's `ORDER BY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStep {
    /// The column's position; `None` for the rowid.
    pub column: Option<usize>,
    /// Whether the largest values come first.
    pub descending: bool,
}

/// The estimated cost of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanCost {
    /// The cost of one run; the unit is one row of an SQLite table.
    pub cost: f64,
    /// The number of rows that one run returns.
    pub rows: u64,
    /// Whether a run returns at most one row.
    pub unique: bool,
}

impl IndexInfo<'_> {
    /// # Safety
    /// The pointer is that of a running call of `xBestIndex`.
    pub(super) unsafe fn new(raw: *mut sys::sqlite3_index_info) -> Self {
        Self { raw, call: PhantomData }
    }

    /// The conditions. Other methods name one by its index here.
    #[must_use]
    pub fn constraints(&self) -> Vec<Constraint> {
        // SAFETY: SQLite's array has as many elements as it says; the struct is valid for this call.
        let all = unsafe { array((*self.raw).aConstraint, self.count()) };
        let constraint = |c: &sys::sqlite3_index_constraint| Constraint {
            column: usize::try_from(c.iColumn).ok(),
            operator: operator(c_int::from(c.op)),
            usable: c.usable != 0,
        };
        all.iter().map(constraint).collect()
    }

    /// The order that the query requests.
    #[must_use]
    pub fn order(&self) -> Vec<OrderStep> {
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

    /// Whether the query reads the column at this position.
    #[must_use]
    pub fn reads(&self, column: usize) -> bool {
        // SAFETY: the struct is valid for this call.
        let used = unsafe { (*self.raw).colUsed };
        // The last bit stands for all columns from there on.
        used & (1 << column.min(63)) != 0
    }

    /// The name of the collation that a condition compares by.
    #[must_use]
    pub fn collation(&self, constraint: usize) -> &str {
        let Some(constraint) = self.index(constraint) else {
            return "BINARY";
        };
        // SAFETY: the index is in range; the result is null or a text that outlives the call.
        unsafe {
            let name = sys::sqlite3_vtab_collation(self.raw, constraint);
            if name.is_null() { "BINARY" } else { CStr::from_ptr(name).to_str().unwrap_or("") }
        }
    }

    /// Whether the condition is an `IN` whose list can be passed as a whole.
    #[must_use]
    pub fn is_list(&self, constraint: usize) -> bool {
        // SAFETY: the index is in range; -1 only asks.
        self.index(constraint)
            .is_some_and(|index| unsafe { sys::sqlite3_vtab_in(self.raw, index, -1) } != 0)
    }

    /// Requests the list of such an `IN` as a whole.
    pub fn use_whole_list(&mut self, constraint: usize) {
        if let Some(index) = self.index(constraint) {
            // SAFETY: the index is in range.
            unsafe { sys::sqlite3_vtab_in(self.raw, index, 1) };
        }
    }

    /// Requests a condition's value as the argument with this index, counted from 0. With `omit`,
    /// SQLite does not check the condition again.
    pub fn use_constraint(&mut self, constraint: usize, argument: usize, omit: bool) {
        if constraint < self.count() {
            // SAFETY: the array has an entry for each constraint.
            unsafe {
                let usage = &mut *(*self.raw).aConstraintUsage.add(constraint);
                usage.argvIndex = argument as c_int + 1;
                usage.omit = u8::from(omit);
            }
        }
    }

    /// States that the rows are in the requested order.
    pub fn consume_order(&mut self) {
        // SAFETY: the struct is valid for this call.
        unsafe { (*self.raw).orderByConsumed = 1 };
    }

    /// Sets the plan that [`VirtualCursor::filter`](super::VirtualCursor::filter) receives, a
    /// number that `EXPLAIN` shows, and the plan's cost. Returns `false` if memory is exhausted.
    #[must_use]
    pub fn set_plan(&mut self, number: i32, plan: &str, cost: PlanCost) -> bool {
        // SAFETY: the struct is valid for this call; SQLite allocates and frees the text, which has
        // room for the closing NUL.
        unsafe {
            let length = plan.len();
            let text = sys::sqlite3_malloc64(length as u64 + 1).cast::<u8>();
            if text.is_null() {
                return false;
            }
            std::ptr::copy_nonoverlapping(plan.as_ptr(), text, length);
            text.add(length).write(0);
            let info = &mut *self.raw;
            if info.needToFreeIdxStr != 0 {
                sys::sqlite3_free(info.idxStr.cast());
            }
            info.idxNum = number;
            info.idxStr = text.cast();
            info.needToFreeIdxStr = 1;
            info.estimatedCost = cost.cost;
            info.estimatedRows = cost.rows.max(1).try_into().unwrap_or(i64::MAX);
            if cost.unique {
                info.idxFlags |= sys::SQLITE_INDEX_SCAN_UNIQUE;
            }
        }
        true
    }

    fn count(&self) -> usize {
        // SAFETY: the struct is valid for this call.
        usize::try_from(unsafe { (*self.raw).nConstraint }).unwrap_or(0)
    }

    fn index(&self, constraint: usize) -> Option<c_int> {
        c_int::try_from(constraint).ok().filter(|_| constraint < self.count())
    }
}

fn operator(number: c_int) -> ConstraintOperator {
    match number {
        sys::SQLITE_INDEX_CONSTRAINT_EQ => ConstraintOperator::Equal,
        sys::SQLITE_INDEX_CONSTRAINT_NE => ConstraintOperator::NotEqual,
        sys::SQLITE_INDEX_CONSTRAINT_LT => ConstraintOperator::Less,
        sys::SQLITE_INDEX_CONSTRAINT_LE => ConstraintOperator::LessOrEqual,
        sys::SQLITE_INDEX_CONSTRAINT_GT => ConstraintOperator::Greater,
        sys::SQLITE_INDEX_CONSTRAINT_GE => ConstraintOperator::GreaterOrEqual,
        sys::SQLITE_INDEX_CONSTRAINT_IS => ConstraintOperator::Is,
        sys::SQLITE_INDEX_CONSTRAINT_ISNOT => ConstraintOperator::IsNot,
        sys::SQLITE_INDEX_CONSTRAINT_ISNULL => ConstraintOperator::IsNull,
        sys::SQLITE_INDEX_CONSTRAINT_ISNOTNULL => ConstraintOperator::IsNotNull,
        sys::SQLITE_INDEX_CONSTRAINT_LIKE => ConstraintOperator::Like,
        sys::SQLITE_INDEX_CONSTRAINT_GLOB => ConstraintOperator::Glob,
        sys::SQLITE_INDEX_CONSTRAINT_LIMIT => ConstraintOperator::Limit,
        sys::SQLITE_INDEX_CONSTRAINT_OFFSET => ConstraintOperator::Offset,
        _ => ConstraintOperator::Other,
    }
}

/// # Safety
/// The pointer is null, or to so many elements that live for `'a`.
unsafe fn array<'a, T>(start: *mut T, count: usize) -> &'a [T] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: the caller guarantees it.
    unsafe { slice::from_raw_parts(start, count) }
}

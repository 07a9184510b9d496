//! Virtual tables: tables whose rows come from Rust code.
//!
//! Implement [`Module`], [`VirtualTable`] and [`VirtualCursor`], and register the module by
//! [`ExtendedConnection::register_module`](crate::extension::ExtendedConnection::register_module).
//! These traits are a safe, thin layer over SQLite's C interface, and describe only how they
//! differ: see <https://sqlite.org/vtab.html>.

pub use crate::ffi::{
    Arguments, ConflictAction, Constraint, ConstraintOperator, IndexInfo, Module, OrderStep,
    Output, PlanCost, RowChange, RunningStatement, UpdateOutcome, VirtualCursor, VirtualTable,
};

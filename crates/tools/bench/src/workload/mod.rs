//! What is measured: the record, the tasks, and the check of every row that was read.

mod check;
mod row;
mod task;

pub use check::{Expectation, Stamps};
pub use row::{CheckedFields, Row, Rows, View, now};
pub use task::{ParseTaskError, Task};

/// Rows between two commits of a batch that stands outside a transaction.
pub const ROWS_PER_COMMIT: usize = 10_000;

//! What engines of database servers share: the head of the crate lists it.

mod address;
mod batch;
pub mod calendar;
mod check_text;
mod column_values;
mod condition;
mod narrow_amounts;
mod pool;
mod query;
mod row;
mod row_steps;
mod row_write;
mod savepoints;
mod schema_plan;
mod session;
mod statement_connection;
mod table;
mod texts;
#[cfg(feature = "tls")]
pub mod tls;
mod transaction;

pub use address::ServerAddress;
pub use batch::{ServerBatch, ServerWrite, WriteTogether};
pub use check_text::{CheckDialect, check_condition};
pub use column_values::{ColumnValue, folded_value, kept_types, typed_values, written_columns};
pub use condition::{Comparability, ServerCondition};
pub use narrow_amounts::NarrowAmounts;
pub use pool::{Connector, Pool, PoolSettings, PooledConnection};
pub use query::{check_texts, each_by_key, key_of_row, lock_rows, rows_to_lock};
pub use row::{ServerRow, ServerValue};
pub use row_steps::RowSteps;
pub use row_write::{
    check_row_length, in_column, is_row_error, kept_type, needs_key, none_if_beyond, reject_null,
};
pub use savepoints::{Savepoints, ServerSavepoint};
pub use schema_plan::{
    PlannedKey, SchemaPlanner, listed_reference, reference_actions, reference_pairs, reference_text,
};
pub use session::{ServerOperations, ServerSession};
pub use statement_connection::{StatementConnection, query_table, scan_with};
pub use table::{AddTableRow, ServerNames, ServerTable, catalog_text, read_catalog};
pub use texts::{StatementDialect, sql_operator};
pub use transaction::{SavepointStep, ServerTransaction, TransactionConnection, not_open};

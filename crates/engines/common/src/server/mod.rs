//! What engines of database servers share: the head of the crate lists it.

mod address;
mod batch;
pub mod calendar;
mod check_text;
mod condition;
mod names;
mod narrow_amounts;
mod operations;
mod phase;
mod pool;
mod prepared_statements;
mod query;
mod row;
mod row_steps;
mod row_write;
mod savepoints;
mod schema_dialect;
mod schema_plan;
mod session;
mod statement_connection;
mod statement_value;
mod table;
mod texts;
#[cfg(feature = "tls")]
pub mod tls;
mod transaction;
mod violations;

use bobak_core::Capabilities;

pub use address::{ServerAddress, ServerUrl};
pub use batch::{ServerBatch, ServerWrite};
pub use check_text::{CheckDialect, check_condition, text_literal};
pub use condition::{Comparability, ServerCondition};
pub use names::{
    check_name, column_name, index_name, key_name, reference_name, substitute_name, swap_case,
};
pub use narrow_amounts::NarrowAmounts;
pub use operations::ServerOperations;
pub use phase::ServerPhase;
pub use pool::{Connector, Pool, PoolSettings, PooledConnection};
pub use prepared_statements::PreparedStatementCache;
pub use query::key_of_row;
pub(crate) use query::{check_texts, each_by_key, lock_rows, rows_to_lock};
pub use row::{ServerRow, ServerValue};
pub use row_steps::RowSteps;
pub(crate) use row_write::none_if_beyond;
pub use row_write::{
    check_length, check_row_length, ends_transaction, in_column, is_exact, is_of_key, is_row_error,
    is_text, kept_type, makes_key, needs_key, no_key_returned, refers_to_itself, reject_null,
};
pub use savepoints::{Savepoints, ServerSavepoint};
pub use schema_dialect::SchemaDialect;
pub use schema_plan::{
    PlannedKey, SchemaPlanner, listed_reference, reference_actions, reference_pairs, reference_text,
};
pub use session::ServerSession;
pub use statement_connection::{StatementConnection, query_table, scan_with};
pub use statement_value::{StatementValue, kept_types, written_columns};
pub use table::{AddTableRow, LostTable, ServerTable, catalog_integer, catalog_text, read_catalog};
pub use texts::{StatementDialect, sql_operator};
pub use transaction::{SavepointStep, ServerTransaction, TransactionConnection, not_open};
pub use violations::{
    DUPLICATE, REFERENCE, REQUIRED, about_table, column_error, connecting_kind, connecting_text,
    in_constraint, index_columns, violated_check, violated_reference,
};

/// What the servers of databases with SQL have in common.
#[must_use]
pub const fn server_capabilities() -> Capabilities {
    let mut capabilities = Capabilities::NONE;
    capabilities.persistent = true;
    capabilities.concurrent_readers = true;
    capabilities.concurrent_writers = true;
    capabilities.sql = true;
    capabilities.foreign_keys = true;
    capabilities.add_reference = true;
    capabilities.unreused_keys = true;
    capabilities.limited_key_length = true;
    capabilities.large_batches = true;
    capabilities
}

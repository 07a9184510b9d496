//! What engines share.
//!
//! For engines that store rows themselves:
//!
//! * [`StoredTable`] is a table with its rules parsed; [`RowRules`] checks NOT NULL and CHECK.
//! * [`write_row`] does what each [`Verb`](bobak_core::Verb) says, on any [`RowStore`].
//! * [`run_select`] runs a query over rows; [`PreparedCondition`] evaluates its condition, [`Groups`] its aggregates.
//! * [`sort_key()`] makes bytes that sort as values do; [`KeyRanges`] are those that a condition leaves.
//! * [`TableList`] finds tables by the schemas that callers have; [`alter_tables`] changes them, and [`TableRebuild`] says what their rows become.
//! * [`ColumnMap`] finds the columns that a program describes in a stored table that has more, or others first.
//! * [`table_to_json`] and [`table_from_json`] store a schema.
//! * [`WriteLock`] lets one writer at a time in; [`TransactionSlot`] has a session's [`LocalTransaction`] and its savepoints.
//!
//! For engines of database servers, with the feature `server`:
//!
//! * [`Pool`] opens connections through a [`Connector`] and lends them as [`PooledConnection`].
//! * [`calendar`] has the days and microseconds of dates and times of day.
//! * [`ServerSession`] is a session that runs the [`ServerOperations`] of an engine on a pool's connections;
//!   [`ServerTransaction`] is its transaction, also for engines with sessions of their own.
//! * [`Savepoints`] are those of a transaction; [`ServerPhase`] says what a connection that breaks leaves.
//! * [`ServerUrl`] has the parts of a URL; a [`ServerAddress`] is where a database is, and who logs in.
//! * With the feature `tls`, `tls` has the settings of clients for what they check of a server's certificate.
//!
//! For engines of servers with SQL texts of their own:
//!
//! * [`StatementDialect`] writes statements for rows, and says what the server compares and sorts as Bobak does. A
//!   [`StatementConnection`] runs them: [`RowSteps`] writes a row of each verb, [`query_table`] runs a query, in which
//!   [`ServerCondition`] is the part of a condition that the server looks at.
//! * [`StatementValue`] is a value of a statement, [`ServerWrite`] a write of one row; [`ServerBatch`] sends many, and finds the
//!   wrong ones.
//! * [`ServerRow`] is a row of a result.
//! * [`check_condition`] writes a CHECK rule in a [`CheckDialect`]; a [`SchemaDialect`] writes columns and indexes.
//! * [`PreparedStatementCache`] keeps prepared statements; [`violated_check`] and others find what a server's error is about.
//! * [`NarrowAmounts`] are the money columns that a server would round.
//! * [`read_catalog`] reads the tables of a server as [`ServerTable`]s.
//! * [`SchemaPlanner`] plans changes of the schema; [`reject_searches`], [`reject_vectors`], [`reject_other_changes`] and
//!   [`reject_table_changes`] reject those that an engine does not make.
//!
//! The memory engine has rows and indexes of its own and uses some of the parts; the key-value engine, and
//! the engine of `examples/engine`, use them all.

mod aggregate;
mod column_map;
mod key_ranges;
mod prepared_condition;
mod rules;
mod schema_change;
mod schema_json;
mod select;
#[cfg(feature = "server")]
mod server;
mod sort_key;
mod table_changes;
mod table_list;
mod transaction_slot;
mod write;
mod write_lock;

pub use aggregate::{Groups, exact_integer};
pub use column_map::{ColumnMap, ColumnMaps};
pub use key_ranges::{KeyRange, KeyRanges};
pub use prepared_condition::PreparedCondition;
pub use rules::RowRules;
pub use schema_change::{TableAdditions, TableRebuild, assemble_table, index_parts};
pub use schema_json::{
    column_from_json, column_to_json, foreign_key_from_json, foreign_key_to_json, table_from_json,
    table_to_json, value_from_json, value_to_json,
};
pub use select::{EachRow, run_select};
#[cfg(feature = "server")]
pub use server::*;
pub use sort_key::{push_sort_key, sort_key};
pub use table_changes::{
    add_created_tables, find_table, foreign_keys_of, reject_other_changes, reject_searches,
    reject_table_changes, reject_vectors,
};
pub use table_list::{AlterTables, ListedTable, TableList, add_rebuilt, alter_tables};
pub use transaction_slot::{LocalTransaction, SavepointStack, TransactionSlot, in_row_callback};
pub use write::{
    RowStore, StoredTable, check_version, duplicate_error, encode_row, missing_table, no_key_left,
    no_such_row, raised_version, reject_generated, reject_references, table_exists, with_generated,
    write_row,
};
pub use write_lock::{HeldWriteLock, WriteLock, WritePass};

//! The engine of one caller: an engine in front of a database's engine.
//!
//! [`PermissionEngine`] and its session stand in front of every operation. They ask
//! `table_permissions` what the caller may do with a table; `row_writes`, `batches` and `bulk_changes`
//! enforce row rules where rows are written; `reference_checks` keeps foreign keys from revealing hidden
//! rows; `sql` decides about SQL text, and `statement_policy` about what no client may run; `redact`
//! removes hidden tables from errors.

mod batches;
mod bulk_changes;
mod foreign_key_check;
mod permission_engine;
mod permission_session;
mod protected_database;
mod recording_engine;
mod redact;
mod reference_checks;
mod referring_tables;
mod row_writes;
mod sql;
mod statement_policy;
mod table_permissions;
mod table_references;
mod tracking_cache;

pub use permission_engine::{PermissionEngine, ReadableRows};
pub use protected_database::ProtectedDatabase;
pub use statement_policy::read_only_policy;
pub(crate) use table_references::table_references;

//! What is wrong with a record that its rules reject.
//!
//! The attributes of [`Record`](derive@crate::Record) declare rules: normalizers and validators of fields and of whole
//! records. The database applies them to every row that is written, whatever writes it: tables, batches, pipelines, dynamic
//! rows, and servers and clients of the database. SQL text, schema changes, replays and the operations on whole databases
//! (backups, copies, replicas) are not checked.

// A layer in front of each engine that keeps a record with rules: `rule_engine` and `rule_session` see every write,
// `soft_delete` hides deleted rows, `table_rules` normalizes and validates values, `row_writes` and `batches` do so for rows.

mod batches;
mod engine_rules;
mod hook_runs;
mod hooked_writes;
mod hooks;
mod row_writes;
mod rule_engine;
mod rule_session;
mod soft_delete;
mod table_rules;

pub(crate) use engine_rules::{EngineRules, RecordRules};
pub(crate) use hooks::{HookPoint, HookRows, RowHook};
pub(crate) use rule_engine::RuleEngine;

pub use bobak_core::rules::{Violation, Violations};

//! One SQL over the tables of several engines.
//!
//! [`Federation`] shows each table of an attached engine as a virtual table of an SQLite database,
//! in a schema with the engine's name. Conditions, order and limits that the engine can evaluate
//! are pushed down to it. SQLite does the rest, and checks every row again, except for an offset
//! that the engine has applied.
//!
//! The path of a read: `table` (the columns that are declared to SQLite) → `best_index` (which conditions
//! go to the engine) → `plan` (kept by SQLite with the statement) → `cursor` → `coercion` (values as
//! their column compares them) → the engine. `inner_loop`, `lookup` and `lookahead` replace many
//! lookups in the inner loop of a join by few batched ones. Writes go through `write`; `sessions`
//! holds the engines' sessions and transactions.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod analysis;
mod attached;
mod best_index;
mod coercion;
mod connection;
mod cursor;
mod explain;
mod federated_engine;
mod federated_session;
mod federation;
mod inner_loop;
mod lookahead;
mod lookup;
mod plan;
mod sessions;
mod simple_query;
mod table;
mod write;

pub use analysis::StatementAnalysis;
pub use federated_engine::FederatedEngine;
pub use federation::Federation;
pub use simple_query::SimpleQuery;

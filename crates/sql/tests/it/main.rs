//! The tests of the SQL texts: what they are, and what an engine makes of them.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod engine; // a real SQLite, as small as will do
mod random; // random rows and conditions
mod tables; // the tables that the tests are about
mod types; // docs/types.md, made from the code

mod checks; // CHECK constraints, injected SQL
mod conditions; // random conditions: SQLite's rows against `Condition::evaluate`
mod declared; // declared types there and back; what affinity makes of values
mod golden; // every kind of text, all dialects side by side
mod queries; // random queries and changes: SQLite against the memory engine
mod results;
mod shapes;
mod vocabulary; // docs/sql.md: what each engine receives of the shared vocabulary // what aggregates, groups, changes and verbs give

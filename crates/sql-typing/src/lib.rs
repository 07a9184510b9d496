//! Gives SQLite's SQL Bobak's types.
//!
//! SQLite stores amounts as integers times 10,000, dates as days and times as microseconds. In SQL
//! they are amounts, dates and times, as on database servers: [`analyze`] infers the type of each
//! expression and rewrites the statement for the stored units. `docs/sql.md` has the rules.
//!
//! Reading order: [`analyze`] → `parser` → `tree` → `statement` → `select` → `expression` → `calls` → `convert` →
//! `rewrite`.
//! [`STORED_FUNCTIONS`] are what rewritten statements call.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod analysis;
mod analyzer;
mod calls;
mod convert;
mod decimal;
mod expression;
mod functions;
mod kind;
mod large_stack;
mod parser;
mod relations;
mod rewrite;
mod scope;
mod select;
mod statement;
mod text;
mod tree;
mod vocabulary;

pub use analysis::{Analysis, analyze, needs_analysis};
pub use functions::{STORED_FUNCTIONS, StoredFunction};
pub use relations::{Relation, Relations, TableColumn};

//! The schema of a file: reading and altering it, and what decides how tables are written.

pub(crate) mod alter;
mod alter_table;
mod changed_rules;
mod column;
mod computed_index;
pub(crate) mod details;
mod foreign_key;
mod index;
pub(crate) mod search;
pub(crate) mod table_info;
pub(crate) mod tables;
mod text;
mod typed_text;

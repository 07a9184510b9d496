//! Writes Access files: whole tables, in new pages, and a commit as one new file.
//!
//! The path of a commit: `saver` (lock, changed tables) → `commit` (what to write) → `layout` and `relations` (definitions,
//! indexes), `values` (rows) → `table` (rows, long values, indexes) → `pages` (free pages, the new file). `catalog` has the
//! system tables, `new_file` those of a new file.

mod btree;
mod bytes;
mod catalog;
mod commit;
mod data_page;
mod definition;
mod format;
mod key;
mod layout;
mod lock;
mod long_values;
mod new_file;
mod pages;
mod properties;
mod relations;
mod row;
mod saver;
mod table;
mod text_key;
mod usage_map;
mod values;

pub(crate) use lock::reject_open_elsewhere;
pub(crate) use properties::schema_property;
pub(crate) use saver::{FileSaver, ReadOnlyTables};
pub(crate) use values::check_values;

//! SQL text for Bobak's queries and schemas, in the dialect of each engine.
//!
//! Everything that differs between dialects is decided in this crate, by matching [`Dialect`]
//! exhaustively: a new dialect does not compile until each of its texts has been thought about.
//!
//! Texts depend on the shape of what they say only, never on its values (but for the values beyond
//! a dialect's largest number of parameters): the same query with other values is the same
//! statement, so that engines can keep it prepared.
//!
//! A schema may come from a client or from another program's file. What of it reaches a text:
//!
//! | of the schema | in the text |
//! |---|---|
//! | names of tables, columns, indexes and referenced columns | quoted ([`quote`]) |
//! | defaults, and comments that describe columns and indexes | literals |
//! | CHECKs | rendered from [their tree](bobak_core::check); SQLite also takes one expression of its own |
//! | computed defaults of SQLite files | rendered from [their tree](DefaultExpression), for SQLite only |
//! | types, collations, lengths, roles, effects of deletes | words of the dialect |
//! | indexes over expressions, and of some rows, of SQLite files | rendered from their trees, as CHECKs |
//!
//! Schemas have no index expressions, partial indexes, views or triggers: engines leave those of other programs as they are. Engines send each text in a form that accepts one
//! statement only, and the fuzz target `schema-sql` checks the texts.
//!
//! Reading order: [`Dialect`] → the writer → [`declared_type`] and [`create_table`] → [`insert`],
//! [`update`], [`delete`], [`get`] → conditions → [`select`] → [`join()`] → [`change`] → [`StatementShape`].

#![cfg_attr(docsrs, feature(doc_cfg))]

mod alter;
mod alter_online;
mod bulk;
mod capture_triggers;
mod change;
mod check;
mod classifier;
mod columns;
mod comment;
mod computed_index;
mod condition;
mod confined;
mod constraint_names;
mod declared;
mod default;
mod dialect;
mod feed;
mod fts5_separators;
mod in_query;
mod index_name;
mod join;
mod json_part;
mod list;
mod literal;
mod log_moves;
mod mysql;
mod mysql_lengths;
mod mysql_schema;
mod postgres_capture;
mod program_text;
mod remark;
mod schema;
mod search;
mod search_query;
mod select;
#[cfg(feature = "server")]
pub mod server;
mod session_text;
mod shape;
mod side_effects;
mod sqlite_capture;
mod sums;
mod value_part;
mod vocabulary;
mod write;
mod writer;

pub use alter::{
    alter_table, changed_columns, find_violations, rename_order, sqlite_column, sqlite_foreign_key,
};
pub use alter_online::{OnlineRules, PENDING};
pub use bobak_core::sql_token as token;
pub use bulk::{
    BulkStatement, copy_in, delete_arrays, delete_by_arrays, exist_arrays, insert_arrays,
    insert_arrays_without_keys, update_arrays,
};
pub use change::change;
pub use classifier::{changes_rows, first_word, has_word, only_reads, returns_rows};
pub use comment::{CommentedKey, parse_comment};
pub use computed_index::create_computed_index;
pub use constraint_names::ConstraintNames;
pub use declared::{DeclaredType, LONG_DECIMAL, declared_type, is_long_decimal, parse_declared};
pub use default::DefaultExpression;
pub use dialect::{Dialect, quote};
pub use feed::{TrackReason, list_triggers, track};
pub use index_name::{
    existing_index, index_name, mysql_index_name, note_index_name, parse_mysql_index_comment,
    split_index_comment, substitute_index_name, substitute_index_names,
};
pub use join::join;
pub use log_moves::{begin_moves, note_moves, track_altered, untrack};
pub use mysql::{FOLDED, folded};
pub use mysql_lengths::mysql_length_limit;
pub use mysql_schema::FOLDED_KEY;
pub use program_text::{
    check_statement, check_value_count, reject_control, rewrite_empty_lists, rewrite_statement,
    several_statements,
};
pub use remark::{MetadataComment, parse_metadata_comment};
pub use schema::{
    FOLDED_INDEX, GIVEN_KEY, KEY_INDEX, add_column, add_foreign_key, add_index, add_reference,
    create_table, create_table_after, in_index_order, index_remark, storage_check,
};
pub use search::{
    SEARCH_COLUMN, SEARCH_COMMENT, create_search, drop_search, parse_search_comment,
    parse_search_table, search_table,
};
pub use select::{select, select_as_text};
pub use session_text::changes_session;
pub use shape::StatementShape;
pub use side_effects::side_effects;
pub use value_part::{find_value, read_part};
pub use vocabulary::translate;
pub use write::{
    columns_by, delete, delete_in_the_way, delete_keys, exists, get, insert, key_by, lock_keys,
    overwrite, overwrite_by, update,
};
pub use writer::Statement;

//! What a table is: its columns, key and indexes, as data.

mod builder;
mod column;
mod fit;
mod lacking;
mod table;

pub use builder::TableSchemaBuilder;
pub use column::{Collation, ColumnSchema, OnDelete, Reference, Role};
pub use lacking::PartialInsert;
pub use table::{IndexSchema, KeyGeneration, TableSchema};

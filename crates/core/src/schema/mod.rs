//! Table schemas: columns, key and indexes, as data.

mod builder;
mod column;
mod fit;
mod partial_insert;
mod table;

pub use builder::TableSchemaBuilder;
pub use column::{Collation, ColumnSchema, OnDelete, Reference, Role};
pub use partial_insert::PartialInsert;
pub use table::{IndexSchema, KeyGeneration, TableSchema};

//! What a table is: its columns, key and indexes, as data.

mod builder;
mod column;
mod fit;
mod table;

pub use builder::TableSchemaBuilder;
pub use column::{Collation, ColumnSchema, OnDelete, Reference, Role};
pub use table::{IndexSchema, KeyGeneration, TableSchema};

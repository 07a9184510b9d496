//! Table schemas: columns, key and indexes, as data.

mod builder;
mod collation;
mod column;
mod compared_actions;
mod details;
mod fit;
mod lookup;
mod partial_insert;
mod reference;
mod search;
mod table;

pub use builder::TableSchemaBuilder;
pub use collation::{Collation, TextOrder};
pub use column::{ColumnRole, ColumnSchema};
pub use details::{BrokenForeignKey, ComputedIndex, InvalidDates, SchemaDetails, SchemaLoss};
pub use partial_insert::PartialInsert;
pub use reference::{ForeignKey, OnDelete, OnUpdate, Reference};
pub use search::SearchSchema;
pub use table::{IndexSchema, KeyGeneration, TableSchema};

//! What a file of another program or a crash leaves.

mod lossy;
mod open;
mod power_cuts;

use bobak_core::{ColumnSchema, Engine, SchemaChange, TableSchema, Type};
use std::sync::Arc;

/// A table of numbers and texts.
fn items() -> Arc<TableSchema> {
    let table = TableSchema::builder("item")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("text", Type::Text))
        .key(["id"]);
    Arc::new(table.build().unwrap())
}

fn create_items(engine: &dyn Engine) -> Arc<TableSchema> {
    let table = items();
    engine.alter(&[SchemaChange::CreateTable(Arc::clone(&table))]).unwrap();
    table
}

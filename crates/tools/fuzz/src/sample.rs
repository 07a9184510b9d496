//! The table that inputs are read against: a column of each type, and each rule.

use bobak_core::{Collation, ColumnRole, ColumnSchema, TableSchema, Type, Value};
use std::sync::Arc;

/// A table with all types, whose columns may be NULL but for the key.
pub(crate) fn table() -> Arc<TableSchema> {
    let mut builder = TableSchema::builder("sample").column(ColumnSchema::new("id", Type::I64));
    for &ty in Type::ALL {
        builder = builder.column(ColumnSchema::new(ty.name(), ty).nullable(true));
    }
    let rest = [
        ColumnSchema::new("name", Type::Text).max_chars(40).collation(Collation::UnicodeNoCase),
        ColumnSchema::new("day as text", Type::Date).nullable(true).as_text(),
        ColumnSchema::new("stock", Type::I32).default(Value::Int(0)),
        ColumnSchema::new("revision", Type::I64).role(ColumnRole::Version),
    ];
    for column in rest {
        builder = builder.column(column);
    }
    let built = builder.key(["id"]).index("sample_name", ["name"]).build();
    Arc::new(built.expect("the table can be"))
}

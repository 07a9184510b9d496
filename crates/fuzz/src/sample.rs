//! The table that inputs are read against: a column of each type, and each rule.

use bobak_core::{Collation, ColumnSchema, Role, TableSchema, Type, Value};
use std::sync::Arc;

/// Every type that a column can have.
pub(crate) const TYPES: [Type; 21] = [
    Type::Bool,
    Type::I8,
    Type::I16,
    Type::I32,
    Type::I64,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::F32,
    Type::F64,
    Type::Text,
    Type::Bytes,
    Type::Uuid,
    Type::Currency,
    Type::Date,
    Type::Time,
    Type::DateTime,
    Type::Timestamp,
    Type::Json,
    Type::Any,
];

/// A table with all of them, whose columns may be NULL but for the key.
pub(crate) fn table() -> Arc<TableSchema> {
    let mut builder = TableSchema::builder("sample").column(ColumnSchema::new("id", Type::I64));
    for ty in TYPES {
        builder = builder.column(ColumnSchema::new(ty.name(), ty).nullable(true));
    }
    let rest = [
        ColumnSchema::new("name", Type::Text).max_chars(40).collation(Collation::UnicodeNoCase),
        ColumnSchema::new("day as text", Type::Date).nullable(true).as_text(),
        ColumnSchema::new("stock", Type::I32).default(Value::Int(0)),
        ColumnSchema::new("revision", Type::I64).role(Role::Version),
    ];
    for column in rest {
        builder = builder.column(column);
    }
    let built = builder.key(["id"]).index("sample_name", ["name"]).build();
    Arc::new(built.expect("the table can be"))
}

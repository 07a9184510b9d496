//! What decides how servers compare the texts of a column, which may be another program's.

use bobak_core::{ColumnSchema, Storage, TextOrder, Type};

/// Of a column of PostgreSQL. `by_bytes`: whether its collation does so.
pub(super) fn of_postgres(column: &ColumnSchema, sql_type: &str, by_bytes: bool) -> TextOrder {
    let is_varying =
        matches!(sql_type, "text" | "name") || sql_type.starts_with("character varying");
    match column.storage {
        // JSON is compared as a text, and numbers as such.
        Storage::Text if column.ty == Type::Json || column.declared.is_some() => {
            TextOrder::Collation
        }
        Storage::Text if is_varying && by_bytes => TextOrder::Collation,
        Storage::Text if is_varying => TextOrder::Engine,
        // Spaces at the end, or capitals, do not count.
        Storage::Text if sql_type.starts_with("character(") || sql_type.ends_with("citext") => {
            TextOrder::Engine
        }
        Storage::Text => TextOrder::Converted,
        _ => TextOrder::Collation,
    }
}

/// Of a column of MariaDB or MySQL.
pub(super) fn of_mysql(column: &ColumnSchema, sql_type: &str, collation: &str) -> TextOrder {
    // Others ignore spaces at the end, or more; enums and sets sort by their positions.
    let by_bytes = collation.starts_with("utf8")
        && (collation.ends_with("_nopad_bin") || collation.ends_with("_0900_bin"))
        && !sql_type.starts_with("enum(")
        && !sql_type.starts_with("set(");
    let is_text = column.storage == Storage::Text && column.declared.is_none();
    if is_text && !by_bytes { TextOrder::Engine } else { TextOrder::Collation }
}

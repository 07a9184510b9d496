//! `IN` with a list of values.
//!
//! The text of a statement does not depend on the length of a long list, so that few statements are prepared: SQLite
//! and PostgreSQL get the whole list as one parameter if its values are all integers, texts or UUIDs. Other lists
//! repeat their last value up to the next power of two.

use crate::Dialect;
use crate::condition::beyond;
use crate::writer::Writer;
use bobak_core::{Collation, ColumnSchema, Storage, TableSchema, Type, Value, ValueRef};
use std::fmt::Write;

/// Shorter lists have a parameter for each value.
pub(crate) const LONG_LIST: usize = 9;

pub(crate) fn push_in<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    values: &'a [Value<'static>],
) {
    let dialect = writer.dialect;
    if values.is_empty() {
        writer.raw(dialect.truth(false));
        return;
    }
    let values = comparable(dialect, table, column, values);
    let Some(&last) = values.last() else {
        writer.raw("CASE WHEN ").column(table, column).raw(" IS NOT NULL THEN ");
        writer.raw(dialect.truth(false)).raw(" END");
        return;
    };
    let schema = table.columns().get(column).filter(|_| values.len() >= LONG_LIST);
    if let Some(array) = schema.and_then(|column| pack(dialect, column, &values)) {
        writer.compared(table, column);
        return array.push(writer, table.is_indexed(column));
    }
    let length = padded_length(dialect, values.len());
    let values = values.into_iter().chain(std::iter::repeat(last)).take(length);
    if dialect.is_mysql() {
        return writer.among(table, column, values);
    }
    writer.compared(table, column).raw(" IN (");
    writer.list(", ", values, |writer, value| {
        writer.compared_value(table, column, value);
    });
    writer.raw(")");
}

/// The values of a list that a value of the column can equal.
fn comparable<'a>(
    dialect: Dialect,
    table: &TableSchema,
    column: usize,
    values: &'a [Value<'static>],
) -> Vec<ValueRef<'a>> {
    let is_there = |value: &&Value<'static>| {
        !value.is_null() && beyond(dialect, table, column, value).is_none()
    };
    values.iter().filter(is_there).map(Value::as_ref).collect()
}

/// A long list as the value of one parameter; `None` if it has more of them.
pub(crate) fn packed(
    dialect: Dialect,
    table: &TableSchema,
    column: usize,
    values: &[Value<'static>],
) -> Option<String> {
    let values = comparable(dialect, table, column, values);
    let schema = table.columns().get(column).filter(|_| values.len() >= LONG_LIST)?;
    pack(dialect, schema, &values).map(|array| array.text)
}

pub(crate) fn padded_length(dialect: Dialect, length: usize) -> usize {
    match length.next_power_of_two() {
        padded if length >= LONG_LIST && padded <= dialect.max_parameters() => padded,
        _ => length,
    }
}

/// A list as one text, and the type of its elements in PostgreSQL.
pub(crate) struct Array {
    text: String,
    element: &'static str,
}

impl Array {
    /// Writes the condition of what is written before it. `is_indexed` if an index finds its values.
    pub(crate) fn push(self, writer: &mut Writer<'_>, is_indexed: bool) {
        let (before, after) = match writer.dialect {
            Dialect::Postgres if is_indexed => (" = ANY (", "[])"),
            // As a query: PostgreSQL reads the array once and hashes it, where ANY would read it again for each row.
            Dialect::Postgres => (" IN (SELECT unnest(", "[]))"),
            _ => (" IN (SELECT value FROM json_each(", "))"),
        };
        writer.raw(before).owned_value(self.text.into());
        if writer.dialect == Dialect::Postgres {
            writer.raw("::").raw(self.element);
        }
        writer.raw(after);
    }
}

/// The values as an array of SQLite's JSON or of PostgreSQL, if the column compares with its elements as with
/// parameters.
pub(crate) fn pack(
    dialect: Dialect,
    column: &ColumnSchema,
    values: &[ValueRef<'_>],
) -> Option<Array> {
    let element = element_type(dialect, column)?;
    let postgres = dialect == Dialect::Postgres;
    let mut text = String::with_capacity(values.len() * 8 + 2);
    for value in values {
        text.push(if text.is_empty() { if postgres { '{' } else { '[' } } else { ',' });
        match (value, column.storage) {
            (ValueRef::Int(integer), Storage::Int) => write!(text, "{integer}").ok()?,
            (ValueRef::Text(element), Storage::Text) if !element.contains('\0') => {
                push_text(&mut text, element, postgres);
            }
            (ValueRef::Bytes(bytes), Storage::Bytes) if bytes.len() == 16 => {
                bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}")).ok()?;
            }
            _ => return None,
        }
    }
    text.push(if postgres { '}' } else { ']' });
    Some(Array { text, element })
}

/// The type of an array's elements in PostgreSQL; `None` if lists of the column's values are no arrays.
fn element_type(dialect: Dialect, column: &ColumnSchema) -> Option<&'static str> {
    use Type::{I8, I16, I32, I64, U8, U16, U32, U64};
    match (dialect, column.storage, column.ty) {
        (Dialect::Sqlite, Storage::Int | Storage::Text, _) => Some(""),
        (Dialect::Postgres, Storage::Int, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64) => {
            Some("int8")
        }
        (Dialect::Postgres, Storage::Text, Type::Text)
            if column.declared.is_none() && column.collation == Collation::Binary =>
        {
            Some("text")
        }
        (Dialect::Postgres, Storage::Bytes, Type::Uuid) => Some("uuid"),
        _ => None,
    }
}

/// A text in double quotes. JSON also escapes control characters.
fn push_text(array: &mut String, text: &str, postgres: bool) {
    array.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => array.extend(['\\', character]),
            '\0'..='\x1f' if !postgres => {
                array.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => array.push(character),
        }
    }
    array.push('"');
}

//! Whether an import reads an exported value as the same value.

use crate::export::WrittenAs;
use crate::import::csv_reader::EXPLICIT;
use crate::import::{infer, put_field};
#[cfg(feature = "xlsx")]
use crate::workbook::SheetCell;
use bobak::schema::{ColumnSchema, Type};
use bobak::{Value, ValueRef};
use bobak_text::{json, write};

/// Whether an import into the column reads the value as the same one, or rejects it, which nobody overlooks.
///
/// That may not be so for a value that is not of its column's type, for one in a column of any type, and for the JSON
/// document `null` in a column that may be NULL.
pub fn comes_back(column: &ColumnSchema, written: WrittenAs, value: ValueRef<'_>) -> bool {
    let is_null_document =
        column.ty == Type::Json && matches!(value, ValueRef::Text(text) if text.trim() == "null");
    let is_usual =
        column.ty != Type::Any && !is_null_document && column.check_stored(value).is_ok();
    if value.is_null() || is_usual {
        return true;
    }
    imported(column, written, value).is_none_or(|read| read.as_ref() == value)
}

/// The value that an import reads; `None` if it rejects the text.
fn imported(
    column: &ColumnSchema,
    written: WrittenAs,
    value: ValueRef<'_>,
) -> Option<Value<'static>> {
    let (mut text, mut field) = (String::new(), Vec::new());
    match written {
        WrittenAs::Csv => {
            write::write(&mut text, column.ty, value);
            if column.ty == Type::Any && matches!(value, ValueRef::Float(_)) {
                write::mark_as_float(&mut text);
            }
            if text.is_empty() {
                field.extend_from_slice(EXPLICIT);
            }
            field.extend_from_slice(text.as_bytes());
        }
        #[cfg(feature = "xlsx")]
        WrittenAs::Workbook => field = SheetCell::of_value(column.ty, value).field(false),
        WrittenAs::Json => {
            json::write_value(&mut text, column.ty, value);
            if text == "null" {
                let nothing = if column.nullable { Value::Null } else { Value::from("null") };
                return Some(nothing);
            }
            put_field(&text, &mut field).ok()?;
        }
    }
    let read = infer::value(column.ty, &field).ok()?;
    column.accept(read.into_owned()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_would_change_are_found() {
        let column = |ty| ColumnSchema::new("c", ty).nullable(true);
        let bytes = Value::from(vec![1_u8, 2]);
        for (ty, value, csv, json) in [
            (Type::Text, Value::from("AQI="), true, true),
            (Type::Text, bytes.clone(), false, false),
            (Type::I64, Value::from("abc"), true, true),
            (Type::I8, Value::Int(300), true, true),
            (Type::Any, Value::from("12"), false, true),
            (Type::Any, Value::from("x"), true, true),
            (Type::Any, Value::from(""), true, true),
            (Type::Any, Value::Int(12), true, true),
            (Type::Any, Value::Float(12.0), true, true),
            (Type::Any, Value::Float(0.1), true, true),
            (Type::Any, bytes, false, false),
            (Type::Any, Value::from("{}"), true, true),
            (Type::Json, Value::from("null"), true, false),
            (Type::Bytes, Value::from("AQI="), false, false),
        ] {
            let column = column(ty);
            let found = [WrittenAs::Csv, WrittenAs::Json]
                .map(|as_| comes_back(&column, as_, value.as_ref()));
            assert_eq!(found, [csv, json], "{ty:?} {value:?}");
        }
        let required = ColumnSchema::new("c", Type::Json);
        assert!(comes_back(&required, WrittenAs::Json, ValueRef::Text("null")));
    }
}

//! Writes rows as JSON.

use crate::database::table::CachedTable;
use bobak_core::{Row, Type, ValueRef};
use bobak_text::json::write_value;

/// How to write numbers that a 64-bit float may not represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum NumberFormat {
    /// As JSON numbers with all digits, for clients that parse them exactly.
    #[default]
    Exact,
    /// 64-bit integers and money as strings, whatever their size, for clients that parse all numbers
    /// as floats, such as JavaScript.
    Text,
}

/// Appends a row as an object. `positions` are the positions in the table of the row's columns.
pub(crate) fn write_row(
    out: &mut String,
    table: &CachedTable,
    positions: impl Iterator<Item = usize>,
    numbers: NumberFormat,
    row: &dyn Row,
) {
    let mut separator = '{';
    for (index, position) in positions.enumerate() {
        let (Some(column), Some(label)) =
            (table.schema.columns().get(position), table.labels.get(position))
        else {
            continue;
        };
        out.push(separator);
        separator = ',';
        out.push_str(label);
        write_cell(out, column.ty, numbers, row.get(index));
    }
    if separator == '{' {
        out.push('{');
    }
    out.push('}');
}

/// Appends one value.
#[inline]
pub(crate) fn write_cell(out: &mut String, ty: Type, numbers: NumberFormat, value: ValueRef<'_>) {
    let is_wide = match value {
        ValueRef::Int(_) => {
            matches!(ty, Type::I64 | Type::U64 | Type::Currency | Type::Any | Type::Decimal)
        }
        ValueRef::Text(digits) => {
            ty == Type::Decimal && digits.ends_with(|c: char| c.is_ascii_digit())
        }
        _ => false,
    };
    if numbers == NumberFormat::Text && is_wide {
        out.push('"');
        write_value(out, ty, value);
        out.push('"');
    } else {
        write_value(out, ty, value);
    }
}

//! From rows to JSON.

use crate::model::Table;
use bobak_core::{Row, Type, ValueRef};
use bobak_text::json::write_value;

/// How numbers are written that a 64-bit float may not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Numbers {
    /// As JSON numbers, exact in the text: for readers that keep them so.
    #[default]
    Exact,
    /// 64-bit integers and money as strings, whatever their size: for readers, such as
    /// JavaScript's, that make a float of each number.
    Text,
}

/// Adds a row as an object: the columns at these places, which are those of the row in order.
pub(crate) fn write_row(
    out: &mut String,
    table: &Table,
    places: impl Iterator<Item = usize>,
    numbers: Numbers,
    row: &dyn Row,
) {
    let mut open = '{';
    for (at, place) in places.enumerate() {
        let (Some(column), Some(label)) =
            (table.schema.columns().get(place), table.labels.get(place))
        else {
            continue;
        };
        out.push(open);
        open = ',';
        out.push_str(label);
        write_cell(out, column.ty, numbers, row.get(at));
    }
    if open == '{' {
        out.push('{');
    }
    out.push('}');
}

/// Adds one value.
#[inline]
pub(crate) fn write_cell(out: &mut String, ty: Type, numbers: Numbers, value: ValueRef<'_>) {
    let wide = matches!(ty, Type::I64 | Type::U64 | Type::Currency | Type::Any);
    if numbers == Numbers::Text && wide && matches!(value, ValueRef::Int(_)) {
        out.push('"');
        write_value(out, ty, value);
        out.push('"');
    } else {
        write_value(out, ty, value);
    }
}

//! Encodes values for the columns that they are sent to.

use crate::values::calendar;
use bobak_core::{ColumnSchema, Error, ErrorKind, Result, TableSchema, Type, Value, ValueRef};
use mysql::Value as Wire;

/// The value as the column at this place takes it.
///
/// # Errors
/// `OutOfRange`, naming table and column: an infinity, a date outside the years 1 to 9999.
#[inline]
pub(crate) fn encode(table: &TableSchema, place: usize, value: ValueRef<'_>) -> Result<Wire> {
    let Some(column) = table.columns().get(place) else {
        return Ok(plain(value));
    };
    let ValueRef::Int(integer) = value else {
        return match value {
            ValueRef::Float(float) if !float.is_finite() => {
                Err(rejected(table, column, format!("{float} can't be stored by this server")))
            }
            _ => Ok(plain(value)),
        };
    };
    let wire = match column.ty {
        Type::Currency => Some(Wire::Bytes(money(integer))),
        Type::Date => calendar::date_of(integer).map(|(y, m, d)| Wire::Date(y, m, d, 0, 0, 0, 0)),
        Type::DateTime | Type::Timestamp => calendar::parts_of(integer)
            .map(|(y, m, d, hour, min, s, us)| Wire::Date(y, m, d, hour, min, s, us)),
        Type::Time => calendar::time_of(integer)
            .map(|(hour, min, s, us)| Wire::Time(false, 0, hour, min, s, us)),
        _ => Some(Wire::Int(integer)),
    };
    wire.ok_or_else(|| {
        let what = column.ty.name();
        rejected(table, column, format!("a {what} must be in the years 1 to 9999 on this server"))
    })
}

/// The value as it is, for statements whose text says what it becomes.
pub(crate) fn plain(value: ValueRef<'_>) -> Wire {
    match value {
        ValueRef::Null => Wire::NULL,
        ValueRef::Int(integer) => Wire::Int(integer),
        ValueRef::Float(float) => Wire::Double(float),
        ValueRef::Text(text) => Wire::Bytes(text.as_bytes().to_vec()),
        ValueRef::Bytes(bytes) => Wire::Bytes(bytes.to_vec()),
    }
}

/// Many of them.
pub(crate) fn plain_all(values: &[Value<'_>]) -> Vec<Wire> {
    values.iter().map(|value| plain(value.as_ref())).collect()
}

/// Ten-thousandths as decimal digits: `-12.3400`.
fn money(scaled: i64) -> Vec<u8> {
    let mut digits = [b'0'; 24];
    let mut at = digits.len();
    let mut rest = scaled.unsigned_abs();
    let mut written = 0;
    while rest > 0 || written < 5 {
        if written == 4 {
            at -= 1;
            if let Some(place) = digits.get_mut(at) {
                *place = b'.';
            }
        }
        at -= 1;
        if let Some(place) = digits.get_mut(at) {
            *place = b'0' + (rest % 10) as u8;
        }
        rest /= 10;
        written += 1;
    }
    if scaled < 0 {
        at -= 1;
        if let Some(place) = digits.get_mut(at) {
            *place = b'-';
        }
    }
    digits.get(at..).unwrap_or_default().to_vec()
}

#[cold]
fn rejected(table: &TableSchema, column: &ColumnSchema, message: String) -> Error {
    Error::new(ErrorKind::OutOfRange, message)
        .in_table(table.name())
        .in_column(column.name.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_four_decimals() {
        for (scaled, text) in [
            (0, "0.0000"),
            (5, "0.0005"),
            (-1, "-0.0001"),
            (12_345, "1.2345"),
            (i64::MAX, "922337203685477.5807"),
            (i64::MIN, "-922337203685477.5808"),
        ] {
            assert_eq!(String::from_utf8(money(scaled)).unwrap(), text);
        }
    }
}

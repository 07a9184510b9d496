//! Encodes values for the columns that they are sent to.

use bobak_core::{
    Assign, BulkChange, ColumnSchema, Error, ErrorKind, Parameter, Result, TableSchema, Type,
    Value, ValueRef,
};
use bobak_engine_common::calendar;
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
    wire_of(column.ty, integer).ok_or_else(|| {
        let what = column.ty.name();
        rejected(table, column, format!("a {what} must be in the years 1 to 9999 on this server"))
    })
}

/// An integer as a column of this type takes it; `None` if the server's type does not have the value.
fn wire_of(ty: Type, integer: i64) -> Option<Wire> {
    match ty {
        Type::Currency => Some(Wire::Bytes(money(integer))),
        Type::Date => calendar::date_of(integer).map(|(y, m, d)| Wire::Date(y, m, d, 0, 0, 0, 0)),
        Type::DateTime | Type::Timestamp => calendar::parts_of(integer)
            .map(|(y, m, d, hour, min, s, us)| Wire::Date(y, m, d, hour, min, s, us)),
        Type::Time => calendar::time_of(integer)
            .map(|(hour, min, s, us)| Wire::Time(false, 0, hour, min, s, us)),
        _ => Some(Wire::Int(integer)),
    }
}

/// A parameter of SQL text.
///
/// # Errors
/// `OutOfRange` for a date outside the years 1 to 9999.
pub(crate) fn parameter(parameter: &Parameter<'_>) -> Result<Wire> {
    let ValueRef::Int(integer) = parameter.value.as_ref() else {
        return Ok(plain(parameter.value.as_ref()));
    };
    wire_of(parameter.ty, integer).ok_or_else(|| {
        let what = parameter.ty.name();
        let message = format!("a {what} must be in the years 1 to 9999 on this server");
        Error::new(ErrorKind::OutOfRange, message)
    })
}

/// The type to which SQL text casts a parameter: the driver sends numbers, texts and bytes alike.
pub(crate) fn cast(parameter: &Parameter<'_>) -> Option<String> {
    let name = match (parameter.ty, &parameter.value) {
        (_, Value::Bytes(_)) => "BINARY",
        (Type::Currency, _) => "DECIMAL(19,4)",
        (Type::Decimal, Value::Text(digits)) => {
            let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            return Some(format!("DECIMAL(65,{})", decimals.min(30)));
        }
        (Type::Date, _) => "DATE",
        (Type::Time, _) => "TIME(6)",
        (Type::DateTime | Type::Timestamp, _) => "DATETIME(6)",
        _ => return None,
    };
    Some(name.to_owned())
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

/// Rejects values that the columns can't hold, before they become text.
pub(crate) fn check_assigns(change: &BulkChange<'_>) -> Result<()> {
    for assign in change.assign.into_iter().flatten() {
        if let Assign::Set { column, value } = assign {
            encode(change.table, *column, value.as_ref())?;
        }
    }
    Ok(())
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

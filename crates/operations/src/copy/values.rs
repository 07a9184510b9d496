//! Values as those of another type, if nothing is lost.

use bobak_core::{ColumnSchema, Error, ErrorKind, Result, Type, Value, ValueRef};

/// A value of any class as one of the column's type.
///
/// # Errors
/// `Mismatch` for a value that the type does not have; as [`ColumnSchema::accept`].
pub(super) fn cast<'v>(column: &ColumnSchema, value: ValueRef<'v>) -> Result<Value<'v>> {
    let cast = match (column.ty, value) {
        (Type::Text, ValueRef::Int(integer)) => Some(Value::from(integer.to_string())),
        (Type::Text, ValueRef::Float(float)) => Some(Value::from(format!("{float:?}"))),
        (Type::Bytes, ValueRef::Text(text)) => Some(Value::from(text.as_bytes())),
        (Type::Bytes, ValueRef::Int(integer)) => {
            Some(Value::from(integer.to_string().into_bytes()))
        }
        (Type::Bytes, ValueRef::Float(float)) => {
            Some(Value::from(format!("{float:?}").into_bytes()))
        }
        (Type::Currency, ValueRef::Int(_) | ValueRef::Float(_)) => {
            let amount = as_currency(value).ok_or_else(|| {
                let message = "the number has more than four decimals, or is too large";
                Error::new(ErrorKind::Mismatch, message).in_column(column.name.clone())
            })?;
            Some(Value::Int(amount))
        }
        _ => None,
    };
    cast.map_or_else(|| accept_exactly(column, value), Ok)
}

/// A value in the column's stored form, if that is the same number.
///
/// # Errors
/// As [`ColumnSchema::accept`]; `OutOfRange` for a number that the column would round: comparing rounded values at the end
/// would find no difference.
pub(super) fn accept_exactly(column: &ColumnSchema, value: ValueRef<'_>) -> Result<Value<'static>> {
    let accepted = column.accept(value.into())?;
    let from = match value {
        ValueRef::Float(float) => float,
        ValueRef::Int(integer) => as_float(integer).unwrap_or(f64::NAN),
        _ => return Ok(accepted),
    };
    match accepted {
        Value::Float(to) if to != from => {
            let message = format!(
                "{from} would become {to} in the target: give the column a wider type there"
            );
            Err(Error::new(ErrorKind::OutOfRange, message).in_column(column.name.clone()))
        }
        accepted => Ok(accepted),
    }
}

/// The float that equals the integer.
pub(super) fn as_float(integer: i64) -> Option<f64> {
    const EXACT: i64 = 1 << 53;
    (-EXACT..=EXACT).contains(&integer).then_some(integer as f64)
}

/// The ten-thousandths of a number that has no more decimals: for a float, of the decimals that it is written
/// with.
pub(crate) fn as_currency(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Int(integer) => integer.checked_mul(10_000),
        ValueRef::Float(float) => {
            let text = format!("{float}");
            let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
            // A float has 15 digits that are surely its own.
            if decimals.len() > 4 || whole.trim_start_matches('-').len() + decimals.len() > 15 {
                return None;
            }
            format!("{whole}{decimals:0<4}").parse().ok()
        }
        _ => None,
    }
}

/// Whether the text is a value of this type, and can be given back.
pub(super) fn has_form(ty: Type, text: &str) -> bool {
    let shape = match ty {
        Type::Date => is_shaped(text, "dddd-dd-dd"),
        Type::DateTime => is_date_time(text),
        Type::Timestamp => {
            let zone = ["Z", "+00:00"].iter().find_map(|zone| text.strip_suffix(zone));
            zone.is_some_and(is_date_time)
        }
        Type::Uuid => {
            is_shaped(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
                && !text.bytes().any(|byte| byte.is_ascii_uppercase())
        }
        _ => true,
    };
    shape
        && ColumnSchema::new("", ty).accept(ValueRef::Text(text).into()).is_ok()
        && is_json(ty, text)
}

/// `2013-01-31T23:59:59`, or with a blank for the `T`; with up to six digits of a second.
fn is_date_time(text: &str) -> bool {
    let Some((whole, fraction)) = text.split_at_checked(19) else { return false };
    let digits = fraction.strip_prefix('.').unwrap_or(fraction);
    (is_shaped(whole, "dddd-dd-ddTdd:dd:dd") || is_shaped(whole, "dddd-dd-dd dd:dd:dd"))
        && (fraction.is_empty() || (fraction.starts_with('.') && (1..=6).contains(&digits.len())))
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the text has a digit for each `d`, a hexadecimal one for each `x`, and the rest as it is.
fn is_shaped(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, shape)| match shape {
            b'd' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_hexdigit(),
            _ => byte == shape,
        })
}

/// Whether a text for a JSON column is a document.
fn is_json(ty: Type, text: &str) -> bool {
    ty != Type::Json || bobak_core::is_json(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_amounts_if_they_have_four_decimals() {
        for (float, amount) in [(19.99, 199_900), (-0.5, -5_000), (100.0, 1_000_000), (1e-4, 1)] {
            assert_eq!(as_currency(ValueRef::Float(float)), Some(amount));
        }
        for float in [0.12345, 1e300, f64::INFINITY, f64::NAN, 0.1 + 0.2] {
            assert_eq!(as_currency(ValueRef::Float(float)), None);
        }
        assert_eq!(as_currency(ValueRef::Int(i64::MAX)), None);
    }

    #[test]
    fn texts_have_forms() {
        for (ty, text) in [
            (Type::Date, "2024-02-29"),
            (Type::DateTime, "2024-02-29 23:59:59"),
            (Type::DateTime, "2024-02-29T23:59:59.123456"),
            (Type::Timestamp, "2024-02-29 23:59:59.5+00:00"),
            (Type::Timestamp, "2024-02-29T23:59:59Z"),
            (Type::Uuid, "0190d1a0-0000-7000-8000-00000000000a"),
            (Type::Json, "{\"a\": [1]}"),
        ] {
            assert!(has_form(ty, text), "{text}");
        }
        for (ty, text) in [
            (Type::Date, "2023-02-29"),
            (Type::Date, "2024-02-29 00:00:00"),
            (Type::DateTime, "2024-02-29 23:59:59.1234567"),
            (Type::DateTime, "2024-02-29 23:59"),
            (Type::DateTime, "2024-02-29 23:59:59Z"),
            (Type::Timestamp, "2024-02-29 23:59:59+02:00"),
            (Type::Uuid, "0190D1A0-0000-7000-8000-00000000000A"),
            (Type::Json, "{a: 1}"),
        ] {
            assert!(!has_form(ty, text), "{text}");
        }
    }
}

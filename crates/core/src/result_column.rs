//! The columns of results, and reading their values as other types.

use crate::types::Currency;
use crate::{Error, ErrorKind, Result, Row, TableSchema, Type, ValueRef};

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// Its type: the values are in that type's stored form. `Any` if the engine does not know it.
    pub ty: Type,
}

impl ResultColumn {
    /// A column.
    #[must_use]
    pub fn new(name: impl Into<String>, ty: Type) -> Self {
        Self { name: name.into(), ty }
    }

    /// The columns of a row, as far as it knows their names and types.
    #[must_use]
    pub fn of_row(row: &dyn Row) -> Vec<Self> {
        let column = |place| Self::new(row.name(place).unwrap_or_default(), row.ty(place));
        (0..row.len()).map(column).collect()
    }

    /// The columns of a table by name, of the type `Any`: for rows whose values stay in stored form.
    #[must_use]
    pub fn of_table(table: &TableSchema) -> Vec<Self> {
        table.columns().iter().map(|column| Self::new(&*column.name, Type::Any)).collect()
    }
}

/// A value of a result column of type `ty` as a value of type `wanted`.
///
/// An amount is read as a number in its own unit, and a number as an amount: 5.00 is 5 as an `i64`, and
/// 5.0 as an `f64`. Nothing is rounded, except by reading a decimal number as a float. If one of the types
/// is `Any`, the value is returned unchanged.
///
/// ```
/// use bobak_core::{convert, Type, ValueRef};
/// let five = ValueRef::Int(50_000);
/// assert_eq!(convert(five, Type::Currency, Type::I64)?, ValueRef::Int(5));
/// assert_eq!(convert(ValueRef::Text("0.25"), Type::Decimal, Type::Currency)?, ValueRef::Int(2_500));
/// assert!(convert(ValueRef::Text("0.25"), Type::Decimal, Type::I64).is_err());
/// # Ok::<(), bobak_core::Error>(())
/// ```
///
/// # Errors
/// `OutOfRange` for a number that the type cannot represent exactly; `Mismatch` for a date, time or
/// timestamp read as another of these.
#[inline]
pub fn convert(value: ValueRef<'_>, ty: Type, wanted: Type) -> Result<ValueRef<'_>> {
    if ty == wanted || ty == Type::Any || wanted == Type::Any || value.is_null() {
        return Ok(value);
    }
    convert_known(value, ty, wanted)
}

fn convert_known(value: ValueRef<'_>, ty: Type, wanted: Type) -> Result<ValueRef<'_>> {
    let outside = || outside(value, ty, wanted);
    Ok(match (value, ty) {
        (ValueRef::Int(scaled), Type::Currency) if wanted.is_integer() => {
            let whole = scaled % Currency::SCALE == 0;
            ValueRef::Int(whole.then_some(scaled / Currency::SCALE).ok_or_else(outside)?)
        }
        (ValueRef::Int(scaled), Type::Currency) if is_float(wanted) => {
            ValueRef::Float(Currency::from_scaled(scaled).to_f64())
        }
        (ValueRef::Int(units), _) if wanted == Type::Currency && is_number(ty) => {
            ValueRef::Int(units.checked_mul(Currency::SCALE).ok_or_else(outside)?)
        }
        (ValueRef::Int(whole), Type::Decimal) if is_float(wanted) => ValueRef::Float(whole as f64),
        (ValueRef::Text(digits), Type::Decimal) if wanted == Type::Currency => {
            ValueRef::Int(digits.parse::<Currency>().map_err(|_| outside())?.scaled())
        }
        (ValueRef::Text(digits), Type::Decimal) if is_float(wanted) => {
            ValueRef::Float(digits.parse().map_err(|_| outside())?)
        }
        (_, Type::Decimal) if wanted == Type::Text => return Err(other_type(ty, wanted)),
        (ValueRef::Text(_), Type::Decimal) if wanted.is_integer() => return Err(outside()),
        (ValueRef::Int(_), _) if is_moment(ty) && is_moment(wanted) && !is_same(ty, wanted) => {
            return Err(other_type(ty, wanted));
        }
        _ => value,
    })
}

const fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F32 | Type::F64)
}

const fn is_number(ty: Type) -> bool {
    ty.is_integer() || matches!(ty, Type::Decimal)
}

const fn is_moment(ty: Type) -> bool {
    matches!(ty, Type::Date | Type::Time | Type::DateTime | Type::Timestamp)
}

/// Whether two types of moments count the same unit: a `datetime` is read as a UTC `timestamp`.
const fn is_same(ty: Type, wanted: Type) -> bool {
    use Type::{DateTime, Timestamp};
    matches!((ty, wanted), (DateTime, Timestamp) | (Timestamp, DateTime))
}

#[cold]
fn outside(value: ValueRef<'_>, ty: Type, wanted: Type) -> Error {
    let shown = match value {
        ValueRef::Int(scaled) if ty == Type::Currency => Currency::from_scaled(scaled).to_string(),
        ValueRef::Int(integer) => integer.to_string(),
        ValueRef::Text(digits) => digits.to_owned(),
        other => other.class().to_owned(),
    };
    let message = format!("{shown} has no exact value of type {}", wanted.name());
    Error::new(ErrorKind::OutOfRange, message)
}

#[cold]
fn other_type(ty: Type, wanted: Type) -> Error {
    let message = format!("the column is of type {}, not {}", ty, wanted);
    Error::new(ErrorKind::Mismatch, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_the_unit_of_the_wanted_type() {
        use Type::{Any, Currency, Date, DateTime, Decimal, F64, I32, I64, Text, Timestamp};
        use ValueRef::{Float, Int, Text as Words};
        for (value, ty, wanted, expected) in [
            (Int(50_000), Currency, I32, Int(5)),
            (Int(12_345), Currency, F64, Float(1.2345)),
            (Int(12_345), Currency, Any, Int(12_345)),
            (Int(12_345), Any, Currency, Int(12_345)),
            (Int(7), I64, Currency, Int(70_000)),
            (Int(7), Decimal, Currency, Int(70_000)),
            (Int(7), Decimal, I64, Int(7)),
            (Int(7), Decimal, F64, Float(7.0)),
            (Words("-0.5"), Decimal, Currency, Int(-5_000)),
            (Words("0.3333333333333333"), Decimal, F64, Float(1.0 / 3.0)),
            (Words("0.25"), Decimal, Any, Words("0.25")),
            (Int(5), Timestamp, DateTime, Int(5)),
            (Words("2013-01-01"), Text, Date, Words("2013-01-01")),
            (ValueRef::Null, Date, Timestamp, ValueRef::Null),
        ] {
            assert_eq!(
                convert(value, ty, wanted).unwrap(),
                expected,
                "{value:?} {ty:?} {wanted:?}"
            );
        }
        for (value, ty, wanted, kind) in [
            (Int(5), Currency, I64, ErrorKind::OutOfRange),
            (Words("0.33333"), Decimal, Currency, ErrorKind::OutOfRange),
            (Words("99999999999999999999"), Decimal, I64, ErrorKind::OutOfRange),
            (Int(i64::MAX), I64, Currency, ErrorKind::OutOfRange),
            (Int(7), Decimal, Text, ErrorKind::Mismatch),
            (Int(5), Date, Timestamp, ErrorKind::Mismatch),
        ] {
            let error = convert(value, ty, wanted).unwrap_err();
            assert_eq!(error.kind(), kind, "{value:?} {ty:?} {wanted:?}");
        }
    }
}

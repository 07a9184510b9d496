//! Types of record fields: one small trait, which any type can implement.

use crate::{Error, ErrorKind, Result, Type, Value, ValueRef};
use std::borrow::Cow;

/// A type that a record's field can have. Implement it for your own types.
///
/// ```
/// use bobak_core::{Field, Result, Type, Value, ValueRef};
///
/// struct Celsius(f64);
///
/// impl Field for Celsius {
///     const TYPE: Type = Type::F64;
///     fn to_value(&self) -> Result<Value<'_>> {
///         self.0.to_value()
///     }
///     fn from_value(value: ValueRef<'_>) -> Result<Self> {
///         f64::from_value(value).map(Celsius)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that a field can have",
    label = "no column can store this",
    note = "derive `Field` for an enum or a newtype, implement it, or keep the value as `Json<{Self}>`"
)]
pub trait Field: Sized {
    /// The type of the column.
    const TYPE: Type;
    /// Whether the column may be NULL: `true` only for `Option`.
    const NULLABLE: bool = false;

    /// The value to store, in the storage class of `TYPE`, borrowed from `self` if possible.
    ///
    /// # Errors
    /// `OutOfRange` or `Mismatch` if the value has no stored form.
    fn to_value(&self) -> Result<Value<'_>>;

    /// The field from a stored value.
    ///
    /// # Errors
    /// `Mismatch` if the value has another class, `OutOfRange` if it does not fit.
    fn from_value(value: ValueRef<'_>) -> Result<Self>;

    /// Overwrites the field, reusing its memory if possible.
    ///
    /// # Errors
    /// As [`from_value`](Field::from_value); the field then keeps its old value.
    #[inline]
    fn read_from(&mut self, value: ValueRef<'_>) -> Result<()> {
        *self = Self::from_value(value)?;
        Ok(())
    }
}

macro_rules! integer_field {
    ($($t:ty => $ty:ident),*) => {$(
        impl Field for $t {
            const TYPE: Type = Type::$ty;

            #[inline]
            fn to_value(&self) -> Result<Value<'_>> {
                // Only `u64` has values that fail here.
                #[allow(irrefutable_let_patterns, clippy::useless_conversion)]
                if let Ok(integer) = i64::try_from(*self) {
                    Ok(Value::Int(integer))
                } else {
                    Err(Error::new(
                        ErrorKind::OutOfRange,
                        format!("{self} is more than engines store: at most {}", i64::MAX),
                    ))
                }
            }

            #[inline]
            fn from_value(value: ValueRef<'_>) -> Result<Self> {
                match value {
                    ValueRef::Int(integer) => Self::try_from(integer).map_err(|_| {
                        let range = concat!("does not fit ", stringify!($t));
                        Error::new(ErrorKind::OutOfRange, format!("{integer} {range}"))
                    }),
                    _ => Err(Error::mismatch("an integer", value)),
                }
            }
        }
    )*};
}
integer_field!(
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64
);

impl Field for bool {
    const TYPE: Type = Type::Bool;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        Ok(Value::Int(i64::from(*self)))
    }

    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Int(0) => Ok(false),
            ValueRef::Int(1) => Ok(true),
            _ => Err(Error::mismatch("a boolean (0 or 1)", value)),
        }
    }
}

impl Field for f64 {
    const TYPE: Type = Type::F64;

    /// # Errors
    /// `OutOfRange` for NaN, because SQLite would store NULL instead.
    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        if self.is_nan() {
            return Err(Error::new(ErrorKind::OutOfRange, "NaN cannot be stored"));
        }
        Ok(Value::Float(*self))
    }

    /// Reads a float, or an integer that a float holds exactly.
    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Float(float) => Ok(float),
            // The cast back saturates: in 128 bits, 2^63 is not the largest integer.
            ValueRef::Int(integer) if integer as Self as i128 == i128::from(integer) => {
                Ok(integer as Self)
            }
            _ => Err(Error::mismatch("a float", value)),
        }
    }
}

impl Field for f32 {
    const TYPE: Type = Type::F32;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        f64::from(*self).to_value().map(Value::into_owned)
    }

    /// Reads the nearest `f32`.
    ///
    /// # Errors
    /// `OutOfRange` for a finite float beyond `f32`.
    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        let float = f64::from_value(value)?;
        let narrow = float as Self;
        if narrow.is_infinite() && float.is_finite() {
            return Err(Error::new(ErrorKind::OutOfRange, format!("{float} does not fit f32")));
        }
        Ok(narrow)
    }
}

impl Field for String {
    const TYPE: Type = Type::Text;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        Ok(Value::Text(Cow::Borrowed(self)))
    }

    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Text(text) => Ok(text.to_owned()),
            _ => Err(Error::mismatch("text", value)),
        }
    }

    #[inline]
    fn read_from(&mut self, value: ValueRef<'_>) -> Result<()> {
        let ValueRef::Text(text) = value else {
            return Err(Error::mismatch("text", value));
        };
        self.clear();
        self.push_str(text);
        Ok(())
    }
}

impl Field for Vec<u8> {
    const TYPE: Type = Type::Bytes;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        Ok(Value::Bytes(Cow::Borrowed(self)))
    }

    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Bytes(bytes) => Ok(bytes.to_owned()),
            _ => Err(Error::mismatch("bytes", value)),
        }
    }

    #[inline]
    fn read_from(&mut self, value: ValueRef<'_>) -> Result<()> {
        let ValueRef::Bytes(bytes) = value else {
            return Err(Error::mismatch("bytes", value));
        };
        self.clear();
        self.extend_from_slice(bytes);
        Ok(())
    }
}

impl<T: Field> Field for Option<T> {
    const TYPE: Type = T::TYPE;
    const NULLABLE: bool = true;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        self.as_ref().map_or(Ok(Value::Null), T::to_value)
    }

    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        if value.is_null() { Ok(None) } else { T::from_value(value).map(Some) }
    }

    #[inline]
    fn read_from(&mut self, value: ValueRef<'_>) -> Result<()> {
        match self {
            Some(field) if !value.is_null() => field.read_from(value),
            _ => {
                *self = Self::from_value(value)?;
                Ok(())
            }
        }
    }
}

/// For rows whose columns are known only at run time.
impl Field for Value<'static> {
    const TYPE: Type = Type::Any;
    const NULLABLE: bool = true;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        Ok(self.as_ref().into())
    }

    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        Ok(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_do_not_fit_are_rejected_with_their_kind() {
        let kind = |e: Error| e.kind();
        assert_eq!(u64::MAX.to_value().map_err(kind), Err(ErrorKind::OutOfRange));
        assert_eq!(u8::from_value(ValueRef::Int(256)).map_err(kind), Err(ErrorKind::OutOfRange));
        assert_eq!(bool::from_value(ValueRef::Int(2)).map_err(kind), Err(ErrorKind::Mismatch));
        assert_eq!(String::from_value(ValueRef::Null).map_err(kind), Err(ErrorKind::Mismatch));
        for integer in [0, -(1 << 53), 100_000_000_000_000_000, (1 << 53) + 2, i64::MIN] {
            assert_eq!(f64::from_value(ValueRef::Int(integer)).unwrap(), integer as f64);
        }
        for integer in [(1 << 53) + 1, i64::MAX, i64::MIN + 1] {
            assert!(f64::from_value(ValueRef::Int(integer)).is_err());
        }
        assert_eq!(f64::NAN.to_value().map_err(kind), Err(ErrorKind::OutOfRange));
        assert_eq!(
            f32::from_value(ValueRef::Float(1e300)).map_err(kind),
            Err(ErrorKind::OutOfRange)
        );
        assert_eq!(Option::<u8>::from_value(ValueRef::Null).map_err(kind), Ok(None));
    }

    #[test]
    fn text_field_reuses_memory_and_keeps_value_after_error() {
        let mut text = String::with_capacity(100);
        text.read_from(ValueRef::Text("one")).unwrap();
        assert!(text.read_from(ValueRef::Int(1)).is_err());
        assert_eq!((text.as_str(), text.capacity()), ("one", 100));
    }
}

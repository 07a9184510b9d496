//! A column whose type the engine does not know: it has the type of the first batch's values.

use crate::column_values::check_length;
use arrow_array::builder::{BinaryBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, NullArray};
use bobak_core::{Error, ErrorKind, Field, Result, ValueRef};
use std::sync::Arc;

/// Values of a type that is found out.
#[derive(Default)]
pub(crate) struct AnyValues {
    values: FoundValues,
    /// Whether a batch with this type was finished, so that the type is final.
    is_final: bool,
}

enum FoundValues {
    /// So many NULLs, and nothing else.
    Nulls(usize),
    Ints(Int64Builder),
    Floats(Float64Builder),
    Texts(StringBuilder),
    Bytes(BinaryBuilder),
}

impl Default for FoundValues {
    fn default() -> Self {
        Self::Nulls(0)
    }
}

impl FoundValues {
    /// Values of the class of `value`, after so many NULLs.
    fn of_class(value: ValueRef<'_>, nulls: usize) -> Self {
        match value {
            ValueRef::Null => Self::Nulls(nulls),
            ValueRef::Int(_) => {
                let mut builder = Int64Builder::new();
                builder.append_nulls(nulls);
                Self::Ints(builder)
            }
            ValueRef::Float(_) => {
                let mut builder = Float64Builder::new();
                builder.append_nulls(nulls);
                Self::Floats(builder)
            }
            ValueRef::Text(_) => {
                let mut builder = StringBuilder::new();
                builder.append_nulls(nulls);
                Self::Texts(builder)
            }
            ValueRef::Bytes(_) => {
                let mut builder = BinaryBuilder::new();
                builder.append_nulls(nulls);
                Self::Bytes(builder)
            }
        }
    }

    const fn class(&self) -> &'static str {
        match self {
            Self::Nulls(_) => "null",
            Self::Ints(_) => "integer",
            Self::Floats(_) => "float",
            Self::Texts(_) => "text",
            Self::Bytes(_) => "bytes",
        }
    }

    fn push_null(&mut self) {
        match self {
            Self::Nulls(nulls) => *nulls += 1,
            Self::Ints(builder) => builder.append_null(),
            Self::Floats(builder) => builder.append_null(),
            Self::Texts(builder) => builder.append_null(),
            Self::Bytes(builder) => builder.append_null(),
        }
    }
}

impl AnyValues {
    /// Appends a value, and returns its approximate size in bytes.
    ///
    /// # Errors
    /// `Mismatch` for a value of another class than those before; `OutOfRange`, `TooLong`.
    pub fn push(&mut self, value: ValueRef<'_>) -> Result<usize> {
        if let (FoundValues::Nulls(nulls), false) = (&self.values, self.is_final) {
            self.values = FoundValues::of_class(value, *nulls);
        }
        if let (FoundValues::Ints(_), ValueRef::Float(_), false) =
            (&self.values, value, self.is_final)
        {
            self.widen()?;
        }
        let length = match (&mut self.values, value) {
            (found, ValueRef::Null) => {
                found.push_null();
                0
            }
            (FoundValues::Ints(builder), ValueRef::Int(integer)) => {
                builder.append_value(integer);
                0
            }
            (FoundValues::Floats(builder), ValueRef::Float(_) | ValueRef::Int(_)) => {
                builder.append_value(f64::from_value(value)?);
                0
            }
            (FoundValues::Texts(builder), ValueRef::Text(text)) => {
                check_length(text.len())?;
                builder.append_value(text);
                text.len()
            }
            (FoundValues::Bytes(builder), ValueRef::Bytes(bytes)) => {
                check_length(bytes.len())?;
                builder.append_value(bytes);
                bytes.len()
            }
            (found, value) => return Err(mixed(found.class(), value.class())),
        };
        Ok(length + size_of::<i64>())
    }

    /// The array of the values since the last call.
    ///
    /// # Errors
    /// None that a caller can cause.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        self.is_final = true;
        Ok(match &mut self.values {
            FoundValues::Nulls(nulls) => Arc::new(NullArray::new(std::mem::take(nulls))),
            FoundValues::Ints(builder) => Arc::new(builder.finish()),
            FoundValues::Floats(builder) => Arc::new(builder.finish()),
            FoundValues::Texts(builder) => Arc::new(builder.finish()),
            FoundValues::Bytes(builder) => Arc::new(builder.finish()),
        })
    }

    /// Makes floats of the integers.
    ///
    /// # Errors
    /// `OutOfRange` for an integer that no float equals.
    fn widen(&mut self) -> Result<()> {
        let FoundValues::Ints(builder) = &mut self.values else { return Ok(()) };
        let integers = builder.finish_cloned();
        let mut floats = Float64Builder::with_capacity(integers.len());
        for integer in &integers {
            let float = integer.map(|integer| f64::from_value(ValueRef::Int(integer)));
            floats.append_option(float.transpose()?);
        }
        self.values = FoundValues::Floats(floats);
        Ok(())
    }
}

#[cold]
fn mixed(found: &str, other: &str) -> Error {
    let message = format!(
        "an Arrow column has values of one type, and the column has {found} and {other}: cast it in the query"
    );
    Error::new(ErrorKind::Mismatch, message)
}

//! Parses JSON values as column values.

use crate::json::error::invalid_json;
use bobak_core::{ColumnSchema, Currency, Error, ErrorKind, Result, Type, Value, vector_bytes};
use bobak_text::{number, read};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// How deep a document may be nested. This is the limit of serde_json for the values that it parses,
/// applied here to those that it skips.
const MAX_DEPTH: usize = 127;

/// Parses a value of a column. An error goes to `failure`, because serde's error type carries neither
/// an error kind nor a column.
pub(crate) struct CellSeed<'c> {
    pub column: &'c ColumnSchema,
    pub failure: &'c mut Option<Error>,
}

struct CellVisitor(Type);

impl<'de> DeserializeSeed<'de> for CellSeed<'_> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        source: D,
    ) -> std::result::Result<Value<'de>, D::Error> {
        let read = match self.column.ty {
            // These types accept no numbers, which serde would convert to floats.
            Type::Text | Type::Bytes | Type::Uuid | Type::Bool => {
                source.deserialize_any(CellVisitor(self.column.ty))?
            }
            _ => {
                let text: &'de RawValue = serde::Deserialize::deserialize(source)?;
                parse_cell(self.column, text.get())
            }
        };
        let accepted = read.and_then(|value| accept(self.column, value));
        accepted.map_err(|error| {
            *self.failure = Some(error.in_column(self.column.name.clone()));
            D::Error::custom("")
        })
    }
}

/// Parses a value of a column: as [`parse_value`], except that `null` in a JSON column that is NOT NULL
/// is the document `null`.
///
/// # Errors
/// As [`parse_value`].
pub(crate) fn parse_cell<'v>(column: &ColumnSchema, json: &'v str) -> Result<Value<'v>> {
    if json == "null" && column.ty == Type::Json && !column.nullable {
        return Ok(Value::from(json));
    }
    parse_value(column.ty, json)
}

/// Parses a value of a type from its text, without converting numbers to floats.
///
/// # Errors
/// `Mismatch`, `OutOfRange` or `Syntax` for a value that does not fit the type.
pub(crate) fn parse_value(ty: Type, json: &str) -> Result<Value<'_>> {
    match json.as_bytes() {
        b"null" => Ok(Value::Null),
        _ if ty == Type::Json => {
            if is_shallow(json) {
                Ok(Value::from(json))
            } else {
                Err(too_deep())
            }
        }
        [b'"', ..] => {
            let inner = json.get(1..json.len() - 1).unwrap_or_default();
            if !inner.contains('\\') {
                return read_text(ty, Cow::Borrowed(inner));
            }
            let text: String = serde_json::from_str(json).map_err(|error| invalid_json(&error))?;
            read_text(ty, Cow::Owned(text))
        }
        b"true" | b"false" if matches!(ty, Type::Bool | Type::Any) => {
            Ok(Value::from(json == "true"))
        }
        b"true" | b"false" => Err(mismatch(ty, json)),
        [b'[', ..] if matches!(ty, Type::Vector(_)) => read_vector(json),
        [b'[', ..] => Err(mismatch(ty, "an array")),
        [b'{', ..] => Err(mismatch(ty, "an object")),
        _ if ty == Type::Currency => json.parse().map(|amount: Currency| amount.scaled().into()),
        _ => read_number(ty, json),
    }
}

#[inline]
fn read_text<'v>(ty: Type, text: Cow<'v, str>) -> Result<Value<'v>> {
    match ty {
        Type::Text | Type::Any => Ok(Value::Text(text)),
        Type::Bool => Err(mismatch(ty, "a string")),
        Type::Currency => text.parse().map(|amount: Currency| amount.scaled().into()),
        // Numbers of clients without 64-bit integers, dates, UUIDs, base64.
        ty => {
            let value = read::parse(ty, text.as_bytes());
            value.map(Value::into_owned).map_err(|why| Error::new(ErrorKind::Mismatch, why))
        }
    }
}

/// A vector; its length is checked with the column.
fn read_vector(json: &str) -> Result<Value<'_>> {
    let numbers = bobak_text::vector::numbers(json);
    numbers.map(|numbers| Value::from(vector_bytes(&numbers))).ok_or_else(|| {
        Error::new(ErrorKind::OutOfRange, "a vector is an array of numbers that are an f32")
    })
}

/// JSON does not distinguish integers from floats, so 5.0 is a valid integer. A number that the type
/// can't represent is an error; nothing is rounded.
fn read_number<'v>(ty: Type, json: &str) -> Result<Value<'v>> {
    let text = json.as_bytes();
    // JavaScript writes every float below 10^21 without an exponent.
    let is_far = |integer: i64| integer.unsigned_abs() > 1 << 53;
    let is_float = matches!(ty, Type::F32 | Type::F64);
    if let Some(integer) = number::integer(text).filter(|found| !(is_float && is_far(*found))) {
        return Ok(Value::Int(integer));
    }
    let is_integer = !text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    let read = match ty {
        Type::Any if is_integer && json != "-0" => None,
        Type::F32 | Type::F64 | Type::Any => number::nearest(json).map(Value::Float),
        _ => number::whole(text).map(Value::Int),
    };
    read.ok_or_else(|| {
        let shown: String = json.chars().take(40).collect();
        let more = if shown.len() < json.len() { "…" } else { "" };
        let message = format!("{shown}{more} does not fit into {}", ty.name());
        let is_within = json.parse().is_ok_and(|near: f64| near.abs() < 2_f64.powi(63));
        let is_fraction = ty.integer_range().is_some() && is_within;
        Error::new(if is_fraction { ErrorKind::Mismatch } else { ErrorKind::OutOfRange }, message)
    })
}

#[cold]
fn mismatch(ty: Type, found: &str) -> Error {
    let message = format!("expected a value of type {ty}, found {found}");
    Error::new(ErrorKind::Mismatch, message)
}

/// Whether a document is nested no deeper than [`MAX_DEPTH`].
fn is_shallow(document: &str) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for byte in document.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return false;
                }
            }
            b'}' | b']' if !quoted => depth -= 1,
            _ => {}
        }
    }
    true
}

#[cold]
fn too_deep() -> Error {
    Error::new(ErrorKind::Syntax, format!("the document is nested deeper than {MAX_DEPTH} levels"))
}

/// Converts a value to the column's stored form, without a copy if it already has it. NULL is checked
/// later, because it may be replaced by a generated value.
#[inline]
fn accept<'v>(column: &ColumnSchema, value: Value<'v>) -> Result<Value<'v>> {
    if value.is_null() {
        return Ok(value);
    }
    if column.ty.has_text_form() || column.check_stored(value.as_ref()).is_err() {
        return column.accept(value);
    }
    Ok(value)
}

/// The outer result is serde's, for invalid JSON. The inner one is for values that do not fit the type.
impl<'de> Visitor<'de> for CellVisitor {
    type Value = Result<Value<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of type {}", self.0.name())
    }

    fn visit_unit<E>(self) -> std::result::Result<Self::Value, E> {
        Ok(Ok(Value::Null))
    }

    fn visit_bool<E>(self, truth: bool) -> std::result::Result<Self::Value, E> {
        Ok(match self.0 {
            Type::Bool => Ok(Value::from(truth)),
            ty => Err(mismatch(ty, if truth { "true" } else { "false" })),
        })
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Self::Value, E> {
        Ok(Err(mismatch(self.0, "a number")))
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Self::Value, E> {
        Ok(Err(mismatch(self.0, "a number")))
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Self::Value, E> {
        Ok(Err(mismatch(self.0, "a number")))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
        Ok(read_text(self.0, Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
        Ok(read_text(self.0, Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> std::result::Result<Self::Value, E> {
        Ok(read_text(self.0, Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut all: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Err(mismatch(self.0, "an array")))
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut all: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        while all.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Err(mismatch(self.0, "an object")))
    }
}

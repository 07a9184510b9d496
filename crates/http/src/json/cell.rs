//! One member of an object as the value of its column.

use bobak_core::{ColumnSchema, Currency, Error, ErrorKind, Result, Type, Value};
use bobak_text::read;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// How deep a document may be nested: as deep as serde_json reads what it does not pass over.
const DEEPEST: usize = 127;

/// Reads a value of a column. Where it is none, the error waits in `wrong`: serde's would tell
/// neither its kind nor the column.
pub(super) struct CellSeed<'c> {
    pub column: &'c ColumnSchema,
    pub wrong: &'c mut Option<Error>,
}

struct CellVisitor<'c>(&'c ColumnSchema);

impl<'de> DeserializeSeed<'de> for CellSeed<'_> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        source: D,
    ) -> std::result::Result<Value<'de>, D::Error> {
        let read = match self.column.ty {
            // Their very text: no float comes in between.
            Type::Currency | Type::Json => {
                let text: &'de RawValue = serde::Deserialize::deserialize(source)?;
                self.read_text(text.get())
            }
            _ => source.deserialize_any(CellVisitor(self.column))?,
        };
        let accepted = read.and_then(|value| accept(self.column, value));
        accepted.map_err(|error| {
            *self.wrong = Some(error.in_column(self.column.name.clone()));
            D::Error::custom("")
        })
    }
}

impl CellSeed<'_> {
    fn read_text<'de>(&self, text: &'de str) -> Result<Value<'de>> {
        if text == "null" {
            return Ok(Value::Null);
        }
        if self.column.ty == Type::Json {
            return if is_flat(text) { Ok(Value::from(text)) } else { Err(too_deep()) };
        }
        let amount = match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) => inner.parse(),
            None => text.parse(),
        };
        amount.map(|amount: Currency| Value::Int(amount.scaled()))
    }
}

/// Whether a document is nested no deeper than readers usually go.
fn is_flat(document: &str) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for byte in document.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                if depth > DEEPEST {
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
    Error::new(ErrorKind::Syntax, format!("the document is nested deeper than {DEEPEST}"))
}

/// The value in the column's stored form; borrowed where it is in it already. NULL is looked at
/// later: it may be filled.
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

/// The outer result is serde's: of what is no JSON. The inner one is of what is no such value.
impl<'de> Visitor<'de> for CellVisitor<'_> {
    type Value = Result<Value<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of type {}", self.0.ty.name())
    }

    fn visit_unit<E>(self) -> std::result::Result<Self::Value, E> {
        Ok(Ok(Value::Null))
    }

    fn visit_bool<E>(self, truth: bool) -> std::result::Result<Self::Value, E> {
        Ok(match self.0.ty {
            Type::Bool | Type::Any => Ok(Value::from(truth)),
            _ => Err(self.mismatch(if truth { "true" } else { "false" })),
        })
    }

    fn visit_i64<E>(self, number: i64) -> std::result::Result<Self::Value, E> {
        Ok(match self.0.ty {
            Type::Bool => Err(self.mismatch("a number")),
            _ => Ok(Value::Int(number)),
        })
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> std::result::Result<Self::Value, E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) if matches!(self.0.ty, Type::F32 | Type::F64) => {
                Ok(Err(self.mismatch("an integer that a float does not hold")))
            }
            Err(_) => {
                let message = format!("{number} is beyond {}", i64::MAX);
                Ok(Err(Error::new(ErrorKind::OutOfRange, message)))
            }
        }
    }

    fn visit_f64<E>(self, number: f64) -> std::result::Result<Self::Value, E> {
        // JSON has one kind of number: 5.0 is 5.
        let whole = self.0.ty.integer_range().is_some() && self.0.ty != Type::Bool;
        if whole && number.fract() == 0.0 && number.abs() <= (1_u64 << 53) as f64 {
            return Ok(Ok(Value::Int(number as i64)));
        }
        Ok(Ok(Value::Float(number)))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
        Ok(self.text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
        Ok(self.text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> std::result::Result<Self::Value, E> {
        Ok(self.text(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut all: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Err(self.mismatch("an array")))
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut all: A,
    ) -> std::result::Result<Self::Value, A::Error> {
        while all.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Err(self.mismatch("an object")))
    }
}

impl CellVisitor<'_> {
    #[inline]
    fn text<'v>(&self, text: Cow<'v, str>) -> Result<Value<'v>> {
        match self.0.ty {
            Type::Text | Type::Any => Ok(Value::Text(text)),
            Type::Bool => Err(self.mismatch("a text")),
            // Numbers for readers that have no integers of 64 bits, dates, UUIDs, base64.
            ty => {
                let value = read::parse(ty, text.as_bytes());
                value.map(Value::into_owned).map_err(|why| Error::new(ErrorKind::Mismatch, why))
            }
        }
    }

    #[cold]
    fn mismatch(&self, found: &str) -> Error {
        let message = format!("{found} where a value of type {} is wanted", self.0.ty.name());
        Error::new(ErrorKind::Mismatch, message)
    }
}

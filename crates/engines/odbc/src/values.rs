//! Bobak's values as a driver takes and gives them.

use crate::driver::{Buffer, BufferForm, ColumnDescription};
use crate::moments::{self, is_moment};
use crate::product::ProductKind;
use bobak_core::{
    ColumnSchema, Currency, Date, DateTime, Error, ErrorKind, Field, Result, TableSchema, Time,
    Timestamp, Type, Uuid, Value, ValueRef, stored_literal,
};
use bobak_engine_common::{ServerRow, ServerValue, StatementValue};
use bobak_sql::LONG_DECIMAL;
use odbc_sys::SqlDataType as Sql;
use std::borrow::Cow;

/// The bytes of a cell of a text or bytes whose length is not limited, in a block of rows. Longer values are read in
/// parts.
const CELL: usize = 256;

/// The forms in which a driver takes or gives the values that it has several for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueForms {
    pub text: BufferForm,
    /// Of dates and moments.
    pub moment: BufferForm,
}

impl ValueForms {
    /// Of parameters. MariaDB's driver reads long UTF-16 wrongly.
    pub(crate) const fn of_parameters(kind: ProductKind) -> Self {
        let text = match kind {
            ProductKind::MySql => BufferForm::Utf8,
            _ => BufferForm::Text,
        };
        Self { text, moment: BufferForm::Utf8 }
    }
}

/// How the values of a column go to the database and come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Int,
    Float,
    /// A float of four bytes: drivers may give more digits than it has.
    Narrow,
    Text,
    Bytes,
    /// The text of another value: a truth value, an amount, a date, a UUID.
    Literal(Type),
}

impl Target {
    /// Of a column of a table.
    pub(crate) fn of(kind: ProductKind, column: &ColumnSchema) -> Self {
        match column.declared.as_deref() {
            Some(LONG_DECIMAL) if !column.is_kept_as_text() => return DIGITS,
            None if !column.is_kept_as_text() => {}
            _ => return Self::Text,
        }
        match (kind, column.ty) {
            // It has no types of its own for these.
            (ProductKind::Sqlite, Type::Uuid) => Self::Bytes,
            (ProductKind::Sqlite, ty)
                if ty == Type::Bool || has_literal(ty) || ty.integer_range().is_some() =>
            {
                Self::Int
            }
            (ProductKind::MySql, Type::Uuid) => Self::Bytes,
            (ProductKind::Postgres, Type::Bool) => Self::Literal(Type::Bool),
            (_, Type::F32) => Self::Narrow,
            (_, Type::F64) => Self::Float,
            (_, Type::Bytes) => Self::Bytes,
            (_, ty) if ty == Type::Uuid || has_literal(ty) => Self::Literal(ty),
            (_, Type::Text | Type::Json | Type::Decimal | Type::Any) => Self::Text,
            _ => Self::Int,
        }
    }

    /// For a value of a statement.
    pub(crate) fn of_given(
        kind: ProductKind,
        table: Option<&TableSchema>,
        given: &StatementValue<'_>,
    ) -> Self {
        let column = table.zip(given.place).and_then(|(table, at)| table.columns().get(at));
        match (column, given.ty, given.value.as_ref()) {
            (Some(column), ..) => Self::of(kind, column),
            (_, ty, ValueRef::Int(_)) if has_literal(ty) => Self::Literal(ty),
            (_, Type::Uuid, ValueRef::Bytes(_)) if kind == ProductKind::Postgres => {
                Self::Literal(Type::Uuid)
            }
            (.., value) => Self::of_value(value),
        }
    }

    /// Of a value without a column.
    pub(crate) const fn of_value(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Int(_) => Self::Int,
            ValueRef::Float(_) => Self::Float,
            ValueRef::Bytes(_) => Self::Bytes,
            ValueRef::Null | ValueRef::Text(_) => Self::Text,
        }
    }

    /// Of a column of a result.
    pub(crate) fn of_result(column: &ColumnDescription) -> Self {
        match column.ty {
            Sql::INTEGER | Sql::SMALLINT | Sql::EXT_BIG_INT | Sql::EXT_TINY_INT | Sql::EXT_BIT => {
                Self::Int
            }
            Sql::FLOAT | Sql::REAL | Sql::DOUBLE => Self::Float,
            Sql::EXT_BINARY | Sql::EXT_VAR_BINARY | Sql::EXT_LONG_VAR_BINARY => Self::Bytes,
            Sql::DATE => Self::Literal(Type::Date),
            Sql::TIME => Self::Literal(Type::Time),
            Sql::TIMESTAMP => Self::Literal(Type::DateTime),
            Sql::EXT_GUID => Self::Literal(Type::Uuid),
            Sql::NUMERIC | Sql::DECIMAL => Self::Literal(Type::Decimal),
            _ => Self::Text,
        }
    }

    pub(crate) const fn form(self, forms: ValueForms) -> BufferForm {
        match self {
            Self::Literal(ty) if is_moment(ty) => forms.moment,
            // ASCII: the same in every character set of a driver.
            Self::Literal(_) => BufferForm::Utf8,
            Self::Int => BufferForm::Int,
            Self::Float | Self::Narrow => BufferForm::Float,
            Self::Text => forms.text,
            Self::Bytes => BufferForm::Bytes,
        }
    }

    /// Whether values may be longer than a cell, of a column with so many characters, 0 if the driver does not know.
    pub(crate) const fn is_long(self, size: usize) -> bool {
        match self {
            Self::Literal(ty) if has_literal(ty) => false,
            _ => size == 0 || size > CELL,
        }
    }

    /// A buffer for a column of a result, whose values have so many characters or bytes, 0 if the driver does not know.
    pub(crate) fn buffer(self, forms: ValueForms, size: usize, rows: usize) -> Buffer {
        let size = if size == 0 { CELL } else { size.min(CELL) };
        let bytes = match self {
            // UTF-8 has up to four bytes for a character of two units of UTF-16.
            Self::Text => size * 4,
            // Dates, amounts and UUIDs have fewer characters.
            Self::Literal(ty) if has_literal(ty) => 40,
            // A sign, a point and a zero before it are no digits.
            Self::Literal(_) => (size + 3).max(40),
            _ => size,
        };
        Buffer::new(self.form(forms), bytes, rows)
    }

    /// The type of the values that a result has.
    pub(crate) const fn ty(self) -> Type {
        match self {
            Self::Int => Type::I64,
            Self::Float => Type::F64,
            Self::Narrow => Type::F32,
            Self::Text => Type::Text,
            Self::Bytes => Type::Bytes,
            Self::Literal(ty) => ty,
        }
    }
}

/// Of an exact number that is a text for Bobak: its digits.
const DIGITS: Target = Target::Literal(Type::Text);

/// Whether values of the type are integers for Bobak, and go as text.
pub(crate) const fn has_literal(ty: Type) -> bool {
    matches!(ty, Type::Currency | Type::Date | Type::Time | Type::DateTime | Type::Timestamp)
}

/// The values of one parameter, row by row, as they are sent.
#[derive(Debug)]
pub(crate) struct BoundParameter {
    kind: ProductKind,
    target: Target,
    /// Each value's end in `bytes`; `None` for NULL.
    ends: Vec<Option<usize>>,
    bytes: Vec<u8>,
    longest: usize,
}

impl BoundParameter {
    pub(crate) const fn new(kind: ProductKind, target: Target) -> Self {
        Self { kind, target, ends: Vec::new(), bytes: Vec::new(), longest: 0 }
    }

    /// A parameter with one value.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(crate) fn single(kind: ProductKind, target: Target, value: ValueRef<'_>) -> Result<Self> {
        let mut parameter = Self::new(kind, target);
        parameter.push(value)?;
        Ok(parameter)
    }

    /// Adds the value of the next row.
    ///
    /// # Errors
    /// `OutOfRange`, `Mismatch`, `Unsupported` for a value that the database does not have.
    pub(crate) fn push(&mut self, value: ValueRef<'_>) -> Result<()> {
        let start = self.bytes.len();
        match (self.target, value) {
            (_, ValueRef::Null) => {
                self.ends.push(None);
                return Ok(());
            }
            (Target::Int, ValueRef::Int(integer)) => {
                self.bytes.extend_from_slice(&integer.to_ne_bytes());
            }
            (Target::Float | Target::Narrow, ValueRef::Float(float)) => {
                if !float.is_finite() && self.kind != ProductKind::Postgres {
                    let message = format!("the database cannot store {float}");
                    return Err(Error::new(ErrorKind::OutOfRange, message));
                }
                self.bytes.extend_from_slice(&float.to_ne_bytes());
            }
            (Target::Bytes, ValueRef::Bytes(bytes)) => self.bytes.extend_from_slice(bytes),
            (Target::Text, ValueRef::Text(text)) => self.push_text(text)?,
            (Target::Text, ValueRef::Int(integer)) => self.push_text(&integer.to_string())?,
            (Target::Text, ValueRef::Float(float)) => self.push_text(&format!("{float:?}"))?,
            (Target::Literal(ty), value) => self.push_text(&literal(ty, value)?)?,
            (target, _) => {
                let message = format!(
                    "a value of another class than that of the column, {}",
                    target.ty().name()
                );
                return Err(Error::new(ErrorKind::Mismatch, message));
            }
        }
        self.longest = self.longest.max(self.bytes.len() - start);
        self.ends.push(Some(self.bytes.len()));
        Ok(())
    }

    const fn form(&self) -> BufferForm {
        self.target.form(ValueForms::of_parameters(self.kind))
    }

    fn push_text(&mut self, text: &str) -> Result<()> {
        if text.contains('\0') {
            let message = "the database cannot store a text with a NUL: use bytes";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if self.form() == BufferForm::Utf8 {
            self.bytes.extend_from_slice(text.as_bytes());
        } else {
            self.bytes.extend(text.encode_utf16().flat_map(u16::to_ne_bytes));
        }
        Ok(())
    }

    /// The buffer that is bound.
    pub(crate) fn into_buffer(self) -> Buffer {
        let mut buffer = Buffer::new(self.form(), self.longest, self.ends.len());
        let mut start = 0;
        for (row, end) in self.ends.iter().enumerate() {
            let Some(end) = *end else { continue };
            buffer.set(row, self.bytes.get(start..end).unwrap_or_default());
            start = end;
        }
        buffer
    }
}

/// A value as text, as databases write it.
fn literal(ty: Type, value: ValueRef<'_>) -> Result<String> {
    let text = match (ty, value) {
        (Type::Bool, ValueRef::Int(integer)) => integer.to_string(),
        (Type::Currency, ValueRef::Int(scaled)) => Currency::from_scaled(scaled).to_string(),
        (Type::Uuid, ValueRef::Bytes(_)) => Uuid::from_value(value)?.to_string(),
        (Type::Date, _) => Date::from_value(value)?.to_string(),
        (Type::Time, _) => Time::from_value(value)?.to_string(),
        (Type::DateTime, _) => DateTime::from_value(value)?.to_string(),
        (Type::Timestamp, _) => Timestamp::from_value(value)?.to_string(),
        (_, ValueRef::Text(text)) => text.to_owned(),
        _ => {
            let message = format!("a value of another class than that of {}", ty.name());
            return Err(Error::new(ErrorKind::Mismatch, message));
        }
    };
    if is_moment(ty) && (text.starts_with(['-', '+']) || text.starts_with("0000")) {
        let message = format!("a {} must be in the years 1 to 9999 through ODBC", ty.name());
        return Err(Error::new(ErrorKind::OutOfRange, message));
    }
    Ok(match ty {
        Type::DateTime | Type::Timestamp => text.trim_end_matches('Z').replace('T', " "),
        _ => text,
    })
}

/// A value of a result, as the driver gives it.
///
/// # Errors
/// `OutOfRange` and others for a value that Bobak's type does not have.
pub(crate) fn show(
    view: &mut ServerRow,
    forms: ValueForms,
    target: Target,
    bytes: Option<&[u8]>,
) -> Result<ServerValue> {
    let Some(bytes) = bytes else { return Ok(ServerValue::Null) };
    let number = || bytes.try_into().unwrap_or_default();
    let text = |(start, end)| ServerValue::Text(start, end);
    Ok(match target {
        Target::Int => ServerValue::Int(i64::from_ne_bytes(number())),
        Target::Float => ServerValue::Float(f64::from_ne_bytes(number())),
        Target::Narrow => ServerValue::Float(f64::from(f64::from_ne_bytes(number()) as f32)),
        Target::Bytes => view.append_bytes(bytes),
        Target::Text if forms.text == BufferForm::Utf8 => text(view.append(utf8(bytes).as_bytes())),
        Target::Text => text(view.append_with(|out| push_utf16(out, bytes))),
        Target::Literal(ty) if target.form(forms) == BufferForm::Moment => {
            ServerValue::Int(moments::read_structure(ty, bytes)?)
        }
        Target::Literal(ty) => match read_literal(ty, &utf8(bytes))? {
            Value::Null => ServerValue::Null,
            Value::Int(integer) => ServerValue::Int(integer),
            Value::Float(float) => ServerValue::Float(float),
            Value::Text(shown) => text(view.append(shown.as_bytes())),
            Value::Bytes(bytes) => view.append_bytes(&bytes),
        },
    })
}

/// A value that came as text.
fn read_literal(ty: Type, text: &str) -> Result<Value<'static>> {
    if is_moment(ty)
        && let Some(stored) = moments::read_text(ty, text)
    {
        return Ok(Value::Int(stored));
    }
    Ok(match ty {
        Type::Bool => Value::Int(i64::from(matches!(text, "1" | "t" | "true"))),
        Type::I64 => {
            let parsed = text.trim().parse();
            Value::Int(parsed.map_err(|_| {
                Error::new(ErrorKind::OutOfRange, format!("{text} is beyond 64 bits"))
            })?)
        }
        Type::Decimal => digits(text),
        Type::Text => Value::from(without_zeros(text).to_owned()),
        Type::Currency => Value::Int(text.trim().parse::<Currency>()?.scaled()),
        ty => return stored_literal(ty, text.trim()),
    })
}

/// An exact number: an integer if it is whole and fits, otherwise its digits.
fn digits(text: &str) -> Value<'static> {
    let digits = without_zeros(text);
    digits.parse().map_or_else(|_| Value::from(digits.to_owned()), Value::Int)
}

/// The digits without zeros at the end of their decimals.
fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

fn push_utf16(out: &mut Vec<u8>, bytes: &[u8]) {
    let (units, _) = bytes.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_ne_bytes(*unit));
    if units.clone().fold(0, |all, unit| all | unit) < 0x80 {
        out.extend(units.map(|unit| unit.to_le_bytes()[0]));
        return;
    }
    for unit in char::decode_utf16(units) {
        let letter = unit.unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_utf_16_are_read() {
        for text in ["", "Bern", "Zürich", "日本 🗻", "ab\u{7f}"] {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_ne_bytes).collect();
            let mut read = b"before ".to_vec();
            push_utf16(&mut read, &units);
            assert_eq!(String::from_utf8(read).unwrap(), format!("before {text}"));
        }
    }
}

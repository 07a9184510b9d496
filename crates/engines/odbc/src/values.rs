//! Bobak's values as a driver takes and gives them.

use crate::driver::{Buffer, BufferForm, ColumnDescription, OdbcStatement};
use crate::product::ProductKind;
use bobak_core::{
    ColumnSchema, Currency, Date, DateTime, Error, ErrorKind, Field, Result, ResultColumn, Row,
    Time, Timestamp, Type, Uuid, Value, ValueRef, stored_literal,
};
use odbc_sys::SqlDataType as Sql;
use std::ops::Range;

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
        if column.is_kept_as_text() || column.declared.is_some() {
            return Self::Text;
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

    const fn form(self, kind: ProductKind) -> BufferForm {
        match self {
            // ASCII: the same in every character set of a driver.
            Self::Literal(_) => BufferForm::Utf8,
            // MariaDB's driver reads long UTF-16 wrongly.
            Self::Text if matches!(kind, ProductKind::MySql) => BufferForm::Utf8,
            Self::Int => BufferForm::Int,
            Self::Float | Self::Narrow => BufferForm::Float,
            Self::Text => BufferForm::Text,
            Self::Bytes => BufferForm::Bytes,
        }
    }

    /// A buffer for a column of a result, with room for so many characters or bytes.
    pub(crate) fn buffer(self, kind: ProductKind, size: usize, rows: usize) -> Buffer {
        let bytes = match self {
            // UTF-8 has up to four bytes for a character of two units of UTF-16.
            Self::Text => size * 4,
            // Dates, amounts and UUIDs have fewer characters.
            Self::Literal(_) => size.max(40),
            _ => size,
        };
        Buffer::new(self.form(kind), bytes, rows)
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

    fn push_text(&mut self, text: &str) -> Result<()> {
        if text.contains('\0') {
            let message = "the database cannot store a text with a NUL: use bytes";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if self.target.form(self.kind) == BufferForm::Utf8 {
            self.bytes.extend_from_slice(text.as_bytes());
        } else {
            self.bytes.extend(text.encode_utf16().flat_map(u16::to_ne_bytes));
        }
        Ok(())
    }

    /// The buffer that is bound.
    pub(crate) fn into_buffer(self) -> Buffer {
        let mut buffer = Buffer::new(self.target.form(self.kind), self.longest, self.ends.len());
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
    let is_moment = matches!(ty, Type::Date | Type::DateTime | Type::Timestamp);
    if is_moment && (text.starts_with(['-', '+']) || text.starts_with("0000")) {
        let message = format!("a {} must be in the years 1 to 9999 through ODBC", ty.name());
        return Err(Error::new(ErrorKind::OutOfRange, message));
    }
    Ok(match ty {
        Type::DateTime | Type::Timestamp => text.trim_end_matches('Z').replace('T', " "),
        _ => text,
    })
}

/// A row of a result. The texts and bytes of a row are in buffers that the next row uses again.
#[derive(Debug)]
pub(crate) struct Cells {
    kind: ProductKind,
    cells: Vec<Cell>,
    texts: String,
    bytes: Vec<u8>,
    columns: Vec<ResultColumn>,
}

/// A value of a row.
#[derive(Clone, Debug)]
enum Cell {
    Null,
    Int(i64),
    Float(f64),
    /// Where it is in the row's texts.
    Text(Range<usize>),
    /// Where they are in the row's bytes.
    Bytes(Range<usize>),
}

impl Cells {
    pub(crate) const fn new(kind: ProductKind, columns: Vec<ResultColumn>) -> Self {
        Self { kind, cells: Vec::new(), texts: String::new(), bytes: Vec::new(), columns }
    }

    /// Reads a row of those that the last fetch has read.
    ///
    /// # Errors
    /// `Mismatch` for a text that is none of the column's type; the driver's.
    pub(crate) fn read(
        &mut self,
        statement: &OdbcStatement,
        targets: &[Target],
        row: usize,
        is_array: bool,
    ) -> Result<(), CellError> {
        self.cells.clear();
        self.texts.clear();
        self.bytes.clear();
        for (place, target) in targets.iter().enumerate() {
            let read = match statement.column(place) {
                Some(buffer) if !buffer.is_cut(row) => self.push(*target, buffer.get(row)),
                bound => {
                    let row = bound.is_some().then_some(row).filter(|_| is_array);
                    let value = statement.whole_value(place, target.form(self.kind), row);
                    self.push(*target, value.map_err(CellError::Driver)?.as_deref())
                }
            };
            read.map_err(|error| {
                let name = self.columns.get(place).map(|column| column.name.clone());
                CellError::Value(error.in_column(name.unwrap_or_default()))
            })?;
        }
        Ok(())
    }

    /// Adds the next value of the row.
    fn push(&mut self, target: Target, bytes: Option<&[u8]>) -> Result<()> {
        let Some(bytes) = bytes else {
            self.cells.push(Cell::Null);
            return Ok(());
        };
        let number = || bytes.try_into().unwrap_or_default();
        let cell = match target {
            Target::Int => Cell::Int(i64::from_ne_bytes(number())),
            Target::Float => Cell::Float(f64::from_ne_bytes(number())),
            Target::Narrow => Cell::Float(f64::from(f64::from_ne_bytes(number()) as f32)),
            Target::Bytes => self.keep_bytes(bytes),
            Target::Text if target.form(self.kind) == BufferForm::Utf8 => {
                self.keep_text(&String::from_utf8_lossy(bytes))
            }
            Target::Text => {
                let start = self.texts.len();
                push_utf16(&mut self.texts, bytes);
                Cell::Text(start..self.texts.len())
            }
            Target::Literal(ty) => match read_literal(ty, &String::from_utf8_lossy(bytes))? {
                Value::Null => Cell::Null,
                Value::Int(integer) => Cell::Int(integer),
                Value::Float(float) => Cell::Float(float),
                Value::Text(text) => self.keep_text(&text),
                Value::Bytes(bytes) => self.keep_bytes(&bytes),
            },
        };
        self.cells.push(cell);
        Ok(())
    }

    fn keep_text(&mut self, text: &str) -> Cell {
        let start = self.texts.len();
        self.texts.push_str(text);
        Cell::Text(start..self.texts.len())
    }

    fn keep_bytes(&mut self, bytes: &[u8]) -> Cell {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Cell::Bytes(start..self.bytes.len())
    }
}

/// Why a row cannot be read.
#[derive(Debug)]
pub(crate) enum CellError {
    Driver(crate::driver::OdbcError),
    Value(Error),
}

impl Row for Cells {
    fn len(&self) -> usize {
        self.cells.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        match self.cells.get(column) {
            None | Some(Cell::Null) => ValueRef::Null,
            Some(Cell::Int(integer)) => ValueRef::Int(*integer),
            Some(Cell::Float(float)) => ValueRef::Float(*float),
            Some(Cell::Text(place)) => {
                ValueRef::Text(self.texts.get(place.clone()).unwrap_or_default())
            }
            Some(Cell::Bytes(place)) => {
                ValueRef::Bytes(self.bytes.get(place.clone()).unwrap_or_default())
            }
        }
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.columns.get(column).map(|column| column.name.as_str())
    }

    fn ty(&self, column: usize) -> Type {
        self.columns.get(column).map_or(Type::Any, |column| column.ty)
    }
}

/// A value that came as text.
fn read_literal(ty: Type, text: &str) -> Result<Value<'static>> {
    if matches!(ty, Type::DateTime | Type::Timestamp)
        && let Some(micros) = microseconds(text)
    {
        return Ok(Value::Int(micros));
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
        Type::Currency => Value::Int(text.trim().parse::<Currency>()?.scaled()),
        ty => return stored_literal(ty, text.trim()),
    })
}

/// The moment of a text such as `2026-11-29 10:07:38.5`, in which drivers give nearly all; `None` for another form.
fn microseconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.as_bytes().split_at_checked(19)?;
    let digits = |digits: &[u8]| {
        digits.iter().try_fold(0_i64, |all, digit| {
            digit.is_ascii_digit().then(|| all * 10 + i64::from(digit - b'0'))
        })
    };
    let part = |place: Range<usize>, end: &[u8]| -> Option<i64> {
        let after = whole.get(place.end..place.end + end.len())?;
        digits(whole.get(place)?).filter(|_| after == end)
    };
    let (year, month) = (part(0..4, b"-")?, part(5..7, b"-")?);
    let (day, hour) = (part(8..10, b" ")?, part(11..13, b":")?);
    let (minute, second) = (part(14..16, b":")?, part(17..19, b"")?);
    let micros = match fraction {
        [] => 0,
        [b'.', places @ ..] if (1..=6).contains(&places.len()) => {
            digits(places)? * 10_i64.pow(6 - u32::try_from(places.len()).ok()?)
        }
        _ => return None,
    };
    let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?);
    let Value::Int(days) = date.ok()?.to_value().ok()? else { return None };
    let is_time = hour < 24 && minute < 60 && second < 60;
    is_time.then_some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

/// An exact number: an integer if it is whole and fits, otherwise its digits.
fn digits(text: &str) -> Value<'static> {
    let digits = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    digits.parse().map_or_else(|_| Value::from(digits.to_owned()), Value::Int)
}

fn push_utf16(text: &mut String, bytes: &[u8]) {
    let (units, _) = bytes.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_ne_bytes(*unit));
    // Most texts are ASCII, which needs no decoder.
    if units.clone().fold(0, |all, unit| all | unit) < 0x80 {
        text.extend(units.map(|unit| char::from(unit.to_le_bytes()[0])));
        return;
    }
    text.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_what_the_general_parser_makes_of_them() {
        for text in [
            "2026-11-29 10:07:38",
            "2026-11-29 10:07:38.5",
            "1969-12-31 23:59:59.999999",
            "0001-01-01 00:00:00.000001",
            "9999-12-31 23:59:59",
            "2024-02-29 12:00:00.123",
        ] {
            let parsed = stored_literal(Type::Timestamp, text).unwrap();
            assert_eq!(microseconds(text).map(Value::Int), Some(parsed), "{text}");
        }
        for text in [
            "2026-11-29",
            "2026-11-29 10:07:38+01",
            "2026-11-29T10:07:38",
            "2026-11-29 10:07:38.",
            "2026-11-29 10:07:38.1234567",
            "2023-02-29 12:00:00",
            "2026-11-29 24:00:00",
            "2026-11-29 10:07:60",
            "2026-1-29 10:07:38.0",
            "-001-11-29 10:07:38",
            "",
        ] {
            assert_eq!(microseconds(text), None, "{text}");
        }
    }

    #[test]
    fn texts_of_utf_16_are_read() {
        for text in ["", "Bern", "Zürich", "日本 🗻", "ab\u{7f}"] {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_ne_bytes).collect();
            let mut read = "before ".to_owned();
            push_utf16(&mut read, &units);
            assert_eq!(read, format!("before {text}"));
        }
    }
}

//! Bobak's values as a driver takes and gives them.

use crate::driver::{Buffer, BufferForm, ColumnDescription, OdbcStatement};
use crate::product::ProductKind;
use bobak_core::{
    ColumnSchema, Currency, Date, DateTime, Error, ErrorKind, Field, Result, ResultColumn, Row,
    Time, Timestamp, Type, Uuid, Value, ValueRef, stored_literal,
};
use odbc_sys::SqlDataType as Sql;

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

/// A row of a result.
#[derive(Debug)]
pub(crate) struct Cells {
    kind: ProductKind,
    cells: Vec<Value<'static>>,
    columns: Vec<ResultColumn>,
}

impl Cells {
    pub(crate) const fn new(kind: ProductKind, columns: Vec<ResultColumn>) -> Self {
        Self { kind, cells: Vec::new(), columns }
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
        for (place, target) in targets.iter().enumerate() {
            let whole = |row| {
                let value = statement.whole_value(place, target.form(self.kind), row);
                let value = value.map_err(CellError::Driver)?;
                Ok(value.map_or(Ok(Value::Null), |bytes| decode(self.kind, *target, &bytes)))
            };
            let cell = match statement.column(place) {
                None => whole(None)?,
                Some(buffer) if buffer.is_cut(row) => whole(is_array.then_some(row))?,
                Some(buffer) => buffer
                    .get(row)
                    .map_or(Ok(Value::Null), |bytes| decode(self.kind, *target, bytes)),
            };
            self.cells.push(cell.map_err(|error| {
                let name = self.columns.get(place).map(|column| column.name.clone());
                CellError::Value(error.in_column(name.unwrap_or_default()))
            })?);
        }
        Ok(())
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
        self.cells.get(column).map_or(ValueRef::Null, Value::as_ref)
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.columns.get(column).map(|column| column.name.as_str())
    }

    fn ty(&self, column: usize) -> Type {
        self.columns.get(column).map_or(Type::Any, |column| column.ty)
    }
}

fn decode(kind: ProductKind, target: Target, bytes: &[u8]) -> Result<Value<'static>> {
    let text = |bytes: &[u8]| match target.form(kind) {
        BufferForm::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
        _ => utf16(bytes),
    };
    let number = || bytes.try_into().unwrap_or_default();
    Ok(match target {
        Target::Int => Value::Int(i64::from_ne_bytes(number())),
        Target::Float => Value::Float(f64::from_ne_bytes(number())),
        Target::Narrow => Value::Float(f64::from(f64::from_ne_bytes(number()) as f32)),
        Target::Bytes => Value::from(bytes.to_vec()),
        Target::Text => Value::from(text(bytes)),
        Target::Literal(Type::Bool) => {
            Value::Int(i64::from(matches!(text(bytes).as_str(), "1" | "t" | "true")))
        }
        Target::Literal(Type::I64) => {
            let text = text(bytes);
            let parsed = text.trim().parse();
            Value::Int(parsed.map_err(|_| {
                Error::new(ErrorKind::OutOfRange, format!("{text} is beyond 64 bits"))
            })?)
        }
        Target::Literal(Type::Decimal) => digits(&text(bytes)),
        Target::Literal(Type::Currency) => {
            Value::Int(text(bytes).trim().parse::<Currency>()?.scaled())
        }
        Target::Literal(ty) => return stored_literal(ty, text(bytes).trim()),
    })
}

/// An exact number: an integer if it is whole and fits, otherwise its digits.
fn digits(text: &str) -> Value<'static> {
    let digits = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    digits.parse().map_or_else(|_| Value::from(digits.to_owned()), Value::Int)
}

fn utf16(bytes: &[u8]) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_ne_bytes(*unit));
    // Most texts are ASCII, which needs no decoder.
    let mut text = String::with_capacity(bytes.len() / 2);
    let mut rest = units.clone();
    while let Some(letter) = rest.clone().next().and_then(|unit| u8::try_from(unit).ok()) {
        if !letter.is_ascii() {
            break;
        }
        text.push(char::from(letter));
        rest.next();
    }
    text.extend(char::decode_utf16(rest).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
    text
}

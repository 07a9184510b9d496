//! Rows as the server sends them, in Bobak's stored forms.
//!
//! The result itself declares the type of each column, for queries over tables and for SQL texts.

use crate::values::instants::{Instants, origin};
use bobak_core::{Error, ErrorKind, Result, ResultColumn, Row, TableSchema, Type, ValueRef};
use bobak_engine_common::calendar;
use mysql::consts::{ColumnFlags, ColumnType};
use mysql::{Column, Value as Wire};

/// The number of the character set `binary`: the strings that are bytes.
const BINARY: u16 = 63;

/// One value, owned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DecodedValue {
    Null,
    Int(i64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// What a column of a result holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CellKind {
    Int,
    Float,
    Text,
    Bytes,
    /// A decimal number with four decimals, of a money column or of a sum of such: an integer of
    /// ten-thousandths.
    Money,
    /// A decimal number without decimals: an integer.
    Whole,
    /// Any other decimal number: the text of its digits.
    Digits,
    /// A decimal number of SQL text: an integer if it is whole and fits, otherwise its digits.
    Exact,
    Date,
    Moment,
    Time,
    Bits,
}

/// Reads the rows of one result.
#[derive(Debug)]
pub(crate) struct Decoder {
    kinds: Vec<CellKind>,
    columns: Vec<ResultColumn>,
    /// Whether dates that do not exist are NULL, and no error.
    pub invalid_dates_are_null: bool,
}

/// A row, read.
#[derive(Debug)]
pub(crate) struct BorrowedRow<'a> {
    pub cells: &'a [DecodedValue],
    pub columns: &'a [ResultColumn],
}

impl Decoder {
    /// Reads columns. Those of SQL text, for which the instants are known, have types, and exact decimal numbers.
    pub(crate) fn new(columns: &[Column], instants: Option<&Instants>) -> Self {
        let is_sql = instants.is_some();
        let kind = |column: &Column| match kind(column) {
            CellKind::Whole | CellKind::Digits if is_sql => CellKind::Exact,
            // It may be an average of integers.
            CellKind::Money
                if is_sql && !is_column(column) && column.column_length() != MONEY_LENGTH =>
            {
                CellKind::Exact
            }
            kind => kind,
        };
        let ty = |column: &Column| match instants {
            Some(instants) => ty(column, kind(column), instants),
            None => Type::Any,
        };
        Self {
            kinds: columns.iter().map(kind).collect(),
            columns: columns
                .iter()
                .map(|column| ResultColumn::new(column.name_str().into_owned(), ty(column)))
                .collect(),
            invalid_dates_are_null: false,
        }
    }

    pub(crate) fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Reads a row into `cells`, which is cleared first. `table` is the one that the result is of.
    ///
    /// # Errors
    /// `OutOfRange`, `Mismatch`, naming the table, the column and the key of the row, if the result has it.
    pub(crate) fn read(
        &self,
        row: mysql::Row,
        cells: &mut Vec<DecodedValue>,
        table: Option<&TableSchema>,
    ) -> Result<()> {
        cells.clear();
        let mut failed = None;
        for (place, wire) in row.unwrap().into_iter().enumerate() {
            let kind = self.kinds.get(place).copied().unwrap_or(CellKind::Bytes);
            let is_date = matches!(kind, CellKind::Date | CellKind::Moment);
            cells.push(match cell(kind, wire) {
                Ok(cell) => cell,
                Err(_) if is_date && self.invalid_dates_are_null => DecodedValue::Null,
                Err(error) => {
                    failed.get_or_insert((place, error));
                    DecodedValue::Null
                }
            });
        }
        match failed {
            None => Ok(()),
            Some((place, error)) => Err(self.failed(place, error, cells, table)),
        }
    }

    #[cold]
    fn failed(
        &self,
        place: usize,
        (kind, message): ReadError,
        cells: &[DecodedValue],
        table: Option<&TableSchema>,
    ) -> Error {
        let mut error = Error::new(kind, message);
        if let Some(column) = self.columns.get(place) {
            error = error.in_column(column.name.clone());
        }
        let Some(table) = table else { return error };
        let row = BorrowedRow { cells, columns: &self.columns };
        let names = table.key().iter().filter_map(|&at| table.columns().get(at)).map(|c| &*c.name);
        let keys = names.filter_map(|name| {
            let at = self.columns.iter().position(|column| column.name == name)?;
            (at != place).then(|| (name, row.get(at)))
        });
        error.in_row(keys).in_table(table.name())
    }
}

impl Row for BorrowedRow<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.cells.len()
    }

    #[inline]
    fn get(&self, column: usize) -> ValueRef<'_> {
        match self.cells.get(column) {
            None | Some(DecodedValue::Null) => ValueRef::Null,
            Some(DecodedValue::Int(integer)) => ValueRef::Int(*integer),
            Some(DecodedValue::Float(float)) => ValueRef::Float(*float),
            Some(DecodedValue::Text(text)) => ValueRef::Text(text),
            Some(DecodedValue::Bytes(bytes)) => ValueRef::Bytes(bytes),
        }
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.columns.get(column).map(|column| column.name.as_str())
    }

    fn ty(&self, column: usize) -> Type {
        self.columns.get(column).map_or(Type::Any, |column| column.ty)
    }
}

fn kind(column: &Column) -> CellKind {
    use ColumnType as T;
    match column.column_type() {
        T::MYSQL_TYPE_TINY
        | T::MYSQL_TYPE_SHORT
        | T::MYSQL_TYPE_INT24
        | T::MYSQL_TYPE_LONG
        | T::MYSQL_TYPE_LONGLONG
        | T::MYSQL_TYPE_YEAR => CellKind::Int,
        T::MYSQL_TYPE_FLOAT | T::MYSQL_TYPE_DOUBLE => CellKind::Float,
        T::MYSQL_TYPE_NEWDECIMAL | T::MYSQL_TYPE_DECIMAL => decimal(column),
        T::MYSQL_TYPE_DATE | T::MYSQL_TYPE_NEWDATE => CellKind::Date,
        T::MYSQL_TYPE_DATETIME
        | T::MYSQL_TYPE_DATETIME2
        | T::MYSQL_TYPE_TIMESTAMP
        | T::MYSQL_TYPE_TIMESTAMP2 => CellKind::Moment,
        T::MYSQL_TYPE_TIME | T::MYSQL_TYPE_TIME2 => CellKind::Time,
        T::MYSQL_TYPE_BIT => CellKind::Bits,
        _ if column.character_set() == BINARY
            && !column.flags().intersects(ColumnFlags::ENUM_FLAG | ColumnFlags::SET_FLAG)
            && column.column_type() != T::MYSQL_TYPE_JSON =>
        {
            CellKind::Bytes
        }
        _ => CellKind::Text,
    }
}

/// Money is what has up to four decimals, and 15 digits before them. Of an expression, they may be more: it is
/// the sum of such a column.
fn decimal(column: &Column) -> CellKind {
    let decimals = u32::from(column.decimals());
    // With a sign, and a point before decimals.
    let digits = column.column_length().saturating_sub(1 + u32::from(decimals > 0));
    let is_sum = !is_column(column);
    match decimals {
        0 if is_sum || digits <= 18 => CellKind::Whole,
        1..=4 if is_sum || digits.saturating_sub(decimals) <= 15 => CellKind::Money,
        _ => CellKind::Digits,
    }
}

/// Whether it is a column of a table, not an expression.
fn is_column(column: &Column) -> bool {
    !column.org_table_ref().is_empty()
}

/// The characters of a DECIMAL(19,4), with its sign and point.
const MONEY_LENGTH: u32 = 21;

/// The type of a column of SQL text.
fn ty(column: &Column, kind: CellKind, instants: &Instants) -> Type {
    use ColumnType as T;
    let is_bool = column.column_type() == ColumnType::MYSQL_TYPE_TINY
        && column.column_length() == 1
        && is_column(column);
    match kind {
        CellKind::Int if is_bool => Type::Bool,
        CellKind::Int | CellKind::Bits => Type::I64,
        CellKind::Float => Type::F64,
        CellKind::Text => Type::Text,
        // As a column is declared: BINARY(16).
        CellKind::Bytes
            if column.column_type() == ColumnType::MYSQL_TYPE_STRING
                && column.column_length() == 16 =>
        {
            Type::Uuid
        }
        CellKind::Bytes => Type::Bytes,
        CellKind::Money => Type::Currency,
        CellKind::Whole | CellKind::Digits | CellKind::Exact => Type::Decimal,
        CellKind::Date => Type::Date,
        // Of another program.
        CellKind::Moment
            if matches!(
                column.column_type(),
                T::MYSQL_TYPE_TIMESTAMP | T::MYSQL_TYPE_TIMESTAMP2
            ) =>
        {
            Type::Timestamp
        }
        CellKind::Moment => match origin(column).and_then(|column| instants.get(&column)) {
            Some(true) => Type::Timestamp,
            _ => Type::DateTime,
        },
        CellKind::Time => Type::Time,
    }
}

type ReadError = (ErrorKind, String);

fn cell(kind: CellKind, wire: Wire) -> Result<DecodedValue, ReadError> {
    Ok(match (kind, wire) {
        (_, Wire::NULL) => DecodedValue::Null,
        (CellKind::Text, Wire::Bytes(bytes)) => {
            let text = String::from_utf8(bytes);
            DecodedValue::Text(text.map_err(|_| mismatch("a text that is not UTF-8"))?)
        }
        (CellKind::Bytes, Wire::Bytes(bytes)) => DecodedValue::Bytes(bytes),
        (CellKind::Money, Wire::Bytes(digits)) => DecodedValue::Int(decimal_digits(&digits, 4)?),
        (CellKind::Whole, Wire::Bytes(digits)) => DecodedValue::Int(decimal_digits(&digits, 0)?),
        (CellKind::Exact, Wire::Bytes(digits)) => exact(digits)?,
        (CellKind::Digits, Wire::Bytes(digits)) => DecodedValue::Text(trimmed(digits)?),
        (CellKind::Bits, Wire::Bytes(bytes)) => {
            let fold = |all: u64, byte: &u8| (all << 8) | u64::from(*byte);
            DecodedValue::Int(signed(bytes.iter().fold(0, fold))?)
        }
        (_, Wire::Int(integer)) => DecodedValue::Int(integer),
        (_, Wire::UInt(integer)) => DecodedValue::Int(signed(integer)?),
        (_, Wire::Float(float)) => DecodedValue::Float(f64::from(float)),
        (_, Wire::Double(float)) => DecodedValue::Float(float),
        (CellKind::Date, Wire::Date(year, month, day, ..)) => {
            DecodedValue::Int(calendar::days_of(year.into(), month, day).ok_or_else(no_date)?)
        }
        (_, Wire::Date(y, m, d, hour, min, s, us)) => {
            DecodedValue::Int(calendar::micros_of((y, m, d, hour, min, s, us)).ok_or_else(no_date)?)
        }
        (_, Wire::Time(negative, days, hour, min, s, us)) => {
            let micros = calendar::micros_of_day(days, hour, min, s, us);
            DecodedValue::Int(if negative { -micros } else { micros })
        }
        // The text protocol, where statements are not prepared.
        (kind, Wire::Bytes(text)) => {
            let text = String::from_utf8(text).map_err(|_| mismatch("a number in bytes"))?;
            parsed(kind, &text)
                .ok_or_else(|| mismatch(&format!("'{text}' where a number is expected")))?
        }
    })
}

/// A decimal number, exactly: an integer if it is whole and fits, otherwise its digits.
fn exact(digits: Vec<u8>) -> Result<DecodedValue, ReadError> {
    let digits = trimmed(digits)?;
    Ok(digits.parse().map_or_else(|_| DecodedValue::Text(digits), DecodedValue::Int))
}

/// The digits of a decimal number, without zeros at the end of its decimals.
fn trimmed(digits: Vec<u8>) -> Result<String, ReadError> {
    let mut text = String::from_utf8(digits).map_err(|_| mismatch("a number in bytes"))?;
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    Ok(text)
}

/// A value that came as text.
fn parsed(kind: CellKind, text: &str) -> Option<DecodedValue> {
    match kind {
        CellKind::Int => text.parse().ok().map(DecodedValue::Int),
        CellKind::Float => text.parse().ok().map(DecodedValue::Float),
        CellKind::Date => date(text).map(DecodedValue::Int),
        CellKind::Moment => {
            let (day, time) = text.split_once(' ')?;
            Some(DecodedValue::Int(date(day)? * 86_400_000_000 + time_of_day(time)?))
        }
        CellKind::Time => match text.strip_prefix('-') {
            Some(text) => time_of_day(text).map(|micros| DecodedValue::Int(-micros)),
            None => time_of_day(text).map(DecodedValue::Int),
        },
        _ => None,
    }
}

fn date(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    calendar::days_of(year.parse::<u16>().ok()?.into(), month.parse().ok()?, day.parse().ok()?)
}

fn time_of_day(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = whole.splitn(3, ':');
    let mut next = || parts.next()?.parse::<i64>().ok();
    let (hours, minutes, seconds) = (next()?, next()?, next()?);
    let micros: i64 = format!("{part:0<6}").get(..6)?.parse().ok()?;
    Some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros)
}

/// `-12.34` with so many decimals, as an integer of its last decimal's steps.
fn decimal_digits(text: &[u8], decimals: usize) -> Result<i64, ReadError> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mut value: i64 = 0;
    let mut after_point: Option<usize> = None;
    for &byte in digits {
        if byte == b'.' {
            after_point = Some(0);
            continue;
        }
        let digit = i64::from(byte.wrapping_sub(b'0'));
        let digit = if negative { -digit } else { digit };
        value = value.checked_mul(10).and_then(|v| v.checked_add(digit)).ok_or_else(too_large)?;
        after_point = after_point.map(|count| count + 1);
    }
    for _ in after_point.unwrap_or(0)..decimals {
        value = value.checked_mul(10).ok_or_else(too_large)?;
    }
    Ok(value)
}

fn signed(integer: u64) -> Result<i64, ReadError> {
    i64::try_from(integer).map_err(|_| too_large())
}

#[cold]
fn too_large() -> ReadError {
    (ErrorKind::OutOfRange, "a number, or a sum, is beyond 64 bits".to_owned())
}

#[cold]
fn no_date() -> ReadError {
    mismatch("a date such as 0000-00-00, which does not exist")
}

#[cold]
fn mismatch(what: &str) -> ReadError {
    (ErrorKind::Mismatch, format!("the server sent {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (text, value) in [
            ("0.0000", 0),
            ("-0.0001", -1),
            ("12.3", 123_000),
            ("7", 70_000),
            ("922337203685477.5807", i64::MAX),
            ("-922337203685477.5808", i64::MIN),
        ] {
            assert_eq!(decimal_digits(text.as_bytes(), 4), Ok(value), "{text}");
        }
        assert!(decimal_digits(b"922337203685477.5808", 4).is_err());
        assert!(decimal_digits(b"9223372036854775808", 0).is_err());
    }

    #[test]
    fn values_of_the_text_protocol_are_decoded() {
        let moment = 1_700_000_000_123_000;
        assert_eq!(
            parsed(CellKind::Moment, "2023-11-14 22:13:20.123"),
            Some(DecodedValue::Int(moment))
        );
        assert_eq!(parsed(CellKind::Date, "1969-12-31"), Some(DecodedValue::Int(-1)));
        assert_eq!(
            parsed(CellKind::Time, "23:59:59.999999"),
            Some(DecodedValue::Int(86_399_999_999))
        );
        assert_eq!(parsed(CellKind::Int, "x"), None);
    }
}

//! Bobak's values as the server takes and gives them.
//!
//! A prepared statement says of what type each of its parameters and columns is; so nothing here depends on how a table was
//! declared, and tables of other programs work, too.

use crate::wire::{Cell, FieldDescription, ReceivedRows, SentValue, sql_type};
use bobak_core::{
    ColumnSchema, Error, ErrorKind, Result, ResultColumn, Row, Type, ValueRef, stored_literal,
};

/// The day 1970-01-01, in days since 1858-11-17.
const EPOCH: i64 = 40_587;
/// 0001-01-01 and 9999-12-31, in days since 1970-01-01.
const DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;
const DAY: i64 = 86_400_000_000;
/// The longest value that goes with its row; a longer one is a BLOB that goes before.
pub(crate) const INLINE: usize = 8_000;
/// The decimals of money.
const MONEY: i32 = 4;

#[cold]
fn out_of_range(message: String) -> Error {
    Error::new(ErrorKind::OutOfRange, message)
}

/// A value as a parameter of a statement takes it. A long text or bytes for a BLOB are left for the caller: `SentValue::Text` and
/// `SentValue::Bytes` of more than [`INLINE`] bytes.
///
/// # Errors
/// `OutOfRange`, `Mismatch`, `TooLong`, `Unsupported` for a value that the server's column does not have.
pub(crate) fn encode<'v>(
    ty: Type,
    to: &FieldDescription,
    value: ValueRef<'v>,
) -> Result<SentValue<'v>> {
    let is_octets = to.is_octets();
    match (to.ty, value) {
        (_, ValueRef::Null) => Ok(SentValue::Null),
        (sql_type::TEXT | sql_type::VARYING, ValueRef::Text(text)) => {
            check_text(text)?;
            check_length(to, text.len(), || text.chars().count())?;
            Ok(if is_octets { SentValue::Bytes(text.as_bytes()) } else { SentValue::Text(text) })
        }
        (sql_type::TEXT | sql_type::VARYING, ValueRef::Bytes(bytes)) => {
            check_length(to, bytes.len(), || bytes.len())?;
            Ok(SentValue::Bytes(bytes))
        }
        (sql_type::BLOB, ValueRef::Text(text)) => {
            check_text(text)?;
            Ok(SentValue::Text(text))
        }
        (sql_type::BLOB, ValueRef::Bytes(bytes)) => Ok(SentValue::Bytes(bytes)),
        (_, ValueRef::Int(integer)) => encode_integer(ty, to, integer),
        (ty, ValueRef::Float(float)) if ty != sql_type::BLOB => match float.is_finite() {
            true => Ok(SentValue::Double(float)),
            false => Err(out_of_range(format!("Firebird cannot store {float}"))),
        },
        // Texts that the server converts: a date of SQL text, digits of a long decimal.
        (_, ValueRef::Text(text)) => {
            check_text(text)?;
            Ok(SentValue::Text(text))
        }
        (_, value) => Err(Error::mismatch(ty.name(), value)),
    }
}

fn encode_integer(ty: Type, to: &FieldDescription, integer: i64) -> Result<SentValue<'static>> {
    match to.ty {
        sql_type::FLOAT | sql_type::DOUBLE if ty != Type::Currency => {
            Ok(SentValue::Double(integer as f64))
        }
        sql_type::BOOLEAN => match integer {
            0 | 1 => Ok(SentValue::Bool(integer == 1)),
            _ => Err(out_of_range(format!("{integer} is no truth value"))),
        },
        sql_type::SHORT | sql_type::LONG | sql_type::INT64 => integer_for(ty, to, integer),
        sql_type::DATE => day(integer).map(SentValue::Date),
        sql_type::TIME | sql_type::TIMESTAMP => moment(to.ty, integer),
        _ => Err(Error::mismatch(ty.name(), ValueRef::Int(integer))),
    }
}

pub(crate) fn check_text(text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(Error::new(ErrorKind::Unsupported, "Firebird's texts have no NUL characters"));
    }
    Ok(())
}

fn check_length(to: &FieldDescription, bytes: usize, chars: impl FnOnce() -> usize) -> Result<()> {
    let limit = usize::try_from(to.length).unwrap_or(0);
    // UTF-8 has four bytes for each character of the declared length.
    if to.is_octets() && bytes <= limit
        || !to.is_octets() && (bytes <= limit / 4 || chars() <= limit / 4)
    {
        return Ok(());
    }
    let message =
        format!("the value has {bytes} bytes, and the column in Firebird at most {limit}");
    Err(Error::new(ErrorKind::TooLong, message))
}

/// An integer, or an amount of money, for a number with decimals.
fn integer_for(ty: Type, to: &FieldDescription, integer: i64) -> Result<SentValue<'static>> {
    let decimals = -to.scale;
    let given = if ty == Type::Currency { MONEY } else { 0 };
    let most = match to.ty {
        sql_type::SHORT => i64::from(i16::MAX),
        sql_type::LONG => i64::from(i32::MAX),
        _ => i64::MAX,
    };
    let power = |count: i32| 10_i64.checked_pow(u32::try_from(count).unwrap_or(0));
    let scaled = match given - decimals {
        missing if missing > 0 => {
            let unit = power(missing).unwrap_or(i64::MAX);
            (integer % unit == 0).then_some(integer / unit)
        }
        more => power(-more).and_then(|unit| integer.checked_mul(unit)),
    };
    match (scaled, u8::try_from(decimals)) {
        (Some(scaled), Ok(decimals)) if scaled <= most && scaled >= -most - 1 => {
            Ok(SentValue::Int(scaled, decimals))
        }
        _ => Err(out_of_range(format!("the value does not fit a number with {decimals} decimals"))),
    }
}

fn day(days: i64) -> Result<i32> {
    let is_there = DAYS.contains(&days);
    let day = is_there.then(|| i32::try_from(days + EPOCH).ok()).flatten();
    day.ok_or_else(|| out_of_range("Firebird's dates are from 0001-01-01 to 9999-12-31".to_owned()))
}

/// A moment for a type of ten-thousandths of a second, as tables of other programs have it.
fn moment(ty: i32, micros: i64) -> Result<SentValue<'static>> {
    if micros % 100 != 0 {
        let message =
            "Firebird's times have ten-thousandths of a second: the value has more digits";
        return Err(out_of_range(message.to_owned()));
    }
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let (seconds, part) = (rest / 1_000_000, rest % 1_000_000 / 100);
    let time =
        format!("{:02}:{:02}:{:02}.{part:04}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if ty == sql_type::TIME {
        return Ok(SentValue::Made(time));
    }
    day(days)?;
    let date = <bobak_core::Date as bobak_core::Field>::from_value(ValueRef::Int(days))?;
    Ok(SentValue::Made(format!("{date} {time}")))
}

/// What a column of a result is to Bobak, if no schema says it.
pub(crate) fn result_type(column: &FieldDescription) -> Type {
    match column.ty {
        sql_type::SHORT | sql_type::LONG | sql_type::INT64 => match -column.scale {
            0 => Type::I64,
            1..=MONEY => Type::Currency,
            _ => Type::Decimal,
        },
        sql_type::FLOAT | sql_type::DOUBLE => Type::F64,
        sql_type::BOOLEAN => Type::Bool,
        sql_type::DATE => Type::Date,
        sql_type::TIME => Type::Time,
        sql_type::TIMESTAMP => Type::DateTime,
        sql_type::TEXT | sql_type::VARYING if column.is_octets() => Type::Bytes,
        sql_type::BLOB if column.subtype != 1 => Type::Bytes,
        _ => Type::Text,
    }
}

/// A value of a row, in the form that its type has for Bobak.
#[derive(Clone, Copy, Debug)]
enum ShownValue {
    Null,
    Int(i64),
    Float(f64),
    Text(usize, usize),
    Bytes(usize, usize),
}

/// A row that is handed out.
#[derive(Debug)]
pub(crate) struct RowView {
    columns: Vec<ResultColumn>,
    /// Whether a schema gave the types: rows of tables do not repeat them.
    is_typed: bool,
    shown: Vec<ShownValue>,
    bytes: Vec<u8>,
}

impl RowView {
    /// Rows of a result, with the types of its columns if a schema says them.
    pub(crate) fn new(described: &[FieldDescription], types: Option<&[Type]>) -> Self {
        let columns = described.iter().enumerate().map(|(at, column)| {
            let known = types.and_then(|types| types.get(at).copied());
            let name = crate::names::swap_case(&column.name).into_owned();
            ResultColumn::new(name, known.unwrap_or_else(|| result_type(column)))
        });
        Self {
            columns: columns.collect(),
            is_typed: types.is_some(),
            shown: Vec::new(),
            bytes: Vec::new(),
        }
    }

    pub(crate) fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Takes the row at this place of those that have arrived, with the next of the BLOBs that were read.
    ///
    /// # Errors
    /// `OutOfRange`, `Corrupt` for a value that its column's type does not have.
    pub(crate) fn read(
        &mut self,
        rows: &ReceivedRows,
        row: usize,
        described: &[FieldDescription],
        blobs: &mut Blobs,
    ) -> Result<()> {
        self.shown.clear();
        self.bytes.clear();
        let width = described.len();
        let cells = rows.cells.get(row * width..(row + 1) * width).unwrap_or_default();
        for (at, (cell, from)) in cells.iter().zip(described).enumerate() {
            let ty = self.columns.get(at).map_or(Type::Any, |column| column.ty);
            let shown = self.show(*cell, from, ty, rows, blobs).map_err(|error| {
                let name = self.columns.get(at).map_or("", |column| &*column.name);
                error.in_column(name.to_owned())
            })?;
            self.shown.push(shown);
        }
        Ok(())
    }

    fn show(
        &mut self,
        cell: Cell,
        from: &FieldDescription,
        ty: Type,
        rows: &ReceivedRows,
        blobs: &mut Blobs,
    ) -> Result<ShownValue> {
        Ok(match cell {
            Cell::Null => ShownValue::Null,
            Cell::Int(integer) => self.number(integer, -from.scale, ty)?,
            Cell::Double(float) if ty == Type::Currency => {
                ShownValue::Int(bobak_core::Currency::from_f64(float)?.scaled())
            }
            Cell::Double(float) => ShownValue::Float(float),
            Cell::Bool(truth) => ShownValue::Int(i64::from(truth)),
            Cell::Date(days) => ShownValue::Int(i64::from(days) - EPOCH),
            Cell::Time(parts) => ShownValue::Int(parts * 100),
            Cell::Timestamp(days, parts) => {
                ShownValue::Int((i64::from(days) - EPOCH) * DAY + parts * 100)
            }
            Cell::Bytes(start, end) => {
                self.bytes_of(rows.bytes.get(start..end).unwrap_or_default(), ty)?
            }
            Cell::Blob(_) => {
                let bytes = blobs.next();
                self.bytes_of(bytes, ty)?
            }
        })
    }

    /// A number with decimals, as its type has it.
    fn number(&mut self, integer: i64, decimals: i32, ty: Type) -> Result<ShownValue> {
        let power = |count: i32| 10_i64.checked_pow(u32::try_from(count).unwrap_or(0));
        match ty {
            Type::Currency => {
                let scaled = power(MONEY - decimals).and_then(|unit| integer.checked_mul(unit));
                let too_large = || out_of_range("the amount is beyond Bobak's money".to_owned());
                scaled.map(ShownValue::Int).ok_or_else(too_large)
            }
            Type::F64 | Type::F32 => Ok(ShownValue::Float(integer as f64 / 10_f64.powi(decimals))),
            _ if decimals == 0 && ty != Type::Text && ty != Type::Decimal => {
                Ok(ShownValue::Int(integer))
            }
            _ => {
                let digits = integer.unsigned_abs().to_string();
                let wide = usize::try_from(decimals).unwrap_or(0);
                let digits = format!("{digits:0>width$}", width = wide + 1);
                let (whole, part) = digits.split_at(digits.len() - wide);
                let sign = if integer < 0 { "-" } else { "" };
                let point = if wide > 0 { "." } else { "" };
                let start = self.bytes.len();
                self.bytes.extend(format!("{sign}{whole}{point}{part}").bytes());
                Ok(ShownValue::Text(start, self.bytes.len()))
            }
        }
    }

    /// Bytes, or the text that they are.
    fn bytes_of(&mut self, bytes: &[u8], ty: Type) -> Result<ShownValue> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let end = self.bytes.len();
        if matches!(ty, Type::Bytes | Type::Uuid) {
            return Ok(ShownValue::Bytes(start, end));
        }
        let not_text = |_| Error::new(ErrorKind::Corrupt, "the text is not UTF-8");
        let text = std::str::from_utf8(bytes).map_err(not_text)?;
        // An amount or a date that another program keeps as text.
        if ty == Type::Currency
            && let bobak_core::Value::Int(scaled) = stored_literal(ty, text)?
        {
            return Ok(ShownValue::Int(scaled));
        }
        Ok(ShownValue::Text(start, end))
    }
}

impl Row for RowView {
    fn len(&self) -> usize {
        self.columns.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        let part = |start: usize, end: usize| self.bytes.get(start..end).unwrap_or_default();
        match self.shown.get(column) {
            None | Some(ShownValue::Null) => ValueRef::Null,
            Some(ShownValue::Int(integer)) => ValueRef::Int(*integer),
            Some(ShownValue::Float(float)) => ValueRef::Float(*float),
            // It was looked at when it was taken.
            Some(&ShownValue::Text(start, end)) => {
                ValueRef::Text(std::str::from_utf8(part(start, end)).unwrap_or_default())
            }
            Some(&ShownValue::Bytes(start, end)) => ValueRef::Bytes(part(start, end)),
        }
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.columns.get(column).map(|column| &*column.name)
    }

    fn ty(&self, column: usize) -> Type {
        let known = self.columns.get(column).filter(|_| !self.is_typed);
        known.map_or(Type::Any, |column| column.ty)
    }
}

/// The contents of BLOBs, in the order in which rows name them.
#[derive(Debug, Default)]
pub(crate) struct Blobs {
    pub bytes: Vec<u8>,
    pub ends: Vec<usize>,
    at: usize,
}

impl Blobs {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.at = 0;
    }

    fn next(&mut self) -> &[u8] {
        let end = |at: usize| self.ends.get(at).copied().unwrap_or(0);
        let start = if self.at == 0 { 0 } else { end(self.at - 1) };
        let range = start..end(self.at);
        self.at += 1;
        self.bytes.get(range).unwrap_or_default()
    }
}

/// Whether a column's texts are kept in pieces of bytes that compare exactly: in a key, in a unique index, and where they
/// reference such.
pub(crate) fn is_text(column: &ColumnSchema) -> bool {
    column.is_kept_as_text() || matches!(column.ty, Type::Text | Type::Json | Type::Decimal)
}

/// Whether a date is one of Firebird's.
pub(crate) fn is_day(days: i64) -> bool {
    DAYS.contains(&days)
}

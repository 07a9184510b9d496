//! Rows that have arrived, as Bobak's.

use crate::values::result_type;
use crate::wire::{TdsCell, TdsColumn, TokenReader};
use bobak_core::{
    Currency, Error, ErrorKind, Result, ResultColumn, Row, Type, Value, ValueRef, stored_literal,
};

/// The decimals of money.
const MONEY: u8 = 4;

#[cold]
fn out_of_range(message: &str) -> Error {
    Error::new(ErrorKind::OutOfRange, message)
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
#[derive(Debug, Default)]
pub(crate) struct MssqlRow {
    columns: Vec<ResultColumn>,
    /// Whether a schema gave the types: rows of tables do not repeat them.
    is_typed: bool,
    shown: Vec<ShownValue>,
    bytes: Vec<u8>,
}

/// The columns of a result, with the types that a schema says.
pub(crate) fn result_columns(described: &[TdsColumn], types: Option<&[Type]>) -> Vec<ResultColumn> {
    let columns = described.iter().enumerate().map(|(at, column)| {
        let known = types.and_then(|types| types.get(at).copied());
        ResultColumn::new(column.name.clone(), known.unwrap_or_else(|| result_type(column)))
    });
    columns.collect()
}

impl MssqlRow {
    /// Takes the reader's row.
    ///
    /// # Errors
    /// `OutOfRange`, `Unsupported`, `Corrupt` for a value that its column's type does not have.
    pub(crate) fn read(&mut self, reader: &TokenReader, types: Option<&[Type]>) -> Result<()> {
        if self.columns.len() != reader.columns.len() {
            self.columns = result_columns(&reader.columns, types);
            self.is_typed = types.is_some();
        }
        self.shown.clear();
        self.bytes.clear();
        self.bytes.extend_from_slice(&reader.bytes);
        for (at, cell) in reader.cells.iter().enumerate() {
            let ty = self.columns.get(at).map_or(Type::Any, |column| column.ty);
            let shown = self.show(*cell, ty).map_err(|error| {
                let name = self.columns.get(at).map_or("", |column| &*column.name);
                error.in_column(name.to_owned())
            })?;
            self.shown.push(shown);
        }
        Ok(())
    }

    fn show(&mut self, cell: TdsCell, ty: Type) -> Result<ShownValue> {
        Ok(match cell {
            TdsCell::Null => ShownValue::Null,
            TdsCell::Int(integer) if ty == Type::Currency => {
                let scaled = integer.checked_mul(10_000);
                ShownValue::Int(scaled.ok_or_else(|| out_of_range(BEYOND_MONEY))?)
            }
            TdsCell::Int(integer) => ShownValue::Int(integer),
            TdsCell::Float(float) if ty == Type::Currency => {
                ShownValue::Int(Currency::from_f64(float)?.scaled())
            }
            TdsCell::Float(float) => ShownValue::Float(float),
            TdsCell::Decimal(digits, scale) => self.decimal(digits, scale, ty)?,
            TdsCell::Date(integer) | TdsCell::Micros(integer) => ShownValue::Int(integer),
            TdsCell::Text(start, end) => self.text(start, end, ty)?,
            TdsCell::Bytes(start, end) => ShownValue::Bytes(start, end),
            TdsCell::Foreign(what) => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("Bobak cannot read {what}"),
                ));
            }
        })
    }

    /// A number with decimals, as its type has it.
    fn decimal(&mut self, digits: i128, scale: u8, ty: Type) -> Result<ShownValue> {
        let power = |count: u8| 10_i128.pow(count.into());
        match ty {
            Type::Currency if scale <= MONEY => {
                let scaled = i64::try_from(digits * power(MONEY - scale));
                scaled.map(ShownValue::Int).map_err(|_| out_of_range(BEYOND_MONEY))
            }
            Type::F64 | Type::F32 => {
                Ok(ShownValue::Float(digits as f64 / 10_f64.powi(scale.into())))
            }
            _ if ty.is_integer() && scale == 0 => {
                let integer = i64::try_from(digits);
                integer
                    .map(ShownValue::Int)
                    .map_err(|_| out_of_range("the number has over 64 bits"))
            }
            _ => {
                let wide = usize::from(scale);
                let text = format!("{:0>width$}", digits.unsigned_abs(), width = wide + 1);
                let (whole, part) = text.split_at(text.len() - wide);
                let sign = if digits < 0 { "-" } else { "" };
                let point = if wide > 0 { "." } else { "" };
                let start = self.bytes.len();
                self.bytes.extend(format!("{sign}{whole}{point}{part}").bytes());
                Ok(ShownValue::Text(start, self.bytes.len()))
            }
        }
    }

    fn text(&self, start: usize, end: usize, ty: Type) -> Result<ShownValue> {
        // An amount that another program keeps as text.
        if ty == Type::Currency {
            let text = std::str::from_utf8(self.bytes.get(start..end).unwrap_or_default());
            if let Value::Int(scaled) = stored_literal(ty, text.unwrap_or_default())? {
                return Ok(ShownValue::Int(scaled));
            }
        }
        Ok(ShownValue::Text(start, end))
    }
}

const BEYOND_MONEY: &str = "the amount is beyond Bobak's money";

impl Row for MssqlRow {
    fn len(&self) -> usize {
        self.columns.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        let part = |start: usize, end: usize| self.bytes.get(start..end).unwrap_or_default();
        match self.shown.get(column) {
            None | Some(ShownValue::Null) => ValueRef::Null,
            Some(ShownValue::Int(integer)) => ValueRef::Int(*integer),
            Some(ShownValue::Float(float)) => ValueRef::Float(*float),
            // The client made it of characters.
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

//! Rows that have arrived, as Bobak's.

use crate::values::result_type;
use crate::wire::{TdsCell, TdsColumn, TokenReader};
use bobak_core::{Currency, Error, ErrorKind, Result, Type};
use bobak_engine_common::{ServerRow, ServerValue};

/// The decimals of money.
const MONEY: u8 = 4;

#[cold]
fn out_of_range(message: &str) -> Error {
    Error::new(ErrorKind::OutOfRange, message)
}

/// Rows of a result, with the types that a schema says.
pub(crate) fn result_row(described: &[TdsColumn], types: Option<&[Type]>) -> ServerRow {
    let columns = described.iter().map(|column| (column.name.clone(), result_type(column)));
    ServerRow::described(columns, types)
}

/// Takes the reader's row.
///
/// # Errors
/// `OutOfRange`, `Unsupported`, `Corrupt` for a value that its column's type does not have.
pub(crate) fn read_row(
    row: &mut ServerRow,
    reader: &TokenReader,
    types: Option<&[Type]>,
) -> Result<()> {
    if row.columns().len() != reader.columns.len() {
        *row = result_row(&reader.columns, types);
    }
    row.begin(&reader.bytes);
    reader.cells.iter().try_for_each(|cell| row.push(|row, ty| show(row, *cell, ty)))
}

fn show(row: &mut ServerRow, cell: TdsCell, ty: Type) -> Result<ServerValue> {
    Ok(match cell {
        TdsCell::Null => ServerValue::Null,
        TdsCell::Int(integer) if ty == Type::Currency => {
            let scaled = integer.checked_mul(10_000);
            ServerValue::Int(scaled.ok_or_else(|| out_of_range(BEYOND_MONEY))?)
        }
        TdsCell::Int(integer) => ServerValue::Int(integer),
        TdsCell::Float(float) if ty == Type::Currency => {
            ServerValue::Int(Currency::from_f64(float)?.scaled())
        }
        TdsCell::Float(float) => ServerValue::Float(float),
        TdsCell::Decimal(digits, scale) => decimal(row, digits, scale, ty)?,
        TdsCell::Date(integer) | TdsCell::Micros(integer) => ServerValue::Int(integer),
        TdsCell::Text(start, end) => row.text(start, end, ty)?,
        TdsCell::Bytes(start, end) => ServerValue::Bytes(start, end),
        TdsCell::Foreign(what) => {
            let message = format!("Bobak cannot read {what}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    })
}

/// A number with decimals, as its type has it.
fn decimal(row: &mut ServerRow, digits: i128, scale: u8, ty: Type) -> Result<ServerValue> {
    let power = |count: u8| 10_i128.pow(count.into());
    match ty {
        Type::Currency if scale <= MONEY => {
            let scaled = i64::try_from(digits * power(MONEY - scale));
            scaled.map(ServerValue::Int).map_err(|_| out_of_range(BEYOND_MONEY))
        }
        Type::F64 | Type::F32 => Ok(ServerValue::Float(digits as f64 / 10_f64.powi(scale.into()))),
        _ if ty.is_integer() && scale == 0 => {
            let integer = i64::try_from(digits);
            integer.map(ServerValue::Int).map_err(|_| out_of_range("the number has over 64 bits"))
        }
        _ => Ok(row.number_text(digits, scale.into())),
    }
}

const BEYOND_MONEY: &str = "the amount is beyond Bobak's money";

//! Rows that have arrived, as Bobak's.

use crate::driver::{OracleCell, OracleColumn};
use crate::names::swap_case;
use crate::values::{EMPTY, result_type, shown_bytes};
use bobak_core::{Currency, Error, ErrorKind, Result, Type};
use bobak_engine_common::{ServerRow, ServerValue};

const DAY: i64 = 86_400_000_000;

/// Rows of a result, with the types that a schema says.
pub(crate) fn result_row(described: &[OracleColumn], types: Option<&[Type]>) -> ServerRow {
    let column =
        |column: &OracleColumn| (swap_case(&column.name).into_owned(), result_type(column.kind));
    ServerRow::described(described.iter().map(column), types)
}

/// Takes a row.
///
/// # Errors
/// `OutOfRange`, `Unsupported`, `Mismatch` for a value that its column's type does not have.
pub(crate) fn read_row(
    row: &mut ServerRow,
    described: &[OracleColumn],
    cells: &[OracleCell],
    types: Option<&[Type]>,
) -> Result<()> {
    if row.columns().len() != described.len() {
        *row = result_row(described, types);
    }
    row.begin(&[]);
    cells.iter().try_for_each(|cell| row.push(|row, ty| show(row, cell, ty)))
}

fn show(row: &mut ServerRow, cell: &OracleCell, ty: Type) -> Result<ServerValue> {
    Ok(match cell {
        OracleCell::Null => ServerValue::Null,
        OracleCell::Number(digits) => number(row, digits, ty)?,
        OracleCell::Float(float) => ServerValue::Float(*float),
        OracleCell::Text(text) => {
            let (start, end) = row.append(if text == EMPTY { "" } else { text }.as_bytes());
            row.text(start, end, ty)?
        }
        OracleCell::Bytes(bytes) => {
            let shown = if ty == Type::Uuid { bytes.as_slice() } else { shown_bytes(bytes) };
            let (start, end) = row.append(shown);
            ServerValue::Bytes(start, end)
        }
        OracleCell::Moment(..) | OracleCell::Span(_) => ServerValue::Int(time(cell, ty)?),
        OracleCell::Foreign(what) => {
            let message = format!("Bobak cannot read {what}: CAST it to VARCHAR2 or to a number");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    })
}

/// A number, as its type has it: exact, but for a float.
fn number(row: &mut ServerRow, digits: &str, ty: Type) -> Result<ServerValue> {
    if let Type::F64 | Type::F32 = ty {
        let message = || Error::new(ErrorKind::OutOfRange, format!("{digits} is no float"));
        return digits.parse().map(ServerValue::Float).map_err(|_| message());
    }
    if ty != Type::Currency
        && let Ok(integer) = digits.parse()
    {
        return Ok(ServerValue::Int(integer));
    }
    if ty.is_integer() || ty == Type::Bool {
        let message = format!("the number {digits} is no integer of 64 bits");
        return Err(Error::new(ErrorKind::OutOfRange, message));
    }
    if ty == Type::Currency {
        let message = || {
            let message = format!("the number {digits} is no amount of four decimals and 64 bits");
            Error::new(ErrorKind::OutOfRange, message)
        };
        let amount: Currency = digits.parse().map_err(|_| message())?;
        return Ok(ServerValue::Int(amount.scaled()));
    }
    let (start, end) = row.append(digits.as_bytes());
    row.text(start, end, ty)
}

/// Microseconds, or days of a date.
fn time(cell: &OracleCell, ty: Type) -> Result<i64> {
    let (micros, nanos) = match *cell {
        OracleCell::Moment(micros, nanos) => (micros, nanos),
        OracleCell::Span(micros) => (micros, 0),
        _ => (0, 0),
    };
    if nanos != 0 {
        let message = "the time has digits after the microseconds: CAST it to TIMESTAMP(6)";
        return Err(Error::new(ErrorKind::OutOfRange, message));
    }
    match ty {
        Type::Date if micros.rem_euclid(DAY) != 0 => Err(Error::new(
            ErrorKind::OutOfRange,
            "the date has a time of the day: CAST it to TIMESTAMP",
        )),
        Type::Date => Ok(micros.div_euclid(DAY)),
        _ => Ok(micros),
    }
}

//! Rows as pages have them: values of fixed length, then the others, then their places, then which values there are.

use super::bytes::{as_short, damaged, part, put, short, too_large};
use super::definition::{ColumnEntry, Definition};
use bobak_core::Result;

/// A value as a row has it; `None` for NULL. A yes/no value is there if it is "yes".
pub(super) type RowCell = Option<Vec<u8>>;

/// The bytes of a row at most.
const MAX_ROW: usize = 4_060;
/// The type whose values are only in the bits.
pub(super) const YES_NO: u8 = 1;

/// The bytes of a row with these values, one for each column of the definition.
///
/// # Errors
/// `OutOfRange` if they have more bytes than a row of Access may.
pub(super) fn encode(definition: &Definition, cells: &[RowCell]) -> Result<Vec<u8>> {
    let count = definition.max_columns()?;
    let mut row = as_short(count)?.to_le_bytes().to_vec();
    let mut present = vec![0_u8; count.div_ceil(8)];
    for (column, cell) in definition.columns.iter().zip(cells) {
        let number = usize::from(column.number());
        if cell.is_some() {
            *present.get_mut(number / 8).ok_or_else(damaged)? |= 1 << (number % 8);
        }
        if column.is_fixed() && column.kind() != YES_NO {
            let end = 2 + column.place() + column.length();
            row.resize(row.len().max(end), 0);
            put(&mut row, 2 + column.place(), cell.as_deref().unwrap_or_default())?;
        }
    }
    push_variable(definition, cells, &mut row)?;
    row.extend(present);
    match row.len() <= MAX_ROW {
        true => Ok(row),
        false => Err(too_large(&format!(
            "the row has {} bytes without its long texts and bytes; Access has room for {MAX_ROW}",
            row.len()
        ))),
    }
}

fn push_variable(definition: &Definition, cells: &[RowCell], row: &mut Vec<u8>) -> Result<()> {
    let count = definition.variable_columns()?;
    if count == 0 {
        return Ok(());
    }
    let mut values: Vec<&[u8]> = vec![&[]; count];
    for (column, cell) in definition.columns.iter().zip(cells) {
        if !column.is_fixed() {
            let place = values.get_mut(usize::from(column.variable())).ok_or_else(damaged)?;
            *place = cell.as_deref().unwrap_or_default();
        }
    }
    let mut places = Vec::new();
    for value in values {
        places.push(as_short(row.len())?);
        row.extend_from_slice(value);
    }
    row.extend(as_short(row.len())?.to_le_bytes());
    places.iter().rev().for_each(|place| row.extend(place.to_le_bytes()));
    row.extend(as_short(count)?.to_le_bytes());
    Ok(())
}

/// The values of a row, one for each column of the definition.
pub(super) fn decode(definition: &Definition, row: &[u8]) -> Result<Vec<RowCell>> {
    let count = usize::from(short(row, 0)?);
    let end = row.len().checked_sub(count.div_ceil(8)).ok_or_else(damaged)?;
    let is_there = |column: &ColumnEntry| {
        let number = usize::from(column.number());
        let byte = row.get(end + number / 8).copied().unwrap_or_default();
        number < count && byte >> (number % 8) & 1 == 1
    };
    let cell = |column: &ColumnEntry| match (is_there(column), column.kind()) {
        (false, _) => Ok(None),
        (true, YES_NO) => Ok(Some(Vec::new())),
        (true, _) if column.is_fixed() => {
            Ok(Some(part(row, 2 + column.place(), column.length())?.to_vec()))
        }
        (true, _) => variable(row, end, usize::from(column.variable())).map(Some),
    };
    definition.columns.iter().map(cell).collect()
}

/// The value with a number among those of variable length; places are before the bits that begin at `end`.
fn variable(row: &[u8], end: usize, number: usize) -> Result<Vec<u8>> {
    let at = |number: usize| {
        let before = 4 + 2 * number;
        short(row, end.checked_sub(before).ok_or_else(damaged)?).map(usize::from)
    };
    let (start, next) = (at(number)?, at(number + 1)?);
    Ok(part(row, start, next.checked_sub(start).ok_or_else(damaged)?)?.to_vec())
}

//! Sort keys of rows in indexes: their bytes sort as Access orders the rows.

use super::bytes::{damaged, part, short};
use super::definition::{ColumnEntry, Definition, PhysicalIndex};
use super::format::{FileFormat, SortOrder};
use super::row::{RowCell, YES_NO};
use super::text_key;
use bobak_core::{Error, ErrorKind, Result};

/// The kinds of columns.
pub(super) const BYTE: u8 = 2;
pub(super) const INTEGER: u8 = 3;
pub(super) const LONG: u8 = 4;
pub(super) const MONEY: u8 = 5;
pub(super) const SINGLE: u8 = 6;
pub(super) const DOUBLE: u8 = 7;
pub(super) const DATE_TIME: u8 = 8;
pub(super) const BINARY: u8 = 9;
pub(super) const TEXT: u8 = 10;
pub(super) const LONG_BINARY: u8 = 11;
pub(super) const LONG_TEXT: u8 = 12;
pub(super) const GUID: u8 = 15;
pub(super) const DECIMAL: u8 = 16;
pub(super) const LARGE_NUMBER: u8 = 19;

/// The sort key of a row in an index, and how many of its values are NULL.
///
/// # Errors
/// `Unsupported` for an index over a column whose order is not known; `OutOfRange` for a text.
pub(super) fn index_key(
    format: FileFormat,
    definition: &Definition,
    index: &PhysicalIndex,
    cells: &[RowCell],
) -> Result<(Vec<u8>, usize)> {
    let (mut key, mut nulls) = (Vec::new(), 0);
    for (number, ascending) in index.columns() {
        let position = definition.position(number)?;
        let (column, cell) = (definition.columns.get(position), cells.get(position));
        let (column, cell) = column.zip(cell).ok_or_else(damaged)?;
        match cell {
            None if column.kind() != YES_NO => {
                nulls += 1;
                key.push(if ascending { 0x00 } else { 0xff });
            }
            _ => {
                key.push(if ascending { 0x7f } else { 0x80 });
                push(&mut key, format, column, cell.as_deref(), ascending)
                    .map_err(|error| error.in_column(column.name.clone()))?;
            }
        }
    }
    Ok((key, nulls))
}

fn push(
    key: &mut Vec<u8>,
    format: FileFormat,
    column: &ColumnEntry,
    cell: Option<&[u8]>,
    ascending: bool,
) -> Result<()> {
    let value = cell.unwrap_or_default();
    let start = key.len();
    match column.kind() {
        YES_NO => key.push(if cell.is_some() { 0x00 } else { 0xff }),
        BYTE => key.extend(value),
        INTEGER | LONG | MONEY | LARGE_NUMBER => {
            key.extend(value.iter().rev());
            flip_sign(key, start);
        }
        SINGLE | DOUBLE | DATE_TIME => push_float(key, value),
        DECIMAL => return push_decimal(key, format, value, ascending),
        GUID => return push_bytes(key, &guid_in_order(value)?, ascending),
        BINARY => return push_bytes(key, value, ascending),
        TEXT => {
            let order = SortOrder::of(&column.sort_order()).ok_or_else(|| {
                unsupported("its texts sort by the rules of another language than English")
            })?;
            return text_key::push(key, &text(value)?, order, ascending);
        }
        _ => return Err(unsupported("an index over a field of this type")),
    }
    if !ascending {
        key.iter_mut().skip(start).for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

#[cold]
fn unsupported(what: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("it cannot be written: {what}"))
}

fn flip_sign(key: &mut [u8], at: usize) {
    if let Some(first) = key.get_mut(at) {
        *first ^= 0x80;
    }
}

/// A float: the sign's bit is flipped, of negative ones all bits.
fn push_float(key: &mut Vec<u8>, value: &[u8]) {
    let start = key.len();
    key.extend(value.iter().rev());
    match key.get(start) {
        Some(first) if first & 0x80 != 0 => {
            key.iter_mut().skip(start).for_each(|byte| *byte = !*byte);
        }
        _ => flip_sign(key, start),
    }
}

/// A decimal: its sign, and its digits as 16 bytes in groups of four.
fn push_decimal(
    key: &mut Vec<u8>,
    format: FileFormat,
    value: &[u8],
    ascending: bool,
) -> Result<()> {
    let is_negative = part(value, 0, 1)? != [0];
    let digits = part(value, 1, 16)?.chunks_exact(4).flat_map(|group| group.iter().rev().copied());
    let mut bytes: Vec<u8> = [0xff].into_iter().chain(digits).collect();
    if is_negative == ascending {
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
    }
    if format.has_old_decimals()
        && let Some(sign) = bytes.first_mut()
    {
        *sign = if is_negative { 0x00 } else { 0xff };
    }
    key.extend(bytes);
    Ok(())
}

/// Bytes in groups of eight, each with the number of bytes that count; 9 says that more follow.
fn push_bytes(key: &mut Vec<u8>, value: &[u8], ascending: bool) -> Result<()> {
    let flip = |byte: u8| if ascending { byte } else { !byte };
    let groups = value.len().div_ceil(8);
    for (number, group) in value.chunks(8).enumerate() {
        let length = u8::try_from(group.len()).map_err(|_| damaged())?;
        let padded = group.iter().copied().chain(std::iter::repeat(0)).take(8);
        key.extend(padded.map(flip));
        key.push(if number + 1 < groups { 9 } else { flip(length) });
    }
    Ok(())
}

/// The bytes of a GUID as its text has them.
pub(super) fn guid_in_order(value: &[u8]) -> Result<[u8; 16]> {
    let [a, b, c, d, e, f, g, h, rest @ ..]: [u8; 16] = value.try_into().map_err(|_| damaged())?;
    let [i, j, k, l, m, n, o, p] = rest;
    Ok([d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p])
}

/// The text that a row has as UTF-16, or as Latin-1 after a mark.
pub(super) fn text(value: &[u8]) -> Result<String> {
    if let Some(mut rest) = value.strip_prefix(&[0xff, 0xfe]) {
        // A zero byte changes between one and two bytes for each unit.
        let (mut units, mut is_short) = (Vec::new(), true);
        while let Some((first, after)) = rest.split_first() {
            if *first == 0 {
                (is_short, rest) = (!is_short, after);
            } else if is_short {
                units.push(u16::from(*first));
                rest = after;
            } else {
                units.push(short(rest, 0)?);
                rest = rest.get(2..).unwrap_or_default();
            }
        }
        return String::from_utf16(&units).map_err(|_| damaged());
    }
    let units: Vec<u16> =
        value.chunks_exact(2).map(|unit| short(unit, 0)).collect::<Result<_>>()?;
    String::from_utf16(&units).map_err(|_| damaged())
}

/// The bytes of a text, one for each character if that is shorter and the column is compressed.
pub(super) fn text_bytes(text: &str, is_compressed: bool) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().collect();
    if is_compressed && (3..=1_024).contains(&units.len()) {
        let latin: Option<Vec<u8>> =
            units.iter().map(|unit| u8::try_from(*unit).ok().filter(|byte| *byte != 0)).collect();
        if let Some(latin) = latin {
            return [&[0xff, 0xfe], &latin[..]].concat();
        }
    }
    units.into_iter().flat_map(u16::to_le_bytes).collect()
}

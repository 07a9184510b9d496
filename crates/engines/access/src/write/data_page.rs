//! Pages of rows: of tables, of long values and of usage maps.

use super::bytes::{as_short, damaged, part, put, short};
use super::pages::PAGE;
use bobak_core::Result;

/// What a page has before the places of its rows.
const HEAD: usize = 14;
const AT_FREE: usize = 2;
const AT_COUNT: usize = 12;
/// The bits of a row's place that are the place; the others say that the row is deleted, or elsewhere.
const PLACE: u16 = 0x1fff;
/// The bit for a row that is deleted.
pub(super) const DELETED: u16 = 0x8000;
/// The bit for a row whose place has only the place where it is now.
pub(super) const MOVED: u16 = 0x4000;
/// The number of a row has one byte.
const MAX_ROWS: usize = 255;

/// Where a row is in its page.
pub(super) struct RowSpan {
    pub start: usize,
    pub length: usize,
    pub flags: u16,
}

/// The number of rows, deleted ones included.
pub(super) fn rows(page: &[u8]) -> Result<u8> {
    u8::try_from(short(page, AT_COUNT)?).map_err(|_| damaged())
}

/// Where a row is.
pub(super) fn slot(page: &[u8], row: u8) -> Result<RowSpan> {
    let place = |row: u8| short(page, HEAD + 2 * usize::from(row));
    let found = place(row)?;
    let start = usize::from(found & PLACE);
    let end = match row {
        0 => PAGE,
        row => usize::from(place(row - 1)? & PLACE),
    };
    let length = end.checked_sub(start).ok_or_else(damaged)?;
    Ok(RowSpan { start, length, flags: found & !PLACE })
}

/// The bytes of a row.
pub(super) fn row(page: &[u8], number: u8) -> Result<&[u8]> {
    let slot = slot(page, number)?;
    part(page, slot.start, slot.length)
}

/// Marks a row as deleted, as Access does.
pub(super) fn delete(page: &mut [u8], row: u8) -> Result<()> {
    let at = HEAD + 2 * usize::from(row);
    let place = short(page, at)? | DELETED | MOVED;
    put(page, at, &place.to_le_bytes())
}

/// An empty page of a table's rows: the owner is the page of the table's definition.
pub(super) fn empty(owner: [u8; 4]) -> Result<Vec<u8>> {
    let mut page = vec![0; PAGE];
    put(&mut page, 0, &[1, 1])?;
    put(&mut page, AT_FREE, &as_short(PAGE - HEAD)?.to_le_bytes())?;
    put(&mut page, 4, &owner)?;
    Ok(page)
}

/// Adds a row, and returns its number; `None` if the page has no room for it.
pub(super) fn add(page: &mut [u8], bytes: &[u8]) -> Result<Option<u8>> {
    let count = usize::from(short(page, AT_COUNT)?);
    let end = match count {
        0 => PAGE,
        count => usize::from(short(page, HEAD + 2 * (count - 1))? & PLACE),
    };
    let at = HEAD + 2 * count;
    let start = match end.checked_sub(bytes.len()) {
        Some(start) if start >= at + 2 && count < MAX_ROWS => start,
        _ => return Ok(None),
    };
    put(page, start, bytes)?;
    put(page, at, &as_short(start)?.to_le_bytes())?;
    put(page, AT_COUNT, &as_short(count + 1)?.to_le_bytes())?;
    put(page, AT_FREE, &as_short(start - at - 2)?.to_le_bytes())?;
    Ok(u8::try_from(count).ok())
}

//! Long texts and bytes: in the row if they are short, otherwise in pages of their own.

use super::bytes::{RowPlace, as_long, damaged, long, part};
use super::data_page::{add, empty, row};
use super::pages::Pages;
use bobak_core::Result;

/// Up to so many bytes are in the row.
const MAX_IN_ROW: usize = 64;
/// The bytes that one row of a page of long values has at most.
const MAX_IN_PAGE: usize = 4_076;
const IN_ROW: u32 = 0x8000_0000;
const IN_ONE_PAGE: u32 = 0x4000_0000;

/// Writes the long values of one column.
#[derive(Default)]
pub(super) struct LongValues {
    /// The pages that it has written.
    pub owned: Vec<u32>,
    /// The page that has room.
    current: Option<(u32, Vec<u8>)>,
}

impl LongValues {
    /// Writes a value; returns what its row has.
    pub fn store(&mut self, pages: &mut Pages, value: &[u8]) -> Result<Vec<u8>> {
        let length = as_long(value.len())?;
        if value.len() <= MAX_IN_ROW {
            return Ok([&described(length | IN_ROW, [0; 4]), value].concat());
        }
        if value.len() <= MAX_IN_PAGE {
            let place = self.put(pages, value)?;
            return Ok(described(length | IN_ONE_PAGE, place.bytes()).to_vec());
        }
        let parts: Vec<&[u8]> = value.chunks(MAX_IN_PAGE - 4).collect();
        let mut places = Vec::new();
        for _ in &parts {
            places.push(RowPlace { page: pages.allocate()?, row: 0 });
        }
        let nexts = places.iter().skip(1).map(|place| place.bytes()).chain([[0; 4]]);
        for ((place, next), part) in places.iter().zip(nexts).zip(parts) {
            let mut page = empty(*b"LVAL")?;
            add(&mut page, &[&next, part].concat())?.ok_or_else(damaged)?;
            pages.write(place.page, page);
            self.owned.push(place.page);
        }
        let first = places.first().map_or([0; 4], |place| place.bytes());
        Ok(described(length, first).to_vec())
    }

    fn put(&mut self, pages: &mut Pages, value: &[u8]) -> Result<RowPlace> {
        if let Some((page, bytes)) = &mut self.current
            && let Some(row) = add(bytes, value)?
        {
            return Ok(RowPlace { page: *page, row });
        }
        self.finish(pages);
        let (page, mut bytes) = (pages.allocate()?, empty(*b"LVAL")?);
        self.owned.push(page);
        let row = add(&mut bytes, value)?.ok_or_else(damaged)?;
        self.current = Some((page, bytes));
        Ok(RowPlace { page, row })
    }

    /// Writes the last page, and returns its number.
    pub fn finish(&mut self, pages: &mut Pages) -> Option<u32> {
        let (page, bytes) = self.current.take()?;
        pages.write(page, bytes);
        Some(page)
    }
}

/// The twelve bytes that a row has of a value.
fn described(length: u32, place: [u8; 4]) -> [u8; 12] {
    let [a, b, c, d] = length.to_le_bytes();
    let [e, f, g, h] = place;
    [a, b, c, d, e, f, g, h, 0, 0, 0, 0]
}

/// The bytes of a value that a row has in twelve bytes, or in itself.
pub(super) fn read(pages: &Pages, value: &[u8]) -> Result<Vec<u8>> {
    let head = long(value, 0)?;
    let length = (head & 0x3fff_ffff) as usize;
    if head & IN_ROW != 0 {
        return Ok(part(value, 12, length)?.to_vec());
    }
    let mut place = RowPlace::read(value, 4)?;
    let mut found = Vec::new();
    while found.len() < length {
        let page = pages.read(place.page)?;
        let bytes = row(&page, place.row)?;
        if head & IN_ONE_PAGE != 0 {
            found.extend_from_slice(part(bytes, 0, length)?);
        } else {
            place = RowPlace::read(bytes, 0)?;
            found.extend_from_slice(
                bytes.get(4..).filter(|rest| !rest.is_empty()).ok_or_else(damaged)?,
            );
        }
    }
    found.truncate(length);
    Ok(found)
}

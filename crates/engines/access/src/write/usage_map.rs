//! Usage maps: which pages belong to a table, an index or a field. Each is a row of a page: bits from a first page on, or
//! a list of pages with bits.

use super::bytes::{RowPlace, as_long, byte, long, part};
use super::data_page::{add, empty, slot};
use super::pages::{PAGE, PAGES_PER_MAP, Pages, collect};
use bobak_core::Result;

/// The bytes of a map: a kind, a first page, and bits for 512 pages.
const LENGTH: usize = 69;

/// The pages of a map, in ascending order.
pub(super) fn read(pages: &Pages, map: RowPlace) -> Result<Vec<u32>> {
    let page = pages.read(map.page)?;
    let slot = slot(&page, map.row)?;
    let bytes = part(&page, slot.start, slot.length)?;
    let mut found = Vec::new();
    if byte(bytes, 0)? == 0 {
        collect(part(bytes, 5, bytes.len().saturating_sub(5))?, long(bytes, 1)?, &mut found);
        return Ok(found);
    }
    for (number, page) in list(bytes)? {
        let bits = pages.read(page)?;
        let first = number.saturating_mul(PAGES_PER_MAP);
        collect(bits.get(4..).unwrap_or_default(), first, &mut found);
    }
    Ok(found)
}

/// The pages of a list, each with its number.
fn list(bytes: &[u8]) -> Result<Vec<(u32, u32)>> {
    let mut found = Vec::new();
    for (number, at) in (0..).zip((1..bytes.len().saturating_sub(3)).step_by(4)) {
        let page = long(bytes, at)?;
        if page > 0 {
            found.push((number, page));
        }
    }
    Ok(found)
}

/// Replaces the pages of a map.
pub(super) fn write(pages: &mut Pages, map: RowPlace, owned: &[u32]) -> Result<()> {
    let (start, length, old) = {
        let page = pages.read(map.page)?;
        let slot = slot(&page, map.row)?;
        let bytes = part(&page, slot.start, slot.length)?;
        let old = if byte(bytes, 0)? == 1 { list(bytes)? } else { Vec::new() };
        (slot.start, slot.length, old)
    };
    for (_, page) in old {
        pages.release(page);
    }
    let first = owned.iter().min().map_or(0, |page| page & !7);
    let last = owned.iter().max().map_or(0, |page| page - first);
    let mut bytes = if last < as_long(length.saturating_sub(5) * 8)? {
        let mut bytes = vec![0];
        bytes.extend(first.to_le_bytes());
        bytes.extend(bits(owned, first, length.saturating_sub(5)));
        bytes
    } else {
        let mut bytes = vec![1];
        for number in 0..as_long(length / 4)? {
            bytes.extend(write_part(pages, owned, number)?.to_le_bytes());
        }
        bytes
    };
    bytes.resize(length, 0);
    pages.change(map.page, start, &bytes)
}

/// Writes one page of a list; its number is 0 if no page is in it.
fn write_part(pages: &mut Pages, owned: &[u32], number: u32) -> Result<u32> {
    if !owned.iter().any(|page| page / PAGES_PER_MAP == number) {
        return Ok(0);
    }
    let page = pages.allocate()?;
    let mut bytes = vec![5, 1, 0, 0];
    bytes.extend(bits(owned, number * PAGES_PER_MAP, PAGE - 4));
    pages.write(page, bytes);
    Ok(page)
}

/// The bits of the pages from a first one on.
fn bits(owned: &[u32], first: u32, length: usize) -> Vec<u8> {
    let mut bytes = vec![0_u8; length];
    for bit in owned.iter().filter_map(|page| page.checked_sub(first)) {
        if let Some(byte) = bytes.get_mut(bit as usize / 8) {
            *byte |= 1 << (bit % 8);
        }
    }
    bytes
}

/// So many new maps without pages.
pub(super) fn create(pages: &mut Pages, count: usize) -> Result<Vec<RowPlace>> {
    let mut places = Vec::new();
    let mut current: Option<(u32, Vec<u8>)> = None;
    while places.len() < count {
        let (page, mut bytes) = match current.take() {
            Some(current) => current,
            None => (pages.allocate()?, empty([0; 4])?),
        };
        let added = add(&mut bytes, &[0; LENGTH])?;
        match added {
            Some(row) => {
                places.push(RowPlace { page, row });
                current = Some((page, bytes));
            }
            None => pages.write(page, bytes),
        }
    }
    if let Some((page, bytes)) = current {
        pages.write(page, bytes);
    }
    Ok(places)
}

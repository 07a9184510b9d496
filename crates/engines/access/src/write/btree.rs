//! The pages of an index, built from its sorted entries.

use super::bytes::{RowPlace, as_short, put, too_large};
use super::pages::{PAGE, Pages};
use bobak_core::Result;

/// Where the bits are that say where entries begin.
const AT_STARTS: usize = 27;
/// Where the entries begin.
const AT_ENTRIES: usize = 480;
const ROOM: usize = PAGE - AT_ENTRIES;
/// At least two entries with the number of a page fit into a page.
const MAX_ENTRY: usize = ROOM / 2 - 8;

/// An entry: the sort key of a row's values, and its place.
pub(super) type IndexEntry = (Vec<u8>, RowPlace);

/// The entries of a page, and what they begin with.
struct IndexPage {
    entries: Vec<Vec<u8>>,
    prefix: usize,
    bytes: usize,
}

/// Writes the pages of an index over a table; returns the first page and all pages.
///
/// # Errors
/// `OutOfRange` for an entry that is too long; `Full`, `Io`.
pub(super) fn build(
    pages: &mut Pages,
    table: u32,
    entries: &[IndexEntry],
) -> Result<(u32, Vec<u32>)> {
    let bytes = |(key, place): &IndexEntry| [&key[..], &place.index_bytes()].concat();
    let mut level: Vec<Vec<u8>> = entries.iter().map(bytes).collect();
    if let Some(long) = level.iter().find(|entry| entry.len() > MAX_ENTRY) {
        let message = format!("the entry of an index has {} bytes: it is too long", long.len());
        return Err(too_large(&message));
    }
    let (mut all, mut kind) = (Vec::new(), 4);
    loop {
        let (numbers, next) = write_level(pages, table, kind, level)?;
        all.extend_from_slice(&numbers);
        if let ([root], _) = (&numbers[..], &next) {
            return Ok((*root, all));
        }
        (level, kind) = (next, 3);
    }
}

/// Writes the pages of one level; returns their numbers, and the entries of the level above.
fn write_level(
    pages: &mut Pages,
    table: u32,
    kind: u8,
    entries: Vec<Vec<u8>>,
) -> Result<(Vec<u32>, Vec<Vec<u8>>)> {
    let parts = split(entries, if kind == 3 { 8 } else { 4 });
    let mut numbers = Vec::new();
    for _ in &parts {
        numbers.push(pages.allocate()?);
    }
    let before = [0].into_iter().chain(numbers.iter().copied());
    let after = numbers.iter().skip(1).copied().chain([0]);
    let mut above = Vec::new();
    for (((number, before), after), part) in numbers.iter().zip(before).zip(after).zip(parts) {
        pages.write(*number, page(table, kind, [before, after], &part)?);
        if let Some(last) = part.entries.last() {
            let end = if kind == 3 { last.len().saturating_sub(4) } else { last.len() };
            let last = last.get(..end).unwrap_or_default();
            above.push([last, &number.to_be_bytes()].concat());
        }
    }
    Ok((numbers, above))
}

/// Divides entries into pages. The last bytes of an entry, its place, are no part of what the entries of a page share.
fn split(entries: Vec<Vec<u8>>, place: usize) -> Vec<IndexPage> {
    let new = || IndexPage { entries: Vec::new(), prefix: 0, bytes: 0 };
    let (mut parts, mut current) = (Vec::new(), new());
    for entry in entries {
        let key = entry.get(..entry.len().saturating_sub(place)).unwrap_or_default();
        let prefix = match current.entries.first() {
            Some(first) => {
                let same = first.iter().zip(key).take_while(|(a, b)| a == b).count();
                same.min(current.prefix)
            }
            None => key.len(),
        };
        let bytes = current.bytes + entry.len();
        if bytes - prefix * current.entries.len() > ROOM {
            parts.push(std::mem::replace(&mut current, new()));
            current.prefix = key.len();
            current.bytes = entry.len();
        } else {
            (current.prefix, current.bytes) = (prefix, bytes);
        }
        current.entries.push(entry);
    }
    parts.push(current);
    parts
}

fn page(table: u32, kind: u8, [before, after]: [u32; 2], part: &IndexPage) -> Result<Vec<u8>> {
    let mut bytes = vec![0; AT_ENTRIES];
    put(&mut bytes, 0, &[kind, 1])?;
    put(&mut bytes, 4, &table.to_le_bytes())?;
    put(&mut bytes, 12, &before.to_le_bytes())?;
    put(&mut bytes, 16, &after.to_le_bytes())?;
    let prefix = if part.entries.is_empty() { 0 } else { part.prefix };
    put(&mut bytes, 24, &as_short(prefix)?.to_le_bytes())?;
    for (number, entry) in part.entries.iter().enumerate() {
        let start = if number == 0 { 0 } else { prefix };
        bytes.extend_from_slice(entry.get(start..).unwrap_or_default());
        let end = bytes.len() - AT_ENTRIES;
        if let Some(bits) = bytes.get_mut(AT_STARTS + end / 8) {
            *bits |= 1 << (end % 8);
        }
    }
    let free = as_short(PAGE.saturating_sub(bytes.len()))?;
    put(&mut bytes, 2, &free.to_le_bytes())?;
    Ok(bytes)
}

//! A table's definition: its columns and indexes, as its pages have them.

use super::bytes::{RowPlace, as_long, as_short, byte, damaged, long, part, put, short};
use super::pages::{PAGE, Pages};
use bobak_core::Result;

/// The bytes of what a definition has once, its first page's head included.
const HEAD: usize = 63;
/// What each further page begins with.
const NEXT_HEAD: usize = 8;
const AT_NEXT: usize = 4;
const AT_LENGTH: usize = 8;
const AT_ROWS: usize = 16;
const AT_LAST_NUMBER: usize = 20;
const AT_MAX_COLUMNS: usize = 41;
const AT_VARIABLE: usize = 43;
const AT_COLUMNS: usize = 45;
const AT_LOGICAL: usize = 47;
const AT_PHYSICAL: usize = 51;
const AT_OWNED: usize = 55;
const AT_WITH_ROOM: usize = 59;

/// A number that definitions have in many places.
pub(super) const MAGIC: u32 = 1_625;
/// The number that physical indexes begin with.
const INDEX_MAGIC: u32 = 1_923;
/// The columns of a physical index.
pub(super) const MAX_INDEX_COLUMNS: usize = 10;
const NO_COLUMN: u16 = 0xffff;

/// A table's definition.
#[derive(Clone)]
pub(super) struct Definition {
    head: Vec<u8>,
    pub columns: Vec<ColumnEntry>,
    pub physical: Vec<PhysicalIndex>,
    pub logical: Vec<LogicalIndex>,
    pub long: Vec<LongColumn>,
}

/// A column: 25 bytes, and its name.
#[derive(Clone)]
pub(super) struct ColumnEntry {
    pub raw: [u8; 25],
    pub name: String,
}

/// An index with pages.
#[derive(Clone)]
pub(super) struct PhysicalIndex {
    raw: [u8; 52],
    /// The number of different entries.
    pub entries: u32,
}

/// An index that users see, and those of relationships. Several may have the same pages.
#[derive(Clone)]
pub(super) struct LogicalIndex {
    pub raw: [u8; 28],
    pub name: String,
}

/// The usage maps of a column of long values.
#[derive(Clone, Copy)]
pub(super) struct LongColumn {
    pub number: u16,
    pub owned: RowPlace,
    pub with_room: RowPlace,
}

impl ColumnEntry {
    pub const fn kind(&self) -> u8 {
        self.raw[0]
    }

    pub fn number(&self) -> u16 {
        u16::from_le_bytes([self.raw[5], self.raw[6]])
    }

    /// The number among the columns of variable length.
    pub fn variable(&self) -> u16 {
        u16::from_le_bytes([self.raw[7], self.raw[8]])
    }

    /// Of texts.
    pub const fn sort_order(&self) -> [u8; 4] {
        [self.raw[11], self.raw[12], self.raw[13], self.raw[14]]
    }

    /// Of decimals: digits after the point.
    pub const fn scale(&self) -> u8 {
        self.raw[12]
    }

    pub const fn is_fixed(&self) -> bool {
        self.raw[15] & 1 != 0
    }

    pub const fn is_compressed(&self) -> bool {
        self.raw[16] & 1 != 0
    }

    /// The place among the bytes of fixed length.
    pub fn place(&self) -> usize {
        usize::from(u16::from_le_bytes([self.raw[21], self.raw[22]]))
    }

    pub fn length(&self) -> usize {
        usize::from(u16::from_le_bytes([self.raw[23], self.raw[24]]))
    }

    /// Sets where the column is: its number, its number among those of variable length, and its place among the others.
    pub fn put(&mut self, number: u16, variable: u16, place: u16) {
        let ([a, b], [c, d], [e, f]) =
            (number.to_le_bytes(), variable.to_le_bytes(), place.to_le_bytes());
        (self.raw[5], self.raw[6], self.raw[9], self.raw[10]) = (a, b, a, b);
        (self.raw[7], self.raw[8], self.raw[21], self.raw[22]) = (c, d, e, f);
    }
}

impl PhysicalIndex {
    pub fn new(columns: &[(u16, bool)], flags: u8, map: RowPlace) -> Result<Self> {
        let mut raw = [0; 52];
        put(&mut raw, 0, &INDEX_MAGIC.to_le_bytes())?;
        for at in 0..MAX_INDEX_COLUMNS {
            let (number, ascending) = columns.get(at).copied().unwrap_or((NO_COLUMN, false));
            put(&mut raw, 4 + 3 * at, &number.to_le_bytes())?;
            put(&mut raw, 6 + 3 * at, &[u8::from(ascending)])?;
        }
        put(&mut raw, 34, &map.bytes())?;
        put(&mut raw, 46, &[flags])?;
        Ok(Self { raw, entries: 0 })
    }

    /// The numbers of the columns, and whether each is ascending.
    pub fn columns(&self) -> Vec<(u16, bool)> {
        let parts = self.raw.get(4..34).unwrap_or_default().chunks_exact(3);
        let columns = parts.filter_map(|part| match part {
            [a, b, order] => Some((u16::from_le_bytes([*a, *b]), order & 1 == 1)),
            _ => None,
        });
        columns.filter(|(number, _)| *number != NO_COLUMN).collect()
    }

    pub fn map(&self) -> Result<RowPlace> {
        RowPlace::read(&self.raw, 34)
    }

    pub const fn flags(&self) -> u8 {
        self.raw[46]
    }

    pub fn set_root(&mut self, page: u32) -> Result<()> {
        put(&mut self.raw, 38, &page.to_le_bytes())
    }
}

impl LogicalIndex {
    /// The kind: of the key, of a relationship, or of a user.
    pub const fn kind(&self) -> u8 {
        self.raw[23]
    }

    /// The number of its physical index.
    pub fn physical(&self) -> Result<usize> {
        Ok(long(&self.raw, 8)? as usize)
    }
}

impl Definition {
    /// A definition without columns.
    pub fn new(owned: RowPlace, with_room: RowPlace, is_system: bool) -> Result<Self> {
        let mut head = vec![0; HEAD];
        put(&mut head, 0, &[2, 1])?;
        put(&mut head, 12, &MAGIC.to_le_bytes())?;
        put(&mut head, 24, &[1])?;
        put(&mut head, 40, if is_system { b"S" } else { b"N" })?;
        put(&mut head, AT_OWNED, &owned.bytes())?;
        put(&mut head, AT_WITH_ROOM, &with_room.bytes())?;
        let (columns, physical, logical, long) = Default::default();
        Ok(Self { head, columns, physical, logical, long })
    }

    /// Reads the definition that begins at a page, and the pages that it has.
    pub fn read(pages: &Pages, first: u32) -> Result<(Self, Vec<u32>)> {
        let mut bytes = pages.read(first)?.into_owned();
        let mut chain = vec![first];
        let mut next = long(&bytes, AT_NEXT)?;
        while next != 0 {
            if byte(&bytes, 0)? != 2 || chain.contains(&next) {
                return Err(damaged());
            }
            let page = pages.read(next)?;
            chain.push(next);
            bytes.extend_from_slice(part(&page, NEXT_HEAD, PAGE - NEXT_HEAD)?);
            next = long(&page, AT_NEXT)?;
        }
        if byte(&bytes, 0)? != 2 {
            return Err(damaged());
        }
        Ok((Self::parse(&bytes)?, chain))
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let count = |at| short(bytes, at).map(usize::from);
        let (physical, logical) =
            (long(bytes, AT_PHYSICAL)? as usize, long(bytes, AT_LOGICAL)? as usize);
        let mut reader = Reader { bytes, at: HEAD };
        let mut entries = Vec::new();
        for _ in 0..physical {
            entries.push(long(reader.take(12)?, 4)?);
        }
        let columns = reader.named::<25>(count(AT_COLUMNS)?)?;
        let mut indexes = Vec::new();
        for entries in entries {
            let raw = reader.take(52)?.try_into().map_err(|_| damaged())?;
            indexes.push(PhysicalIndex { raw, entries });
        }
        let logical = reader.named::<28>(logical)?;
        let mut long = Vec::new();
        while let Ok(entry) = part(bytes, reader.at, 10) {
            let number = short(entry, 0)?;
            if number == NO_COLUMN {
                break;
            }
            let (owned, with_room) = (RowPlace::read(entry, 2)?, RowPlace::read(entry, 6)?);
            long.push(LongColumn { number, owned, with_room });
            reader.at += 10;
        }
        Ok(Self {
            head: part(bytes, 0, HEAD)?.to_vec(),
            columns: columns.into_iter().map(|(raw, name)| ColumnEntry { raw, name }).collect(),
            physical: indexes,
            logical: logical.into_iter().map(|(raw, name)| LogicalIndex { raw, name }).collect(),
            long,
        })
    }

    /// The definition's bytes.
    fn bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = self.head.clone();
        let variable = self.columns.iter().filter(|column| !column.is_fixed()).count();
        put(&mut bytes, AT_COLUMNS, &as_short(self.columns.len())?.to_le_bytes())?;
        if variable > usize::from(short(&bytes, AT_VARIABLE)?) {
            put(&mut bytes, AT_VARIABLE, &as_short(variable)?.to_le_bytes())?;
        }
        put(&mut bytes, AT_LOGICAL, &as_long(self.logical.len())?.to_le_bytes())?;
        put(&mut bytes, AT_PHYSICAL, &as_long(self.physical.len())?.to_le_bytes())?;
        for index in &self.physical {
            bytes.extend([[0; 4], index.entries.to_le_bytes(), [0; 4]].concat());
        }
        self.columns.iter().for_each(|column| bytes.extend(column.raw));
        self.columns.iter().try_for_each(|column| push_name(&mut bytes, &column.name))?;
        self.physical.iter().for_each(|index| bytes.extend(index.raw));
        self.logical.iter().for_each(|index| bytes.extend(index.raw));
        self.logical.iter().try_for_each(|index| push_name(&mut bytes, &index.name))?;
        for column in &self.long {
            bytes.extend(column.number.to_le_bytes());
            bytes.extend([column.owned.bytes(), column.with_room.bytes()].concat());
        }
        bytes.extend(NO_COLUMN.to_le_bytes());
        let length = as_long(bytes.len())?;
        put(&mut bytes, AT_LENGTH, &length.to_le_bytes())?;
        Ok(bytes)
    }

    /// Writes the definition to its pages: more are allocated, and the others are released.
    pub fn write(&self, pages: &mut Pages, chain: &[u32]) -> Result<()> {
        let bytes = self.bytes()?;
        let (first, rest) = bytes.split_at(bytes.len().min(PAGE));
        let mut parts = vec![first.to_vec()];
        for part in rest.chunks(PAGE - NEXT_HEAD) {
            parts.push([&[2, 1, 0, 0, 0, 0, 0, 0], part].concat());
        }
        let mut chain = chain.to_vec();
        while chain.len() < parts.len() {
            chain.push(pages.allocate()?);
        }
        for unused in chain.split_off(parts.len()) {
            pages.release(unused);
        }
        let nexts: Vec<u32> = chain.iter().skip(1).copied().chain([0]).collect();
        for ((page, next), mut bytes) in chain.into_iter().zip(nexts).zip(parts) {
            let free = as_short(PAGE.saturating_sub(bytes.len() + 8))?;
            put(&mut bytes, 2, &free.to_le_bytes())?;
            put(&mut bytes, AT_NEXT, &next.to_le_bytes())?;
            pages.write(page, bytes);
        }
        Ok(())
    }

    /// The columns that a row has: at least those of the definition.
    pub fn max_columns(&self) -> Result<usize> {
        Ok(usize::from(short(&self.head, AT_MAX_COLUMNS)?).max(self.columns.len()))
    }

    /// The columns of variable length that a row has.
    pub fn variable_columns(&self) -> Result<usize> {
        let now = self.columns.iter().filter(|column| !column.is_fixed()).count();
        Ok(usize::from(short(&self.head, AT_VARIABLE)?).max(now))
    }

    /// Forgets columns that were dropped: all rows will be replaced.
    pub fn forget_dropped_columns(&mut self) -> Result<()> {
        let variable = self.columns.iter().filter(|column| !column.is_fixed()).count();
        put(&mut self.head, AT_MAX_COLUMNS, &as_short(self.columns.len())?.to_le_bytes())?;
        put(&mut self.head, AT_VARIABLE, &as_short(variable)?.to_le_bytes())
    }

    pub fn owned(&self) -> Result<RowPlace> {
        RowPlace::read(&self.head, AT_OWNED)
    }

    pub fn with_room(&self) -> Result<RowPlace> {
        RowPlace::read(&self.head, AT_WITH_ROOM)
    }

    pub fn set_rows(&mut self, rows: u32) -> Result<()> {
        put(&mut self.head, AT_ROWS, &rows.to_le_bytes())
    }

    /// Raises the last number of the AutoNumber.
    pub fn raise_last_number(&mut self, number: u32) -> Result<()> {
        let number = number.max(long(&self.head, AT_LAST_NUMBER)?);
        put(&mut self.head, AT_LAST_NUMBER, &number.to_le_bytes())
    }

    /// The position of the column with a number.
    pub fn position(&self, number: u16) -> Result<usize> {
        let found = self.columns.iter().position(|column| column.number() == number);
        found.ok_or_else(damaged)
    }
}

fn push_name(bytes: &mut Vec<u8>, name: &str) -> Result<()> {
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes.extend(as_short(name.len())?.to_le_bytes());
    bytes.extend(name);
    Ok(())
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn take(&mut self, length: usize) -> Result<&'b [u8]> {
        let found = part(self.bytes, self.at, length)?;
        self.at += length;
        Ok(found)
    }

    /// So many entries of one length, and then their names.
    fn named<const N: usize>(&mut self, count: usize) -> Result<Vec<([u8; N], String)>> {
        let mut raw: Vec<[u8; N]> = Vec::new();
        for _ in 0..count {
            raw.push(self.take(N)?.try_into().map_err(|_| damaged())?);
        }
        let with_name = |raw| {
            let length = usize::from(short(self.bytes, self.at)?);
            self.at += 2;
            let name = self.take(length)?.chunks_exact(2);
            let units: Vec<u16> = name.map(|unit| short(unit, 0)).collect::<Result<_>>()?;
            Ok((raw, String::from_utf16(&units).map_err(|_| damaged())?))
        };
        raw.into_iter().map(with_name).collect()
    }
}

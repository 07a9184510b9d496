//! One table of a file: its rows and indexes are replaced, and everything else in its definition stays.

use super::btree::{self, IndexEntry};
use super::bytes::{RowPlace, as_long, damaged, long, part, too_large};
use super::data_page::{DELETED, MOVED, add, delete, empty, row, rows, slot};
use super::definition::Definition;
use super::key::index_key;
use super::long_values::LongValues;
use super::pages::Pages;
use super::row::{RowCell, decode, encode};
use super::usage_map;
use bobak_core::{Error, ErrorKind, Interrupt, Result};
use std::collections::BTreeMap;

/// A value to be written.
pub(super) enum NewValue {
    Null,
    /// In the row.
    Short(Vec<u8>),
    /// In pages of its own, if it is long.
    Long(Vec<u8>),
}

/// The flags of an index.
pub(super) const UNIQUE: u8 = 1;
const NO_NULLS: u8 = 2;

/// A table of a file.
pub(super) struct FileTable {
    /// The first page of its definition.
    pub page: u32,
    pub definition: Definition,
    chain: Vec<u32>,
}

/// The rows that are being written.
struct RowWriter {
    owner: [u8; 4],
    owned: Vec<u32>,
    current: Option<(u32, Vec<u8>)>,
}

/// What is collected of the rows for each index.
type Entries = Vec<Vec<(IndexEntry, bool)>>;

impl FileTable {
    /// The table whose definition begins at a page.
    pub fn open(pages: &Pages, page: u32) -> Result<Self> {
        let (definition, chain) = Definition::read(pages, page)?;
        Ok(Self { page, definition, chain })
    }

    /// A new table: its definition is written along with its rows.
    pub const fn new(page: u32, definition: Definition) -> Self {
        Self { page, definition, chain: Vec::new() }
    }

    /// Gives the table another definition, and no rows.
    pub fn redefine(&mut self, pages: &mut Pages, definition: Definition) -> Result<()> {
        self.release(pages)?;
        self.maps()?.into_iter().try_for_each(|map| usage_map::write(pages, map, &[]))?;
        self.definition = definition;
        Ok(())
    }

    /// The usage maps of rows, long values and indexes.
    fn maps(&self) -> Result<Vec<RowPlace>> {
        let definition = &self.definition;
        let mut maps = vec![definition.owned()?, definition.with_room()?];
        maps.extend(definition.long.iter().flat_map(|column| [column.owned, column.with_room]));
        for index in &definition.physical {
            maps.push(index.map()?);
        }
        Ok(maps)
    }

    /// All rows with their places.
    pub fn rows(&self, pages: &Pages) -> Result<Vec<(RowPlace, Vec<RowCell>)>> {
        let mut found = Vec::new();
        for page in usage_map::read(pages, self.definition.owned()?)? {
            let bytes = pages.read(page)?;
            if !is_owned(&bytes, self.page)? {
                continue;
            }
            for number in 0..rows(&bytes)? {
                let flags = slot(&bytes, number)?.flags;
                if flags & DELETED != 0 {
                    continue;
                }
                let own = row(&bytes, number)?;
                let cells = match flags & MOVED {
                    0 => decode(&self.definition, own)?,
                    _ => {
                        let place = RowPlace::read(own, 0)?;
                        decode(&self.definition, row(&pages.read(place.page)?, place.row)?)?
                    }
                };
                found.push((RowPlace { page, row: number }, cells));
            }
        }
        Ok(found)
    }

    /// Replaces all rows: `next` returns one after the other. Errors name the row.
    ///
    /// # Errors
    /// `Duplicate` if Access finds two rows equal in a unique index; those of the values.
    pub fn rewrite(
        &mut self,
        pages: &mut Pages,
        next: &mut dyn FnMut() -> Result<Option<Vec<NewValue>>>,
    ) -> Result<()> {
        self.release(pages)?;
        let (owner, owned) = (self.page.to_le_bytes(), Vec::new());
        let mut writer = RowWriter { owner, owned, current: None };
        let mut long: BTreeMap<u16, LongValues> = BTreeMap::new();
        let mut entries: Entries = vec![Vec::new(); self.definition.physical.len()];
        let mut count = 0_u32;
        while let Some(values) = next()? {
            count += 1;
            if count.is_multiple_of(1_024) {
                Interrupt::check()?;
            }
            let cells = self.store(pages, &mut long, values)?;
            let place = writer.add(pages, &encode(&self.definition, &cells)?)?;
            self.collect(pages, &cells, place, &mut entries)?;
        }
        writer.finish(pages, &self.definition)?;
        for column in &self.definition.long {
            let mut values = long.remove(&column.number).unwrap_or_default();
            let room: Vec<u32> = values.finish(pages).into_iter().collect();
            usage_map::write(pages, column.owned, &values.owned)?;
            usage_map::write(pages, column.with_room, &room)?;
        }
        self.definition.set_rows(count)?;
        self.write_indexes(pages, entries)?;
        self.definition.write(pages, &self.chain_or_own())
    }

    fn chain_or_own(&self) -> Vec<u32> {
        if self.chain.is_empty() { vec![self.page] } else { self.chain.clone() }
    }

    /// Removes rows and adds others; the rest stays where it is. Its indexes are built from all rows.
    ///
    /// # Errors
    /// As [`rewrite`](Self::rewrite).
    pub fn edit(
        &mut self,
        pages: &mut Pages,
        removed: &[RowPlace],
        added: Vec<Vec<NewValue>>,
    ) -> Result<()> {
        for place in removed {
            let mut page = pages.read(place.page)?.into_owned();
            delete(&mut page, place.row)?;
            pages.write(place.page, page);
        }
        let owned = usage_map::read(pages, self.definition.owned()?)?;
        let last = owned.last().map(|page| Ok((*page, pages.read(*page)?.into_owned())));
        let current =
            last.transpose()?.filter(|(_, bytes)| is_owned(bytes, self.page).unwrap_or(false));
        let mut writer = RowWriter { owner: self.page.to_le_bytes(), owned, current };
        let mut long: BTreeMap<u16, LongValues> = BTreeMap::new();
        for values in added {
            let cells = self.store(pages, &mut long, values)?;
            writer.add(pages, &encode(&self.definition, &cells)?)?;
        }
        writer.finish(pages, &self.definition)?;
        for column in &self.definition.long {
            if let Some(mut values) = long.remove(&column.number) {
                values.finish(pages);
                let mut owned = usage_map::read(pages, column.owned)?;
                owned.extend(values.owned);
                usage_map::write(pages, column.owned, &owned)?;
            }
        }
        self.rebuild_indexes(pages)
    }

    /// Builds the indexes from the rows.
    fn rebuild_indexes(&mut self, pages: &mut Pages) -> Result<()> {
        self.release_indexes(pages)?;
        let mut entries: Entries = vec![Vec::new(); self.definition.physical.len()];
        let rows = self.rows(pages)?;
        for (place, cells) in &rows {
            self.collect(pages, cells, *place, &mut entries)?;
        }
        self.definition.set_rows(as_long(rows.len())?)?;
        self.write_indexes(pages, entries)?;
        self.definition.write(pages, &self.chain_or_own())
    }

    /// What a row has of its values; long ones get pages.
    fn store(
        &self,
        pages: &mut Pages,
        long: &mut BTreeMap<u16, LongValues>,
        values: Vec<NewValue>,
    ) -> Result<Vec<RowCell>> {
        let cell = |(value, column): (NewValue, &super::definition::ColumnEntry)| match value {
            NewValue::Null => Ok(None),
            NewValue::Short(bytes) => Ok(Some(bytes)),
            NewValue::Long(bytes) => {
                long.entry(column.number()).or_default().store(pages, &bytes).map(Some)
            }
        };
        values.into_iter().zip(&self.definition.columns).map(cell).collect()
    }

    fn collect(
        &self,
        pages: &Pages,
        cells: &[RowCell],
        place: RowPlace,
        entries: &mut Entries,
    ) -> Result<()> {
        for (index, entries) in self.definition.physical.iter().zip(entries) {
            let (key, nulls) = index_key(pages.format, &self.definition, index, cells)?;
            if index.flags() & NO_NULLS == 0 || nulls < index.columns().len() {
                entries.push(((key, place), nulls > 0));
            }
        }
        Ok(())
    }

    fn write_indexes(&mut self, pages: &mut Pages, entries: Entries) -> Result<()> {
        for (number, mut entries) in entries.into_iter().enumerate() {
            entries.sort_unstable();
            let same = |pair: &&[(IndexEntry, bool)]| match pair {
                [((a, _), _), ((b, _), _)] => a == b,
                _ => false,
            };
            let is_duplicate = |pair: &&[(IndexEntry, bool)]| same(pair) && !has_null(pair);
            if self.is_unique(number)? && entries.windows(2).any(|pair| is_duplicate(&pair)) {
                return Err(self.duplicate(number));
            }
            let repeated = entries.windows(2).filter(same).count();
            let index = self.definition.physical.get_mut(number).ok_or_else(damaged)?;
            index.entries = as_long(entries.len() - repeated)?;
            let entries: Vec<IndexEntry> = entries.into_iter().map(|(entry, _)| entry).collect();
            let (root, owned) = btree::build(pages, self.page, &entries)?;
            index.set_root(root)?;
            usage_map::write(pages, index.map()?, &owned)?;
        }
        Ok(())
    }

    fn is_unique(&self, physical: usize) -> Result<bool> {
        let index = self.definition.physical.get(physical).ok_or_else(damaged)?;
        let mut logical = self.definition.logical.iter();
        let is_key =
            logical.any(|index| index.kind() == 1 && index.physical().ok() == Some(physical));
        Ok(is_key || index.flags() & UNIQUE != 0)
    }

    #[cold]
    fn duplicate(&self, physical: usize) -> Error {
        let mut logical = self.definition.logical.iter();
        let named = logical.find(|index| index.physical().ok() == Some(physical));
        let name = named.map_or("", |index| &index.name);
        let message = format!(
            "two rows are equal in the unique index '{name}' for Access, which ignores the case of texts and spaces at \
             their end"
        );
        Error::new(ErrorKind::Duplicate, message)
    }

    /// Releases the pages of rows, long values and indexes.
    fn release(&self, pages: &mut Pages) -> Result<()> {
        let rows = usage_map::read(pages, self.definition.owned()?)?;
        self.release_those(pages, &rows, 1..=1)?;
        for column in &self.definition.long {
            let owned = usage_map::read(pages, column.owned)?;
            self.release_those(pages, &owned, 1..=1)?;
        }
        self.release_indexes(pages)
    }

    fn release_indexes(&self, pages: &mut Pages) -> Result<()> {
        for index in &self.definition.physical {
            let owned = usage_map::read(pages, index.map()?)?;
            self.release_those(pages, &owned, 3..=4)?;
        }
        Ok(())
    }

    /// Releases the pages of some kinds that belong to the table. A map that names others is wrong, and they stay.
    fn release_those(
        &self,
        pages: &mut Pages,
        owned: &[u32],
        kinds: std::ops::RangeInclusive<u8>,
    ) -> Result<()> {
        for page in owned {
            let bytes = pages.read(*page)?;
            let is_kind = bytes.first().is_some_and(|kind| kinds.contains(kind));
            let is_own = is_owned(&bytes, self.page)? || part(&bytes, 4, 4)? == b"LVAL";
            if is_kind && is_own {
                pages.release(*page);
            }
        }
        Ok(())
    }

    /// Makes all pages of the table free, but for its usage maps.
    pub fn remove(self, pages: &mut Pages) -> Result<()> {
        self.release(pages)?;
        self.maps()?.into_iter().try_for_each(|map| usage_map::write(pages, map, &[]))?;
        self.chain_or_own().into_iter().for_each(|page| pages.release(page));
        Ok(())
    }
}

fn has_null(pair: &[(IndexEntry, bool)]) -> bool {
    pair.iter().any(|(_, has_null)| *has_null)
}

/// Whether a page is that of a table.
fn is_owned(page: &[u8], table: u32) -> Result<bool> {
    Ok(long(page, 4)? == table)
}

impl RowWriter {
    fn add(&mut self, pages: &mut Pages, bytes: &[u8]) -> Result<RowPlace> {
        if let Some((page, current)) = &mut self.current
            && let Some(row) = add(current, bytes)?
        {
            return Ok(RowPlace { page: *page, row });
        }
        if let Some((page, full)) = self.current.take() {
            pages.write(page, full);
        }
        let (page, mut new) = (pages.allocate()?, empty(self.owner)?);
        self.owned.push(page);
        let row = add(&mut new, bytes)?.ok_or_else(|| too_large("a row is larger than a page"))?;
        self.current = Some((page, new));
        Ok(RowPlace { page, row })
    }

    /// Writes the last page and the maps.
    fn finish(self, pages: &mut Pages, definition: &Definition) -> Result<()> {
        let room: Vec<u32> = self.current.iter().map(|(page, _)| *page).collect();
        if let Some((page, bytes)) = self.current {
            pages.write(page, bytes);
        }
        usage_map::write(pages, definition.owned()?, &self.owned)?;
        usage_map::write(pages, definition.with_room()?, &room)
    }
}

//! The pages of a file while it is changed: those of the file, and above them the changed ones. A commit writes a complete
//! new file and renames it into place.

use super::bytes::{as_long, byte, damaged, long, part, put};
use super::data_page::slot;
use super::format::FileFormat;
use bobak_core::{AtomicFile, Error, ErrorKind, Result};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The bytes of a page.
pub(super) const PAGE: usize = 4_096;
/// Access's largest file has 2 GB.
const MAX_PAGES: u32 = 524_287;
/// The page with the map of free pages.
const MAP_PAGE: u32 = 1;
/// The pages of which a page of a map says whether they are in it.
pub(super) const PAGES_PER_MAP: u32 = (PAGE as u32 - 4) * 8;

/// The pages of one file.
pub(super) struct Pages {
    pub format: FileFormat,
    file: Option<File>,
    /// The pages of the file.
    stored: u32,
    /// All pages.
    count: u32,
    changed: BTreeMap<u32, Vec<u8>>,
    free: BTreeSet<u32>,
}

impl Pages {
    /// The pages of an existing file.
    ///
    /// # Errors
    /// `Unsupported` for a format that is only read; `Corrupt`, `Io`.
    pub fn open(path: &Path) -> Result<Self> {
        let doing = |error| Error::io(&format!("read {}", path.display()), error);
        let mut file = File::open(path).map_err(doing)?;
        let length = file.metadata().map_err(doing)?.len();
        let stored = u32::try_from(length / PAGE as u64).map_err(|_| damaged())?;
        let mut first = vec![0; PAGE];
        file.read_exact(&mut first).map_err(doing)?;
        let format = FileFormat::of(&first)?;
        let (changed, free) = (BTreeMap::new(), BTreeSet::new());
        let mut pages = Self { format, file: Some(file), stored, count: stored, changed, free };
        pages.free = pages.map_of_free()?;
        Ok(pages)
    }

    /// No pages yet, for a new file.
    pub fn new(format: FileFormat) -> Self {
        let (changed, free) = (BTreeMap::new(), BTreeSet::new());
        Self { format, file: None, stored: 0, count: 0, changed, free }
    }

    /// A page.
    pub fn read(&self, page: u32) -> Result<Cow<'_, [u8]>> {
        if let Some(bytes) = self.changed.get(&page) {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut file = match &self.file {
            Some(file) if page < self.stored => file,
            _ => return Err(damaged()),
        };
        let mut bytes = vec![0; PAGE];
        let read = file
            .seek(SeekFrom::Start(u64::from(page) * PAGE as u64))
            .and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|error| Error::io("read a page", error))?;
        Ok(Cow::Owned(bytes))
    }

    /// Replaces a page.
    pub fn write(&mut self, page: u32, mut bytes: Vec<u8>) {
        bytes.resize(PAGE, 0);
        self.changed.insert(page, bytes);
    }

    /// Changes bytes of a page.
    pub fn change(&mut self, page: u32, at: usize, new: &[u8]) -> Result<()> {
        let mut bytes = self.read(page)?.into_owned();
        put(&mut bytes, at, new)?;
        self.write(page, bytes);
        Ok(())
    }

    /// A free page, to be written.
    ///
    /// # Errors
    /// `Full` if the file has 2 GB.
    pub fn allocate(&mut self) -> Result<u32> {
        if let Some(page) = self.free.pop_first() {
            return Ok(page);
        }
        if self.count >= MAX_PAGES {
            return Err(Error::new(ErrorKind::Full, "a file of Access has at most 2 GB"));
        }
        self.count += 1;
        Ok(self.count - 1)
    }

    /// Makes a page free.
    pub fn release(&mut self, page: u32) {
        // The first three have fixed places.
        if page > 2 && page < self.count {
            self.free.insert(page);
            self.write(page, vec![0; PAGE]);
        }
    }

    /// The free pages that the file's map has.
    fn map_of_free(&self) -> Result<BTreeSet<u32>> {
        let page = self.read(MAP_PAGE)?;
        let map = part_of_slot(&page)?;
        let mut free = BTreeSet::new();
        match byte(map, 0)? {
            0 => collect(part(map, 5, map.len().saturating_sub(5))?, long(map, 1)?, &mut free),
            _ => {
                for (number, at) in (0_u32..).zip((1..map.len().saturating_sub(3)).step_by(4)) {
                    match long(map, at)? {
                        0 => {}
                        page => {
                            let bits = self.read(page)?;
                            let first = number.saturating_mul(PAGES_PER_MAP);
                            collect(bits.get(4..).unwrap_or_default(), first, &mut free);
                        }
                    }
                }
            }
        }
        // Those after the end of the file are free, too.
        free.retain(|page| (3..self.stored).contains(page));
        Ok(free)
    }

    /// Writes the map of free pages.
    fn write_map_of_free(&mut self) -> Result<()> {
        let (place, length, mut maps) = {
            let page = self.read(MAP_PAGE)?;
            let (start, length) = (slot(&page, 0)?.start, part_of_slot(&page)?.len());
            let map = part(&page, start, length)?;
            let is_list = byte(map, 0)? == 1;
            let places = (1..length.saturating_sub(3)).step_by(4);
            let maps = places.map(|at| if is_list { long(map, at) } else { Ok(0) });
            (start, length, maps.collect::<Result<Vec<_>>>()?)
        };
        let bits = length.saturating_sub(5) * 8;
        let is_list = maps.iter().any(|page| *page > 0);
        let mut map = vec![u8::from(is_list || as_long(bits)? < self.count)];
        if map == [0] {
            map.extend([0; 4]);
            map.extend(self.bits_of_free(0, bits));
        } else {
            // Each page of the map may be the first that the next one says something of.
            let mut needed = 0;
            while needed * PAGES_PER_MAP < self.count {
                let entry = maps.get_mut(needed as usize).ok_or_else(damaged)?;
                if *entry == 0 {
                    *entry = self.allocate()?;
                }
                needed += 1;
            }
            for (number, page) in (0..needed).zip(maps.clone()) {
                let mut bytes = vec![5, 1, 0, 0];
                bytes.extend(self.bits_of_free(number * PAGES_PER_MAP, (PAGE - 4) * 8));
                self.write(page, bytes);
            }
            map.extend(maps.iter().flat_map(|page| page.to_le_bytes()));
        }
        map.resize(length, 0);
        self.change(MAP_PAGE, place, &map)
    }

    /// Bits for so many pages: whether each is free. Pages after the end are.
    fn bits_of_free(&self, first: u32, bits: usize) -> Vec<u8> {
        let mut bytes = vec![0; bits / 8];
        for (page, bit) in (first..).zip(0..bits) {
            if (page >= self.count || self.free.contains(&page))
                && let Some(byte) = bytes.get_mut(bit / 8)
            {
                *byte |= 1 << (bit % 8);
            }
        }
        bytes
    }

    /// Puts the file with all changes in the place of the old one, and on the disk.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`; the old file is then as it was.
    pub fn commit(mut self, path: &Path) -> Result<()> {
        self.write_map_of_free()?;
        let doing = |error| Error::io(&format!("write {}", path.display()), error);
        let new = AtomicFile::create(path)?;
        let mut file = OpenOptions::new().write(true).open(new.path()).map_err(doing)?;
        if let Some(old) = &mut self.file {
            old.seek(SeekFrom::Start(0)).map_err(doing)?;
            std::io::copy(old, &mut file).map_err(doing)?;
        }
        for (page, bytes) in &self.changed {
            let place = SeekFrom::Start(u64::from(*page) * PAGE as u64);
            file.seek(place).and_then(|_| file.write_all(bytes)).map_err(doing)?;
        }
        // Pages that were allocated and not written: there are none but in a file that ends inside a page.
        file.set_len(u64::from(self.count) * PAGE as u64).map_err(doing)?;
        drop(file);
        new.commit().map_err(doing)
    }
}

/// The first row of the page with the map of free pages.
fn part_of_slot(page: &[u8]) -> Result<&[u8]> {
    let place = slot(page, 0)?;
    part(page, place.start, place.length)
}

/// Adds the pages whose bits are set.
pub(super) fn collect(bits: &[u8], first: u32, pages: &mut impl Extend<u32>) {
    for (number, byte) in (0_u32..).zip(bits) {
        let set = (0..8).filter(|bit| byte >> bit & 1 == 1);
        pages.extend(set.map(|bit| first.saturating_add(number * 8 + bit)));
    }
}

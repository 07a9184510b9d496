//! One file of changes: reading it frame by frame, and appending to it.

use super::folder::ArchiveFolder;
use super::frame::{
    self, ArchiveStop, ArchivedLayouts, ArchivedTable, CreationPart, FRAME, Frame, HEAD,
    LoggedChange, damaged, is_frame, read_frame, read_head,
};
use bobak_changes::{ChangePage, TableLayout, TransactionBoundary};
use bobak_core::durable::{is_at, sync_content, sync_file};
use bobak_core::{Error, ErrorKind, Result, TableSchema};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads a file's frames.
#[derive(Debug)]
pub(crate) struct SegmentReader {
    path: PathBuf,
    file: BufReader<File>,
    content: Vec<u8>,
    /// The number of the change before its first one.
    pub from: u64,
    /// The number of the last change that was read.
    pub position: u64,
    /// How many bytes of complete frames were read.
    pub bytes: u64,
    length: u64,
}

impl SegmentReader {
    /// Opens a file; `None` if its header is not complete yet.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let doing = |error| Error::io(&format!("read {}", path.display()), error);
        let file = File::open(path).map_err(doing)?;
        let length = file.metadata().map_err(doing)?.len();
        if length < HEAD as u64 {
            return Ok(None);
        }
        let mut file = BufReader::new(file);
        let mut head = [0; HEAD];
        file.read_exact(&mut head).map_err(doing)?;
        let from = match read_head(&head) {
            Ok(from) => from,
            // A power cut before the header was synced may leave a file of its length.
            Err(error) if error.kind() == ErrorKind::Corrupt && length == HEAD as u64 => {
                return Ok(None);
            }
            Err(error) => return Err(in_file(error, path)),
        };
        let (path, content) = (path.to_owned(), Vec::new());
        Ok(Some(Self { path, file, content, from, position: from, bytes: HEAD as u64, length }))
    }

    /// The next frame; `None` at the end, and if the last frame is incomplete after a kill or a power cut.
    ///
    /// # Errors
    /// `Corrupt`, naming the file; `Io`.
    pub fn next(&mut self) -> Result<Option<Frame<'_>>> {
        let doing = |path: &Path, error| Error::io(&format!("read {}", path.display()), error);
        let left = self.length.saturating_sub(self.bytes);
        if left < FRAME as u64 {
            return Ok(None);
        }
        let mut head = [0; FRAME];
        self.file.read_exact(&mut head).map_err(|error| doing(&self.path, error))?;
        let (length, sum) = read_frame(&head);
        let whole = FRAME as u64 + length as u64;
        // No frame is empty; a length of 0 is a run of zeros.
        let is_whole = length > 0 && left >= whole && {
            self.content.resize(length, 0);
            self.file.read_exact(&mut self.content).map_err(|error| doing(&self.path, error))?;
            crc32fast::hash(&self.content) == sum
        };
        if !is_whole {
            return self.must_be_unfinished(sum).map(|()| None);
        }
        let frame = frame::read(&self.content).map_err(|error| in_file(error, &self.path))?;
        self.bytes += whole;
        if let Frame::Page(page) = &frame {
            let first = page.boundaries.iter().flatten().next();
            if page.next <= self.position
                || first.is_some_and(|boundary| boundary.id <= self.position)
            {
                return Err(in_file(
                    damaged("a page does not continue the one before"),
                    &self.path,
                ));
            }
            self.position = page.next;
        }
        Ok(Some(frame))
    }

    /// Rejects an end of the file that an interrupted writer cannot have left. It begins with the header of an incomplete
    /// frame, with this checksum.
    ///
    /// A file may have grown before its last bytes were written. But each frame was synced before the next, so no frame
    /// follows an incomplete one. Lengths have no checksum, so a wrong length may point anywhere: this looks for a next
    /// frame at each byte.
    fn must_be_unfinished(&mut self, sum: u32) -> Result<()> {
        let position = self.bytes + FRAME as u64;
        let mut rest = Vec::new();
        let read = self.file.seek(SeekFrom::Start(position)).and_then(|_| {
            let left = self.length.saturating_sub(position);
            self.file.by_ref().take(left).read_to_end(&mut rest)
        });
        read.map_err(|error| Error::io(&format!("read {}", self.path.display()), error))?;
        let is_last = !rest.is_empty() && crc32fast::hash(&rest) == sum;
        let follows = |at| rest.get(at..).is_some_and(|rest| is_frame(rest, self.position));
        if is_last || (0..rest.len()).any(follows) {
            let message = format!("at byte {}, a length or a checksum is wrong", self.bytes);
            return Err(in_file(damaged(&message), &self.path));
        }
        Ok(())
    }

    /// How many bytes of an incomplete frame follow.
    pub const fn unfinished(&self) -> u64 {
        self.length.saturating_sub(self.bytes)
    }
}

#[cold]
pub(crate) fn in_file(error: Error, path: &Path) -> Error {
    let message = format!("{}: {}", path.display(), error.message());
    Error::new(error.kind(), message).with_source(error)
}

/// Appends to a file.
#[derive(Debug)]
pub(crate) struct SegmentWriter {
    path: PathBuf,
    file: File,
    bytes: u64,
    position: u64,
    tables: HashMap<String, NamedTable>,
    out: Vec<u8>,
    /// Whether it may end with an incomplete frame.
    is_torn: bool,
    /// The number and the time of its last change.
    last: Option<(u64, i64)>,
    /// The layouts of all tracked tables, as the file has them.
    layouts: Option<Vec<TableLayout>>,
    /// Why it can't be continued.
    stop: Option<ArchiveStop>,
}

/// A table that the file has named.
#[derive(Debug)]
struct NamedTable {
    number: i64,
    columns: Vec<String>,
}

impl SegmentWriter {
    /// Continues behind the last complete frame of a file; does not change the file yet.
    pub fn append(path: &Path) -> Result<Self> {
        let doing = |error| Error::io(&format!("write {}", path.display()), error);
        let mut tables = HashMap::new();
        let Some(mut reader) = SegmentReader::open(path)? else {
            let message = "it has no header and holds no changes: delete it";
            return Err(in_file(damaged(message), path));
        };
        check_name(&reader)?;
        let (mut last, mut named, mut stop) = (None, None, None);
        while let Some(frame) = reader.next()? {
            match frame {
                Frame::Table(ArchivedTable { number, name, columns }) => {
                    tables.insert(name, NamedTable { number, columns });
                }
                Frame::Page(page) => {
                    let change = page.changes.last().map(|change| LoggedChange::of(*change));
                    last = change.transpose()?.map(|change| (change.id, change.at)).or(last);
                }
                Frame::Layouts(ArchivedLayouts { layouts, .. }) => named = Some(layouts),
                Frame::Stop(found) => stop = Some(found),
                Frame::Creation(_) => {}
            }
        }
        let mut file = OpenOptions::new().write(true).open(path).map_err(doing)?;
        file.seek(SeekFrom::Start(reader.bytes)).map_err(doing)?;
        let (path, bytes, position) = (path.to_owned(), reader.bytes, reader.position);
        let is_torn = reader.unfinished() > 0;
        let (out, layouts) = (Vec::new(), named);
        Ok(Self { path, file, bytes, position, tables, out, is_torn, last, layouts, stop })
    }

    /// Removes an incomplete frame at the end. Call this before anything is written.
    pub fn cut(&mut self) -> Result<()> {
        if self.is_torn {
            let cut =
                self.file.set_len(self.bytes).and_then(|()| sync_file(&self.file, &self.path));
            cut.map_err(|error| Error::io(&format!("write {}", self.path.display()), error))?;
            self.is_torn = false;
        }
        Ok(())
    }

    /// Creates a file.
    pub fn create(folder: &ArchiveFolder, from: u64) -> Result<Self> {
        let path = folder.file(from);
        let doing = |error| Error::io(&format!("write {}", path.display()), error);
        let mut file = File::create(&path).map_err(doing)?;
        file.write_all(&frame::head(from)).and_then(|()| sync_file(&file, &path)).map_err(doing)?;
        folder.sync()?;
        let (tables, out) = (HashMap::new(), Vec::new());
        Ok(Self {
            path,
            file,
            bytes: HEAD as u64,
            position: from,
            tables,
            out,
            is_torn: false,
            last: None,
            layouts: None,
            stop: None,
        })
    }

    /// The number of the last change that was written.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The number of the last change that was found in the file, and its time in microseconds.
    pub const fn last(&self) -> Option<(u64, i64)> {
        self.last
    }

    /// Why it can't be continued, if it can't.
    pub const fn stop(&self) -> Option<&ArchiveStop> {
        self.stop.as_ref()
    }

    /// Records the layouts of all tracked tables if they are not those of the file. Those before were in force at `checked`.
    pub fn write_layouts(&mut self, checked: i64, layouts: Vec<TableLayout>) -> Result<()> {
        if self.layouts.as_ref() != Some(&layouts) {
            self.out.clear();
            frame::put_layouts(&mut self.out, checked, &layouts)?;
            self.append_frame()?;
            self.layouts = Some(layouts);
        }
        Ok(())
    }

    /// The layouts of all tracked tables, as the file has them; `None` if it has none.
    pub fn layouts(&self) -> Option<&[TableLayout]> {
        self.layouts.as_deref()
    }

    /// Writes a part of the creation of a table that was tracked after the last change that was written.
    pub fn write_creation(
        &mut self,
        table: &str,
        rows_at: u64,
        part: &CreationPart<'_>,
        rows: &[u8],
    ) -> Result<()> {
        self.out.clear();
        frame::put_creation(&mut self.out, table, rows_at, part, rows)?;
        self.append_frame()
    }

    /// Ends the archive here, unless it has ended.
    pub fn write_stop(&mut self, stop: ArchiveStop) -> Result<()> {
        if self.stop.is_none() {
            self.cut()?;
            self.out.clear();
            frame::put_stop(&mut self.out, &stop)?;
            self.append_frame()?;
            self.stop = Some(stop);
        }
        Ok(())
    }

    /// Whether it has no change yet: another file would have the same name.
    pub fn is_unused(&self) -> bool {
        place_in_name(&self.path) == Some(self.position)
    }

    /// How large the file is.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Rejects a file that was removed or moved: changes appended to it would be lost.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn must_be_there(&self) -> Result<()> {
        if is_at(&self.file, &self.path) {
            return Ok(());
        }
        let folder = self.path.parent().unwrap_or(&self.path);
        let message = format!(
            "the folder {}, or the last file in it, was removed or moved: put it back, or open the \
             archive again, which begins with the first change that the change log still has",
            folder.display()
        );
        Err(Error::new(ErrorKind::NotFound, message))
    }

    /// Appends a page with the known transaction boundaries among its changes, and syncs the file. A failure leaves the
    /// file as before.
    pub fn write(&mut self, page: &ChangePage, boundaries: &[TransactionBoundary]) -> Result<()> {
        let mut changes = Vec::with_capacity(page.changes.len());
        for change in &page.changes {
            changes.push((self.number(&change.table)?, change));
        }
        self.out.clear();
        frame::put_page(&mut self.out, page.next, boundaries, &changes)?;
        self.append_frame()?;
        self.position = page.next;
        Ok(())
    }

    /// Appends a frame and syncs the file before the next one, so that only the last frame can be incomplete.
    fn append_frame(&mut self) -> Result<()> {
        let written = self.file.write_all(&self.out);
        let written = written.and_then(|()| sync_content(&self.file, &self.path));
        if let Err(error) = written {
            // If this fails too, the rest is an incomplete frame, which the next write overwrites.
            let _ = self.file.set_len(self.bytes);
            let _ = self.file.seek(SeekFrom::Start(self.bytes));
            return Err(Error::io(&format!("write {}", self.path.display()), error));
        }
        self.bytes += self.out.len() as u64;
        Ok(())
    }

    /// The number of a table in this file. The first use of a table, and of changed columns, writes a frame that names it.
    fn number(&mut self, table: &Arc<TableSchema>) -> Result<i64> {
        let names = table.columns().iter().map(|column| column.name.as_ref());
        if let Some(named) = self.tables.get(table.name())
            && named.columns.iter().map(String::as_str).eq(names.clone())
        {
            return Ok(named.number);
        }
        let last = self.tables.values().map(|named| named.number).max();
        let number = last.unwrap_or(0) + 1;
        self.out.clear();
        frame::put_table(&mut self.out, number, table)?;
        self.append_frame()?;
        let columns = names.map(str::to_owned).collect();
        self.tables.insert(table.name().to_owned(), NamedTable { number, columns });
        Ok(number)
    }
}

/// The number of the change before the first one, from the name of the file.
pub(crate) fn place_in_name(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(super::folder::ENDING)?.parse().ok()
}

/// Rejects a file whose name and header disagree.
pub(crate) fn check_name(reader: &SegmentReader) -> Result<()> {
    if place_in_name(&reader.path) == Some(reader.from) {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Corrupt, "the name of the file does not match its header");
    Err(in_file(error, &reader.path))
}

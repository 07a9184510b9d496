//! One file of changes: read frame by frame, and appended to.

use super::folder::ArchiveFolder;
use super::frame::{
    self, FRAME, Frame, HEAD, Logged, Table, damaged, is_frame, read_frame, read_head,
};
use bobak_changes::{ChangePage, TransactionBoundary};
use bobak_core::durable::{is_at, sync_content, sync_file};
use bobak_core::{Error, ErrorKind, Result, TableSchema};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads a file's frames.
#[derive(Debug)]
pub(crate) struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    content: Vec<u8>,
    /// The place that it begins behind.
    pub from: u64,
    /// The place behind what was read.
    pub place: u64,
    /// How many bytes were read, all of them whole frames.
    pub bytes: u64,
    length: u64,
}

impl Reader {
    /// Opens a file; `None` for one that was made but has no whole head yet.
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
            // A power cut before the head was synced may leave its length alone.
            Err(error) if error.kind() == ErrorKind::Corrupt && length == HEAD as u64 => {
                return Ok(None);
            }
            Err(error) => return Err(in_file(error, path)),
        };
        let (path, content) = (path.to_owned(), Vec::new());
        Ok(Some(Self { path, file, content, from, place: from, bytes: HEAD as u64, length }))
    }

    /// The next frame; `None` at the end, and where the last frame is not whole: what a kill or a
    /// power cut leaves.
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
        // No frame is empty: those are zeros.
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
            let first = page.borders.iter().flatten().next();
            if page.next <= self.place || first.is_some_and(|border| border.id <= self.place) {
                return Err(in_file(damaged("a page does not go on"), &self.path));
            }
            self.place = page.next;
        }
        Ok(Some(frame))
    }

    /// Refuses a rest of the file that no writer leaves behind who was broken off. It begins with the
    /// head of a frame that is not whole, with this checksum.
    ///
    /// A file may have grown before its last bytes were written; but each frame was synced before the
    /// next, so behind an unfinished one there is none. No checksum covers a length, so a wrong one may
    /// point anywhere: the next frame is looked for at each byte.
    fn must_be_unfinished(&mut self, sum: u32) -> Result<()> {
        let place = self.bytes + FRAME as u64;
        let mut rest = Vec::new();
        let read = self.file.seek(SeekFrom::Start(place)).and_then(|_| {
            let left = self.length.saturating_sub(place);
            self.file.by_ref().take(left).read_to_end(&mut rest)
        });
        read.map_err(|error| Error::io(&format!("read {}", self.path.display()), error))?;
        let is_last = !rest.is_empty() && crc32fast::hash(&rest) == sum;
        let follows = |at| rest.get(at..).is_some_and(|rest| is_frame(rest, self.place));
        if is_last || (0..rest.len()).any(follows) {
            let message = format!("at byte {}, a length or a checksum is wrong", self.bytes);
            return Err(in_file(damaged(&message), &self.path));
        }
        Ok(())
    }

    /// How many bytes stand behind what was read: something unfinished.
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
pub(crate) struct Writer {
    path: PathBuf,
    file: File,
    bytes: u64,
    place: u64,
    tables: HashMap<String, Known>,
    out: Vec<u8>,
    /// Whether something unfinished may stand at its end.
    is_torn: bool,
    /// The number and the time of its last change.
    last: Option<(u64, i64)>,
}

/// A table that the file has named.
#[derive(Debug)]
struct Known {
    number: i64,
    columns: Vec<String>,
}

impl Writer {
    /// Goes on at the end of a file, after what is whole in it; the file is not changed yet.
    pub fn append(path: &Path) -> Result<Self> {
        let doing = |error| Error::io(&format!("write {}", path.display()), error);
        let mut tables = HashMap::new();
        let Some(mut reader) = Reader::open(path)? else {
            let message = "it has no head: remove it, nothing is in it";
            return Err(in_file(damaged(message), path));
        };
        check_name(&reader)?;
        let mut last = None;
        while let Some(frame) = reader.next()? {
            match frame {
                Frame::Table(Table { number, name, columns }) => {
                    tables.insert(name, Known { number, columns });
                }
                Frame::Page(page) => {
                    if let Some(change) = page.changes.last() {
                        let change = Logged::of(*change)?;
                        last = Some((change.id, change.at));
                    }
                }
            }
        }
        let mut file = OpenOptions::new().write(true).open(path).map_err(doing)?;
        file.seek(SeekFrom::Start(reader.bytes)).map_err(doing)?;
        let (path, bytes, place) = (path.to_owned(), reader.bytes, reader.place);
        let is_torn = reader.unfinished() > 0;
        Ok(Self { path, file, bytes, place, tables, out: Vec::new(), is_torn, last })
    }

    /// Cuts off what is unfinished at the end. To be called before anything is written.
    pub fn cut(&mut self) -> Result<()> {
        if self.is_torn {
            let cut =
                self.file.set_len(self.bytes).and_then(|()| sync_file(&self.file, &self.path));
            cut.map_err(|error| Error::io(&format!("write {}", self.path.display()), error))?;
            self.is_torn = false;
        }
        Ok(())
    }

    /// Begins a file.
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
            place: from,
            tables,
            out,
            is_torn: false,
            last: None,
        })
    }

    /// The place behind what was written.
    pub const fn place(&self) -> u64 {
        self.place
    }

    /// The number of the last change that was found in the file, and its time in microseconds.
    pub const fn last(&self) -> Option<(u64, i64)> {
        self.last
    }

    /// How large the file is.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Refuses a file that is no longer where it was begun: what is appended then is on no disk that
    /// anybody looks at.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn must_be_there(&self) -> Result<()> {
        if is_at(&self.file, &self.path) {
            return Ok(());
        }
        let folder = self.path.parent().unwrap_or(&self.path);
        let message = format!(
            "the folder {}, or the last file in it, was removed or moved away: put it back, or open the \
             archive anew, which begins with the first change that the feed still has",
            folder.display()
        );
        Err(Error::new(ErrorKind::NotFound, message))
    }

    /// Appends a page with the borders that are known among its changes, and syncs the file. Where
    /// that fails the file is as before.
    pub fn write(&mut self, page: &ChangePage, borders: &[TransactionBoundary]) -> Result<()> {
        let mut changes = Vec::with_capacity(page.changes.len());
        for change in &page.changes {
            changes.push((self.number(&change.table)?, change));
        }
        self.out.clear();
        frame::put_page(&mut self.out, page.next, borders, &changes)?;
        self.append_frame()?;
        self.place = page.next;
        Ok(())
    }

    /// Appends a frame and syncs the file: before the next one, so that at most the last is torn.
    fn append_frame(&mut self) -> Result<()> {
        let written = self.file.write_all(&self.out);
        let written = written.and_then(|()| sync_content(&self.file, &self.path));
        if let Err(error) = written {
            // Where even this fails, what is left is unfinished, and is written over.
            let _ = self.file.set_len(self.bytes);
            let _ = self.file.seek(SeekFrom::Start(self.bytes));
            return Err(Error::io(&format!("write {}", self.path.display()), error));
        }
        self.bytes += self.out.len() as u64;
        Ok(())
    }

    /// The number of a table in this file, which is named there at its first need and when it has
    /// other columns.
    fn number(&mut self, table: &Arc<TableSchema>) -> Result<i64> {
        let names = table.columns().iter().map(|column| column.name.as_ref());
        if let Some(known) = self.tables.get(table.name())
            && known.columns.iter().map(String::as_str).eq(names.clone())
        {
            return Ok(known.number);
        }
        let last = self.tables.values().map(|known| known.number).max();
        let number = last.unwrap_or(0) + 1;
        self.out.clear();
        frame::put_table(&mut self.out, number, table)?;
        self.append_frame()?;
        let columns = names.map(str::to_owned).collect();
        self.tables.insert(table.name().to_owned(), Known { number, columns });
        Ok(number)
    }
}

/// The place that a file's name says it begins behind.
pub(crate) fn place_in_name(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(super::folder::ENDING)?.parse().ok()
}

/// Refuses a file whose name says another place than its head.
pub(crate) fn check_name(reader: &Reader) -> Result<()> {
    if place_in_name(&reader.path) == Some(reader.from) {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Corrupt, "the file has another's name");
    Err(in_file(error, &reader.path))
}

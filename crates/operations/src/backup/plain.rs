//! Plain backups: an SQLite file with a [`Trailer`] after its last page, where SQLite does not look.
//!
//! SQLite uses the number of pages in the file's header. A write to the backup changes the change counter there, and
//! removes the trailer if the file grows or shrinks. The trailer's size is a multiple of the page size, because in WAL mode
//! SQLite extends files to whole pages.

use super::Checksum;
use super::checksum::{Digest, Pacer, copy};
use super::file_type::FileType;
use super::source_file::SourceFile;
use super::staged::StagedCopy;
use super::trailer::{DatabaseForm, FOOTER, Trailer};
use bobak_core::{BackupContent, BackupPhase, BackupProgress, Error, ErrorKind, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Appends a trailer to a new backup. A snapshot of the memory engine has checksums of its own.
///
/// # Errors
/// `Full`, `Io`; those of `progress`.
pub(super) fn append_trailer(
    file: &Path,
    target: &Path,
    content: &BackupContent,
    pauses: bool,
    progress: &mut dyn FnMut(BackupProgress) -> Result<()>,
) -> Result<()> {
    let kind = FileType::of(file)?;
    if !matches!(kind, FileType::Sqlite | FileType::Unknown) {
        return Ok(());
    }
    let doing = |error| Error::io(&format!("write the backup {}", target.display()), error);
    let mut database = OpenOptions::new().read(true).write(true).open(file).map_err(doing)?;
    let head = SqliteHeader::read(&mut database).map_err(doing)?;
    database.rewind().map_err(doing)?;
    let mut rests = Pacer::new(pauses, 2);
    let sum = copy(&mut database, &mut io::sink(), doing, doing, |done| {
        rests.take();
        progress(BackupProgress { phase: BackupPhase::Check, done, of: content.bytes })
    })?;
    let (preceding, page) = match head {
        Some(head) => (DatabaseForm::Plain { changes: head.changes }, head.page),
        // The page size of an encrypted file is unknown; this is one that divides its length.
        None => (DatabaseForm::Encrypted, 1 << sum.bytes.trailing_zeros().min(16)),
    };
    let content = BackupContent { bytes: sum.bytes, ..content.clone() };
    let trailer = Trailer { content, checksum: sum.checksum, preceding }.encode(page);
    database.write_all(&trailer).map_err(doing)
}

/// The result of copying a plain backup.
pub(super) struct CopiedDatabase {
    pub checksum: Checksum,
    /// The content that the trailer lists, if it still applies.
    pub noted: Option<BackupContent>,
    /// The length of the database.
    pub bytes: u64,
}

/// Copies the database that a plain backup contains.
///
/// # Errors
/// `Corrupt` if a byte is wrong or missing; `Busy` if another process writes to the backup; `Io`, `Full`.
pub(super) fn read(staged: StagedCopy<'_>, writer: &mut File) -> Result<CopiedDatabase> {
    let backup = staged.backup;
    let reading = |error| Error::io(&format!("read {}", backup.display()), error);
    let writing = |error| staged.failed(error);
    let mut file = SourceFile::open(backup).map_err(reading)?;
    let kind = FileType::of(backup)?;
    let trailer = match kind {
        FileType::Sqlite | FileType::Unknown => {
            trailer(&mut file).map_err(|error| staged.unusable(error))?
        }
        _ => None,
    };
    let head = SqliteHeader::read(&mut file).map_err(reading)?;
    let expected = match (&trailer, head) {
        (Some(Trailer { preceding: DatabaseForm::Plain { changes }, .. }), Some(head))
            if head.changes != *changes =>
        {
            // The database was modified after its checksum was computed.
            head.bytes
        }
        (Some(trailer), _) => trailer.content.bytes,
        (None, _) => u64::MAX,
    };
    file.rewind().map_err(reading)?;
    let sum = copy(&mut (&mut file).take(expected), writer, reading, writing, |_| Ok(()))?;
    let checksum = match &trailer {
        None if matches!(kind, FileType::Snapshot | FileType::Encrypted) => Checksum::Same,
        None => Checksum::Missing,
        Some(trailer) => compare(trailer, head, sum).ok_or_else(|| {
            let message = format!("{} is damaged: its checksum differs", name(backup));
            Error::new(ErrorKind::Corrupt, message)
        })?,
    };
    if checksum != Checksum::Same {
        reject_open(backup)?;
    }
    let same = |trailer: &Trailer| {
        checksum == Checksum::Same && matches!(trailer.preceding, DatabaseForm::Plain { .. })
    };
    let noted = trailer.filter(same).map(|trailer| trailer.content);
    Ok(CopiedDatabase { checksum, noted, bytes: sum.bytes })
}

/// The result of the checksum comparison; `None` if it differs and the database was not modified.
fn compare(trailer: &Trailer, head: Option<SqliteHeader>, sum: Digest) -> Option<Checksum> {
    match (trailer.preceding, head) {
        (DatabaseForm::Plain { changes }, Some(head)) if head.changes != changes => {
            Some(Checksum::Outdated)
        }
        _ if (trailer.content.bytes, trailer.checksum) == (sum.bytes, sum.checksum) => {
            Some(Checksum::Same)
        }
        // Encrypted pages are authenticated: a wrong byte is found when the page is read.
        (DatabaseForm::Encrypted, None) => Some(Checksum::Outdated),
        _ => None,
    }
}

/// The trailer, if there is one.
fn trailer(file: &mut SourceFile) -> Result<Option<Trailer>> {
    let doing = |error| Error::io("read its end", error);
    let all = file.seek(SeekFrom::End(0)).map_err(doing)?;
    let Some(start) = all.checked_sub(FOOTER as u64) else { return Ok(None) };
    let mut footer = [0; FOOTER];
    file.seek(SeekFrom::Start(start)).map_err(doing)?;
    file.read_exact(&mut footer).map_err(doing)?;
    let Some(length) = Trailer::body_length(&footer) else { return Ok(None) };
    let torn = || {
        let message = "its end is damaged, or it was modified after it was written";
        Error::new(ErrorKind::Corrupt, message)
    };
    let start = start.checked_sub(length as u64).ok_or_else(torn)?;
    file.seek(SeekFrom::Start(start)).map_err(doing)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(doing)?;
    let trailer = Trailer::decode(&bytes).map_err(|error| match error.kind() {
        ErrorKind::Corrupt => torn(),
        _ => error,
    })?;
    if trailer.content.bytes != start || trailer.preceding == DatabaseForm::Compressed {
        return Err(torn());
    }
    Ok(Some(trailer))
}

/// The header on the first page of an SQLite file: <https://www.sqlite.org/fileformat2.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SqliteHeader {
    /// The change counter.
    changes: u32,
    /// The size of a page.
    page: usize,
    /// The size of the database.
    bytes: u64,
}

impl SqliteHeader {
    /// Reads the header; `None` if it is no SQLite header, or inconsistent.
    fn read(file: &mut (impl Read + Seek)) -> io::Result<Option<Self>> {
        file.rewind()?;
        let mut first = Vec::new();
        file.take(100).read_to_end(&mut first)?;
        Ok(Self::of(&first))
    }

    fn of(first: &[u8]) -> Option<Self> {
        let number = |offset: usize| {
            let bytes = first.get(offset..)?.first_chunk::<4>()?;
            Some(u32::from_be_bytes(*bytes))
        };
        let page = match first.get(16..)?.first_chunk::<2>().map(|b| u16::from_be_bytes(*b))? {
            1 => 65_536,
            size => usize::from(size),
        };
        let (changes, pages) = (number(24)?, number(28)?);
        // SQLite writes the change counter a second time along with the number of pages.
        let fits = first.starts_with(b"SQLite format 3\0") && number(92)? == changes;
        fits.then(|| Self { changes, page, bytes: u64::from(pages) * page as u64 })
    }
}

/// Rejects a database that is incomplete without the WAL or journal next to it.
fn reject_open(backup: &Path) -> Result<()> {
    for ending in ["-wal", "-journal"] {
        let mut path = backup.as_os_str().to_owned();
        path.push(ending);
        let mut first = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(1).read_to_end(&mut first));
        // A finished journal may begin with zeros.
        if read.is_ok() && first.first().is_some_and(|byte| *byte != 0) {
            let path = Path::new(&path).display();
            let message =
                format!("{} is open, or was not closed: {path} belongs to it", name(backup));
            return Err(Error::new(ErrorKind::Busy, message));
        }
    }
    Ok(())
}

fn name(backup: &Path) -> String {
    format!("the backup {}", backup.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inconsistent_header_is_rejected() {
        let mut first = [0; 100];
        first[..16].copy_from_slice(b"SQLite format 3\0");
        first[16..18].copy_from_slice(&4096_u16.to_be_bytes());
        for offset in [24, 92] {
            first[offset..offset + 4].copy_from_slice(&7_u32.to_be_bytes());
        }
        first[31] = 3;
        assert_eq!(
            SqliteHeader::of(&first),
            Some(SqliteHeader { changes: 7, page: 4_096, bytes: 12_288 })
        );
        first[16..18].copy_from_slice(&1_u16.to_be_bytes());
        assert_eq!(
            SqliteHeader::of(&first),
            Some(SqliteHeader { changes: 7, page: 65_536, bytes: 196_608 })
        );
        first[24] = 1;
        assert_eq!(SqliteHeader::of(&first), None, "one of the two counters");
        assert_eq!(SqliteHeader::of(&first[..90]), None);
    }
}

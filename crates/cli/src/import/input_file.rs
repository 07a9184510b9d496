//! Opening the file to import: plain, gzip, zip or a workbook, known by its first bytes and not by its name.
//!
//! An import reads its input twice, first to learn the types and then to store the rows, so
//! whatever can't be read twice (standard input, a pipe) is kept in a temporary file meanwhile.
//! Packed files are unpacked on the way, twice, and never as a whole: memory use is constant.

use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use zip::ZipArchive;
use zip::result::ZipError;

/// An input that can be read from its start any number of times.
#[derive(Debug)]
pub struct InputFile {
    name: String,
    file: File,
    len: u64,
    compression: SourceCompression,
    position: Cell<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceCompression {
    None,
    Gzip,
    /// The number of the member in the archive.
    Zip(usize),
    /// A workbook (`.xlsx`), which is an archive that its own reader opens.
    Workbook,
}

/// The bytes of a workbook's part that may be compressed in any way.
#[cfg(feature = "xlsx")]
const MAX_PLAIN_PART: u64 = 256 << 20;
/// How often a larger part of a workbook may be as large as its compressed form. A sheet of equal numbers is about 100 times.
#[cfg(feature = "xlsx")]
const MAX_RATIO: u64 = 300;

impl InputFile {
    /// Opens `path`, or standard input if it is `-`.
    ///
    /// `member` names the file to read from a zip archive. It may be omitted if the archive holds
    /// exactly one file.
    ///
    /// # Errors
    /// If the file can't be opened or read, or the archive is damaged or lacks the member. A usage
    /// error if the member is required, or given for a file that is not an archive.
    pub fn open(path: &Path, member: Option<&str>) -> Result<Self> {
        let (name, mut file) = if path == Path::new("-") {
            ("standard input".to_owned(), spool(io::stdin().lock(), "standard input")?)
        } else {
            let name = path.display().to_string();
            let file = open_seekable(path, &name)?;
            (name, file)
        };
        let read_error = |error: io::Error| Error::io(format_args!("read {name}"), &error);
        let len = file.seek(SeekFrom::End(0)).map_err(read_error)?;
        let compression = detect_compression(&mut file).map_err(read_error)?;
        let mut source = Self { name, file, len, compression, position: Cell::new(0) };
        match (compression, member) {
            (SourceCompression::Zip(_), None) if source.has_workbook()? => {
                source.compression = SourceCompression::Workbook;
            }
            (SourceCompression::Zip(_), _) => {
                source.compression = SourceCompression::Zip(source.choose_member(member)?)
            }
            (_, None) => {}
            (_, Some(_)) => {
                return Err(Error::usage(format!(
                    "{} is not a zip archive: omit --member",
                    source.name
                )));
            }
        }
        Ok(source)
    }

    /// An input with this name and the content of a file that is open for reading and writing.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn of_file(name: &str, mut file: File) -> Result<Self> {
        let len = file.seek(SeekFrom::End(0));
        let len = len.map_err(|error| Error::io(format_args!("read {name}"), &error))?;
        let (name, compression) = (name.to_owned(), SourceCompression::None);
        Ok(Self { name, file, len, compression, position: Cell::new(0) })
    }

    /// Whether the file is a workbook (`.xlsx`).
    #[must_use]
    pub fn is_workbook(&self) -> bool {
        self.compression == SourceCompression::Workbook
    }

    /// Another handle to the file, at its start.
    ///
    /// # Errors
    /// If the system denies it.
    pub fn try_clone(&self) -> Result<File> {
        let cloned = self.file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
        cloned.map_err(|error| Error::io(format_args!("read {}", self.name), &error))
    }

    /// Rejects a workbook with a part that takes up far more memory than plain rows do: cells of any length are read as a whole.
    ///
    /// # Errors
    /// If there is one, or the archive is damaged.
    #[cfg(feature = "xlsx")]
    pub fn check_parts(&self) -> Result<()> {
        let mut archive = self.archive(BufReader::new(&self.file))?;
        for at in 0..archive.len() {
            let part = archive.by_index_raw(at).map_err(|error| self.damaged(&error))?;
            let (size, compressed) = (part.size(), part.compressed_size().max(1));
            if size > MAX_PLAIN_PART && size / compressed > MAX_RATIO {
                let part = part.name().map_err(|error| self.damaged(&error))?;
                let name = &self.name;
                let message = format!(
                    "{name}: its part {part} has {size} bytes, and {compressed} compressed: it is no plain workbook"
                );
                return Err(Error::failed(message));
            }
        }
        Ok(())
    }

    fn has_workbook(&self) -> Result<bool> {
        let archive = self.archive(BufReader::new(&self.file))?;
        Ok(archive.index_for_name("xl/workbook.xml").is_some())
    }

    /// The name for messages: the path as given, or `standard input`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size of the file in bytes, before decompression.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of bytes, of [`len`](Self::len), that the current pass has read.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position.get()
    }

    /// Makes one pass over the decompressed content.
    ///
    /// `pass` borrows the reader because an archive's member can't outlive its archive.
    ///
    /// # Errors
    /// Those of `pass`, and if the file can't be read or decompressed.
    pub fn read<T>(&self, pass: impl FnOnce(&mut dyn Read) -> Result<T>) -> Result<T> {
        let mut file = &self.file;
        file.rewind().map_err(|error| Error::io(format_args!("read {}", self.name), &error))?;
        self.position.set(0);
        let reader = CountingReader { file, position: &self.position };
        match self.compression {
            SourceCompression::None | SourceCompression::Workbook => pass(&mut { reader }),
            SourceCompression::Gzip => pass(&mut MultiGzDecoder::new(BufReader::new(reader))),
            SourceCompression::Zip(index) => {
                let mut archive = self.archive(BufReader::new(reader))?;
                let mut member = archive.by_index(index).map_err(|error| self.damaged(&error))?;
                self.position.set(0);
                pass(&mut member)
            }
        }
    }

    fn choose_member(&self, wanted: Option<&str>) -> Result<usize> {
        let mut archive = self.archive(BufReader::new(&self.file))?;
        let mut files = Vec::new();
        for index in 0..archive.len() {
            let member = archive.by_index_raw(index).map_err(|error| self.damaged(&error))?;
            let name = member.name().map_err(|error| self.damaged(&error))?;
            // macOS adds these entries to each archive; they are not the user's files.
            if !member.is_dir() && !name.starts_with("__MACOSX/") {
                files.push((index, name.into_owned()));
            }
        }
        let names = || files.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ");
        match (wanted, files.as_slice()) {
            (_, []) => Err(Error::failed(format!("{} contains no file", self.name))),
            (None, [(index, _)]) => Ok(*index),
            (None, _) => Err(Error::usage(format!(
                "{} contains {} files: choose one with --member ({})",
                self.name,
                files.len(),
                names()
            ))),
            (Some(wanted), _) => files
                .iter()
                .find(|(_, name)| name == wanted)
                .map(|(index, _)| *index)
                .ok_or_else(|| {
                    Error::failed(format!("{} contains no {wanted}, but {}", self.name, names()))
                }),
        }
    }

    fn archive<R: Read + Seek>(&self, reader: R) -> Result<ZipArchive<R>> {
        ZipArchive::new(reader).map_err(|error| self.damaged(&error))
    }

    fn damaged(&self, error: &ZipError) -> Error {
        let name = &self.name;
        Error::failed(match error {
            ZipError::InvalidArchive(_) => format!(
                "{name} begins as a ZIP archive or a workbook, but is damaged or incomplete: copy it again"
            ),
            error => format!("could not decompress {name}: {error}"),
        })
    }
}

/// Opens a regular file, or copies anything else (a pipe, a terminal) to a temporary file.
fn open_seekable(path: &Path, name: &str) -> Result<File> {
    let open_error = |error: io::Error| Error::io(format_args!("open {name}"), &error);
    let file = File::open(path).map_err(open_error)?;
    let metadata = file.metadata().map_err(open_error)?;
    if metadata.is_dir() {
        return Err(Error::failed(format!("{name} is a folder, not a file")));
    }
    if metadata.is_file() { Ok(file) } else { spool(file, name) }
}

fn spool(mut input: impl Read, name: &str) -> Result<File> {
    let mut file =
        tempfile::tempfile().map_err(|error| Error::io("create a temporary file", &error))?;
    io::copy(&mut input, &mut file)
        .map_err(|error| Error::io(format_args!("copy {name} to a temporary file"), &error))?;
    Ok(file)
}

/// Detects the compression from the first bytes: RFC 1952 (gzip), APPNOTE 4.3.7 and 4.3.16 (zip, empty zip).
fn detect_compression(file: &mut File) -> io::Result<SourceCompression> {
    file.rewind()?;
    let mut magic = Vec::with_capacity(4);
    file.take(4).read_to_end(&mut magic)?;
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => SourceCompression::Gzip,
        b"PK\x03\x04" | b"PK\x05\x06" => SourceCompression::Zip(0),
        _ => SourceCompression::None,
    })
}

/// Counts the bytes read from the compressed file, for the progress bar.
struct CountingReader<'a> {
    file: &'a File,
    position: &'a Cell<u64>,
}

impl Read for CountingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.position.set(self.position.get() + n as u64);
        Ok(n)
    }
}

impl Seek for CountingReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text(source: &InputFile) -> String {
        source
            .read(|reader| {
                let mut text = String::new();
                reader.read_to_string(&mut text).expect("reads");
                Ok(text)
            })
            .expect("reads")
    }

    fn temp_file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("makes a file");
        file.write_all(bytes).expect("writes");
        file
    }

    fn zipped(members: &[(&str, &str)]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, text) in members {
            let options = zip::write::SimpleFileOptions::default();
            zip.start_file(*name, options).expect("starts");
            zip.write_all(text.as_bytes()).expect("writes");
        }
        zip.finish().expect("finishes").into_inner()
    }

    #[test]
    fn compression_is_detected_by_content() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"a\n1\n").expect("compresses");
        let mut gzip = gzip.finish().expect("compresses");
        // Concatenated gzip members decompress to one text, as with gzip itself.
        gzip.extend(gzip.clone());
        let cases = [
            (b"a\n1\n".to_vec(), "a\n1\n"),
            (gzip, "a\n1\na\n1\n"),
            (zipped(&[("x.csv", "a\n2\n"), ("__MACOSX/x.csv", "?")]), "a\n2\n"),
            (Vec::new(), ""),
        ];
        for (bytes, expected) in cases {
            let file = temp_file(&bytes);
            let source = InputFile::open(file.path(), None).expect("opens");
            assert_eq!(text(&source), expected);
            assert_eq!(text(&source), expected, "the second pass");
            assert_eq!(source.len(), bytes.len() as u64);
        }
    }

    #[test]
    fn member_is_required_for_archive_with_several_files() {
        let file = temp_file(&zipped(&[("x.csv", "a\n1\n"), ("y.csv", "b\n2\n")]));
        let error = InputFile::open(file.path(), None).expect_err("two files");
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("--member (x.csv, y.csv)"), "{error}");
        let source = InputFile::open(file.path(), Some("y.csv")).expect("opens");
        assert_eq!(text(&source), "b\n2\n");
        let error = InputFile::open(file.path(), Some("z.csv")).expect_err("no such member");
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn unreadable_files_are_reported() {
        let error = InputFile::open(Path::new("no/such/file.csv"), None).expect_err("missing");
        assert!(error.to_string().starts_with("could not open no/such/file.csv: "), "{error}");
        let error = InputFile::open(Path::new("."), None).expect_err("a folder");
        assert!(error.to_string().contains("is a folder"), "{error}");
        let file = temp_file(&zipped(&[]));
        assert!(InputFile::open(file.path(), None).is_err(), "an empty archive");
        let file = temp_file(b"PK\x03\x04 and nothing more");
        assert!(InputFile::open(file.path(), None).is_err(), "a damaged archive");
        let file = temp_file(b"\x1f\x8b and nothing more");
        let source = InputFile::open(file.path(), None).expect("opens");
        let read = source.read(|reader| {
            io::copy(reader, &mut io::sink()).map_err(|error| Error::io("unpack", &error))
        });
        assert!(read.is_err(), "a damaged gzip file");
    }
}

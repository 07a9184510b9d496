//! Opening the file to import: plain, gzip or zip, known by its first bytes and not by its name.
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

/// An input that can be read from its start any number of times.
#[derive(Debug)]
pub struct Source {
    name: String,
    file: File,
    len: u64,
    packing: Packing,
    position: Cell<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    /// The number of the member in the archive.
    Zip(usize),
}

impl Source {
    /// Opens `path`, or standard input where it is `-`.
    ///
    /// `member` names the file to read in a zip archive. It may be left out where the archive holds
    /// exactly one file.
    ///
    /// # Errors
    /// A file that can't be opened or read, an archive that is damaged or without that member; a
    /// usage error where the member must be named, or is named and the file is no archive.
    pub fn open(path: &Path, member: Option<&str>) -> Result<Self> {
        let (name, mut file) = if path == Path::new("-") {
            ("standard input".to_owned(), spool(io::stdin().lock(), "standard input")?)
        } else {
            let name = path.display().to_string();
            let file = open_twice_readable(path, &name)?;
            (name, file)
        };
        let reading = |error: io::Error| Error::io(format_args!("read {name}"), &error);
        let len = file.seek(SeekFrom::End(0)).map_err(reading)?;
        let packing = recognise(&mut file).map_err(reading)?;
        let mut source = Self { name, file, len, packing, position: Cell::new(0) };
        match (packing, member) {
            (Packing::Zip(_), _) => source.packing = Packing::Zip(source.choose_member(member)?),
            (_, None) => {}
            (_, Some(_)) => {
                return Err(Error::usage(format!(
                    "{} is not a zip archive: leave out --member",
                    source.name
                )));
            }
        }
        Ok(source)
    }

    /// The name for messages: the path as given, or `standard input`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size in bytes of the file as it lies there, packed or not.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file holds no byte at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many bytes of [`len`](Self::len) the current pass has read.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position.get()
    }

    /// Makes one pass over the unpacked content.
    ///
    /// The reader is lent, not given: an archive's member can't outlive its archive.
    ///
    /// # Errors
    /// What `pass` returns, or a file that can't be read or unpacked.
    pub fn read<T>(&self, pass: impl FnOnce(&mut dyn Read) -> Result<T>) -> Result<T> {
        let mut file = &self.file;
        file.rewind().map_err(|error| Error::io(format_args!("read {}", self.name), &error))?;
        self.position.set(0);
        let counted = Counted { file, position: &self.position };
        match self.packing {
            Packing::Plain => pass(&mut { counted }),
            Packing::Gzip => pass(&mut MultiGzDecoder::new(BufReader::new(counted))),
            Packing::Zip(index) => {
                let mut archive = self.archive(BufReader::new(counted))?;
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
            // What macOS adds to each archive is no file of the user's.
            if !member.is_dir() && !name.starts_with("__MACOSX/") {
                files.push((index, name.into_owned()));
            }
        }
        let names = || files.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ");
        match (wanted, files.as_slice()) {
            (_, []) => Err(Error::failed(format!("{} holds no file", self.name))),
            (None, [(index, _)]) => Ok(*index),
            (None, _) => Err(Error::usage(format!(
                "{} holds {} files: choose one with --member ({})",
                self.name,
                files.len(),
                names()
            ))),
            (Some(wanted), _) => {
                files.iter().find(|(_, name)| name == wanted).map(|(index, _)| *index).ok_or_else(
                    || Error::failed(format!("{} holds no {wanted}, but {}", self.name, names())),
                )
            }
        }
    }

    fn archive<R: Read + Seek>(&self, reader: R) -> Result<ZipArchive<R>> {
        ZipArchive::new(reader).map_err(|error| self.damaged(&error))
    }

    fn damaged(&self, error: &zip::result::ZipError) -> Error {
        Error::failed(format!("could not unpack {}: {error}", self.name))
    }
}

/// Opens a regular file as it is, and copies anything else (a pipe, a terminal) to a temporary one.
fn open_twice_readable(path: &Path, name: &str) -> Result<File> {
    let opening = |error: io::Error| Error::io(format_args!("open {name}"), &error);
    let file = File::open(path).map_err(opening)?;
    let metadata = file.metadata().map_err(opening)?;
    if metadata.is_dir() {
        return Err(Error::failed(format!("{name} is a folder: name a file in it")));
    }
    if metadata.is_file() { Ok(file) } else { spool(file, name) }
}

fn spool(mut input: impl Read, name: &str) -> Result<File> {
    let mut file =
        tempfile::tempfile().map_err(|error| Error::io("make a temporary file", &error))?;
    io::copy(&mut input, &mut file)
        .map_err(|error| Error::io(format_args!("copy {name} to a temporary file"), &error))?;
    Ok(file)
}

/// Tells the packing from the first bytes: RFC 1952 (gzip), APPNOTE 4.3.7 and 4.3.16 (zip, empty zip).
fn recognise(file: &mut File) -> io::Result<Packing> {
    file.rewind()?;
    let mut magic = Vec::with_capacity(4);
    file.take(4).read_to_end(&mut magic)?;
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Packing::Gzip,
        b"PK\x03\x04" | b"PK\x05\x06" => Packing::Zip(0),
        _ => Packing::Plain,
    })
}

/// Counts what is read of the packed file, for the progress bar.
struct Counted<'a> {
    file: &'a File,
    position: &'a Cell<u64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.position.set(self.position.get() + n as u64);
        Ok(n)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text(source: &Source) -> String {
        source
            .read(|reader| {
                let mut text = String::new();
                reader.read_to_string(&mut text).expect("reads");
                Ok(text)
            })
            .expect("reads")
    }

    fn saved(bytes: &[u8]) -> tempfile::NamedTempFile {
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
    fn each_packing_is_read_twice_and_known_by_its_bytes() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"a\n1\n").expect("packs");
        let mut gzip = gzip.finish().expect("packs");
        // Two gzip members in one file are one text, as gzip itself has it.
        gzip.extend(gzip.clone());
        let cases = [
            (b"a\n1\n".to_vec(), "a\n1\n"),
            (gzip, "a\n1\na\n1\n"),
            (zipped(&[("x.csv", "a\n2\n"), ("__MACOSX/x.csv", "?")]), "a\n2\n"),
            (Vec::new(), ""),
        ];
        for (bytes, expected) in cases {
            let file = saved(&bytes);
            let source = Source::open(file.path(), None).expect("opens");
            assert_eq!(text(&source), expected);
            assert_eq!(text(&source), expected, "the second pass");
            assert_eq!(source.len(), bytes.len() as u64);
        }
    }

    #[test]
    fn a_member_must_be_chosen_where_there_are_several() {
        let file = saved(&zipped(&[("x.csv", "a\n1\n"), ("y.csv", "b\n2\n")]));
        let error = Source::open(file.path(), None).expect_err("two files");
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("--member (x.csv, y.csv)"), "{error}");
        let source = Source::open(file.path(), Some("y.csv")).expect("opens");
        assert_eq!(text(&source), "b\n2\n");
        let error = Source::open(file.path(), Some("z.csv")).expect_err("no such member");
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let error = Source::open(Path::new("no/such/file.csv"), None).expect_err("missing");
        assert!(error.to_string().starts_with("could not open no/such/file.csv: "), "{error}");
        let error = Source::open(Path::new("."), None).expect_err("a folder");
        assert!(error.to_string().contains("is a folder"), "{error}");
        let file = saved(&zipped(&[]));
        assert!(Source::open(file.path(), None).is_err(), "an empty archive");
        let file = saved(b"PK\x03\x04 and nothing more");
        assert!(Source::open(file.path(), None).is_err(), "a damaged archive");
        let file = saved(b"\x1f\x8b and nothing more");
        let source = Source::open(file.path(), None).expect("opens");
        let read = source.read(|reader| {
            io::copy(reader, &mut io::sink()).map_err(|error| Error::io("unpack", &error))
        });
        assert!(read.is_err(), "a damaged gzip file");
    }
}

//! Compressed backups: an ordinary `.zst` or `.gz` file, with a [`Trailer`] that decompressors skip.

use super::checksum::{Digest, Pacer, copy};
use super::file_type::FileType;
use super::trailer::{DatabaseForm, FOOTER, Trailer, damaged};
use super::{BackupOptions, Compression};
use bobak_core::{BackupContent, BackupPhase, BackupProgress, Error, ErrorKind, Result};
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// The first four bytes of a frame that Zstandard decoders skip.
const SKIPPED_FRAME: [u8; 4] = 0x184d_2a5b_u32.to_le_bytes();
/// An empty gzip member with an extra field; the lengths of the field and of its one subfield follow.
const EMPTY_MEMBER: [u8; 10] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255];
/// Its end: an empty block, no checksum, no length.
const EMPTY_MEMBER_END: [u8; 10] = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// The name of the subfield.
const SUBFIELD_NAME: &[u8; 2] = b"BB";
/// The maximum size of a subfield.
const LONGEST_PART: usize = 65_531;
/// More bytes than any trailer has.
const LONGEST_TRAILER: u64 = 65 << 20;

/// Compresses a database to a writer, which `doing` names; returns the number of bytes written.
///
/// # Errors
/// `Unsupported` if there are too many tables for gzip; `Full`, `Io`.
pub(super) fn write(
    mut source: impl Read,
    writer: impl Write,
    doing: &str,
    content: &BackupContent,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress) -> Result<()>,
) -> Result<u64> {
    let of = content.bytes;
    let mut out = CountingWriter { writer: BufWriter::new(writer), bytes: 0 };
    let doing = |error| Error::io(doing, error);
    let reading = |error| Error::io("read the uncompressed backup", error);
    let mut rests = Pacer::new(options.pauses, 1);
    let step = |done| {
        rests.take();
        progress(BackupProgress { phase: BackupPhase::Compress, done, of })
    };
    let Digest { bytes, checksum } = if options.compression_of(None) == Compression::Zstd {
        let mut encoder = zstd::Encoder::new(&mut out, 3).map_err(doing)?;
        encoder.include_checksum(true).map_err(doing)?;
        let sum = copy(&mut source, &mut encoder, reading, doing, step)?;
        encoder.finish().map_err(doing)?;
        sum
    } else {
        let mut encoder = GzEncoder::new(&mut out, flate2::Compression::new(6));
        let sum = copy(&mut source, &mut encoder, reading, doing, step)?;
        encoder.finish().map_err(doing)?;
        sum
    };
    let content = BackupContent { bytes, ..content.clone() };
    let trailer = Trailer { content, checksum, preceding: DatabaseForm::Compressed }.encode(1);
    let wrapped = wrap(&trailer, options.compression_of(None))?;
    out.write_all(&wrapped).and_then(|()| out.flush()).map_err(doing)?;
    Ok(out.bytes)
}

/// Decompresses a backup, which errors name by `file`, to a writer, whose errors `writing` converts. Returns its content
/// and compression.
///
/// # Errors
/// `Corrupt` if it is truncated, damaged, or not a backup; `Unsupported` for a newer version; `Io`; `Full` and other
/// errors of the writer.
pub(super) fn read(
    packed: impl Read,
    file: &Path,
    mut writer: impl Write,
    writing: impl Fn(io::Error) -> Error,
    mut rests: Pacer,
) -> Result<(BackupContent, Compression)> {
    let reading = |error| reading_failed(file, error);
    let mut packed = BufReader::with_capacity(1 << 16, packed);
    let kind = FileType::of_bytes(packed.fill_buf().map_err(reading)?);
    let rest = |_| {
        rests.take();
        Ok(())
    };
    let (sum, compression) = if kind == FileType::Zstd {
        let decoder = zstd::Decoder::with_buffer(&mut packed).map_err(reading)?;
        let sum = copy(&mut decoder.single_frame(), &mut writer, reading, writing, rest)?;
        (sum, Compression::Zstd)
    } else {
        let sum = copy(&mut GzDecoder::new(&mut packed), &mut writer, reading, writing, rest)?;
        (sum, Compression::Gzip)
    };
    let mut wrapped = Vec::new();
    packed.take(LONGEST_TRAILER).read_to_end(&mut wrapped).map_err(reading)?;
    let trailer = unwrap(&wrapped, compression)
        .map_err(|error| Error::new(error.kind(), format!("{}: {error}", file.display())))?;
    if sum != (Digest { bytes: trailer.content.bytes, checksum: trailer.checksum }) {
        let message = format!("the backup {} is damaged: its checksum differs", file.display());
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    Ok((trailer.content, compression))
}

/// The error for a compressed backup that cannot be read.
fn reading_failed(file: &Path, error: io::Error) -> Error {
    use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    let fault = match error.kind() {
        UnexpectedEof => "truncated",
        InvalidData | InvalidInput | Other => "damaged",
        _ => return Error::io(&format!("read {}", file.display()), error),
    };
    let message = format!("the backup {} is {fault}", file.display());
    Error::new(ErrorKind::Corrupt, message).with_source(error)
}

/// The trailer, wrapped so that decompressors of its format skip it.
fn wrap(trailer: &[u8], compression: Compression) -> Result<Vec<u8>> {
    if compression == Compression::Zstd {
        let length = u32::try_from(trailer.len()).unwrap_or(u32::MAX).to_le_bytes();
        return Ok([&SKIPPED_FRAME, &length, trailer].concat());
    }
    let fits = |length: usize| u16::try_from(length).ok().filter(|_| trailer.len() <= LONGEST_PART);
    let (Some(field), Some(part)) = (fits(trailer.len() + 4), fits(trailer.len())) else {
        let message = "the database has too many tables for a backup by gzip: use zstd";
        return Err(Error::new(ErrorKind::Unsupported, message));
    };
    let (field, part) = (field.to_le_bytes(), part.to_le_bytes());
    Ok([&EMPTY_MEMBER[..], &field, SUBFIELD_NAME, &part, trailer, &EMPTY_MEMBER_END].concat())
}

/// The trailer in what follows the compressed database.
fn unwrap(wrapped: &[u8], compression: Compression) -> Result<Trailer> {
    let (before, after) = match compression {
        Compression::Zstd => (SKIPPED_FRAME.len() + 4, 0),
        _ => (EMPTY_MEMBER.len() + 6, EMPTY_MEMBER_END.len()),
    };
    let end = wrapped.len().saturating_sub(after);
    let trailer = wrapped.get(before..end).unwrap_or_default();
    let length = trailer.last_chunk::<FOOTER>().and_then(Trailer::body_length);
    if length.is_none_or(|length| length + FOOTER != trailer.len()) {
        let message =
            "it does not end as a backup does: it was truncated, or Bobak did not write it";
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    if wrap(trailer, compression)? != wrapped {
        return Err(damaged());
    }
    Trailer::decode(trailer)
}

/// A writer that counts bytes.
struct CountingWriter<W> {
    writer: W,
    bytes: u64,
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_an_error_of_the_target() {
        let file = Path::new("packed");
        let plain = || &[7; 5_000][..];
        for compression in [Compression::Zstd, Compression::Gzip] {
            let options = BackupOptions::new().compression(compression).pauses(false);
            let (tables, unverified) = (Vec::new(), Vec::new());
            let content = BackupContent { tables, compared: false, bytes: 5_000, unverified };
            let mut packed = Vec::new();
            write(plain(), &mut packed, "write it", &content, &options, &mut |_| Ok(())).unwrap();
            let writing = |error| Error::io("write app.db", error);
            let error = read(&packed[..], file, Full, writing, Pacer::new(false, 0)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Full);
            assert!(error.message().starts_with("could not write app.db"), "{error}");
            let error = write(plain(), Full, "write b.zst", &content, &options, &mut |_| Ok(()));
            let error = error.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Full);
            assert!(error.message().starts_with("could not write b.zst"), "{error}");
        }
    }

    #[test]
    fn every_wrong_bit_behind_the_database_is_found() {
        for compression in [Compression::Zstd, Compression::Gzip] {
            let options = BackupOptions::new().compression(compression).pauses(false);
            let (tables, unverified) = (vec![("t".to_owned(), 1)], Vec::new());
            let content = BackupContent { tables, compared: true, bytes: 5_000, unverified };
            let mut packed = Vec::new();
            write(&[7; 5_000][..], &mut packed, "", &content, &options, &mut |_| Ok(())).unwrap();
            let begin: &[u8] = match compression {
                Compression::Zstd => &SKIPPED_FRAME,
                _ => &EMPTY_MEMBER,
            };
            let start = packed.windows(begin.len()).rposition(|part| part == begin).unwrap();
            for bit in start * 8..packed.len() * 8 {
                let mut wrong = packed.clone();
                wrong[bit / 8] ^= 1 << (bit % 8);
                let doing = |error| Error::io("write it", error);
                let file = Path::new("it");
                let read = read(&wrong[..], file, io::sink(), doing, Pacer::new(false, 0));
                assert_eq!(read.unwrap_err().kind(), ErrorKind::Corrupt, "bit {bit}");
            }
        }
    }
}

//! Compressed backups: an ordinary `.zst` or `.gz` file, with a [`Trailer`] that decompressors skip.

use super::checksum::{Digest, Pacer, copy};
use super::file_type::FileType;
use super::source_file::SourceFile;
use super::trailer::{DatabaseForm, FOOTER, Trailer, damaged};
use super::{BackupOptions, Compression};
use bobak_core::{BackupContent, BackupPhase, BackupProgress, Error, ErrorKind, Result};
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
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

/// Compresses a file to a writer, which `doing` names; returns the number of bytes written.
///
/// # Errors
/// `Unsupported` if there are too many tables for gzip; `Full`, `Io`.
pub(super) fn write(
    file: &Path,
    writer: impl Write,
    doing: &str,
    content: &BackupContent,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress) -> Result<()>,
) -> Result<u64> {
    let of = content.bytes;
    let mut out = CountingWriter { writer: BufWriter::new(writer), bytes: 0 };
    let doing = |error| Error::io(doing, error);
    let reading = |error| Error::io(&format!("read {}", file.display()), error);
    let mut source = File::open(file).map_err(reading)?;
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

/// Decompresses a file to a writer, whose errors `writing` converts, and returns its content.
///
/// # Errors
/// `Corrupt` if it is truncated, damaged, or not a backup; `Unsupported` for a newer version; `Io`; `Full` and other
/// errors of the writer.
pub(super) fn read(
    file: &Path,
    mut writer: impl Write,
    writing: impl Fn(io::Error) -> Error,
    mut rests: Pacer,
) -> Result<BackupContent> {
    let kind = FileType::of(file)?;
    let reading = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData
        | io::ErrorKind::InvalidInput
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::Other => {
            let message = format!("the backup {} is damaged", file.display());
            Error::new(ErrorKind::Corrupt, message).with_source(error)
        }
        _ => Error::io(&format!("read {}", file.display()), error),
    };
    let mut packed = SourceFile::open(file).map_err(reading)?;
    let (trailer, length) = read_trailer(&mut packed, kind)
        .map_err(|error| Error::new(error.kind(), format!("{}: {error}", file.display())))?;
    packed.seek(SeekFrom::Start(0)).map_err(reading)?;
    let mut packed = BufReader::with_capacity(1 << 16, packed.take(length));
    let rest = |_| {
        rests.take();
        Ok(())
    };
    let sum = if kind == FileType::Zstd {
        let mut decoder = zstd::Decoder::with_buffer(&mut packed).map_err(reading)?;
        copy(&mut decoder, &mut writer, reading, writing, rest)?
    } else {
        copy(&mut GzDecoder::new(&mut packed), &mut writer, reading, writing, rest)?
    };
    let more = packed.read(&mut [0]).map_err(reading)?;
    let noted = Digest { bytes: trailer.content.bytes, checksum: trailer.checksum };
    if sum != noted || more != 0 {
        let message = format!("the backup {} is damaged: its checksum differs", file.display());
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    Ok(trailer.content)
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

/// The trailer, and the offset at which its wrapper begins.
fn read_trailer(file: &mut SourceFile, kind: FileType) -> Result<(Trailer, u64)> {
    let doing = |error| Error::io("read its end", error);
    let (before, preceding, compression) = match kind {
        FileType::Zstd => (SKIPPED_FRAME.len() + 4, 0, Compression::Zstd),
        _ => (EMPTY_MEMBER.len() + 6, EMPTY_MEMBER_END.len(), Compression::Gzip),
    };
    let all = file.seek(SeekFrom::End(0)).map_err(doing)?;
    let none = || {
        let message =
            "it does not end as a backup does: it was truncated, or Bobak did not write it";
        Error::new(ErrorKind::Corrupt, message)
    };
    let from_end = |bytes: usize| all.checked_sub(bytes as u64).ok_or_else(none);
    let mut footer = [0; FOOTER];
    file.seek(SeekFrom::Start(from_end(FOOTER + preceding)?)).map_err(doing)?;
    file.read_exact(&mut footer).map_err(doing)?;
    let length = Trailer::body_length(&footer).ok_or_else(none)?;
    let start = from_end(before + length + FOOTER + preceding)?;
    file.seek(SeekFrom::Start(start)).map_err(doing)?;
    let mut wrapped = Vec::new();
    file.read_to_end(&mut wrapped).map_err(doing)?;
    let trailer = wrapped.get(before..before + length + FOOTER).ok_or_else(none)?;
    if wrap(trailer, compression)? != wrapped {
        return Err(damaged());
    }
    Ok((Trailer::decode(trailer)?, start))
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
        let folder = tempfile::tempdir().unwrap();
        let (plain, file) = (folder.path().join("plain"), folder.path().join("packed"));
        std::fs::write(&plain, [7; 5_000]).unwrap();
        for compression in [Compression::Zstd, Compression::Gzip] {
            let options = BackupOptions::new().compression(compression).pauses(false);
            let (tables, unverified) = (Vec::new(), Vec::new());
            let content = BackupContent { tables, compared: false, bytes: 5_000, unverified };
            let out = File::create(&file).unwrap();
            write(&plain, out, "write it", &content, &options, &mut |_| Ok(())).unwrap();
            let writing = |error| Error::io("write app.db", error);
            let error = read(&file, Full, writing, Pacer::new(false, 0)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Full);
            assert!(error.message().starts_with("could not write app.db"), "{error}");
            let error = write(&plain, Full, "write b.zst", &content, &options, &mut |_| Ok(()));
            let error = error.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Full);
            assert!(error.message().starts_with("could not write b.zst"), "{error}");
        }
    }
}

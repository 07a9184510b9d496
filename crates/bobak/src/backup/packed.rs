//! Compressed backups: an ordinary `.zst` or `.gz` file, with a [`Trailer`] where their tools look past it.

use super::kind::Kind;
use super::trailer::{FOOTER, Trailer, damaged};
use super::{BackupOptions, Compression};
use bobak_core::{BackupContent, BackupPhase, BackupStep, Error, ErrorKind, Result};
use crc32fast::Hasher;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// A frame that Zstandard's decoders pass over, by its first four bytes.
const SKIPPED_FRAME: [u8; 4] = 0x184d_2a5b_u32.to_le_bytes();
/// An empty member of gzip with an extra field; the lengths of the field and of its one part follow.
const EMPTY_MEMBER: [u8; 10] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255];
/// Its end: an empty block, no checksum, no length.
const EMPTY_MEMBER_END: [u8; 10] = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// The name of the part.
const PART: &[u8; 2] = b"BB";
/// What an extra field holds at most.
const LONGEST_PART: usize = 65_531;

/// So much is compressed in one go.
const PIECE: usize = 1 << 20;

/// Compresses a file to a writer; gives the number of bytes written.
///
/// # Errors
/// `Unsupported` where there are too many tables for gzip; `Full`, `Io`.
pub(super) fn write(
    file: &Path,
    writer: impl Write,
    content: &BackupContent,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupStep) -> Result<()>,
) -> Result<u64> {
    let of = content.bytes;
    let mut out = Counted { writer: BufWriter::new(writer), bytes: 0 };
    let doing = |error| Error::io("write the backup", error);
    let source = File::open(file).map_err(doing)?;
    let step = |done| progress(BackupStep { phase: BackupPhase::Compress, done, of });
    let (bytes, checksum) = if options.compression == Compression::Zstd {
        let mut encoder = zstd::Encoder::new(&mut out, 3).map_err(doing)?;
        encoder.include_checksum(true).map_err(doing)?;
        let sums = pump(source, &mut encoder, options.pauses, step)?;
        encoder.finish().map_err(doing)?;
        sums
    } else {
        let mut encoder = GzEncoder::new(&mut out, flate2::Compression::new(6));
        let sums = pump(source, &mut encoder, options.pauses, step)?;
        encoder.finish().map_err(doing)?;
        sums
    };
    let content = BackupContent { bytes, ..content.clone() };
    let trailer = Trailer { content, checksum }.encode();
    let wrapped = wrap(&trailer, options.compression)?;
    out.write_all(&wrapped).and_then(|()| out.flush()).map_err(doing)?;
    Ok(out.bytes)
}

/// Decompresses a file to a writer, and says what is in it.
///
/// # Errors
/// `Corrupt` where it was cut off, is damaged, or is no backup; `Unsupported` for a newer version; `Io`; the writer's.
pub(super) fn read(file: &Path, mut writer: impl Write) -> Result<BackupContent> {
    let kind = Kind::of(file)?;
    let doing = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData
        | io::ErrorKind::InvalidInput
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::Other => {
            let message = format!("the backup {} is damaged", file.display());
            Error::new(ErrorKind::Corrupt, message).with_source(error)
        }
        _ => Error::io(&format!("read {}", file.display()), error),
    };
    let mut packed = File::open(file).map_err(doing)?;
    let (trailer, length) = read_trailer(&mut packed, kind)
        .map_err(|error| Error::new(error.kind(), format!("{}: {error}", file.display())))?;
    packed.seek(SeekFrom::Start(0)).map_err(doing)?;
    let mut packed = BufReader::with_capacity(1 << 16, packed.take(length));
    let (bytes, checksum) = if kind == Kind::Zstd {
        let mut decoder = zstd::Decoder::with_buffer(&mut packed).map_err(doing)?;
        unpump(&mut decoder, &mut writer).map_err(doing)?
    } else {
        unpump(&mut GzDecoder::new(&mut packed), &mut writer).map_err(doing)?
    };
    let more = packed.read(&mut [0]).map_err(doing)?;
    if (bytes, checksum) != (trailer.content.bytes, trailer.checksum) || more != 0 {
        let message = format!("the backup {} is damaged: its checksum is another", file.display());
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    Ok(trailer.content)
}

/// The trailer in what its format passes over.
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
    Ok([&EMPTY_MEMBER[..], &field, PART, &part, trailer, &EMPTY_MEMBER_END].concat())
}

/// The trailer, and the number of bytes before what it is wrapped in.
fn read_trailer(file: &mut File, kind: Kind) -> Result<(Trailer, u64)> {
    let doing = |error| Error::io("read its end", error);
    let (before, behind, compression) = match kind {
        Kind::Zstd => (SKIPPED_FRAME.len() + 4, 0, Compression::Zstd),
        _ => (EMPTY_MEMBER.len() + 6, EMPTY_MEMBER_END.len(), Compression::Gzip),
    };
    let all = file.metadata().map_err(doing)?.len();
    let none = || {
        let message = "it has not the end of a backup: it was cut off, or Bobak did not make it";
        Error::new(ErrorKind::Corrupt, message)
    };
    let from_end = |bytes: usize| all.checked_sub(bytes as u64).ok_or_else(none);
    let mut footer = [0; FOOTER];
    file.seek(SeekFrom::Start(from_end(FOOTER + behind)?)).map_err(doing)?;
    file.read_exact(&mut footer).map_err(doing)?;
    let length = Trailer::body_length(&footer).ok_or_else(none)?;
    let start = from_end(before + length + FOOTER + behind)?;
    file.seek(SeekFrom::Start(start)).map_err(doing)?;
    let mut wrapped = Vec::new();
    file.read_to_end(&mut wrapped).map_err(doing)?;
    let trailer = wrapped.get(before..before + length + FOOTER).ok_or_else(none)?;
    if wrap(trailer, compression)? != wrapped {
        return Err(damaged());
    }
    Ok((Trailer::decode(trailer)?, start))
}

/// Copies to an encoder; gives length and checksum.
fn pump(
    mut source: impl Read,
    encoder: &mut impl Write,
    pauses: bool,
    mut step: impl FnMut(u64) -> Result<()>,
) -> Result<(u64, u32)> {
    let doing = |error| Error::io("write the backup", error);
    let mut piece = Vec::with_capacity(PIECE);
    let (mut bytes, mut checksum) = (0, Hasher::new());
    loop {
        let begun = Instant::now();
        piece.clear();
        source.by_ref().take(PIECE as u64).read_to_end(&mut piece).map_err(doing)?;
        if piece.is_empty() {
            return Ok((bytes, checksum.finalize()));
        }
        checksum.update(&piece);
        encoder.write_all(&piece).map_err(doing)?;
        bytes += piece.len() as u64;
        step(bytes)?;
        if pauses {
            std::thread::sleep(begun.elapsed());
        }
    }
}

/// Copies from a decoder; gives length and checksum.
fn unpump(decoder: &mut impl Read, writer: &mut impl Write) -> io::Result<(u64, u32)> {
    let mut piece = vec![0; 1 << 16];
    let (mut bytes, mut checksum) = (0, Hasher::new());
    loop {
        let read = decoder.read(&mut piece)?;
        let Some(read) = piece.get(..read).filter(|read| !read.is_empty()) else {
            writer.flush()?;
            return Ok((bytes, checksum.finalize()));
        };
        checksum.update(read);
        writer.write_all(read)?;
        bytes += read.len() as u64;
    }
}

/// A writer that takes everything, and after some work of whoever writes rests for twice as long.
pub(super) struct Resting {
    begun: Instant,
}

impl Resting {
    /// So long it works at most before it rests.
    const WORK: Duration = Duration::from_millis(4);

    pub(super) fn new() -> Self {
        Self { begun: Instant::now() }
    }
}

impl Write for Resting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let worked = self.begun.elapsed();
        if worked >= Self::WORK {
            std::thread::sleep(worked * 2);
            self.begun = Instant::now();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that counts.
struct Counted<W> {
    writer: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

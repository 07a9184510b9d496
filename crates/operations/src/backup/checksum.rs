//! Copying with a checksum, and with rests.

use bobak_core::{Error, Result};
use crc32fast::Hasher;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// So much is copied in one go.
const PIECE: usize = 1 << 18;
/// So long is worked at least before a rest.
const WORK: Duration = Duration::from_millis(4);

/// What was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest {
    /// How many bytes.
    pub bytes: u64,
    /// Their CRC-32.
    pub checksum: u32,
}

/// Copies all that there is. `each` is told after each piece how many bytes that makes.
///
/// # Errors
/// What `reading` and `writing` make of those of the two sides; those of `each`.
pub(super) fn copy(
    reader: &mut impl Read,
    writer: &mut impl Write,
    reading: impl Fn(io::Error) -> Error,
    writing: impl Fn(io::Error) -> Error,
    mut each: impl FnMut(u64) -> Result<()>,
) -> Result<Digest> {
    let mut piece = Vec::with_capacity(PIECE);
    let (mut bytes, mut checksum) = (0, Hasher::new());
    loop {
        piece.clear();
        reader.take(PIECE as u64).read_to_end(&mut piece).map_err(&reading)?;
        if piece.is_empty() {
            writer.flush().map_err(writing)?;
            return Ok(Digest { bytes, checksum: checksum.finalize() });
        }
        checksum.update(&piece);
        writer.write_all(&piece).map_err(&writing)?;
        bytes += piece.len() as u64;
        each(bytes)?;
    }
}

/// Pacer of whoever works, so that others get on.
#[derive(Debug)]
pub(super) struct Pacer {
    /// A rest is so many times as long as the work; none where it is 0.
    times: u32,
    begun: Instant,
}

impl Pacer {
    /// Where pauses are wanted a rest is so many times as long as the work before it.
    pub(super) fn new(pauses: bool, times: u32) -> Self {
        Self { times: if pauses { times } else { 0 }, begun: Instant::now() }
    }

    /// Pacer, if it is time.
    pub(super) fn take(&mut self) {
        let worked = self.begun.elapsed();
        if self.times > 0 && worked >= WORK {
            std::thread::sleep(worked * self.times);
            self.begun = Instant::now();
        }
    }
}

//! Copying with a checksum and with pauses.

use bobak_core::{Error, Result};
use crc32fast::Hasher;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// The size of the blocks that are copied.
const COPY_BLOCK_BYTES: usize = 1 << 18;
/// The minimum time of work between pauses.
const WORK: Duration = Duration::from_millis(4);

/// The size and checksum of the copied bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest {
    /// The number of bytes.
    pub bytes: u64,
    /// Their CRC-32.
    pub checksum: u32,
}

/// Copies all bytes. Calls `each` after each block with the number of bytes so far.
///
/// # Errors
/// The errors of both sides, as converted by `reading` and `writing`; those of `each`.
pub(super) fn copy(
    reader: &mut impl Read,
    writer: &mut impl Write,
    reading: impl Fn(io::Error) -> Error,
    writing: impl Fn(io::Error) -> Error,
    mut each: impl FnMut(u64) -> Result<()>,
) -> Result<Digest> {
    let mut piece = Vec::with_capacity(COPY_BLOCK_BYTES);
    let (mut bytes, mut checksum) = (0, Hasher::new());
    loop {
        piece.clear();
        reader.take(COPY_BLOCK_BYTES as u64).read_to_end(&mut piece).map_err(&reading)?;
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

/// Pauses between pieces of work, so that other work continues.
#[derive(Debug)]
pub(super) struct Pacer {
    /// A pause is so many times as long as the work before it; 0 for no pauses.
    times: u32,
    begun: Instant,
}

impl Pacer {
    /// With `pauses`, each pause is `times` as long as the work before it.
    pub(super) fn new(pauses: bool, times: u32) -> Self {
        Self { times: if pauses { times } else { 0 }, begun: Instant::now() }
    }

    /// Pauses if it is time.
    pub(super) fn take(&mut self) {
        let worked = self.begun.elapsed();
        if self.times > 0 && worked >= WORK {
            std::thread::sleep(worked * self.times);
            self.begun = Instant::now();
        }
    }
}

//! The type of a file, by its first bytes.

use super::source_file::SourceFile;
use bobak_core::{Error, Result};
use std::io::Read;
use std::path::Path;

/// The type of a file, judged by its first bytes alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// An SQLite database.
    Sqlite,
    /// A snapshot of the memory engine.
    Snapshot,
    /// A snapshot in JSON, which has no checksum.
    Json,
    /// Compressed by Zstandard.
    Zstd,
    /// Compressed by gzip.
    Gzip,
    /// An encrypted snapshot, or a backup with a key of its own.
    Encrypted,
    /// Unknown: an encrypted database, or no backup.
    Unknown,
}

const BEGINNINGS: [(&[u8], FileType); 5] = [
    (b"SQLite format 3\0", FileType::Sqlite),
    (b"BOBAKMEM", FileType::Snapshot),
    (b"BOBAKENC", FileType::Encrypted),
    (&[0x28, 0xb5, 0x2f, 0xfd], FileType::Zstd),
    (&[0x1f, 0x8b], FileType::Gzip),
];

impl FileType {
    /// Detects the type of a file. It may be a database that this process has open.
    ///
    /// # Errors
    /// `Io`.
    pub fn of(path: &Path) -> Result<Self> {
        let doing = |error| Error::io(&format!("read {}", path.display()), error);
        let mut first = Vec::new();
        let file = SourceFile::open(path).map_err(doing)?;
        file.take(64).read_to_end(&mut first).map_err(doing)?;
        Ok(Self::of_bytes(&first))
    }

    /// The type of a file that begins with these bytes.
    pub(super) fn of_bytes(first: &[u8]) -> Self {
        if let Some((_, kind)) = BEGINNINGS.iter().find(|(begin, _)| first.starts_with(begin)) {
            return *kind;
        }
        if first.trim_ascii_start().starts_with(b"{") { Self::Json } else { Self::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_types_are_detected() {
        assert_eq!(FileType::of_bytes(b"SQLite format 3\0\x10\0"), FileType::Sqlite);
        assert_eq!(FileType::of_bytes(b"\n{\"bobak\""), FileType::Json);
        assert_eq!(FileType::of_bytes(b"BOBAKMEM\x01"), FileType::Snapshot);
        assert_eq!(FileType::of_bytes(b"BOBAKENC\x01"), FileType::Encrypted);
        assert_eq!(FileType::of_bytes(&[0x1f, 0x8b, 8]), FileType::Gzip);
        assert_eq!(FileType::of_bytes(b"\x28\xb5\x2f\xfd"), FileType::Zstd);
        for unknown in [&b""[..], b"SQLite", b"PK"] {
            assert_eq!(FileType::of_bytes(unknown), FileType::Unknown);
        }
    }
}

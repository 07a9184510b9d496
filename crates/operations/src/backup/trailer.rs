//! The trailer after a backup: the length and checksum of the database, and its row counts.
//!
//! SQLite and the tools of a compressed format skip it. `docs/backup.md` describes the format.

use bobak_core::{BackupContent, Error, ErrorKind, Result};

/// The last bytes of a trailer.
const END: &[u8; 8] = b"BOBAKBAK";
/// After a compressed database.
const COMPRESSED: u16 = 1;
/// After an uncompressed database.
const PLAIN: u16 = 2;
/// A flag: the row counts were compared.
const COMPARED: u16 = 1;
/// A flag: the database is encrypted.
const ENCRYPTED: u16 = 2;
/// The length of the body, its checksum, and [`END`].
pub(super) const FOOTER: usize = 16;
/// The maximum length of a body: millions of tables.
const MAX_BODY_LENGTH: usize = 64 << 20;

/// The content of a trailer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    /// The content of the database. For an encrypted one the tables are omitted, to keep their names secret.
    pub content: BackupContent,
    /// CRC-32 of the database.
    pub checksum: u32,
    /// What precedes the trailer.
    pub preceding: DatabaseForm,
}

/// What precedes a trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseForm {
    /// A compressed database.
    Compressed,
    /// An SQLite file, with its change counter, which shows whether the file was modified since.
    Plain { changes: u32 },
    /// An encrypted SQLite file.
    Encrypted,
}

impl Trailer {
    /// The bytes: body and footer, with zeros between them to fill whole pages of this size.
    pub(super) fn encode(&self, page: usize) -> Vec<u8> {
        let (version, encrypted, changes) = match self.preceding {
            DatabaseForm::Compressed => (COMPRESSED, 0, None),
            DatabaseForm::Plain { changes } => (PLAIN, 0, Some(changes)),
            DatabaseForm::Encrypted => (PLAIN, ENCRYPTED, Some(0)),
        };
        let tables = if encrypted == 0 { &self.content.tables[..] } else { &[] };
        let mut body = Vec::new();
        body.extend(version.to_le_bytes());
        body.extend((u16::from(self.content.compared) | encrypted).to_le_bytes());
        body.extend(self.checksum.to_le_bytes());
        body.extend(self.content.bytes.to_le_bytes());
        if let Some(changes) = changes {
            body.extend(changes.to_le_bytes());
        }
        body.extend(count(tables.len()));
        for (name, rows) in tables {
            body.extend(count(name.len()));
            body.extend(name.as_bytes());
            body.extend(rows.to_le_bytes());
        }
        let length = body.len() + FOOTER;
        body.resize(length.next_multiple_of(page.max(1)) - FOOTER, 0);
        let footer = [count(body.len()), crc32fast::hash(&body).to_le_bytes()].concat();
        body.extend(footer);
        body.extend(END);
        body
    }

    /// The length of the body before a footer; `None` if the bytes are no footer.
    pub(super) fn body_length(footer: &[u8; FOOTER]) -> Option<usize> {
        let (length, rest) = footer.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        (rest.ends_with(END) && length <= MAX_BODY_LENGTH).then_some(length)
    }

    /// Reads body and footer.
    ///
    /// # Errors
    /// `Corrupt` if a byte is wrong; `Unsupported` for a newer version.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let (body, footer) = bytes.split_last_chunk::<FOOTER>().ok_or_else(damaged)?;
        let checksum = footer.get(4..8).unwrap_or_default();
        if checksum != crc32fast::hash(body).to_le_bytes() {
            return Err(damaged());
        }
        let mut rest = body;
        let version = u16::from_le_bytes(take(&mut rest)?);
        if !matches!(version, COMPRESSED | PLAIN) {
            let message =
                format!("the backup has version {version} of the format: a newer Bobak wrote it");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let flags = u16::from_le_bytes(take(&mut rest)?);
        let checksum = u32::from_le_bytes(take(&mut rest)?);
        let bytes = u64::from_le_bytes(take(&mut rest)?);
        let preceding = match (version, flags & ENCRYPTED) {
            (COMPRESSED, _) => DatabaseForm::Compressed,
            (_, 0) => DatabaseForm::Plain { changes: u32::from_le_bytes(take(&mut rest)?) },
            _ => take::<4>(&mut rest).map(|_| DatabaseForm::Encrypted)?,
        };
        let mut tables = Vec::new();
        for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
            let length = u32::from_le_bytes(take(&mut rest)?);
            let length = usize::try_from(length).map_err(|_| damaged())?;
            let (name, after) = rest.split_at_checked(length).ok_or_else(damaged)?;
            rest = after;
            let name = std::str::from_utf8(name).map_err(|_| damaged())?;
            tables.push((name.to_owned(), u64::from_le_bytes(take(&mut rest)?)));
        }
        let compared = flags & COMPARED != 0;
        let content = BackupContent { tables, compared, bytes, unverified: Vec::new() };
        Ok(Self { content, checksum, preceding })
    }
}

fn count(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, preceding) = rest.split_first_chunk::<N>().ok_or_else(damaged)?;
    *rest = preceding;
    Ok(*taken)
}

/// The error for a damaged trailer.
pub(super) fn damaged() -> Error {
    Error::new(ErrorKind::Corrupt, "the end of the backup is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_found() {
        let tables = vec![("a".to_owned(), 7), ("ü".to_owned(), u64::MAX)];
        for preceding in
            [DatabaseForm::Compressed, DatabaseForm::Plain { changes: 77 }, DatabaseForm::Encrypted]
        {
            let tables =
                if preceding == DatabaseForm::Encrypted { Vec::new() } else { tables.clone() };
            let unverified = Vec::new();
            let content = BackupContent { tables, compared: true, bytes: 4096, unverified };
            let trailer = Trailer { content, checksum: 0xdead_beef, preceding };
            let bytes = trailer.encode(if preceding == DatabaseForm::Compressed { 1 } else { 512 });
            assert_eq!(bytes.len() == 512, preceding != DatabaseForm::Compressed);
            assert_eq!(Trailer::decode(&bytes).unwrap(), trailer);
            let footer = bytes.last_chunk().unwrap();
            assert_eq!(Trailer::body_length(footer), Some(bytes.len() - FOOTER));
            for bit in 0..bytes.len() * 8 {
                let mut wrong = bytes.clone();
                wrong[bit / 8] ^= 1 << (bit % 8);
                let length = Trailer::body_length(wrong.last_chunk().unwrap());
                let found =
                    length != Some(bytes.len() - FOOTER) || Trailer::decode(&wrong).is_err();
                assert!(found, "bit {bit}");
            }
        }
    }

    #[test]
    fn table_names_of_an_encrypted_database_are_omitted() {
        let tables = vec![("a".into(), 7)];
        let content = BackupContent { tables, compared: true, bytes: 1, unverified: Vec::new() };
        let trailer = Trailer { content, checksum: 1, preceding: DatabaseForm::Encrypted };
        assert_eq!(Trailer::decode(&trailer.encode(1)).unwrap().content.tables, []);
    }
}

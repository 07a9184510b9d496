//! What stands behind a compressed backup: the length and the checksum of the database, and the numbers of its rows.
//!
//! It is where the tools of its format pass over it: `docs/backup.md`.

use bobak_core::{BackupContent, Error, ErrorKind, Result};

/// The last bytes of a trailer.
const END: &[u8; 8] = b"BOBAKBAK";
const VERSION: u16 = 1;
/// The length of the body, its checksum, and [`END`].
pub(super) const FOOTER: usize = 16;

/// The content of a trailer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    pub content: BackupContent,
    /// CRC-32 of the database.
    pub checksum: u32,
}

impl Trailer {
    /// Its bytes: body and footer.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend(VERSION.to_le_bytes());
        body.extend(u16::from(self.content.compared).to_le_bytes());
        body.extend(self.checksum.to_le_bytes());
        body.extend(self.content.bytes.to_le_bytes());
        body.extend(count(self.content.tables.len()));
        for (name, rows) in &self.content.tables {
            body.extend(count(name.len()));
            body.extend(name.as_bytes());
            body.extend(rows.to_le_bytes());
        }
        let footer = [count(body.len()), crc32fast::hash(&body).to_le_bytes()].concat();
        body.extend(footer);
        body.extend(END);
        body
    }

    /// The length of the body that a footer stands behind; `None` where the bytes are no footer.
    pub(super) fn body_length(footer: &[u8; FOOTER]) -> Option<usize> {
        let (length, rest) = footer.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        rest.ends_with(END).then_some(length)
    }

    /// Reads body and footer.
    ///
    /// # Errors
    /// `Corrupt` where a byte is wrong; `Unsupported` for a newer version.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let (body, footer) = bytes.split_last_chunk::<FOOTER>().ok_or_else(damaged)?;
        let checksum = footer.get(4..8).unwrap_or_default();
        if checksum != crc32fast::hash(body).to_le_bytes() {
            return Err(damaged());
        }
        let mut rest = body;
        let version = u16::from_le_bytes(take(&mut rest)?);
        if version != VERSION {
            let message = format!("the backup is of version {version}: a newer Bobak made it");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let compared = u16::from_le_bytes(take(&mut rest)?) & 1 == 1;
        let checksum = u32::from_le_bytes(take(&mut rest)?);
        let bytes = u64::from_le_bytes(take(&mut rest)?);
        let mut tables = Vec::new();
        for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
            let length = u32::from_le_bytes(take(&mut rest)?);
            let length = usize::try_from(length).map_err(|_| damaged())?;
            let (name, behind) = rest.split_at_checked(length).ok_or_else(damaged)?;
            rest = behind;
            let name = std::str::from_utf8(name).map_err(|_| damaged())?;
            tables.push((name.to_owned(), u64::from_le_bytes(take(&mut rest)?)));
        }
        Ok(Self { content: BackupContent { tables, compared, bytes }, checksum })
    }
}

fn count(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, behind) = rest.split_first_chunk::<N>().ok_or_else(damaged)?;
    *rest = behind;
    Ok(*taken)
}

/// A trailer that is not as it was written.
pub(super) fn damaged() -> Error {
    Error::new(ErrorKind::Corrupt, "the end of the backup is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_found() {
        let tables = vec![("a".to_owned(), 7), ("ü".to_owned(), u64::MAX)];
        let content = BackupContent { tables, compared: true, bytes: 4096 };
        let trailer = Trailer { content, checksum: 0xdead_beef };
        let bytes = trailer.encode();
        assert_eq!(Trailer::decode(&bytes).unwrap(), trailer);
        let footer = bytes.last_chunk().unwrap();
        assert_eq!(Trailer::body_length(footer), Some(bytes.len() - FOOTER));
        for bit in 0..bytes.len() * 8 {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            let footer = wrong.last_chunk().unwrap();
            let length = Trailer::body_length(footer);
            let found = length != Some(bytes.len() - FOOTER) || Trailer::decode(&wrong).is_err();
            assert!(found, "bit {bit}");
        }
    }
}

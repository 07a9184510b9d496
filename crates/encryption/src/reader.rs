//! Reading an encrypted file.

use crate::header::{self, Content, HEADER_BYTES, corrupt};
use crate::key::EncryptionKey;
use crate::writer::{CHUNK_BYTES, TAG_BYTES, stream};
use aead_stream::{StreamBE32, StreamPrimitive};
use bobak_core::{Error, ErrorKind, Result};
use chacha20poly1305::XChaCha20Poly1305;
use std::io::{self, Read};

/// Decrypts what an [`EncryptedWriter`](crate::EncryptedWriter) wrote. It returns no byte that is not authenticated. A
/// changed, missing, moved or appended byte is an error with [`InvalidData`](io::ErrorKind::InvalidData).
pub struct EncryptedReader<R> {
    reader: R,
    stream: StreamBE32<XChaCha20Poly1305>,
    has_pages: bool,
    /// The number of the next chunk.
    number: u32,
    /// The next chunk, encrypted, and a byte of the one after it, if there is one.
    ahead: Vec<u8>,
    plain: Vec<u8>,
    /// How much of `plain` was returned.
    used: usize,
    is_end: bool,
}

/// The unencrypted bytes of a file that begins with `first` and continues with `rest`: decrypted if there is a key.
///
/// ```
/// use std::io::Read;
/// let mut text = String::new();
/// bobak_encryption::decrypted(b"Be", &b"rn"[..], None)?.read_to_string(&mut text)?;
/// assert_eq!(text, "Bern");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// `Denied` for an encrypted file without a key, whose first 8 bytes have to be in `first`; as [`EncryptedReader::new`].
pub fn decrypted<'a>(
    first: &[u8],
    rest: impl Read + 'a,
    key: Option<&EncryptionKey>,
) -> Result<Box<dyn Read + 'a>> {
    let file = io::Cursor::new(first.to_vec()).chain(rest);
    match key {
        Some(key) => Ok(Box::new(EncryptedReader::new(file, key)?)),
        None if header::is_encrypted(first) => {
            Err(Error::new(ErrorKind::Denied, "it is encrypted: give its key"))
        }
        None => Ok(Box::new(file)),
    }
}

impl<R: Read> EncryptedReader<R> {
    /// Reads the start of a file.
    ///
    /// # Errors
    /// `Denied` for a wrong key, and for a file that is not encrypted; `Corrupt` for a damaged or truncated start;
    /// `Unsupported` for a newer version; `Io`.
    pub fn new(mut reader: R, key: &EncryptionKey) -> Result<Self> {
        let mut first = Vec::new();
        let read = reader.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut first);
        read.map_err(|error| Error::io("read it", error))?;
        if !header::is_encrypted(&first) {
            let message = "it is not an encrypted file, or its first bytes are damaged";
            return Err(Error::new(ErrorKind::Denied, message));
        }
        let header = first.first_chunk().ok_or_else(|| corrupt("it is truncated"))?;
        let stream = stream(&header::open(header, key)?);
        let has_pages = header::content(&first) == Content::Pages;
        let (ahead, plain) = (Vec::new(), Vec::new());
        Ok(Self { reader, stream, has_pages, number: 0, ahead, plain, used: 0, is_end: false })
    }

    /// Whether the content is that of an [`EncryptedWriter::of_pages`](crate::EncryptedWriter::of_pages): the pages of an
    /// encrypted database, which must not be stored unencrypted.
    ///
    /// ```
    /// use bobak_encryption::{EncryptedReader, EncryptedWriter, EncryptionKey};
    /// let key = EncryptionKey::bytes([7; 32]);
    /// let file = EncryptedWriter::of_pages(Vec::new(), &key)?.finish()?;
    /// assert!(EncryptedReader::new(&file[..], &key)?.has_pages());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn has_pages(&self) -> bool {
        self.has_pages
    }

    /// Decrypts the next chunk.
    fn next_chunk(&mut self) -> io::Result<()> {
        const STORED: usize = CHUNK_BYTES + TAG_BYTES;
        let missing = (STORED + 1).saturating_sub(self.ahead.len());
        self.reader.by_ref().take(missing as u64).read_to_end(&mut self.ahead)?;
        let is_last = self.ahead.len() <= STORED;
        let (chunk, next) = self.ahead.split_at(self.ahead.len().min(STORED));
        let decrypt = |is_last| self.stream.decrypt(self.number, is_last, chunk);
        self.plain = decrypt(is_last).map_err(|_| {
            let is_cut = chunk.len() < TAG_BYTES || (is_last && decrypt(false).is_ok());
            let is_extended = !is_last && decrypt(true).is_ok();
            damaged(is_cut, is_extended)
        })?;
        self.used = 0;
        self.is_end = is_last;
        self.ahead = next.to_vec();
        self.number = self.number.checked_add(1).ok_or_else(|| damaged(false, true))?;
        Ok(())
    }
}

impl<R: Read> Read for EncryptedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.used == self.plain.len() && !self.is_end {
            self.next_chunk()?;
        }
        let rest = self.plain.get(self.used..).unwrap_or_default();
        let taken = rest.len().min(into.len());
        into.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.used += taken;
        Ok(taken)
    }
}

impl<R> std::fmt::Debug for EncryptedReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncryptedReader").finish_non_exhaustive()
    }
}

fn damaged(is_cut: bool, is_extended: bool) -> io::Error {
    let message = match (is_cut, is_extended) {
        (true, _) => "the encrypted file is truncated",
        (_, true) => "something follows the end of the encrypted file",
        _ => "the encrypted file is damaged",
    };
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EncryptedWriter;
    use bobak_core::ErrorKind;
    use std::io::Write;

    fn key() -> EncryptionKey {
        EncryptionKey::bytes([7; 32])
    }

    fn encrypt(bytes: &[u8], key: &EncryptionKey) -> Vec<u8> {
        let mut writer = EncryptedWriter::new(Vec::new(), key).unwrap();
        // In odd pieces.
        bytes.chunks(40_961).for_each(|piece| writer.write_all(piece).unwrap());
        writer.finish().unwrap()
    }

    fn decrypt(file: &[u8], key: &EncryptionKey) -> Result<Vec<u8>> {
        let mut plain = Vec::new();
        EncryptedReader::new(file, key)?.read_to_end(&mut plain).map_err(|error| {
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            corrupt(&error.to_string())
        })?;
        Ok(plain)
    }

    /// Four chunks, the last one with ten bytes.
    fn long() -> Vec<u8> {
        (0..3 * CHUNK_BYTES + 10).map(|i| (i % 251) as u8).collect()
    }

    #[test]
    fn every_length_comes_back() {
        let long = long();
        for length in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, long.len()] {
            let file = encrypt(&long[..length], &key());
            let chunks = length.div_ceil(CHUNK_BYTES).max(1);
            assert_eq!(file.len(), HEADER_BYTES + length + chunks * TAG_BYTES);
            assert!(decrypt(&file, &key()).unwrap() == long[..length], "{length}");
        }
        assert_ne!(encrypt(b"same", &key()), encrypt(b"same", &key()));
    }

    #[test]
    fn a_wrong_key_is_denied() {
        let file = encrypt(b"Bern", &key());
        let password = EncryptionKey::password("secret").unwrap();
        let of_password = encrypt(b"Bern", &password);
        assert_eq!(decrypt(&of_password, &password).unwrap(), b"Bern");
        let other = EncryptionKey::password("Secret").unwrap();
        let other_bytes = EncryptionKey::bytes([8; 32]);
        for (file, key, expected) in [
            (&file, &other_bytes, "the key is wrong"),
            (&of_password, &other, "the key is wrong"),
            (&file, &password, "it is encrypted with a key file, not with a password"),
            (&of_password, &key(), "it is encrypted with a password, not with a key file"),
            (
                &b"BOBAKMEM".to_vec(),
                &key(),
                "it is not an encrypted file, or its first bytes are damaged",
            ),
        ] {
            let error = decrypt(file, key).unwrap_err();
            assert_eq!((error.kind(), error.message()), (ErrorKind::Denied, expected));
        }
    }

    #[test]
    fn every_wrong_bit_is_found() {
        let mut writer = EncryptedWriter::of_pages(Vec::new(), &key()).unwrap();
        writer.write_all(b"Bern, Thun, Biel").unwrap();
        let file = writer.finish().unwrap();
        for bit in 0..file.len() * 8 {
            let mut wrong = file.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            let error = decrypt(&wrong, &key()).unwrap_err();
            // Without its first bytes it is not recognized.
            let expected = if bit < 64 { ErrorKind::Denied } else { ErrorKind::Corrupt };
            assert_eq!(error.kind(), expected, "bit {bit}: {error}");
        }
    }

    #[test]
    fn missing_moved_and_appended_chunks_are_found() {
        const STORED: usize = CHUNK_BYTES + TAG_BYTES;
        let file = encrypt(&long(), &key());
        let message = |file: &[u8]| decrypt(file, &key()).unwrap_err().message().to_owned();
        let end = |chunks: usize| HEADER_BYTES + chunks * STORED;
        assert_eq!(message(&file[..20]), "it is truncated");
        assert_eq!(message(&file[..end(0)]), "the encrypted file is truncated");
        for chunks in 1..4 {
            assert_eq!(message(&file[..end(chunks)]), "the encrypted file is truncated");
        }
        let last = "something follows the end of the encrypted file";
        let whole = encrypt(&long()[..CHUNK_BYTES], &key());
        assert_eq!(message(&[&whole[..], b"x"].concat()), last);
        assert_eq!(message(&[&whole[..], &whole[end(0)..]].concat()), last);
        let damaged = "the encrypted file is damaged";
        assert_eq!(message(&[&file[..], b"x"].concat()), damaged);
        assert_eq!(message(&file[..file.len() - 1]), damaged);
        let moved = [&file[..end(0)], &file[end(1)..end(2)], &file[end(0)..end(1)]];
        assert_eq!(message(&[moved.concat(), file[end(2)..].to_vec()].concat()), damaged);
        let left_out = [&file[..end(1)], &file[end(2)..]].concat();
        assert_eq!(message(&left_out), damaged);
        // A chunk of another file with the same key.
        let other = encrypt(&long(), &key());
        assert_eq!(message(&[&file[..end(2)], &other[end(2)..]].concat()), damaged);
    }
}

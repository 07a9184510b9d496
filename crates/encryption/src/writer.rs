//! Writing an encrypted file.

use crate::header::{self, Content, StreamKey};
use crate::key::EncryptionKey;
use aead_stream::{EncryptorBE32, NewStream, StreamBE32};
use bobak_core::{Error, Result};
use chacha20poly1305::XChaCha20Poly1305;
use std::io::{self, Write};

/// The bytes of a chunk, except the last one, which may be shorter.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;
/// The bytes of the tag behind each chunk.
pub(crate) const TAG_BYTES: usize = 16;

/// Encrypts what is written to it, for another writer. [`finish`](Self::finish) writes the last chunk: a file without
/// it is a truncated one.
///
/// ```
/// use bobak_encryption::{EncryptedReader, EncryptedWriter, EncryptionKey};
/// use std::io::{Read, Write};
/// let key = EncryptionKey::bytes([7; 32]);
/// let mut writer = EncryptedWriter::new(Vec::new(), &key)?;
/// writer.write_all(b"Bern")?;
/// let file = writer.finish()?;
/// let mut text = String::new();
/// EncryptedReader::new(&file[..], &key)?.read_to_string(&mut text)?;
/// assert_eq!(text, "Bern");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EncryptedWriter<W> {
    writer: W,
    stream: EncryptorBE32<XChaCha20Poly1305>,
    chunk: Vec<u8>,
}

/// The construction that makes one message of all chunks.
pub(crate) fn stream(key: &StreamKey) -> StreamBE32<XChaCha20Poly1305> {
    NewStream::<XChaCha20Poly1305>::new((&*key.key).into(), (&key.nonce).into())
}

impl<W: Write> EncryptedWriter<W> {
    /// Writes the start of a file with this key.
    ///
    /// # Errors
    /// `Engine` if the system provides no random numbers; `Full`, `Io`.
    pub fn new(writer: W, key: &EncryptionKey) -> Result<Self> {
        Self::with(writer, key, Content::Any)
    }

    /// As [`new`](Self::new), for the pages of an encrypted database:
    /// [`has_pages`](crate::EncryptedReader::has_pages) tells the reader not to store them unencrypted.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_pages(writer: W, key: &EncryptionKey) -> Result<Self> {
        Self::with(writer, key, Content::Pages)
    }

    pub(crate) fn with(mut writer: W, key: &EncryptionKey, content: Content) -> Result<Self> {
        let (header, key) = header::create(key, content)?;
        let written = writer.write_all(&header);
        written.map_err(|error| Error::io("write the start of an encrypted file", error))?;
        let stream = EncryptorBE32::from_stream_primitive(stream(&key));
        Ok(Self { writer, stream, chunk: Vec::with_capacity(CHUNK_BYTES + TAG_BYTES) })
    }

    /// Writes the last chunk, and returns the writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.stream.encrypt_last_in_place(&[], &mut self.chunk).map_err(failed)?;
        self.writer.write_all(&self.chunk)?;
        self.writer.flush()?;
        Ok(self.writer)
    }
}

impl<W: Write> Write for EncryptedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full chunk is kept until more follows, since it may be the last one.
        if self.chunk.len() == CHUNK_BYTES && !bytes.is_empty() {
            self.stream.encrypt_next_in_place(&[], &mut self.chunk).map_err(failed)?;
            self.writer.write_all(&self.chunk)?;
            self.chunk.clear();
        }
        let taken = bytes.len().min(CHUNK_BYTES - self.chunk.len());
        self.chunk.extend_from_slice(bytes.get(..taken).unwrap_or_default());
        Ok(taken)
    }

    /// Does nothing: an incomplete chunk cannot be written.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W> std::fmt::Debug for EncryptedWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncryptedWriter").finish_non_exhaustive()
    }
}

fn failed(_: chacha20poly1305::Error) -> io::Error {
    io::Error::other("the file is too large to be encrypted")
}

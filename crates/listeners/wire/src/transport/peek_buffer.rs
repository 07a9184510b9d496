//! Peeking at streams that the system cannot peek at, such as pipes and TLS: what is read early is
//! kept for the reader.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes that are peeked at.
pub(crate) const MAX_PEEK: usize = 1 << 20;
/// How many bytes are read at a time.
const READ_SIZE: usize = 64 << 10;

/// A non-blocking stream, and what was read buffer.
pub(crate) struct PeekBuffer<S> {
    source: S,
    bytes: Vec<u8>,
    /// How many of them the reader has taken.
    taken: usize,
    /// The source's end or error, if it was read buffer.
    end: Option<io::Result<()>>,
}

/// A buffer that the reader shares with the request monitor.
pub(crate) type SharedPeekBuffer<S> = Arc<Mutex<PeekBuffer<S>>>;

/// What has arrived and was not read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeekedBytes<'b> {
    pub bytes: &'b [u8],
    /// Whether nothing follows.
    pub ended: bool,
}

/// A stream that can be peeked at.
pub(crate) trait Peek: Send {
    /// What has arrived and was not read yet, up to [`MAX_PEEK`] bytes. Does not block.
    fn peek(&mut self) -> PeekedBytes<'_>;
}

impl<S> PeekBuffer<S> {
    pub fn shared(source: S) -> SharedPeekBuffer<S> {
        Arc::new(Mutex::new(Self { source, bytes: Vec::new(), taken: 0, end: None }))
    }

    /// Whether it can be read without new data from the source.
    pub fn is_readable(&self) -> bool {
        !self.rest().is_empty() || self.end.is_some()
    }

    #[cfg(any(feature = "tls", test))]
    pub const fn source(&mut self) -> &mut S {
        &mut self.source
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }
}

impl<S: Read> Read for PeekBuffer<S> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.rest().read(room)?;
        if count > 0 {
            self.taken += count;
            if self.rest().is_empty() {
                (self.bytes, self.taken) = (Vec::new(), 0);
            }
            return Ok(count);
        }
        match self.end.take() {
            Some(end) => end.map(|()| 0),
            None => self.source.read(room),
        }
    }
}

impl<S: Read + Send> Peek for PeekBuffer<S> {
    fn peek(&mut self) -> PeekedBytes<'_> {
        self.bytes.drain(..std::mem::take(&mut self.taken));
        while self.end.is_none() && self.bytes.len() < MAX_PEEK {
            let start = self.bytes.len();
            self.bytes.resize((start + READ_SIZE).min(MAX_PEEK), 0);
            let read = self.source.read(self.bytes.get_mut(start..).unwrap_or_default());
            self.bytes.truncate(start + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => self.end = Some(Ok(())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => self.end = Some(Err(error)),
            }
        }
        PeekedBytes { bytes: self.rest(), ended: self.end.is_some() }
    }
}

/// Locks; the data is consistent after a panic, too.
pub(crate) fn lock<T: ?Sized>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Returns one piece at a time, then `WouldBlock`.
    struct Pieces(VecDeque<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let mut piece = self.0.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
            let count = (&piece[..]).read(room)?;
            if count < piece.len() {
                self.0.push_front(piece.split_off(count));
            }
            Ok(count)
        }
    }

    #[test]
    fn peeked_bytes_are_read_once_and_in_order() {
        let pieces = [b"ab".to_vec(), b"cd".to_vec()];
        let buffer = PeekBuffer::shared(Pieces(pieces.into()));
        let mut buffer = lock(&buffer);
        let mut room = [0; 3];
        assert_eq!((buffer.read(&mut room[..1]).unwrap(), room[0]), (1, b'a'));
        assert_eq!(buffer.peek(), PeekedBytes { bytes: b"bcd", ended: false });
        assert!(buffer.is_readable());
        assert_eq!((buffer.read(&mut room[..2]).unwrap(), &room[..2]), (2, &b"bc"[..]));
        buffer.source().0.extend([b"e".to_vec(), Vec::new()]);
        assert_eq!(buffer.peek(), PeekedBytes { bytes: b"de", ended: true });
        assert_eq!((buffer.read(&mut room).unwrap(), &room[..2]), (2, &b"de"[..]));
        assert_eq!(buffer.read(&mut room).unwrap(), 0, "its end");
        assert!(!buffer.is_readable());
        assert_eq!(buffer.read(&mut room).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn buffer_is_bounded() {
        let buffer = PeekBuffer::shared(io::repeat(7));
        let mut buffer = lock(&buffer);
        for _ in 0..3 {
            assert_eq!(buffer.peek().bytes.len(), MAX_PEEK);
        }
        assert_eq!(buffer.read(&mut [0; 10]).unwrap(), 10);
        assert_eq!(buffer.peek().bytes.len(), MAX_PEEK);
    }
}

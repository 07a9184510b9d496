//! Streams that can't be peeked at: what is read of one before its turn is kept for its reader.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much is looked at of what a client has sent.
pub(crate) const ROOM: usize = 1 << 20;
/// How much is read at a time.
const PIECE: usize = 64 << 10;

/// A stream that does not block, and what was read of it already.
pub(crate) struct Early<S> {
    source: S,
    bytes: Vec<u8>,
    taken: usize,
    /// What the source said last, where that was not bytes.
    end: Option<io::Result<()>>,
}

/// One that the reader shares with who looks after its requests.
pub(crate) type Shared<S> = Arc<Mutex<Early<S>>>;

/// What has come, seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen<'b> {
    pub bytes: &'b [u8],
    /// Nothing will follow.
    pub ended: bool,
}

/// What can be looked at before its turn.
pub(crate) trait Peek: Send {
    /// What has come and was not read yet, as far as there is room for it. Does not block.
    fn peek(&mut self) -> Seen<'_>;
}

impl<S> Early<S> {
    pub fn shared(source: S) -> Shared<S> {
        Arc::new(Mutex::new(Self { source, bytes: Vec::new(), taken: 0, end: None }))
    }

    /// Whether it can be read though nothing comes.
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

impl<S: Read> Read for Early<S> {
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

impl<S: Read + Send> Peek for Early<S> {
    fn peek(&mut self) -> Seen<'_> {
        self.bytes.drain(..std::mem::take(&mut self.taken));
        while self.end.is_none() && self.bytes.len() < ROOM {
            let start = self.bytes.len();
            self.bytes.resize((start + PIECE).min(ROOM), 0);
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
        Seen { bytes: self.rest(), ended: self.end.is_some() }
    }
}

/// What is behind the lock is whole after a panic too.
pub(crate) fn lock<T: ?Sized>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Gives each piece at a time; where there is none it would block.
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
    fn what_was_looked_at_is_read_once_and_in_order() {
        let pieces = [b"ab".to_vec(), b"cd".to_vec()];
        let early = Early::shared(Pieces(pieces.into()));
        let mut early = lock(&early);
        let mut room = [0; 3];
        assert_eq!((early.read(&mut room[..1]).unwrap(), room[0]), (1, b'a'));
        assert_eq!(early.peek(), Seen { bytes: b"bcd", ended: false });
        assert!(early.is_readable());
        assert_eq!((early.read(&mut room[..2]).unwrap(), &room[..2]), (2, &b"bc"[..]));
        early.source().0.extend([b"e".to_vec(), Vec::new()]);
        assert_eq!(early.peek(), Seen { bytes: b"de", ended: true });
        assert_eq!((early.read(&mut room).unwrap(), &room[..2]), (2, &b"de"[..]));
        assert_eq!(early.read(&mut room).unwrap(), 0, "its end");
        assert!(!early.is_readable());
        assert_eq!(early.read(&mut room).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let early = Early::shared(io::repeat(7));
        let mut early = lock(&early);
        for _ in 0..3 {
            assert_eq!(early.peek().bytes.len(), ROOM);
        }
        assert_eq!(early.read(&mut [0; 10]).unwrap(), 10);
        assert_eq!(early.peek().bytes.len(), ROOM);
    }
}

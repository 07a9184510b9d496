//! Splits received bytes into frames.

use crate::{FrameHeader, HEADER_LENGTH, Limits};
use bobak_core::{Error, ErrorKind, Result};
use std::ops::Range;

/// How many bytes are read at a time, at least.
const MIN_READ: usize = 16 << 10;
/// How many bytes are read at a time, at most: if reads fill the buffer, it grows up to this size.
const MAX_READ: usize = 256 << 10;

/// Received bytes. The buffer grows with the bytes received, not with the length that a header announces.
#[derive(Debug)]
pub struct Inbox {
    /// Zeroes from `end` on.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    body: Range<usize>,
    limit: u32,
}

impl Inbox {
    /// An empty inbox, for frames with bodies of up to `limit` bytes.
    #[must_use]
    pub const fn new(limit: u32) -> Self {
        Self { buffer: Vec::new(), start: 0, end: 0, body: 0..0, limit }
    }

    /// Sets the largest body.
    pub const fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// Whether all received bytes have been taken.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The number of received bytes that have not been taken.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.end - self.start
    }

    /// The received bytes that have not been taken.
    #[must_use]
    pub fn waiting(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Lends a buffer for the next bytes to `read`, which returns how many it wrote. The last frame's
    /// [`body`](Self::body) is lost.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read_from<E>(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        self.make_room();
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let count = read(room)?.min(room.len());
        self.end += count;
        Ok(count)
    }

    /// Adds bytes.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let pushed = self.read_from(|room| {
                let count = room.len().min(bytes.len());
                if let (Some(to), Some(from)) = (room.get_mut(..count), bytes.get(..count)) {
                    to.copy_from_slice(from);
                }
                Ok::<_, ()>(count)
            });
            bytes = bytes.get(pushed.unwrap_or(bytes.len())..).unwrap_or_default();
        }
    }

    /// The next frame; `None` until it is complete. [`body`](Self::body) returns its body until more bytes are
    /// read.
    ///
    /// # Errors
    /// `Corrupt` for an invalid header; `OutOfRange` for a body larger than the limit.
    pub fn next_frame(&mut self) -> Result<Option<FrameHeader>> {
        let Some(header) = self.peek()? else { return Ok(None) };
        let start = self.start + HEADER_LENGTH;
        let end = start + header.length as usize;
        if end > self.end {
            return Ok(None);
        }
        self.body = start..end;
        self.start = end;
        Ok(Some(header))
    }

    /// The body of the last frame.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.buffer.get(self.body.clone()).unwrap_or_default()
    }

    /// Frees memory that an idle connection does not need.
    pub fn release(&mut self) {
        self.body = 0..0;
        if self.is_empty() {
            (self.buffer, self.start, self.end) = (Vec::new(), 0, 0);
        } else {
            self.compact();
            self.buffer.truncate(self.end);
            self.buffer.shrink_to_fit();
        }
    }

    fn peek(&self) -> Result<Option<FrameHeader>> {
        let Some(header) = self.waiting().first_chunk::<HEADER_LENGTH>() else { return Ok(None) };
        let header = FrameHeader::decode(*header)?;
        if header.length > self.limit {
            let what = if self.limit == Limits::BEFORE_HELLO { " before the hello" } else { "" };
            let message = format!(
                "a frame of {} bytes: at most {} are allowed{what}",
                header.length, self.limit
            );
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
        Ok(Some(header))
    }

    fn make_room(&mut self) {
        self.body = 0..0;
        if self.is_empty() {
            (self.start, self.end) = (0, 0);
        }
        let full = self.end == self.buffer.len();
        if self.buffer.len() - self.end < MIN_READ && self.start >= self.len() {
            self.compact();
        }
        if self.buffer.len() - self.end < MIN_READ || (full && self.buffer.len() < MAX_READ) {
            // At most doubles what has been received.
            let more = self.buffer.len().clamp(MIN_READ, MAX_READ.max(self.len()));
            self.buffer.resize(self.buffer.len() + more, 0);
        }
    }

    fn compact(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameKind, frame};

    fn frames() -> Vec<u8> {
        let mut bytes = Vec::new();
        for (id, size) in [0, 1, 70_000, 5, 300_000].into_iter().enumerate() {
            frame::encode_small(&mut bytes, FrameKind::Ping, id as u32, |out| {
                out.resize(out.len() + size, 7)
            });
        }
        bytes
    }

    #[test]
    fn frames_are_complete_however_the_bytes_arrive() {
        for piece in [1, 2, 11, 13, 4_096, 1 << 20] {
            let mut inbox = Inbox::new(1 << 20);
            let mut seen = Vec::new();
            for part in frames().chunks(piece) {
                inbox.push(part);
                while let Some(header) = inbox.next_frame().unwrap() {
                    assert!(inbox.body().iter().all(|byte| *byte == 7));
                    seen.push((header.id, inbox.body().len()));
                }
            }
            assert_eq!(seen, [(0, 0), (1, 1), (2, 70_000), (3, 5), (4, 300_000)]);
            assert!(inbox.is_empty());
        }
    }

    #[test]
    fn announced_length_allocates_nothing() {
        let mut inbox = Inbox::new(u32::MAX);
        let header = FrameHeader { length: u32::MAX, kind: FrameKind::Batch, more: false, id: 1 };
        inbox.push(&header.encode());
        assert!(inbox.next_frame().unwrap().is_none());
        inbox.push(&[0; 100]);
        assert!(inbox.buffer.len() < 100_000);
        inbox.release();
        assert!(inbox.len() == 112 && inbox.buffer.capacity() < 4_096);
    }

    #[test]
    fn frames_over_the_limit_are_rejected_by_their_header() {
        let mut inbox = Inbox::new(10);
        inbox.push(&FrameHeader { length: 11, kind: FrameKind::Ping, more: false, id: 1 }.encode());
        assert_eq!(inbox.next_frame().unwrap_err().kind(), ErrorKind::OutOfRange);
    }
}

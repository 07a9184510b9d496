//! Reads requests: frames, which contain numbers, strings and blobs.
//!
//! One buffer contains the bytes as they were read, including frame headers. A request is read in groups
//! of values that are needed at the same time: the start of a request, or the parameters of one run.
//! [`Input::begin`] starts a group. Until the next one, all of its values stay in the buffer, from which
//! SQLite reads them without a copy. Ranges are relative to the start of the group, so that they stay
//! valid when the buffer's content moves.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;

/// The usual length of the buffer. It grows for longer groups, and shrinks again.
const BUFFER_LENGTH: usize = 128 * 1024;
/// The maximum length of the buffer between requests.
const MAX_IDLE_LENGTH: usize = 1024 * 1024;

/// Why a session ended without QUIT.
#[derive(Debug)]
pub enum ProtocolError {
    /// The input has ended between two requests.
    EndOfInput,
    /// The input has ended within a request.
    Truncated,
    /// The input violates the protocol, so the start of the next request is unknown.
    Malformed(String),
    /// There is not enough memory for a buffer of so many bytes.
    OutOfMemory(usize),
    /// Reading the input or writing the output failed.
    Io(io::Error),
}

/// Reads requests.
#[derive(Debug)]
pub(crate) struct Input<R> {
    source: R,
    /// Only the bytes before `end` are valid; reads fill the rest.
    buffer: Vec<u8>,
    /// The start of the group.
    start: usize,
    /// The next byte.
    at: usize,
    /// The end of the bytes read.
    end: usize,
    /// How many bytes of the frame follow `at`.
    frame: usize,
}

impl<R: Read> Input<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; BUFFER_LENGTH], start: 0, at: 0, end: 0, frame: 0 }
    }

    /// Starts a group. Earlier values become invalid.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.start = self.at;
    }

    /// The code of the next request.
    pub(crate) fn request(&mut self) -> Result<u8, ProtocolError> {
        self.begin();
        if self.start == self.end && self.buffer.len() > MAX_IDLE_LENGTH {
            (self.start, self.at, self.end) = (0, 0, 0);
            self.buffer.truncate(BUFFER_LENGTH);
            self.buffer.shrink_to_fit();
        }
        if self.frame == 0 && self.at == self.end && !self.read_some()? {
            return Err(ProtocolError::EndOfInput);
        }
        self.byte()
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, ProtocolError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    #[inline]
    pub(crate) fn int32(&mut self) -> Result<i32, ProtocolError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn int64(&mut self) -> Result<i64, ProtocolError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn double(&mut self) -> Result<f64, ProtocolError> {
        Ok(f64::from_be_bytes(self.array()?))
    }

    /// The length of a string or blob, whose bytes follow in the same frame.
    #[inline]
    pub(crate) fn length(&mut self) -> Result<usize, ProtocolError> {
        let length = self.int32()?;
        match usize::try_from(length) {
            Ok(length) if length <= self.frame => Ok(length),
            Ok(length) => Err(cut_value(length, self.frame)),
            Err(_) => Err(ProtocolError::Malformed(format!("invalid value length {length}"))),
        }
    }

    /// The range of a blob of this [`length`](Self::length).
    #[inline]
    pub(crate) fn blob(&mut self, length: usize) -> Result<Range<usize>, ProtocolError> {
        self.need(length)?;
        let start = self.at - self.start;
        self.pass(length);
        Ok(start..start + length)
    }

    /// The range of a string of this length, without its terminating NUL.
    #[inline]
    pub(crate) fn string(&mut self, length: usize) -> Result<Range<usize>, ProtocolError> {
        let range = self.blob(length)?;
        match range.end.checked_sub(1) {
            Some(end) if end >= range.start && self.bytes(end..end + 1) == [0] => {
                Ok(range.start..end)
            }
            _ => Err(ProtocolError::Malformed("a string without terminating NUL".into())),
        }
    }

    /// Skips a value of this [`length`](Self::length) without buffering it, and starts a group after
    /// it.
    pub(crate) fn skip(&mut self, mut length: usize) -> Result<(), ProtocolError> {
        loop {
            let here = length.min(self.end - self.at);
            self.pass(here);
            self.begin();
            length -= here;
            if length == 0 {
                return Ok(());
            }
            self.need(1)?;
        }
    }

    /// The bytes in a range of this group.
    #[inline]
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.group().get(range).unwrap_or_default()
    }

    /// All bytes of this group.
    #[inline]
    pub(crate) fn group(&self) -> &[u8] {
        self.buffer.get(self.start..self.at).unwrap_or_default()
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        if self.frame < N {
            self.next_frame(N)?;
        }
        self.need(N)?;
        let bytes = self.buffer.get(self.at..).and_then(|rest| rest.first_chunk());
        let bytes = bytes.copied().unwrap_or([0; N]);
        self.pass(N);
        Ok(bytes)
    }

    #[inline]
    fn pass(&mut self, length: usize) {
        self.at += length;
        self.frame -= length;
    }

    /// Reads the header of the next frame, if this one is consumed.
    #[cold]
    fn next_frame(&mut self, wanted: usize) -> Result<(), ProtocolError> {
        if self.frame > 0 {
            return Err(cut_value(wanted, self.frame));
        }
        self.need(4)?;
        let header = self.buffer.get(self.at..).and_then(|rest| rest.first_chunk());
        let length = i32::from_be_bytes(header.copied().unwrap_or_default());
        self.at += 4;
        self.frame = match usize::try_from(length) {
            Ok(length) if length > 0 => length,
            _ => return Err(ProtocolError::Malformed(format!("invalid frame length {length}"))),
        };
        if wanted > self.frame { Err(cut_value(wanted, self.frame)) } else { Ok(()) }
    }

    /// Reads until so many bytes are buffered.
    #[inline]
    fn need(&mut self, length: usize) -> Result<(), ProtocolError> {
        if length <= self.end - self.at { Ok(()) } else { self.fill(length) }
    }

    #[cold]
    fn fill(&mut self, length: usize) -> Result<(), ProtocolError> {
        while self.end - self.at < length {
            if !self.read_some()? {
                return Err(ProtocolError::Truncated);
            }
        }
        Ok(())
    }

    /// Reads once; `false` at the end of the input.
    fn read_some(&mut self) -> Result<bool, ProtocolError> {
        if self.end == self.buffer.len() || self.start == self.end {
            self.make_room()?;
        }
        loop {
            let buffer = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.source.read(buffer) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ProtocolError::Io(error)),
            }
        }
    }

    /// Moves the group to the start of the buffer, and doubles the buffer if it is more than half full.
    /// A claimed length allocates nothing until its bytes arrive.
    fn make_room(&mut self) -> Result<(), ProtocolError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.at -= self.start;
        self.end -= self.start;
        self.start = 0;
        if self.end > self.buffer.len() / 2 {
            let length = self.buffer.len() * 2;
            let more = length - self.buffer.len();
            self.buffer.try_reserve_exact(more).map_err(|_| ProtocolError::OutOfMemory(length))?;
            self.buffer.resize(length, 0);
        }
        Ok(())
    }
}

#[cold]
fn cut_value(wanted: usize, left: usize) -> ProtocolError {
    let message = format!("a value of {wanted} bytes, but its frame has {left} left");
    ProtocolError::Malformed(message)
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndOfInput => write!(f, "the input ended"),
            Self::Truncated => write!(f, "the input ended within a request"),
            Self::Malformed(what) => write!(f, "malformed request: {what}"),
            Self::OutOfMemory(bytes) => write!(f, "not enough memory for values of {bytes} bytes"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ProtocolError {}

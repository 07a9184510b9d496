//! What comes in: frames, and in them numbers, texts and blobs.
//!
//! One buffer holds the bytes as they were read, frame heads included. A request is read in groups
//! of values that are wanted at the same time (the head of a request, the parameters of one run);
//! [`Input::begin`] starts a group, and until the next one every value of it stays in the buffer,
//! where SQLite takes it from without a copy. Places are counted from the group's beginning, so that
//! they hold when the buffer moves.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;

/// How large the buffer is; it grows for groups that are larger, and becomes small again.
const BUFFER: usize = 128 * 1024;
/// How large it may stay when a request is over.
const KEPT: usize = 1024 * 1024;

/// Why nothing more can be read.
#[derive(Debug)]
pub enum Broken {
    /// The input has ended between two requests.
    End,
    /// The input has ended within a request.
    Cut,
    /// The bytes are not those of the protocol. Where the next request begins is not known.
    Malformed(String),
    /// There is no memory for a group of so many bytes.
    Memory(usize),
    /// The input could not be read, or the output not be written.
    Io(io::Error),
}

/// Reads requests.
#[derive(Debug)]
pub(crate) struct Input<R> {
    source: R,
    /// All of it may be read into: what lies behind `end` is of no meaning.
    buffer: Vec<u8>,
    /// Where the group begins.
    start: usize,
    /// The next byte.
    at: usize,
    /// Where what was read ends.
    end: usize,
    /// How many bytes of the frame are left behind `at`.
    frame: usize,
}

impl<R: Read> Input<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; BUFFER], start: 0, at: 0, end: 0, frame: 0 }
    }

    /// Begins a group; the values before are given up.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.start = self.at;
    }

    /// The first byte of a request.
    pub(crate) fn request(&mut self) -> Result<u8, Broken> {
        self.begin();
        if self.start == self.end && self.buffer.len() > KEPT {
            (self.start, self.at, self.end) = (0, 0, 0);
            self.buffer.truncate(BUFFER);
            self.buffer.shrink_to_fit();
        }
        if self.frame == 0 && self.at == self.end && !self.read_some()? {
            return Err(Broken::End);
        }
        self.byte()
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Broken> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    #[inline]
    pub(crate) fn int32(&mut self) -> Result<i32, Broken> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn int64(&mut self) -> Result<i64, Broken> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn double(&mut self) -> Result<f64, Broken> {
        Ok(f64::from_be_bytes(self.array()?))
    }

    /// The length of a string or blob whose bytes come next, all of them in this frame.
    #[inline]
    pub(crate) fn length(&mut self) -> Result<usize, Broken> {
        let length = self.int32()?;
        match usize::try_from(length) {
            Ok(length) if length <= self.frame => Ok(length),
            Ok(length) => Err(cut_value(length, self.frame)),
            Err(_) => Err(Broken::Malformed(format!("a value's length is {length}"))),
        }
    }

    /// The place of so many bytes, as [`length`](Self::length) gave them.
    #[inline]
    pub(crate) fn blob(&mut self, length: usize) -> Result<Range<usize>, Broken> {
        self.need(length)?;
        let start = self.at - self.start;
        self.pass(length);
        Ok(start..start + length)
    }

    /// The place of a string of so many bytes, without the NUL that closes it.
    #[inline]
    pub(crate) fn string(&mut self, length: usize) -> Result<Range<usize>, Broken> {
        let place = self.blob(length)?;
        match place.end.checked_sub(1) {
            Some(end) if end >= place.start && self.bytes(end..end + 1) == [0] => {
                Ok(place.start..end)
            }
            _ => Err(Broken::Malformed("a string without its closing NUL".into())),
        }
    }

    /// Passes over so many bytes, as [`length`](Self::length) gave them, however many they are, and
    /// begins a group behind them.
    pub(crate) fn skip(&mut self, mut length: usize) -> Result<(), Broken> {
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

    /// The bytes at a place of this group.
    #[inline]
    pub(crate) fn bytes(&self, place: Range<usize>) -> &[u8] {
        self.group().get(place).unwrap_or_default()
    }

    /// All bytes of this group.
    #[inline]
    pub(crate) fn group(&self) -> &[u8] {
        self.buffer.get(self.start..self.at).unwrap_or_default()
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Broken> {
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

    /// Passes over the head of the next frame, where this one is used up.
    #[cold]
    fn next_frame(&mut self, wanted: usize) -> Result<(), Broken> {
        if self.frame > 0 {
            return Err(cut_value(wanted, self.frame));
        }
        self.need(4)?;
        let head = self.buffer.get(self.at..).and_then(|rest| rest.first_chunk());
        let length = i32::from_be_bytes(head.copied().unwrap_or_default());
        self.at += 4;
        self.frame = match usize::try_from(length) {
            Ok(length) if length > 0 => length,
            _ => return Err(Broken::Malformed(format!("a frame's length is {length}"))),
        };
        if wanted > self.frame { Err(cut_value(wanted, self.frame)) } else { Ok(()) }
    }

    /// Reads until so many bytes are there.
    #[inline]
    fn need(&mut self, length: usize) -> Result<(), Broken> {
        if length <= self.end - self.at { Ok(()) } else { self.fill(length) }
    }

    #[cold]
    fn fill(&mut self, length: usize) -> Result<(), Broken> {
        while self.end - self.at < length {
            if !self.read_some()? {
                return Err(Broken::Cut);
            }
        }
        Ok(())
    }

    /// Reads what there is, once; `false` at the end of the input.
    fn read_some(&mut self) -> Result<bool, Broken> {
        if self.end == self.buffer.len() || self.start == self.end {
            self.make_room()?;
        }
        loop {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.source.read(room) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Broken::Io(error)),
            }
        }
    }

    /// Moves the group to the buffer's beginning; where it fills it, the buffer grows, by no more
    /// than it has: a length that is claimed costs nothing until its bytes come.
    fn make_room(&mut self) -> Result<(), Broken> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.at -= self.start;
        self.end -= self.start;
        self.start = 0;
        if self.end > self.buffer.len() / 2 {
            let length = self.buffer.len() * 2;
            let more = length - self.buffer.len();
            self.buffer.try_reserve_exact(more).map_err(|_| Broken::Memory(length))?;
            self.buffer.resize(length, 0);
        }
        Ok(())
    }
}

#[cold]
fn cut_value(wanted: usize, left: usize) -> Broken {
    let message = format!("a value of {wanted} bytes where its frame has {left} left");
    Broken::Malformed(message)
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => write!(f, "the input has ended"),
            Self::Cut => write!(f, "the input has ended within a request"),
            Self::Malformed(what) => write!(f, "malformed request: {what}"),
            Self::Memory(bytes) => write!(f, "no memory for values of {bytes} bytes"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Broken {}

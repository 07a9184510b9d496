//! Writes replies in frames. As in Sqinn, a frame ends between two rows.

use crate::background_writer::BackgroundWriter;
use crate::tag::Tag;
use bobak_sqlite::raw::Value;
use std::io::{self, IoSlice, Write};

/// A frame ends after the row that exceeds this length. With half of it, clients that share cores with
/// many servers wait longer for each other.
pub const FRAME_LENGTH: usize = 128 * 1024;
/// Longer values are written from SQLite's memory, without a copy.
const MIN_BORROWED_LENGTH: usize = 32 * 1024;
/// A frame ends within a row if it would become longer than this, because its length has 31 bits.
const MAX_FRAME_LENGTH: usize = 1 << 30;
/// The length of a frame's header, which is the frame's length.
const HEADER_LENGTH: usize = 4;

/// Writes replies.
#[derive(Debug)]
pub(crate) struct ReplyWriter<W> {
    sink: BackgroundWriter<W>,
    /// The current frame. Its header is set when it is complete.
    frame: Vec<u8>,
}

/// Writes a row.
#[derive(Debug)]
pub(crate) struct ReplyRow<'o, 'v, W> {
    output: &'o mut ReplyWriter<W>,
    /// Values that are not copied into the frame, with their positions in it.
    borrowed: Vec<(usize, &'v [u8])>,
    result: io::Result<()>,
}

impl<W: Write + Send + 'static> ReplyWriter<W> {
    pub(crate) fn new(sink: W) -> Self {
        let mut frame = Vec::with_capacity(FRAME_LENGTH + FRAME_LENGTH / 4);
        frame.resize(HEADER_LENGTH, 0);
        Self { sink: BackgroundWriter::new(sink), frame }
    }

    pub(crate) fn push_byte(&mut self, byte: u8) {
        self.frame.push(byte);
    }

    /// Appends a string. It is cut at a NUL, where most clients would end it.
    pub(crate) fn push_text(&mut self, text: &str) {
        let text = text.split('\0').next().unwrap_or_default();
        put_text(&mut self.frame, text.as_bytes());
    }

    /// Starts a row.
    #[inline]
    pub(crate) fn row<'v>(&mut self) -> ReplyRow<'_, 'v, W> {
        self.frame.push(1);
        ReplyRow { output: self, borrowed: Vec::new(), result: Ok(()) }
    }

    /// Ends the reply, and writes all of it.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let sink = self.sink.sink()?;
        if self.frame.len() > HEADER_LENGTH {
            set_length(&mut self.frame, 0);
            sink.write_all(&self.frame)?;
            sink.flush()?;
        }
        self.frame.truncate(HEADER_LENGTH);
        self.frame.shrink_to(FRAME_LENGTH * 2);
        Ok(())
    }

    #[cold]
    fn send(&mut self) -> io::Result<()> {
        set_length(&mut self.frame, 0);
        self.sink.send(&mut self.frame)?;
        self.frame.reserve(FRAME_LENGTH + FRAME_LENGTH / 4);
        self.frame.resize(HEADER_LENGTH, 0);
        Ok(())
    }
}

impl<'v, W: Write + Send + 'static> ReplyRow<'_, 'v, W> {
    /// Appends a value of this type, or NULL.
    #[inline]
    pub(crate) fn value(&mut self, tag: Tag, value: Value<'v>) {
        let frame = &mut self.output.frame;
        match value {
            Value::Null => frame.push(Tag::Null as u8),
            // Truncates to the low bits, as `sqlite3_column_int` does.
            Value::Int(number) if tag == Tag::Int32 => {
                let [a, b, c, d] = (number as i32).to_be_bytes();
                frame.extend_from_slice(&[tag as u8, a, b, c, d]);
            }
            Value::Int(number) => put_eight(frame, tag, number.to_be_bytes()),
            Value::Float(number) => put_eight(frame, tag, number.to_be_bytes()),
            Value::Text(bytes) | Value::Bytes(bytes) if bytes.len() >= MIN_BORROWED_LENGTH => {
                self.borrow(tag, bytes);
            }
            Value::Text(bytes) => {
                frame.push(tag as u8);
                put_text(frame, bytes);
            }
            Value::Bytes(bytes) => {
                frame.push(tag as u8);
                put_length(frame, bytes.len());
                frame.extend_from_slice(bytes);
            }
        }
    }

    /// Ends the row, and the frame if it is full.
    #[inline]
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if !self.borrowed.is_empty() || self.result.is_err() {
            return self.write_borrowed();
        }
        if self.output.frame.len() > FRAME_LENGTH { self.output.send() } else { Ok(()) }
    }

    #[cold]
    fn borrow(&mut self, tag: Tag, bytes: &'v [u8]) {
        let size: usize = self.borrowed.iter().map(|(_, bytes)| bytes.len()).sum();
        if size + self.output.frame.len() + bytes.len() > MAX_FRAME_LENGTH && self.result.is_ok() {
            self.result = self.write_borrowed();
        }
        let frame = &mut self.output.frame;
        frame.push(tag as u8);
        let nul = usize::from(tag == Tag::String);
        put_length(frame, bytes.len() + nul);
        self.borrowed.push((frame.len(), bytes));
        frame.resize(frame.len() + nul, 0);
    }

    /// Writes the frame together with its borrowed values.
    fn write_borrowed(&mut self) -> io::Result<()> {
        std::mem::replace(&mut self.result, Ok(()))?;
        let sink = self.output.sink.sink()?;
        let frame = &mut self.output.frame;
        let size: usize = self.borrowed.iter().map(|(_, bytes)| bytes.len()).sum();
        set_length(frame, size);
        let mut slices = Vec::with_capacity(2 * self.borrowed.len() + 1);
        let mut rest = frame.as_slice();
        let mut done = 0;
        for (position, bytes) in self.borrowed.drain(..) {
            let (before, after) = rest.split_at_checked(position - done).unwrap_or((rest, &[]));
            slices.push(IoSlice::new(before));
            slices.push(IoSlice::new(bytes));
            (rest, done) = (after, position);
        }
        slices.push(IoSlice::new(rest));
        let result = write_all(sink, &mut slices);
        frame.truncate(HEADER_LENGTH);
        result
    }
}

fn write_all(sink: &mut impl Write, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match sink.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut slices, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sets a frame's length, including bytes of borrowed values.
fn set_length(frame: &mut [u8], borrowed: usize) {
    // Frames end before they reach this length: see `MAX_FRAME_LENGTH`.
    let length = i32::try_from(frame.len() - HEADER_LENGTH + borrowed).unwrap_or(i32::MAX);
    if let Some(head) = frame.first_chunk_mut() {
        *head = length.to_be_bytes();
    }
}

#[inline]
fn put_eight(frame: &mut Vec<u8>, tag: Tag, bytes: [u8; 8]) {
    let [a, b, c, d, e, f, g, h] = bytes;
    frame.extend_from_slice(&[tag as u8, a, b, c, d, e, f, g, h]);
}

#[inline]
fn put_text(frame: &mut Vec<u8>, bytes: &[u8]) {
    put_length(frame, bytes.len() + 1);
    frame.extend_from_slice(bytes);
    frame.push(0);
}

/// Appends a length. SQLite's values have fewer than 2³¹ bytes.
#[inline]
fn put_length(frame: &mut Vec<u8>, length: usize) {
    frame.extend_from_slice(&(length as i32).to_be_bytes());
}

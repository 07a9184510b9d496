//! What goes out: answers in frames. A frame ends between two rows, as Sqinn's do.

use crate::background::Background;
use crate::tag::Tag;
use bobak_sqlite::raw::Value;
use std::io::{self, IoSlice, Write};

/// How many bytes of rows make a frame; the last row is whole, so that a frame is larger by what
/// it is. With half of it, clients that share their cores with many servers wait more for each other.
pub const FRAME: usize = 128 * 1024;
/// Values of this size go out from where SQLite has them.
const LARGE: usize = 32 * 1024;
/// A frame is ended within a row where it would become larger than this: its length has 31 bits.
const LARGEST: usize = 1 << 30;
/// The place of a frame's length.
const HEAD: usize = 4;

/// Writes answers.
#[derive(Debug)]
pub(crate) struct Output<W> {
    sink: Background<W>,
    /// The frame: its length, which is filled in at its end, and its bytes.
    frame: Vec<u8>,
}

/// A row that is being written.
#[derive(Debug)]
pub(crate) struct RowWriter<'o, 'v, W> {
    output: &'o mut Output<W>,
    /// Values that are not copied into the frame, with the places where they belong.
    large: Vec<(usize, &'v [u8])>,
    result: io::Result<()>,
}

impl<W: Write + Send + 'static> Output<W> {
    pub(crate) fn new(sink: W) -> Self {
        let mut frame = Vec::with_capacity(FRAME + FRAME / 4);
        frame.resize(HEAD, 0);
        Self { sink: Background::new(sink), frame }
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.frame.push(byte);
    }

    /// A string; what follows a NUL in it would not be read by most, so that it is left out.
    pub(crate) fn text(&mut self, text: &str) {
        let text = text.split('\0').next().unwrap_or_default();
        put_text(&mut self.frame, text.as_bytes());
    }

    /// Begins a row.
    #[inline]
    pub(crate) fn row<'v>(&mut self) -> RowWriter<'_, 'v, W> {
        self.frame.push(1);
        RowWriter { output: self, large: Vec::new(), result: Ok(()) }
    }

    /// Ends the answer: everything is written.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let sink = self.sink.sink()?;
        if self.frame.len() > HEAD {
            set_length(&mut self.frame, 0);
            sink.write_all(&self.frame)?;
            sink.flush()?;
        }
        self.frame.truncate(HEAD);
        self.frame.shrink_to(FRAME * 2);
        Ok(())
    }

    #[cold]
    fn send(&mut self) -> io::Result<()> {
        set_length(&mut self.frame, 0);
        self.sink.send(&mut self.frame)?;
        self.frame.reserve(FRAME + FRAME / 4);
        self.frame.resize(HEAD, 0);
        Ok(())
    }
}

impl<'v, W: Write + Send + 'static> RowWriter<'_, 'v, W> {
    /// The next value, as its tag says; NULL has no other form.
    #[inline]
    pub(crate) fn value(&mut self, tag: Tag, value: Value<'v>) {
        let frame = &mut self.output.frame;
        match value {
            Value::Null => frame.push(Tag::Null as u8),
            // What does not fit is cut to its low bits, as `sqlite3_column_int` does.
            Value::Int(number) if tag == Tag::Int32 => {
                let [a, b, c, d] = (number as i32).to_be_bytes();
                frame.extend_from_slice(&[tag as u8, a, b, c, d]);
            }
            Value::Int(number) => put_eight(frame, tag, number.to_be_bytes()),
            Value::Float(number) => put_eight(frame, tag, number.to_be_bytes()),
            Value::Text(bytes) | Value::Bytes(bytes) if bytes.len() >= LARGE => {
                self.large(tag, bytes);
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

    /// Ends the row, and the frame where it is full.
    #[inline]
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if !self.large.is_empty() || self.result.is_err() {
            return self.gather();
        }
        if self.output.frame.len() > FRAME { self.output.send() } else { Ok(()) }
    }

    #[cold]
    fn large(&mut self, tag: Tag, bytes: &'v [u8]) {
        let size: usize = self.large.iter().map(|(_, bytes)| bytes.len()).sum();
        if size + self.output.frame.len() + bytes.len() > LARGEST && self.result.is_ok() {
            self.result = self.gather();
        }
        let frame = &mut self.output.frame;
        frame.push(tag as u8);
        let nul = usize::from(tag == Tag::String);
        put_length(frame, bytes.len() + nul);
        self.large.push((frame.len(), bytes));
        frame.resize(frame.len() + nul, 0);
    }

    /// Writes the frame with its large values in their places.
    fn gather(&mut self) -> io::Result<()> {
        std::mem::replace(&mut self.result, Ok(()))?;
        let sink = self.output.sink.sink()?;
        let frame = &mut self.output.frame;
        let size: usize = self.large.iter().map(|(_, bytes)| bytes.len()).sum();
        set_length(frame, size);
        let mut slices = Vec::with_capacity(2 * self.large.len() + 1);
        let mut rest = frame.as_slice();
        let mut done = 0;
        for (place, bytes) in self.large.drain(..) {
            let (before, after) = rest.split_at_checked(place - done).unwrap_or((rest, &[]));
            slices.push(IoSlice::new(before));
            slices.push(IoSlice::new(bytes));
            (rest, done) = (after, place);
        }
        slices.push(IoSlice::new(rest));
        let result = write_all(sink, &mut slices);
        frame.truncate(HEAD);
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

/// Fills in the length of a frame that has so many bytes elsewhere.
fn set_length(frame: &mut [u8], elsewhere: usize) {
    // A frame is ended before it has so many bytes (see `LARGEST`).
    let length = i32::try_from(frame.len() - HEAD + elsewhere).unwrap_or(i32::MAX);
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

/// SQLite's values have fewer than 2³¹ bytes.
#[inline]
fn put_length(frame: &mut Vec<u8>, length: usize) {
    frame.extend_from_slice(&(length as i32).to_be_bytes());
}

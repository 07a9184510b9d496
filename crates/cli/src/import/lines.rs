//! The lines of the input, as the `csv` crate cuts them (RFC 4180; blank lines are skipped), with
//! their numbers, and with two guards that a CSV reader lacks: a quote that is never closed would
//! swallow the rest of the file into one value, and a file without line ends would fill the memory.

use crate::error::{Error, Result};
use csv::{ByteRecord, ReaderBuilder};
use std::io::{self, Read};

/// The most bytes that one line may have: 64 MiB.
pub const LONGEST_LINE: u64 = 64 << 20;

/// A line of its own behind the last one. If it is not read back as one, a quote is still open.
const END: &[u8] = b"\n\x01end of input\x01\n";

/// One pass over the lines of an input.
pub struct Lines<'a> {
    reader: csv::Reader<Guarded<'a>>,
    name: &'a str,
}

impl<'a> Lines<'a> {
    /// Reads lines from `input`, which messages call `name`.
    pub fn new(input: &'a mut dyn Read, name: &'a str, delimiter: u8) -> Self {
        let guarded = Guarded { input, end: None, line_bytes: 0, chunk: Vec::new(), read: 0 };
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            // How many fields a line must have is for the import to say, in its own words.
            .flexible(true)
            .buffer_capacity(256 * 1024)
            .from_reader(guarded);
        Self { reader, name }
    }

    /// Reads the next line into `record`; `false` after the last.
    ///
    /// # Errors
    /// Input that can't be read or unpacked, a quote that is never closed, a line beyond
    /// [`LONGEST_LINE`].
    pub fn next(&mut self, record: &mut ByteRecord) -> Result<bool> {
        self.reader.get_mut().line_bytes = 0;
        let more = self.reader.read_byte_record(record).map_err(|error| self.explain(error))?;
        if self.reader.get_ref().end.is_none() {
            return Ok(more);
        }
        let mark = END.trim_ascii();
        match record.iter().next_back() {
            Some(last) if record.len() == 1 && last == mark => Ok(false),
            Some(last) if last.trim_ascii_end().ends_with(mark) => Err(Error::failed(format!(
                "{}, line {}: a quote is opened and never closed",
                self.name,
                self.number(record)
            ))),
            _ => Ok(more),
        }
    }

    /// The number in the file, counted from 1, of the line that was read last into `record`.
    ///
    /// It is where the line begins: the `csv` crate's own number is that of the line end before
    /// it, and so too small after `\r\n` and blank lines.
    #[must_use]
    pub fn number(&self, record: &ByteRecord) -> u64 {
        let position = self.reader.position();
        let inside = record.as_slice().iter().filter(|byte| **byte == b'\n').count() as u64;
        let ended = u64::from(self.reader.get_ref().byte_before(position.byte()) == Some(b'\n'));
        position.line().saturating_sub(inside + ended).max(1)
    }

    fn explain(&self, error: csv::Error) -> Error {
        let sentence = error.to_string();
        match error.into_kind() {
            csv::ErrorKind::Io(error) => Error::io(format_args!("read {}", self.name), &error),
            _ => Error::failed(format!("could not read {}: {sentence}", self.name)),
        }
    }
}

struct Guarded<'a> {
    input: &'a mut dyn Read,
    /// What is still to be read of [`END`], once the input has ended.
    end: Option<&'static [u8]>,
    /// How much was read since the current line was begun.
    line_bytes: u64,
    /// What was read last: the byte that the parser took last is in it.
    chunk: Vec<u8>,
    /// How much was read in all.
    read: u64,
}

impl Guarded<'_> {
    /// The byte before this place in the stream, where it was read just now.
    fn byte_before(&self, place: u64) -> Option<u8> {
        let start = self.read - self.chunk.len() as u64;
        let offset = usize::try_from(place.checked_sub(start + 1)?).ok()?;
        self.chunk.get(offset).copied()
    }

    fn read_guarded(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.end.is_none() {
            let n = self.input.read(buffer)?;
            self.line_bytes += n as u64;
            if self.line_bytes > LONGEST_LINE {
                return Err(io::Error::other(format!(
                    "a line is longer than {} MiB; is a quote left open?",
                    LONGEST_LINE >> 20
                )));
            }
            if n > 0 {
                return Ok(n);
            }
        }
        self.end.get_or_insert(END).read(buffer)
    }
}

impl Read for Guarded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.read_guarded(buffer)?;
        self.read += n as u64;
        self.chunk.clear();
        self.chunk.extend_from_slice(buffer.get(..n).unwrap_or_default());
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of `text`, each as its number and its fields joined by `|`.
    fn lines(text: &str) -> Result<Vec<(u64, String)>> {
        let mut input = text.as_bytes();
        let mut lines = Lines::new(&mut input, "t.csv", b',');
        let mut record = ByteRecord::new();
        let mut all = Vec::new();
        while lines.next(&mut record)? {
            let fields: Vec<_> = record.iter().map(String::from_utf8_lossy).collect();
            all.push((lines.number(&record), fields.join("|")));
        }
        Ok(all)
    }

    fn expect(text: &str, expected: &[(u64, &str)]) {
        let lines = lines(text).expect("reads");
        let lines: Vec<_> = lines.iter().map(|(n, text)| (*n, text.as_str())).collect();
        assert_eq!(lines, expected, "{text:?}");
    }

    #[test]
    fn lines_have_the_numbers_of_the_file() {
        expect("", &[]);
        expect("a,b\n1,2", &[(1, "a|b"), (2, "1|2")]);
        expect("a,b\r\n1,2\r\n3,4\r\n", &[(1, "a|b"), (2, "1|2"), (3, "3|4")]);
        expect("\u{feff}a,b\n1,2\n", &[(1, "a|b"), (2, "1|2")]);
        expect("a\n\"x\ny\"\nz\n", &[(1, "a"), (2, "x\ny"), (4, "z")]);
        expect("a\n\n\nb\n", &[(1, "a"), (4, "b")]);
        expect("a\r\n\r\nb\r\n", &[(1, "a"), (3, "b")]);
        expect("a\n\"x\r\ny\"\r\nz\n\nu\r\n", &[(1, "a"), (2, "x\r\ny"), (4, "z"), (6, "u")]);
        expect("\"\"\n,\n", &[(1, ""), (2, "|")]);
        expect("5\" pipe,\"6\"\" pipe\"\n", &[(1, "5\" pipe|6\" pipe")]);
    }

    #[test]
    fn an_open_quote_is_an_error_at_its_line() {
        for text in ["a,b\n1,\"2\n3,4\n5,6\n", "a\n\"", "a,b\n1,\"2\n3,\"4\"\n5,\"6\n"] {
            let error = lines(text).expect_err("an open quote").to_string();
            assert!(error.contains("a quote is opened and never closed"), "{error}");
            assert!(error.starts_with("t.csv, line "), "{error}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let mut input = io::repeat(b'x');
        let mut lines = Lines::new(&mut input, "t.csv", b',');
        let error = lines.next(&mut ByteRecord::new()).expect_err("endless").to_string();
        assert!(error.contains("longer than 64 MiB"), "{error}");
    }
}

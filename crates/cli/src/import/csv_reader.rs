//! Reads CSV lines with the `csv` crate (RFC 4180; blank lines are skipped), with line numbers and two
//! checks that the crate lacks. Without them, an unclosed quote would turn the rest of the file into
//! one value, and a file without line ends would fill the memory.

use crate::error::{Error, Result};
use bobak_text::csv::QuoteMarker;
use csv::{ByteRecord, ReaderBuilder};
use std::io::{self, Read};

/// The maximum length of a line: 64 MiB.
pub const MAX_LINE_BYTES: u64 = 64 << 20;

/// What a field begins with that is surely a text: a quoted `""`, or a string of JSON. What follows is the
/// text.
pub use bobak_text::csv::EXPLICIT;
/// What a field begins with that is an object or an array of JSON.
pub const DOCUMENT: &[u8] = b"\xfejson\xfe";

/// A field that is NULL in JSON.
pub const JSON_NULL: &[u8] = b"\xfenull\xfe";

/// What the text of a cell of a workbook begins with.
pub const CELL_TEXT: &[u8] = b"\xfecell\xfe";
/// An empty cell.
pub const EMPTY_CELL: &[u8] = b"\xfeempty\xfe";

/// What is known of a field besides its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Nothing.
    Plain,
    /// It is a text, whatever it looks like.
    Text,
    /// It is a document of JSON.
    Document,
    /// It is a text and not a number. In a column of JSON it is a document, since workbooks have no other way to hold one.
    Cell,
}

/// The field's text and kind.
#[inline]
#[must_use]
pub fn field_text(field: &[u8]) -> (&[u8], FieldKind) {
    if field.first() != Some(&0xfe) {
        return (field, FieldKind::Plain);
    }
    let kinds = [
        (EXPLICIT, FieldKind::Text),
        (DOCUMENT, FieldKind::Document),
        (CELL_TEXT, FieldKind::Cell),
    ];
    let marked = |(marker, kind)| field.strip_prefix(marker).map(|text| (text, kind));
    kinds.into_iter().find_map(marked).unwrap_or((field, FieldKind::Plain))
}

/// A line appended to the input. If it does not come back as a line of its own, a quote is open.
const END_MARKER: &[u8] = b"\n\x01end of input\x01\n";

/// One pass over the lines of an input.
pub struct CsvReader<'a> {
    reader: csv::Reader<GuardedInput<'a>>,
    name: &'a str,
}

impl<'a> CsvReader<'a> {
    /// Reads lines from `input`; error messages call it `name`.
    pub fn new(input: &'a mut dyn Read, name: &'a str, delimiter: u8) -> Self {
        let guarded = GuardedInput {
            input: QuoteMarker::new(input, delimiter),
            end: None,
            line_bytes: 0,
            chunk: Vec::new(),
            read: 0,
        };
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            // The import checks the number of fields itself, with a better message.
            .flexible(true)
            .buffer_capacity(256 * 1024)
            .from_reader(guarded);
        Self { reader, name }
    }

    /// Reads the next line into `record`; `false` after the last.
    ///
    /// # Errors
    /// If the input can't be read or decompressed, a quote is never closed, or a line is longer than
    /// [`MAX_LINE_BYTES`].
    pub fn next(&mut self, record: &mut ByteRecord) -> Result<bool> {
        self.reader.get_mut().line_bytes = 0;
        let more = self.reader.read_byte_record(record).map_err(|error| self.explain(error))?;
        if self.reader.get_ref().end.is_none() {
            return Ok(more);
        }
        let marker = END_MARKER.trim_ascii();
        match record.iter().next_back() {
            Some(last) if record.len() == 1 && last == marker => Ok(false),
            Some(last) if last.trim_ascii_end().ends_with(marker) => Err(Error::failed(format!(
                "{}, line {}: a quote is never closed",
                self.name,
                self.number(record)
            ))),
            _ => Ok(more),
        }
    }

    /// The line number, counted from 1, at which the last record read begins.
    ///
    /// The `csv` crate's own number is that of the preceding line end, which is too small after
    /// `\r\n` and blank lines.
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

struct GuardedInput<'a> {
    input: QuoteMarker<&'a mut dyn Read>,
    /// The unread rest of [`END_MARKER`], once the input has ended.
    end: Option<&'static [u8]>,
    /// The bytes read since the current line began.
    line_bytes: u64,
    /// The last chunk read; it contains the last byte that the parser consumed.
    chunk: Vec<u8>,
    /// The total bytes read.
    read: u64,
}

impl GuardedInput<'_> {
    /// The byte before this position in the stream, if it is in the last chunk.
    fn byte_before(&self, position: u64) -> Option<u8> {
        let start = self.read - self.chunk.len() as u64;
        let offset = usize::try_from(position.checked_sub(start + 1)?).ok()?;
        self.chunk.get(offset).copied()
    }

    fn read_guarded(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.end.is_none() {
            let n = self.input.read(buffer)?;
            self.line_bytes += n as u64;
            if self.line_bytes > MAX_LINE_BYTES {
                return Err(io::Error::other(format!(
                    "a line is longer than {} MiB; is a quote left open?",
                    MAX_LINE_BYTES >> 20
                )));
            }
            if n > 0 {
                return Ok(n);
            }
        }
        self.end.get_or_insert(END_MARKER).read(buffer)
    }
}

impl Read for GuardedInput<'_> {
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

    /// The lines of `text`: line number, and fields joined by `|`.
    fn lines(text: &str) -> Result<Vec<(u64, String)>> {
        let mut input = text.as_bytes();
        let mut lines = CsvReader::new(&mut input, "t.csv", b',');
        let mut record = ByteRecord::new();
        let mut all = Vec::new();
        while lines.next(&mut record)? {
            let text = |field| String::from_utf8_lossy(field_text(field).0);
            let fields: Vec<_> = record.iter().map(text).collect();
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
    fn line_numbers_match_file() {
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
    fn unclosed_quote_is_reported_at_its_line() {
        for text in ["a,b\n1,\"2\n3,4\n5,6\n", "a\n\"", "a,b\n1,\"2\n3,\"4\"\n5,\"6\n"] {
            let error = lines(text).expect_err("an open quote").to_string();
            assert!(error.contains("a quote is never closed"), "{error}");
            assert!(error.starts_with("t.csv, line "), "{error}");
        }
    }

    #[test]
    fn endless_line_is_rejected_at_limit() {
        let mut input = io::repeat(b'x');
        let mut lines = CsvReader::new(&mut input, "t.csv", b',');
        let error = lines.next(&mut ByteRecord::new()).expect_err("endless").to_string();
        assert!(error.contains("longer than 64 MiB"), "{error}");
    }
}

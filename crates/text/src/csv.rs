//! Quoted empty fields of CSV: `""` is an empty text, and an empty field is NULL.

use bobak_core::Type;
use std::io::{self, Read};

/// What [`QuoteMarker`] writes into a field that is `""`. No field in UTF-8 has the byte 0xfe.
pub const EXPLICIT: &[u8] = b"\xfetext\xfe";

/// Whether an empty text is a value of the type; in columns of other types `""` is NULL.
#[must_use]
pub const fn has_empty_value(ty: Type) -> bool {
    matches!(ty, Type::Text | Type::Any | Type::Bytes | Type::Json)
}

/// Passes CSV on, with [`EXPLICIT`] inside each field that is `""`, which the `csv` crate does not tell from an empty one.
#[derive(Debug)]
pub struct QuoteMarker<R> {
    input: R,
    delimiter: u8,
    state: QuoteState,
    /// What is not yet passed on, from `start`.
    output: Vec<u8>,
    start: usize,
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuoteState {
    /// Before the first byte of a field.
    Start,
    /// In a field without quotes.
    Plain,
    /// Behind the first quote of a field.
    Opened,
    /// Behind the second, before anything else.
    Closed,
    /// In a field with quotes.
    Quoted,
    /// Behind a quote in a field with quotes: the last one, or the first of two.
    Ending,
}

impl<R> QuoteMarker<R> {
    /// Reads from `input`, whose fields are between `delimiter`s.
    pub const fn new(input: R, delimiter: u8) -> Self {
        let state = QuoteState::Start;
        Self { input, delimiter, state, output: Vec::new(), start: 0, ended: false }
    }

    /// What it reads from.
    pub fn into_inner(self) -> R {
        self.input
    }

    fn pass(&mut self, byte: u8) {
        let ends = byte == self.delimiter || matches!(byte, b'\n' | b'\r');
        self.state = match (self.state, byte) {
            (QuoteState::Start, b'"') => QuoteState::Opened,
            (QuoteState::Opened, b'"') => {
                // Which quote this is says the next byte.
                self.state = QuoteState::Closed;
                return;
            }
            (QuoteState::Opened, _) => QuoteState::Quoted,
            (QuoteState::Closed, b'"') => {
                // Two quotes inside a field.
                self.output.push(b'"');
                QuoteState::Quoted
            }
            (QuoteState::Closed, _) => {
                if ends {
                    self.output.extend_from_slice(EXPLICIT);
                }
                self.output.push(b'"');
                if ends { QuoteState::Start } else { QuoteState::Plain }
            }
            (QuoteState::Quoted, b'"') => QuoteState::Ending,
            (QuoteState::Quoted, _) | (QuoteState::Ending, b'"') => QuoteState::Quoted,
            _ if ends => QuoteState::Start,
            _ => QuoteState::Plain,
        };
        self.output.push(byte);
    }
}

impl<R: Read> Read for QuoteMarker<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut chunk = [0; 64 * 1024];
        while self.start == self.output.len() && !self.ended {
            self.output.clear();
            self.start = 0;
            let n = self.input.read(&mut chunk)?;
            self.ended = n == 0;
            chunk.iter().take(n).for_each(|byte| self.pass(*byte));
            if self.ended && self.state == QuoteState::Closed {
                self.output.extend_from_slice(EXPLICIT);
                self.output.push(b'"');
            }
        }
        let n = self.output.get(self.start..).unwrap_or_default().read(buffer)?;
        self.start += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> String {
        let mut out = Vec::new();
        QuoteMarker::new(text.as_bytes(), b',').read_to_end(&mut out).expect("reads");
        String::from_utf8_lossy(&out).replace("\u{fffd}text\u{fffd}", "!")
    }

    #[test]
    fn only_quoted_empty_fields_are_marked() {
        for (text, expected) in [
            ("", ""),
            ("a,b\n1,\n", "a,b\n1,\n"),
            ("\"\",\"\"\n\"\"", "\"!\",\"!\"\n\"!\""),
            ("\"\"\r\n,\"\"\r\n", "\"!\"\r\n,\"!\"\r\n"),
            ("\"\"\"\",\"a\"\"\",\"\"\"b\"", "\"\"\"\",\"a\"\"\",\"\"\"b\""),
            ("\",\"\",\",x", "\",\"\",\",x"),
            ("\"\n\",5\" pipe,\"\"x,y", "\"\n\",5\" pipe,\"\"x,y"),
        ] {
            assert_eq!(marked(text), expected, "{text:?}");
        }
    }
}

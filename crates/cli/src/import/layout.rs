//! What must be known before the first row: the delimiter, and the names of the columns.

use crate::error::{Error, Result};
use crate::import::lines::Lines;
use crate::import::source::Source;
use csv::ByteRecord;
use std::collections::HashSet;
use std::io::Read;

/// How the input is cut into columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The byte between two fields.
    pub delimiter: u8,
    /// The names of the columns, in the order of the file; no two are the same.
    pub columns: Vec<String>,
    /// Whether the first line holds the names.
    pub has_header: bool,
}

/// The delimiters to choose from, the likeliest first.
const DELIMITERS: [u8; 4] = *b",;\t|";

/// How far to look for the end of the first line.
const FIRST_LOOK: u64 = 64 * 1024;

impl Layout {
    /// Looks at the first line of `source`.
    ///
    /// Without `delimiter` it is the one of comma, semicolon, tab and `|` that the first line has
    /// most of outside quotes. Without `columns` the first line holds the names; a column whose
    /// name is empty is called `column_` and its place, counted from 1.
    ///
    /// # Errors
    /// An input that is empty or no text, or that names two columns alike.
    pub fn look(
        source: &Source,
        delimiter: Option<u8>,
        columns: Option<&[String]>,
    ) -> Result<Self> {
        let delimiter = match delimiter {
            Some(delimiter) => delimiter,
            None => guess_delimiter(&first_bytes(source)?),
        };
        let (columns, has_header) = match columns {
            Some(columns) => (columns.to_vec(), false),
            None => (header(source, delimiter)?, true),
        };
        let mut seen = HashSet::new();
        if let Some(twice) = columns.iter().find(|name| !seen.insert(name.to_lowercase())) {
            return Err(Error::failed(format!(
                "{} names two columns {twice:?}: name them with --columns",
                source.name()
            )));
        }
        Ok(Self { delimiter, columns, has_header })
    }
}

fn first_bytes(source: &Source) -> Result<Vec<u8>> {
    source.read(|input| {
        let mut bytes = Vec::new();
        input
            .take(FIRST_LOOK)
            .read_to_end(&mut bytes)
            .map_err(|error| Error::io(format_args!("read {}", source.name()), &error))?;
        Ok(bytes)
    })
}

fn guess_delimiter(bytes: &[u8]) -> u8 {
    let mut counts = [0_usize; DELIMITERS.len()];
    let mut quoted = false;
    for &byte in bytes {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            _ if quoted => {}
            _ => {
                for (count, delimiter) in counts.iter_mut().zip(DELIMITERS) {
                    *count += usize::from(byte == delimiter);
                }
            }
        }
    }
    // The first of the largest: `max_by_key` alone would take the last.
    let best = counts.iter().zip(DELIMITERS).rev().max_by_key(|(count, _)| **count);
    best.map_or(b',', |(_, delimiter)| delimiter)
}

fn header(source: &Source, delimiter: u8) -> Result<Vec<String>> {
    let name = source.name();
    let mut record = ByteRecord::new();
    let found = source.read(|input| Lines::new(input, name, delimiter).next(&mut record))?;
    if !found {
        return Err(Error::failed(format!("{name} is empty: a CSV file begins with its header")));
    }
    record
        .iter()
        .enumerate()
        .map(|(place, field)| match std::str::from_utf8(field) {
            Ok("") => Ok(format!("column_{}", place + 1)),
            Ok(text) if !text.chars().any(|c| c.is_control() && !c.is_ascii_whitespace()) => {
                Ok(text.to_owned())
            }
            _ => Err(Error::failed(format!(
                "{name} is not a CSV file in UTF-8: its first line is no text"
            ))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn look(bytes: &[u8]) -> Result<Layout> {
        let mut file = tempfile::NamedTempFile::new().expect("makes a file");
        file.write_all(bytes).expect("writes");
        Layout::look(&Source::open(file.path(), None)?, None, None)
    }

    #[test]
    fn the_delimiter_is_the_one_that_the_header_has_most_of() {
        for (header, delimiter) in [
            ("a,b;c,d\n1;2;3;4;5;6\n", b','),
            ("a;b,c;d\n", b';'),
            ("a\tb\tc\n", b'\t'),
            ("a|b\n", b'|'),
            ("alone\n", b','),
            ("\"a;b;c\",d\n", b','),
            ("a,b;c\n", b','),
        ] {
            assert_eq!(look(header.as_bytes()).expect("looks").delimiter, delimiter, "{header:?}");
        }
    }

    #[test]
    fn names_come_from_the_first_line() {
        let layout = look("\u{feff}id,\"full, name\",,é\n".as_bytes()).expect("looks");
        assert_eq!(layout.columns, ["id", "full, name", "column_3", "é"]);
        assert!(layout.has_header);
    }

    #[test]
    fn what_has_no_header_is_refused() {
        for (bytes, message) in [
            (&b""[..], "is empty"),
            (b"\n\n", "is empty"),
            (b"a,b,A\n", "names two columns \"A\""),
            (b"\x7fELF\x02\x01\x00\x00\n", "is not a CSV file"),
            (b"\xff\xfea\x00,\x00b\x00\n\x00", "is not a CSV file"),
            (b"caf\xe9,b\n", "is not a CSV file"),
        ] {
            let error = look(bytes).expect_err("refused").to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}

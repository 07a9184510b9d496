//! Detects the delimiter and the column names of a CSV file.

use crate::error::{Error, Result};
use crate::import::csv_reader::{CsvReader, field_text};
use crate::import::input_file::InputFile;
use bobak::schema::Type;
use csv::ByteRecord;
use std::collections::HashSet;
use std::io::Read;

/// The format of a CSV file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvFormat {
    /// The field delimiter.
    pub delimiter: u8,
    /// The column names, in the file's order, without duplicates.
    pub columns: Vec<String>,
    /// Whether the first line is a header.
    pub has_header: bool,
    /// The types of the columns, if the input was converted from a file that tells them.
    pub types: Vec<Type>,
}

/// The detected delimiters, the most likely first.
const DELIMITERS: [u8; 4] = *b",;\t|";

/// The maximum bytes read to find the end of the first line.
const SAMPLE_BYTES: u64 = 64 * 1024;

impl CsvFormat {
    /// Reads the first line of `source`.
    ///
    /// Without `delimiter`, it is whichever of comma, semicolon, tab and `|` is most frequent outside
    /// quotes in the first line. Without `columns`, the first line is the header; a column with an
    /// empty name is called `column_` and its number, counted from 1.
    ///
    /// # Errors
    /// If the input is empty or not text, or two columns have the same name.
    pub fn detect(
        source: &InputFile,
        delimiter: Option<u8>,
        columns: Option<&[String]>,
    ) -> Result<Self> {
        let first = first_bytes(source)?;
        reject_separator_line(source.name(), &first)?;
        let delimiter = delimiter.unwrap_or_else(|| detect_delimiter(&first));
        let (columns, has_header) = match columns {
            Some(columns) => (columns.to_vec(), false),
            None => (header(source, delimiter)?, true),
        };
        reject_duplicates(source.name(), &columns)?;
        Ok(Self { delimiter, columns, has_header, types: Vec::new() })
    }

    /// The format of an input that was converted, without a header, from one with these columns.
    ///
    /// # Errors
    /// If two columns have the same name.
    pub fn of_columns(name: &str, columns: Vec<String>) -> Result<Self> {
        reject_duplicates(name, &columns)?;
        Ok(Self { delimiter: b',', columns, has_header: false, types: Vec::new() })
    }
}

fn reject_duplicates(name: &str, columns: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    match columns.iter().find(|name| !seen.insert(name.to_lowercase())) {
        Some(duplicate) => Err(Error::failed(format!(
            "{name} has two columns named {duplicate:?}: rename them with --columns"
        ))),
        None => Ok(()),
    }
}

fn first_bytes(source: &InputFile) -> Result<Vec<u8>> {
    source.read(|input| {
        let mut bytes = Vec::new();
        input
            .take(SAMPLE_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| Error::io(format_args!("read {}", source.name()), &error))?;
        Ok(bytes)
    })
}

/// Rejects a file that begins with the line `sep=;`, as Excel writes it: the header is the line after it.
fn reject_separator_line(name: &str, first: &[u8]) -> Result<()> {
    let line = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    let end = line.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(line.len());
    let line = line.get(..end).unwrap_or_default().trim_ascii_end();
    match line.strip_prefix(b"sep=").or(line.strip_prefix(b"\"sep=")) {
        Some([_] | [_, b'"']) => Err(Error::failed(format!(
            "{name} begins with a line for Excel, {}: delete this line, or leave it out, as in `tail -n +2 {name} | bobak import \
             DATABASE - --table TABLE`",
            String::from_utf8_lossy(line)
        ))),
        _ => Ok(()),
    }
}

fn detect_delimiter(bytes: &[u8]) -> u8 {
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
    // `max_by_key` returns the last maximum; reversed, it returns the first.
    let best = counts.iter().zip(DELIMITERS).rev().max_by_key(|(count, _)| **count);
    best.map_or(b',', |(_, delimiter)| delimiter)
}

fn header(source: &InputFile, delimiter: u8) -> Result<Vec<String>> {
    let name = source.name();
    let mut record = ByteRecord::new();
    let found = source.read(|input| CsvReader::new(input, name, delimiter).next(&mut record))?;
    if !found {
        return Err(Error::failed(format!("{name} is empty: expected a CSV file with a header")));
    }
    record
        .iter()
        .enumerate()
        .map(|(index, field)| match std::str::from_utf8(field_text(field).0) {
            Ok("") => Ok(format!("column_{}", index + 1)),
            Ok(text) if !text.chars().any(|c| c.is_control() && !c.is_ascii_whitespace()) => {
                Ok(text.to_owned())
            }
            _ => Err(Error::failed(format!(
                "{name} is not a CSV file in UTF-8: its first line is not text"
            ))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn detect(bytes: &[u8]) -> Result<CsvFormat> {
        let mut file = tempfile::NamedTempFile::new().expect("makes a file");
        file.write_all(bytes).expect("writes");
        CsvFormat::detect(&InputFile::open(file.path(), None)?, None, None)
    }

    #[test]
    fn the_line_that_names_the_delimiter_to_excel_is_no_header() {
        for file in ["sep=;\r\nid;n\n1;a\n", "\u{feff}sep=,\nid,n\n", "\"sep=\t\"\nid\tn\n"] {
            let error = detect(file.as_bytes()).expect_err(file).to_string();
            assert!(error.contains("a line for Excel, "), "{error}");
        }
        for file in ["sep=;;n\n1;2;3\n", "sep\n1\n", "sep=\n1\n"] {
            detect(file.as_bytes()).expect(file);
        }
    }

    #[test]
    fn most_frequent_delimiter_in_header_is_detected() {
        for (header, delimiter) in [
            ("a,b;c,d\n1;2;3;4;5;6\n", b','),
            ("a;b,c;d\n", b';'),
            ("a\tb\tc\n", b'\t'),
            ("a|b\n", b'|'),
            ("alone\n", b','),
            ("\"a;b;c\",d\n", b','),
            ("a,b;c\n", b','),
        ] {
            assert_eq!(
                detect(header.as_bytes()).expect("detects").delimiter,
                delimiter,
                "{header:?}"
            );
        }
    }

    #[test]
    fn column_names_come_from_first_line() {
        let layout = detect("\u{feff}id,\"full, name\",,é\n".as_bytes()).expect("detects");
        assert_eq!(layout.columns, ["id", "full, name", "column_3", "é"]);
        assert!(layout.has_header);
    }

    #[test]
    fn file_without_header_is_rejected() {
        for (bytes, message) in [
            (&b""[..], "is empty"),
            (b"\n\n", "is empty"),
            (b"a,b,A\n", "has two columns named \"A\""),
            (b"\x7fELF\x02\x01\x00\x00\n", "is not a CSV file"),
            (b"\xff\xfea\x00,\x00b\x00\n\x00", "is not a CSV file"),
            (b"caf\xe9,b\n", "is not a CSV file"),
        ] {
            let error = detect(bytes).expect_err("rejected").to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}

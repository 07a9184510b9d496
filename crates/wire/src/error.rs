//! Encodes and decodes errors.

use crate::reader::MessageReader;
use crate::writer::Encode;
use bobak_core::rules::Violation;
use bobak_core::{Error, ErrorKind, Result};
use std::error::Error as _;

/// The number of a kind is its position in this list, from 1. Add new kinds at the end.
const KINDS: &[ErrorKind] = &[
    ErrorKind::NotFound,
    ErrorKind::Duplicate,
    ErrorKind::Conflict,
    ErrorKind::Constraint,
    ErrorKind::TooLong,
    ErrorKind::OutOfRange,
    ErrorKind::Mismatch,
    ErrorKind::Unsupported,
    ErrorKind::Schema,
    ErrorKind::Syntax,
    ErrorKind::Busy,
    ErrorKind::Serialization,
    ErrorKind::Timeout,
    ErrorKind::Unreachable,
    ErrorKind::Unknown,
    ErrorKind::Denied,
    ErrorKind::Full,
    ErrorKind::ReadOnly,
    ErrorKind::Corrupt,
    ErrorKind::Io,
    ErrorKind::Config,
    ErrorKind::Misuse,
    ErrorKind::Interrupted,
    ErrorKind::Engine,
    ErrorKind::Invalid,
];

/// The longest text that an error carries, in bytes. Longer texts are truncated.
const MAX_TEXT: usize = 4_000;

/// The most violations that an error carries.
const MAX_VIOLATIONS: usize = 1_000;

pub(crate) fn encode(out: &mut Vec<u8>, error: &Error) -> Result<()> {
    let position = KINDS.iter().position(|kind| *kind == error.kind());
    out.encode_u8(position.map_or(KINDS.len() as u8, |position| position as u8 + 1));
    out.encode_text(truncate(error.message()))?;
    out.encode_option(error.table(), |out, table| out.encode_text(truncate(table)))?;
    out.encode_option(error.column(), |out, column| out.encode_text(truncate(column)))?;
    out.encode_option(error.row(), |out, row| {
        out.encode_u64(row);
        Ok(())
    })?;
    out.encode_option(error.code(), |out, code| {
        out.encode_u32(code.cast_unsigned());
        Ok(())
    })?;
    let detail = error.source().map(ToString::to_string);
    out.encode_option(detail, |out, detail| out.encode_text(truncate(&detail)))?;
    if error.kind() == ErrorKind::Invalid {
        encode_violations(out, error.violations())?;
    }
    Ok(())
}

/// At most [`MAX_VIOLATIONS`] of them.
fn encode_violations(out: &mut Vec<u8>, violations: &[Violation]) -> Result<()> {
    let violations = violations.get(..MAX_VIOLATIONS).unwrap_or(violations);
    out.encode_u16(violations.len() as u16);
    for violation in violations {
        out.encode_option(violation.column(), |out, column| out.encode_text(truncate(column)))?;
        out.encode_text(truncate(violation.message()))?;
    }
    Ok(())
}

fn read_violations(reader: &mut MessageReader<'_>) -> Result<Vec<Violation>> {
    let count = reader.u16()?;
    let mut violations = Vec::new();
    for _ in 0..count {
        let column = reader.option(MessageReader::text)?;
        violations.push(Violation::new(column, reader.text()?));
    }
    Ok(violations)
}

pub(crate) fn read(reader: &mut MessageReader<'_>) -> Result<Error> {
    let position = usize::from(reader.u8()?).checked_sub(1);
    // A newer peer may send a kind that this version does not know.
    let kind =
        position.and_then(|position| KINDS.get(position)).copied().unwrap_or(ErrorKind::Engine);
    let mut error = Error::new(kind, reader.text()?);
    if let Some(table) = reader.option(MessageReader::text)? {
        error = error.in_table(table);
    }
    if let Some(column) = reader.option(MessageReader::text)? {
        error = error.in_column(column);
    }
    if let Some(row) = reader.option(MessageReader::u64)? {
        error = error.at_row(row);
    }
    if let Some(code) = reader.option(MessageReader::u32)? {
        error = error.with_code(code.cast_signed());
    }
    if let Some(detail) = reader.option(MessageReader::text)? {
        error = error.with_source(detail);
    }
    if kind == ErrorKind::Invalid {
        error = error.with_violations(read_violations(reader)?);
    }
    Ok(error)
}

#[inline]
fn truncate(text: &str) -> &str {
    if text.len() <= MAX_TEXT {
        return text;
    }
    let end = (0..=MAX_TEXT).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_number() {
        assert_eq!(KINDS, ErrorKind::ALL);
    }

    #[test]
    fn errors_round_trip_with_all_details() {
        let error = Error::new(ErrorKind::Duplicate, "a row with this key is already there")
            .in_table("person")
            .in_column("id")
            .at_row(7)
            .with_code(2067)
            .with_source("UNIQUE constraint failed");
        let mut bytes = Vec::new();
        encode(&mut bytes, &error).unwrap();
        let back = read(&mut MessageReader::new(&bytes)).unwrap();
        assert_eq!(format!("{back:?}"), format!("{error:?}"));
        assert_eq!((back.code(), back.row()), (Some(2067), Some(7)));
        assert_eq!(back.source().unwrap().to_string(), "UNIQUE constraint failed");
        let violations = vec![
            Violation::new(Some("name"), "must not be blank"),
            Violation::new(None, "has no owner"),
        ];
        let error = Error::invalid("person", violations).at_row(3);
        bytes.clear();
        encode(&mut bytes, &error).unwrap();
        let back = read(&mut MessageReader::new(&bytes)).unwrap();
        assert_eq!(format!("{back:?}"), format!("{error:?}"));
        assert_eq!(back.violations(), error.violations());
        let long = Error::new(ErrorKind::Engine, "ü".repeat(9_999));
        encode(&mut bytes, &long).unwrap();
        assert!(bytes.len() < 5_000);
    }
}

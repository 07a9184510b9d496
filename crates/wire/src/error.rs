//! Errors as bytes.

use crate::reader::Reader;
use crate::writer::Encode;
use bobak_core::{Error, ErrorKind, Result};
use std::error::Error as _;

/// The kinds' numbers: the place in this list, from 1. New ones are added at the end.
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
];

/// The most of a text that an error carries: longer ones are cut.
const LONGEST: usize = 4_000;

pub(crate) fn encode(out: &mut Vec<u8>, error: &Error) -> Result<()> {
    let place = KINDS.iter().position(|kind| *kind == error.kind());
    out.encode_u8(place.map_or(KINDS.len() as u8, |place| place as u8 + 1));
    out.encode_text(cut(error.message()))?;
    out.encode_option(error.table(), |out, table| out.encode_text(cut(table)))?;
    out.encode_option(error.column(), |out, column| out.encode_text(cut(column)))?;
    out.encode_option(error.row(), |out, row| {
        out.encode_u64(row);
        Ok(())
    })?;
    out.encode_option(error.code(), |out, code| {
        out.encode_u32(code.cast_unsigned());
        Ok(())
    })?;
    let detail = error.source().map(ToString::to_string);
    out.encode_option(detail, |out, detail| out.encode_text(cut(&detail)))
}

pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Error> {
    let place = usize::from(reader.u8()?).checked_sub(1);
    // A kind that is newer than this end is some error all the same.
    let kind = place.and_then(|place| KINDS.get(place)).copied().unwrap_or(ErrorKind::Engine);
    let mut error = Error::new(kind, reader.text()?);
    if let Some(table) = reader.option(Reader::text)? {
        error = error.in_table(table);
    }
    if let Some(column) = reader.option(Reader::text)? {
        error = error.in_column(column);
    }
    if let Some(row) = reader.option(Reader::u64)? {
        error = error.at_row(row);
    }
    if let Some(code) = reader.option(Reader::u32)? {
        error = error.with_code(code.cast_signed());
    }
    if let Some(detail) = reader.option(Reader::text)? {
        error = error.with_source(detail);
    }
    Ok(error)
}

#[inline]
fn cut(text: &str) -> &str {
    if text.len() <= LONGEST {
        return text;
    }
    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end));
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
    fn errors_come_back_with_all_that_they_say() {
        let error = Error::new(ErrorKind::Duplicate, "a row with this key is already there")
            .in_table("person")
            .in_column("id")
            .at_row(7)
            .with_code(2067)
            .with_source("UNIQUE constraint failed");
        let mut bytes = Vec::new();
        encode(&mut bytes, &error).unwrap();
        let back = read(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(format!("{back:?}"), format!("{error:?}"));
        assert_eq!((back.code(), back.row()), (Some(2067), Some(7)));
        assert_eq!(back.source().unwrap().to_string(), "UNIQUE constraint failed");
        let long = Error::new(ErrorKind::Engine, "ü".repeat(9_999));
        encode(&mut bytes, &long).unwrap();
        assert!(bytes.len() < 5_000);
    }
}

//! The parameters of one run of a statement, as locations in the input.

use crate::input::{Input, ProtocolError};
use crate::tag::Tag;
use bobak_sqlite::raw::Value;
use std::io::Read;
use std::ops::Range;

/// Parameters, read run by run.
#[derive(Debug)]
pub(crate) struct ParameterRuns {
    locations: Vec<ParameterLocation>,
    /// The maximum number of parameters of a statement.
    max_count: usize,
    /// The maximum number of bytes of a value.
    max_length: usize,
}

#[derive(Clone, Debug)]
enum ParameterLocation {
    Null,
    Int(i64),
    Float(f64),
    Text(Range<usize>),
    Bytes(Range<usize>),
}

impl ParameterRuns {
    pub(crate) fn new(max_count: usize, max_length: usize) -> Self {
        Self { locations: Vec::new(), max_count, max_length }
    }

    /// Reads the parameters of one run, as a new group of the input. Returns a message if they can't be
    /// bound; they are then skipped.
    #[inline]
    pub(crate) fn read<R: Read>(
        &mut self,
        input: &mut Input<R>,
        count: usize,
    ) -> Result<Option<String>, ProtocolError> {
        input.begin();
        self.read_in_group(input, count)
    }

    /// As [`read`](Self::read), within the current group of the input.
    #[inline]
    pub(crate) fn read_in_group<R: Read>(
        &mut self,
        input: &mut Input<R>,
        count: usize,
    ) -> Result<Option<String>, ProtocolError> {
        self.locations.clear();
        if count > self.max_count {
            skip(input, count)?;
            return Ok(Some(format!(
                "{count} parameters, more than the limit of {}",
                self.max_count
            )));
        }
        for position in 0..count {
            let location = match tag(input)? {
                Tag::Null => ParameterLocation::Null,
                Tag::Int32 => ParameterLocation::Int(input.int32()?.into()),
                Tag::Int64 => ParameterLocation::Int(input.int64()?),
                Tag::Double => ParameterLocation::Float(input.double()?),
                tag => {
                    let length = input.length()?;
                    // The limit applies to the value; the protocol also counts the NUL of a string.
                    if length > self.max_length {
                        input.skip(length)?;
                        skip(input, count - position - 1)?;
                        return Ok(Some("string or blob too big".into()));
                    }
                    match tag {
                        Tag::String => ParameterLocation::Text(input.string(length)?),
                        _ => ParameterLocation::Bytes(input.blob(length)?),
                    }
                }
            };
            self.locations.push(location);
        }
        Ok(None)
    }

    /// The values that were read.
    #[inline]
    pub(crate) fn values<'v, R: Read>(
        &'v self,
        input: &'v Input<R>,
    ) -> impl ExactSizeIterator<Item = Value<'v>> {
        self.locations.iter().map(|location| match location {
            ParameterLocation::Null => Value::Null,
            ParameterLocation::Int(number) => Value::Int(*number),
            ParameterLocation::Float(number) => Value::Float(*number),
            ParameterLocation::Text(location) => Value::Text(input.bytes(location.clone())),
            ParameterLocation::Bytes(location) => Value::Bytes(input.bytes(location.clone())),
        })
    }
}

/// Skips so many values.
pub(crate) fn skip<R: Read>(input: &mut Input<R>, count: usize) -> Result<(), ProtocolError> {
    for _ in 0..count {
        let length = match tag(input)? {
            Tag::Null => 0,
            Tag::Int32 => {
                input.int32()?;
                0
            }
            Tag::Int64 | Tag::Double => {
                input.int64()?;
                0
            }
            Tag::String | Tag::Blob => input.length()?,
        };
        input.skip(length)?;
    }
    Ok(())
}

#[inline]
fn tag<R: Read>(input: &mut Input<R>) -> Result<Tag, ProtocolError> {
    let byte = input.byte()?;
    Tag::from_byte(byte)
        .ok_or_else(|| ProtocolError::Malformed(format!("unknown value type {byte}")))
}

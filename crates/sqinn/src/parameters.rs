//! The parameters of one run of a statement: where they are in the input.

use crate::input::{Broken, Input};
use crate::tag::Tag;
use bobak_sqlite::raw::Value;
use std::io::Read;
use std::ops::Range;

/// Parameters, read a run at a time.
#[derive(Debug)]
pub(crate) struct Parameters {
    places: Vec<Place>,
    /// The most that a statement takes.
    most: usize,
    /// The most bytes that a value may have.
    longest: usize,
}

#[derive(Clone, Debug)]
enum Place {
    Null,
    Int(i64),
    Float(f64),
    Text(Range<usize>),
    Bytes(Range<usize>),
}

impl Parameters {
    pub(crate) fn new(most: usize, longest: usize) -> Self {
        Self { places: Vec::new(), most, longest }
    }

    /// Reads so many, as a group of the input. The text is why they can't be bound: they have then
    /// been passed over.
    #[inline]
    pub(crate) fn read<R: Read>(
        &mut self,
        input: &mut Input<R>,
        count: usize,
    ) -> Result<Option<String>, Broken> {
        input.begin();
        self.read_on(input, count)
    }

    /// As [`read`](Self::read), within the group that is begun.
    #[inline]
    pub(crate) fn read_on<R: Read>(
        &mut self,
        input: &mut Input<R>,
        count: usize,
    ) -> Result<Option<String>, Broken> {
        self.places.clear();
        if count > self.most {
            skip(input, count)?;
            return Ok(Some(format!("{count} parameters where {} may be", self.most)));
        }
        for position in 0..count {
            let place = match tag(input)? {
                Tag::Null => Place::Null,
                Tag::Int32 => Place::Int(input.int32()?.into()),
                Tag::Int64 => Place::Int(input.int64()?),
                Tag::Double => Place::Float(input.double()?),
                tag => {
                    let length = input.length()?;
                    // The limit is for the value; the wire counts a string's NUL too.
                    if length > self.longest {
                        input.skip(length)?;
                        skip(input, count - position - 1)?;
                        return Ok(Some("string or blob too big".into()));
                    }
                    match tag {
                        Tag::String => Place::Text(input.string(length)?),
                        _ => Place::Bytes(input.blob(length)?),
                    }
                }
            };
            self.places.push(place);
        }
        Ok(None)
    }

    /// The values that were read last.
    #[inline]
    pub(crate) fn values<'v, R: Read>(
        &'v self,
        input: &'v Input<R>,
    ) -> impl ExactSizeIterator<Item = Value<'v>> {
        self.places.iter().map(|place| match place {
            Place::Null => Value::Null,
            Place::Int(number) => Value::Int(*number),
            Place::Float(number) => Value::Float(*number),
            Place::Text(place) => Value::Text(input.bytes(place.clone())),
            Place::Bytes(place) => Value::Bytes(input.bytes(place.clone())),
        })
    }
}

/// Passes over so many values.
pub(crate) fn skip<R: Read>(input: &mut Input<R>, count: usize) -> Result<(), Broken> {
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
fn tag<R: Read>(input: &mut Input<R>) -> Result<Tag, Broken> {
    let byte = input.byte()?;
    Tag::from_byte(byte)
        .ok_or_else(|| Broken::Malformed(format!("a value of the unknown type {byte}")))
}

//! Answers, as a client reads them.

use crate::reader::{Reader, corrupt};
use crate::{FrameHeader, FrameKind, Outcomes, Welcome, error, schema};
use bobak_core::codec::{self, EncodedRow};
use bobak_core::{Error, Result, TableSchema, Type};

/// A frame of an answer. Whether others follow, its head says.
#[derive(Debug)]
#[non_exhaustive]
pub enum Response<'a> {
    /// Done.
    Ok,
    /// The request failed.
    Error(Error),
    /// The server lets the client in.
    Welcome(Box<Welcome>),
    /// So many rows.
    Count(u64),
    /// What became of written rows.
    Outcomes(Outcomes<'a>),
    /// Rows.
    Rows(Rows<'a>),
    /// An open query.
    Columns {
        /// Its number.
        cursor: u64,
        /// Its columns.
        columns: Vec<Column>,
    },
    /// Descriptions of tables.
    Schemas(Vec<TableSchema>),
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type; `Any` where each value says its own.
    pub ty: Type,
}

/// Framed rows, each checked as it is taken.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    bytes: &'a [u8],
}

impl<'a> Rows<'a> {
    /// The rows' bytes, unchecked.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a> Iterator for Rows<'a> {
    type Item = Result<EncodedRow<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let row = codec::split_first(self.bytes).and_then(|(row, used)| {
            self.bytes = self.bytes.get(used..).unwrap_or_default();
            EncodedRow::check(row.as_bytes())
        });
        if row.is_err() {
            self.bytes = &[];
        }
        Some(row)
    }
}

impl<'a> Response<'a> {
    /// Reads the body of a server's frame.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are no answer.
    #[inline]
    pub fn decode(head: FrameHeader, body: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(body);
        let answer = match head.kind {
            FrameKind::Ok => Self::Ok,
            FrameKind::Error => Self::Error(error::read(&mut reader)?),
            FrameKind::Welcome => Self::Welcome(Box::new(Welcome::read(&mut reader)?)),
            FrameKind::Count => Self::Count(reader.u64()?),
            FrameKind::Outcomes => Self::Outcomes(Outcomes::new(reader.rest())),
            FrameKind::Rows => Self::Rows(Rows { bytes: reader.rest() }),
            FrameKind::Columns => Self::Columns {
                cursor: reader.u64()?,
                columns: (0..reader.u16()?)
                    .map(|_| {
                        let name = reader.text()?.to_owned();
                        Ok(Column { name, ty: schema::read_type(&mut reader)? })
                    })
                    .collect::<Result<_>>()?,
            },
            FrameKind::Schemas => {
                let count = reader.count(4)?;
                let read = |_| crate::read_schema(reader.bytes()?);
                Self::Schemas((0..count).map(read).collect::<Result<_>>()?)
            }
            other => return Err(corrupt(format!("{other:?} is no answer"))),
        };
        reader.finish()?;
        Ok(answer)
    }
}

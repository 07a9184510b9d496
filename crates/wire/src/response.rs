//! Decodes responses, for clients.

use crate::reader::{MessageReader, corrupt};
use crate::{ColumnBlock, FrameHeader, FrameKind, OutcomeList, Welcome, error, schema};
use bobak_core::codec::{self, EncodedRow};
use bobak_core::{Error, Result, ResultColumn, TableSchema};

/// A frame of a response. Its header says whether more follow.
#[derive(Debug)]
#[non_exhaustive]
pub enum Response<'a> {
    /// Success without a result.
    Ok,
    /// The request failed.
    Error(Error),
    /// The server accepts the client.
    Welcome(Box<Welcome>),
    /// A number of rows.
    Count(u64),
    /// The outcome of each written row.
    Outcomes(OutcomeList<'a>),
    /// Rows.
    Rows(RowFrame<'a>),
    /// A cursor.
    Columns {
        /// Its number.
        cursor: u64,
        /// Its columns.
        columns: Vec<ResultColumn>,
    },
    /// Table schemas.
    Schemas(Vec<TableSchema>),
    /// Rows, column by column.
    Block(ColumnBlock<'a>),
    /// The server does not run this join, and has done nothing: the client reads the tables, and joins the rows.
    Declined,
}

/// Framed rows. The iterator checks each row.
#[derive(Clone, Copy, Debug)]
pub struct RowFrame<'a> {
    bytes: &'a [u8],
}

impl<'a> RowFrame<'a> {
    /// The rows' bytes, unchecked.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a> Iterator for RowFrame<'a> {
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
    /// Decodes the body of a server's frame.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not a valid response.
    #[inline]
    pub fn decode(header: FrameHeader, body: &'a [u8]) -> Result<Self> {
        let mut reader = MessageReader::new(body);
        let response = match header.kind {
            FrameKind::Ok => Self::Ok,
            FrameKind::Error => Self::Error(error::read(&mut reader)?),
            FrameKind::Welcome => Self::Welcome(Box::new(Welcome::read(&mut reader)?)),
            FrameKind::Count => Self::Count(reader.u64()?),
            FrameKind::Outcomes => Self::Outcomes(OutcomeList::new(reader.rest())),
            FrameKind::Rows => Self::Rows(RowFrame { bytes: reader.rest() }),
            FrameKind::Columns => Self::Columns {
                cursor: reader.u64()?,
                columns: (0..reader.u16()?)
                    .map(|_| {
                        let name = reader.text()?.to_owned();
                        Ok(ResultColumn { name, ty: schema::read_type(&mut reader)? })
                    })
                    .collect::<Result<_>>()?,
            },
            FrameKind::Schemas => {
                let count = reader.count(4)?;
                let read = |_| crate::read_schema(reader.bytes()?);
                Self::Schemas((0..count).map(read).collect::<Result<_>>()?)
            }
            FrameKind::Block => Self::Block(ColumnBlock::decode(reader.rest())?),
            FrameKind::Declined => Self::Declined,
            other => return Err(corrupt(format!("{other:?} is not a response"))),
        };
        reader.finish()?;
        Ok(response)
    }
}

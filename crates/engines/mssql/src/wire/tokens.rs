//! The tokens of a response.

use super::bytes::ByteSource;
use super::status::{MssqlError, invalid};
use super::types::{TdsColumn, TypeInfo, type_id};
use super::values::{self, TdsCell};
use std::io;

/// A token. The columns and the values of a row are in the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TdsToken {
    /// The columns of the rows that follow.
    Columns,
    Row,
    /// A statement has ended, or all of the request.
    Done(DoneToken),
    Error(MssqlError),
    /// The session has another state.
    Change(ChangeToken),
    /// The login succeeded; the version of the protocol.
    LoggedIn(u32),
    /// Nothing to act on.
    Other,
}

/// The end of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DoneToken {
    status: u16,
    rows: u64,
}

impl DoneToken {
    pub const fn has_more(self) -> bool {
        self.status & 1 != 0
    }

    /// Whether it acknowledges an attention.
    pub const fn is_attention(self) -> bool {
        self.status & 0x20 != 0
    }

    /// How many rows the statement wrote or returned, if it counts.
    pub const fn count(self) -> Option<u64> {
        if self.status & 0x10 != 0 { Some(self.rows) } else { None }
    }
}

/// A change of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangeToken {
    PacketSize(usize),
    Collation([u8; 5]),
    /// A transaction has begun, with this number, or has ended.
    Transaction(Option<u64>),
    /// Another server must be used: its name and port.
    Route(String, u16),
    Other,
}

/// Reads tokens, and keeps the columns and the last row.
#[derive(Debug, Default)]
pub(crate) struct TokenReader {
    pub columns: Vec<TdsColumn>,
    pub cells: Vec<TdsCell>,
    pub bytes: Vec<u8>,
}

impl TokenReader {
    /// The next token.
    ///
    /// # Errors
    /// Those of the source; `InvalidData` for bytes that are no token.
    pub fn next(&mut self, source: &mut impl ByteSource) -> io::Result<TdsToken> {
        Ok(match source.u8()? {
            0x81 => {
                self.read_columns(source)?;
                TdsToken::Columns
            }
            0xd1 => {
                self.read_row(source, &[])?;
                TdsToken::Row
            }
            0xd2 => {
                let mut nulls = Vec::new();
                source.append(self.columns.len().div_ceil(8), &mut nulls)?;
                self.read_row(source, &nulls)?;
                TdsToken::Row
            }
            0xfd..=0xff => {
                let status = source.u16()?;
                source.u16()?;
                TdsToken::Done(DoneToken { status, rows: source.u64()? })
            }
            0xaa => TdsToken::Error(error(source)?),
            0xad => login(source)?,
            0xe3 => TdsToken::Change(change(source)?),
            0x79 => {
                source.u32()?;
                TdsToken::Other
            }
            0xac => {
                self.skip_return_value(source)?;
                TdsToken::Other
            }
            0xae => {
                skip_features(source)?;
                TdsToken::Other
            }
            // A notice, the order of rows, names of tables and columns.
            0xab | 0xa9 | 0xa4 | 0xa5 | 0xed => {
                let length = source.u16()?;
                source.skip(length.into())?;
                TdsToken::Other
            }
            0xe4 | 0xee => {
                let length = source.u32()?;
                source.skip(length as usize)?;
                TdsToken::Other
            }
            _ => return Err(invalid("the server sent a token that the protocol does not have")),
        })
    }

    fn read_columns(&mut self, source: &mut impl ByteSource) -> io::Result<()> {
        let count = source.u16()?;
        self.columns.clear();
        if count == u16::MAX {
            return Ok(());
        }
        for _ in 0..count {
            source.u32()?;
            source.u16()?;
            let ty = TypeInfo::read(source)?;
            if matches!(ty.id, type_id::TEXT | type_id::NTEXT | type_id::IMAGE) {
                for _ in 0..source.u8()? {
                    source.long_text()?;
                }
            }
            self.columns.push(TdsColumn { name: source.short_text()?, ty });
        }
        Ok(())
    }

    fn read_row(&mut self, source: &mut impl ByteSource, nulls: &[u8]) -> io::Result<()> {
        self.cells.clear();
        self.bytes.clear();
        for (at, column) in self.columns.iter().enumerate() {
            let is_null = nulls.get(at / 8).is_some_and(|bits| bits >> (at % 8) & 1 == 1);
            let cell = match is_null {
                true => TdsCell::Null,
                false => values::read(source, column.ty, &mut self.bytes)?,
            };
            self.cells.push(cell);
        }
        Ok(())
    }

    fn skip_return_value(&mut self, source: &mut impl ByteSource) -> io::Result<()> {
        source.u16()?;
        source.short_text()?;
        source.u8()?;
        source.u32()?;
        source.u16()?;
        let ty = TypeInfo::read(source)?;
        values::read(source, ty, &mut Vec::new()).map(drop)
    }
}

fn error(source: &mut impl ByteSource) -> io::Result<MssqlError> {
    source.u16()?;
    let number = source.i32()?;
    source.u8()?;
    let severity = source.u8()?;
    let message = source.long_text()?;
    source.short_text()?;
    source.short_text()?;
    source.u32()?;
    Ok(MssqlError { number, severity, message })
}

fn login(source: &mut impl ByteSource) -> io::Result<TdsToken> {
    source.u16()?;
    source.u8()?;
    let version = u32::from_be_bytes(source.array()?);
    source.short_text()?;
    source.u32()?;
    Ok(TdsToken::LoggedIn(version))
}

fn skip_features(source: &mut impl ByteSource) -> io::Result<()> {
    while source.u8()? != 0xff {
        let length = source.u32()?;
        source.skip(length as usize)?;
    }
    Ok(())
}

fn change(source: &mut impl ByteSource) -> io::Result<ChangeToken> {
    let length = source.u16()?;
    let mut body = Vec::new();
    source.append(length.into(), &mut body)?;
    let mut body = super::bytes::SliceSource::new(&body);
    Ok(match body.u8()? {
        4 => ChangeToken::PacketSize(body.short_text()?.parse().unwrap_or(0)),
        7 if body.u8()? == 5 => ChangeToken::Collation(body.array()?),
        8 if body.u8()? == 8 => ChangeToken::Transaction(Some(body.u64()?)),
        9 | 10 | 12 | 17 => ChangeToken::Transaction(None),
        20 => {
            body.u16()?;
            body.u8()?;
            let port = body.u16()?;
            ChangeToken::Route(body.long_text()?, port)
        }
        _ => ChangeToken::Other,
    })
}

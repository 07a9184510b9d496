//! Values on their way: a message's format in BLR, the server's binary language, and its data.

use super::stream::{Packet, Receiver};
use std::io;

/// The types of columns, as the server describes them.
pub(crate) mod sql_type {
    pub(crate) const TEXT: i32 = 452;
    pub(crate) const VARYING: i32 = 448;
    pub(crate) const SHORT: i32 = 500;
    pub(crate) const LONG: i32 = 496;
    pub(crate) const INT64: i32 = 580;
    pub(crate) const FLOAT: i32 = 482;
    pub(crate) const DOUBLE: i32 = 480;
    pub(crate) const TIMESTAMP: i32 = 510;
    pub(crate) const TIME: i32 = 560;
    pub(crate) const DATE: i32 = 570;
    pub(crate) const BLOB: i32 = 520;
    pub(crate) const BOOLEAN: i32 = 32764;
    /// Of Firebird 4 and later, such as sums of 64-bit integers and of amounts. Their digits are sent as a text.
    pub(crate) const INT128: i32 = 32752;
}

/// The character sets that Bobak uses.
pub(crate) const OCTETS: u16 = 1;
const ASCII: u16 = 2;
const UTF8: u16 = 4;

/// A column of a result, or a parameter.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldDescription {
    pub name: String,
    pub ty: i32,
    /// Of a text, its character set; of a BLOB, 1 for text; of a number, whether it is NUMERIC.
    pub subtype: i32,
    pub scale: i32,
    pub length: i32,
}

impl FieldDescription {
    pub fn is_octets(&self) -> bool {
        self.subtype & 0xff == i32::from(OCTETS)
    }
}

/// A value that is sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SentValue<'a> {
    Null,
    /// A number, and how many decimals it has.
    Int(i64, u8),
    Double(f64),
    Bool(bool),
    /// Days since 1858-11-17.
    Date(i32),
    Text(&'a str),
    /// A text that was made on the way.
    Made(String),
    Bytes(&'a [u8]),
    /// A BLOB that was sent before.
    Blob(i64),
}

/// Values that are sent with one execution of a statement.
#[derive(Debug, Default)]
pub(crate) struct ValueMessage {
    pub blr: Vec<u8>,
    pub data: Vec<u8>,
}

impl ValueMessage {
    pub fn new(values: &[SentValue<'_>]) -> Self {
        let mut blr = Blr::new(values.len());
        let mut nulls = vec![0_u8; values.len().div_ceil(8)];
        let mut data = Packet::default();
        for (at, value) in values.iter().enumerate() {
            if let (SentValue::Null, Some(byte)) = (value, nulls.get_mut(at / 8)) {
                *byte |= 1 << (at % 8);
            }
            value.push(&mut blr, &mut data);
        }
        let mut all = Packet::default();
        all.padded(&nulls);
        all.bytes.append(&mut data.bytes);
        Self { blr: blr.finish(), data: all.bytes }
    }
}

impl SentValue<'_> {
    /// The bytes of a text or bytes that go with the row.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
            _ => b"",
        }
    }

    /// Adds the value's type to the format, and the value to the data, which have none of NULL.
    fn push(&self, blr: &mut Blr, data: &mut Packet) {
        let bytes = match self {
            Self::Null => return blr.text(ASCII, 1),
            Self::Int(_, decimals) => return self.push_number(blr, data, 16, -(*decimals as i8)),
            Self::Blob(_) => return self.push_number(blr, data, 9, 0),
            Self::Double(value) => {
                blr.plain(27);
                data.long(value.to_bits() as i64);
                return;
            }
            Self::Bool(value) => {
                blr.plain(23);
                data.padded(&[u8::from(*value)]);
                return;
            }
            Self::Date(days) => {
                blr.plain(12);
                data.int(*days);
                return;
            }
            Self::Text(text) => text.as_bytes(),
            Self::Made(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        };
        let charset = if matches!(self, Self::Bytes(_)) { OCTETS } else { UTF8 };
        blr.text(charset, bytes.len());
        data.counted(bytes);
    }

    fn push_number(&self, blr: &mut Blr, data: &mut Packet, ty: u8, scale: i8) {
        blr.scaled(ty, scale);
        if let Self::Int(value, _) | Self::Blob(value) = self {
            data.long(*value);
        }
    }
}

/// The format of a message, being written.
struct Blr(Vec<u8>);

impl Blr {
    fn new(values: usize) -> Self {
        let count = u16::try_from(values * 2).unwrap_or(u16::MAX).to_le_bytes();
        Self(vec![5, 2, 4, 0, count[0], count[1]])
    }

    fn plain(&mut self, ty: u8) {
        self.0.extend([ty, 7, 0]);
    }

    fn scaled(&mut self, ty: u8, scale: i8) {
        self.0.extend([ty, scale as u8, 7, 0]);
    }

    fn text(&mut self, charset: u16, length: usize) {
        let length = u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes();
        self.0.push(38);
        self.0.extend(charset.to_le_bytes());
        self.0.extend([length[0], length[1], 7, 0]);
    }

    fn finish(mut self) -> Vec<u8> {
        self.0.extend([255, 76]);
        self.0
    }
}

/// The format in which the rows of a result arrive.
pub(super) fn result_format(columns: &[FieldDescription]) -> Vec<u8> {
    let mut blr = Blr::new(columns.len());
    for column in columns {
        match column.ty {
            sql_type::SHORT | sql_type::LONG | sql_type::INT64 => {
                blr.scaled(16, i8::try_from(column.scale).unwrap_or(0));
            }
            sql_type::FLOAT | sql_type::DOUBLE => blr.plain(27),
            sql_type::TIMESTAMP => blr.plain(35),
            sql_type::TIME => blr.plain(13),
            sql_type::DATE => blr.plain(12),
            sql_type::BOOLEAN => blr.plain(23),
            sql_type::BLOB => blr.scaled(9, 0),
            sql_type::TEXT | sql_type::VARYING => {
                let charset = if column.is_octets() { OCTETS } else { UTF8 };
                blr.text(charset, usize::try_from(column.length).unwrap_or(0));
            }
            // What is newer than the protocol, as a text.
            _ => blr.text(ASCII, 64),
        }
    }
    blr.finish()
}

/// A value of a row that arrived; texts and bytes are ranges of the row's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Double(f64),
    Bool(bool),
    Date(i32),
    /// Ten-thousandths of a second since midnight.
    Time(i64),
    Timestamp(i32, i64),
    Bytes(usize, usize),
    Blob(i64),
}

/// Rows that arrived together.
#[derive(Debug, Default)]
pub(crate) struct ReceivedRows {
    pub cells: Vec<Cell>,
    pub bytes: Vec<u8>,
}

impl ReceivedRows {
    pub fn clear(&mut self) {
        self.cells.clear();
        self.bytes.clear();
    }

    pub(super) fn read_row(
        &mut self,
        receiver: &mut Receiver,
        columns: &[FieldDescription],
    ) -> io::Result<()> {
        let mut nulls = Vec::new();
        receiver.padded(columns.len().div_ceil(8), &mut nulls)?;
        for (at, column) in columns.iter().enumerate() {
            let is_null = nulls.get(at / 8).is_some_and(|byte| byte & (1 << (at % 8)) != 0);
            let cell = if is_null { Cell::Null } else { self.read_cell(receiver, column)? };
            self.cells.push(cell);
        }
        Ok(())
    }

    fn read_cell(
        &mut self,
        receiver: &mut Receiver,
        column: &FieldDescription,
    ) -> io::Result<Cell> {
        Ok(match column.ty {
            sql_type::SHORT | sql_type::LONG | sql_type::INT64 => Cell::Int(receiver.long()?),
            sql_type::FLOAT | sql_type::DOUBLE => {
                Cell::Double(f64::from_bits(receiver.long()? as u64))
            }
            sql_type::DATE => Cell::Date(receiver.int()?),
            sql_type::TIME => Cell::Time(i64::from(receiver.int()? as u32)),
            sql_type::TIMESTAMP => {
                let day = receiver.int()?;
                Cell::Timestamp(day, i64::from(receiver.int()? as u32))
            }
            sql_type::BLOB => Cell::Blob(receiver.long()?),
            sql_type::BOOLEAN => {
                let mut byte = Vec::new();
                receiver.padded(1, &mut byte)?;
                Cell::Bool(byte.first().is_some_and(|byte| *byte != 0))
            }
            _ => {
                let (start, length) = (self.bytes.len(), receiver.int()?);
                receiver.padded(usize::try_from(length).unwrap_or(0), &mut self.bytes)?;
                if column.ty == sql_type::TEXT && !column.is_octets() {
                    while self.bytes.len() > start && self.bytes.last() == Some(&b' ') {
                        self.bytes.pop();
                    }
                }
                Cell::Bytes(start, self.bytes.len())
            }
        })
    }
}

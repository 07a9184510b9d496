//! The types of columns and parameters, as they are described before their values.

use super::bytes::ByteSource;
use super::collation::CollationBytes;
use super::status::invalid;
use std::io;

/// The numbers of types.
pub(crate) mod type_id {
    pub(crate) const NULL: u8 = 0x1f;
    pub(crate) const IMAGE: u8 = 0x22;
    pub(crate) const TEXT: u8 = 0x23;
    pub(crate) const GUID: u8 = 0x24;
    pub(crate) const OLD_VARBINARY: u8 = 0x25;
    pub(crate) const INTN: u8 = 0x26;
    pub(crate) const OLD_VARCHAR: u8 = 0x27;
    pub(crate) const DATE: u8 = 0x28;
    pub(crate) const TIME: u8 = 0x29;
    pub(crate) const DATETIME2: u8 = 0x2a;
    pub(crate) const DATETIMEOFFSET: u8 = 0x2b;
    pub(crate) const OLD_BINARY: u8 = 0x2d;
    pub(crate) const OLD_CHAR: u8 = 0x2f;
    pub(crate) const INT1: u8 = 0x30;
    pub(crate) const BIT: u8 = 0x32;
    pub(crate) const INT2: u8 = 0x34;
    pub(crate) const OLD_DECIMAL: u8 = 0x37;
    pub(crate) const INT4: u8 = 0x38;
    pub(crate) const SMALLDATETIME: u8 = 0x3a;
    pub(crate) const REAL: u8 = 0x3b;
    pub(crate) const MONEY: u8 = 0x3c;
    pub(crate) const DATETIME: u8 = 0x3d;
    pub(crate) const FLOAT: u8 = 0x3e;
    pub(crate) const OLD_NUMERIC: u8 = 0x3f;
    pub(crate) const VARIANT: u8 = 0x62;
    pub(crate) const NTEXT: u8 = 0x63;
    pub(crate) const BITN: u8 = 0x68;
    pub(crate) const DECIMAL: u8 = 0x6a;
    pub(crate) const NUMERIC: u8 = 0x6c;
    pub(crate) const FLOATN: u8 = 0x6d;
    pub(crate) const MONEYN: u8 = 0x6e;
    pub(crate) const DATETIMEN: u8 = 0x6f;
    pub(crate) const SMALLMONEY: u8 = 0x7a;
    pub(crate) const INT8: u8 = 0x7f;
    pub(crate) const VARBINARY: u8 = 0xa5;
    pub(crate) const VARCHAR: u8 = 0xa7;
    pub(crate) const BINARY: u8 = 0xad;
    pub(crate) const CHAR: u8 = 0xaf;
    pub(crate) const NVARCHAR: u8 = 0xe7;
    pub(crate) const NCHAR: u8 = 0xef;
    pub(crate) const UDT: u8 = 0xf0;
    pub(crate) const XML: u8 = 0xf1;
}

/// The length that stands for values in parts, of any length.
pub(super) const ANY_LENGTH: u32 = 0xffff;

/// A type that the server describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeInfo {
    pub id: u8,
    /// The most bytes of a value.
    pub length: u32,
    pub scale: u8,
    pub collation: CollationBytes,
}

/// A column of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TdsColumn {
    pub name: String,
    pub ty: TypeInfo,
}

/// The bytes of a value of a type without a length of its own.
pub(super) const fn fixed_length(id: u8) -> Option<u32> {
    Some(match id {
        type_id::NULL => 0,
        type_id::INT1 | type_id::BIT => 1,
        type_id::INT2 => 2,
        type_id::INT4 | type_id::REAL | type_id::SMALLDATETIME | type_id::SMALLMONEY => 4,
        type_id::INT8 | type_id::FLOAT | type_id::MONEY | type_id::DATETIME => 8,
        _ => return None,
    })
}

impl TypeInfo {
    pub(super) fn read(source: &mut impl ByteSource) -> io::Result<Self> {
        let id = source.u8()?;
        let mut info = Self { id, ..Self::default() };
        if let Some(length) = fixed_length(id) {
            info.length = length;
            return Ok(info);
        }
        match id {
            type_id::DATE => {}
            type_id::TIME | type_id::DATETIME2 | type_id::DATETIMEOFFSET => {
                info.scale = source.u8()?;
            }
            type_id::DECIMAL | type_id::NUMERIC | type_id::OLD_DECIMAL | type_id::OLD_NUMERIC => {
                info.length = source.u8()?.into();
                source.u8()?;
                info.scale = source.u8()?;
            }
            type_id::GUID
            | type_id::INTN
            | type_id::BITN
            | type_id::FLOATN
            | type_id::MONEYN
            | type_id::DATETIMEN
            | type_id::OLD_VARBINARY
            | type_id::OLD_BINARY => {
                info.length = source.u8()?.into();
            }
            type_id::OLD_CHAR | type_id::OLD_VARCHAR => {
                info.length = source.u8()?.into();
                info.collation = CollationBytes(source.array()?);
            }
            type_id::VARBINARY | type_id::BINARY => info.length = source.u16()?.into(),
            type_id::VARCHAR | type_id::CHAR | type_id::NVARCHAR | type_id::NCHAR => {
                info.length = source.u16()?.into();
                info.collation = CollationBytes(source.array()?);
            }
            type_id::TEXT | type_id::NTEXT => {
                info.length = source.u32()?;
                info.collation = CollationBytes(source.array()?);
            }
            type_id::IMAGE | type_id::VARIANT => info.length = source.u32()?,
            type_id::XML => info.skip_xml_schema(source)?,
            type_id::UDT => info.skip_user_type(source)?,
            _ => return Err(invalid("the server sent a type that the protocol does not have")),
        }
        Ok(info)
    }

    fn skip_xml_schema(&mut self, source: &mut impl ByteSource) -> io::Result<()> {
        self.length = ANY_LENGTH;
        if source.u8()? != 0 {
            source.short_text()?;
            source.short_text()?;
            source.long_text()?;
        }
        Ok(())
    }

    fn skip_user_type(&mut self, source: &mut impl ByteSource) -> io::Result<()> {
        source.u16()?;
        self.length = ANY_LENGTH;
        (0..3).try_for_each(|_| source.short_text().map(drop))?;
        source.long_text().map(drop)
    }

    /// Whether the values are sent in parts.
    pub(super) const fn is_in_parts(self) -> bool {
        let has_parts = matches!(
            self.id,
            type_id::VARBINARY | type_id::VARCHAR | type_id::NVARCHAR | type_id::XML | type_id::UDT
        );
        has_parts && self.length == ANY_LENGTH
    }
}

/// The type of a value that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SentKind {
    /// An integer of so many bytes.
    Int(u8),
    Bit,
    Float,
    /// DECIMAL(19, 4).
    Money,
    Date,
    /// TIME(6).
    Time,
    /// DATETIME2(6).
    Moment,
    Uuid,
    /// NVARCHAR of so many units of UTF-16; of any length without.
    Text(Option<u16>),
    /// VARBINARY of so many bytes; of any length without.
    Bytes(Option<u16>),
}

impl SentKind {
    /// The type in SQL.
    pub fn name(self) -> String {
        let length = |length: Option<u16>| match length {
            Some(length) => length.to_string(),
            None => "max".to_owned(),
        };
        match self {
            Self::Int(1) => "tinyint".to_owned(),
            Self::Int(2) => "smallint".to_owned(),
            Self::Int(4) => "int".to_owned(),
            Self::Int(_) => "bigint".to_owned(),
            Self::Bit => "bit".to_owned(),
            Self::Float => "float".to_owned(),
            Self::Money => "decimal(19,4)".to_owned(),
            Self::Date => "date".to_owned(),
            Self::Time => "time(6)".to_owned(),
            Self::Moment => "datetime2(6)".to_owned(),
            Self::Uuid => "uniqueidentifier".to_owned(),
            Self::Text(units) => format!("nvarchar({})", length(units)),
            Self::Bytes(bytes) => format!("varbinary({})", length(bytes)),
        }
    }

    /// The number of the type whose values have no length of their own, which a bulk load uses for columns without NULL.
    pub(super) const fn fixed_id(self) -> Option<u8> {
        Some(match self {
            Self::Int(1) => type_id::INT1,
            Self::Int(2) => type_id::INT2,
            Self::Int(4) => type_id::INT4,
            Self::Int(_) => type_id::INT8,
            Self::Bit => type_id::BIT,
            Self::Float => type_id::FLOAT,
            _ => return None,
        })
    }

    pub(super) fn push(self, out: &mut Vec<u8>, collation: CollationBytes) {
        match self {
            Self::Int(bytes) => out.extend([type_id::INTN, bytes]),
            Self::Bit => out.extend([type_id::BITN, 1]),
            Self::Float => out.extend([type_id::FLOATN, 8]),
            Self::Money => out.extend([type_id::DECIMAL, 9, 19, 4]),
            Self::Date => out.push(type_id::DATE),
            Self::Time => out.extend([type_id::TIME, 6]),
            Self::Moment => out.extend([type_id::DATETIME2, 6]),
            Self::Uuid => out.extend([type_id::GUID, 16]),
            Self::Text(units) => {
                out.push(type_id::NVARCHAR);
                let bytes = units.map_or(u16::MAX, |units| units.saturating_mul(2));
                out.extend(bytes.to_le_bytes());
                out.extend(collation.0);
            }
            Self::Bytes(bytes) => {
                out.push(type_id::VARBINARY);
                out.extend(bytes.unwrap_or(u16::MAX).to_le_bytes());
            }
        }
    }
}

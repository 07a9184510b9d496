//! The codes of requests and of value types.

use bobak_sqlite::raw::RawType;

/// A request to run a statement.
pub(crate) const EXEC: u8 = 1;
/// A request for rows.
pub(crate) const QUERY: u8 = 2;
/// A request to quit.
pub(crate) const QUIT: u8 = 9;

/// A value's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Null,
    Int32,
    Int64,
    Double,
    String,
    Blob,
}

impl Tag {
    #[inline]
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Null,
            1 => Self::Int32,
            2 => Self::Int64,
            3 => Self::Double,
            4 => Self::String,
            5 => Self::Blob,
            _ => return None,
        })
    }

    /// The type to which SQLite converts a column that is requested with this tag; `None` for NULL, which
    /// can't be requested.
    pub(crate) fn kind(self) -> Option<RawType> {
        match self {
            Self::Null => None,
            Self::Int32 | Self::Int64 => Some(RawType::Int),
            Self::Double => Some(RawType::Float),
            Self::String => Some(RawType::Text),
            Self::Blob => Some(RawType::Bytes),
        }
    }
}

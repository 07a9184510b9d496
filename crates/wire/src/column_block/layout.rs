//! How the values of a type lie in a buffer.

use bobak_core::Type;

/// The layout of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// One bit for each value.
    Bits,
    /// Integers of so many bytes, in a range.
    Integers { width: usize, least: i64, most: i64 },
    /// Integers of 16 bytes.
    Wide,
    /// `f32`.
    Singles,
    /// `f64`.
    Doubles,
    /// So many bytes for each value.
    Fixed(usize),
    /// An offset for each value, and one more, into a heap of texts.
    Texts,
    /// As texts, but any bytes.
    Bytes,
    /// Values of any class: a tag for each, a slot for each, and a heap, as in the row codec.
    Any,
}

impl Layout {
    pub const fn of(ty: Type) -> Self {
        const fn integers(width: usize, least: i64, most: i64) -> Layout {
            Layout::Integers { width, least, most }
        }
        match ty {
            Type::Bool => Self::Bits,
            Type::I8 => integers(1, i8::MIN as i64, i8::MAX as i64),
            Type::I16 => integers(2, i16::MIN as i64, i16::MAX as i64),
            Type::I32 | Type::Date => integers(4, i32::MIN as i64, i32::MAX as i64),
            Type::I64 | Type::Time | Type::DateTime | Type::Timestamp => {
                integers(8, i64::MIN, i64::MAX)
            }
            Type::U8 => integers(1, 0, u8::MAX as i64),
            Type::U16 => integers(2, 0, u16::MAX as i64),
            Type::U32 => integers(4, 0, u32::MAX as i64),
            Type::U64 => integers(8, 0, i64::MAX),
            Type::F32 => Self::Singles,
            Type::F64 => Self::Doubles,
            Type::Text | Type::Json => Self::Texts,
            Type::Bytes => Self::Bytes,
            Type::Uuid => Self::Fixed(16),
            Type::Vector(numbers) => Self::Fixed(4 * numbers as usize),
            Type::Currency => Self::Wide,
            _ => Self::Any,
        }
    }

    /// The bytes of the offsets of so many rows; 0 if there are none.
    pub const fn offsets(self, rows: usize) -> usize {
        match self {
            Self::Texts | Self::Bytes => (rows + 1) * 4,
            Self::Any => rows,
            _ => 0,
        }
    }

    /// The bytes of the values of so many rows, without the heap.
    pub const fn values(self, rows: usize) -> usize {
        match self {
            Self::Bits => rows.div_ceil(8),
            Self::Integers { width, .. } | Self::Fixed(width) => rows * width,
            Self::Wide => rows * 16,
            Self::Singles => rows * 4,
            Self::Doubles | Self::Any => rows * 8,
            Self::Texts | Self::Bytes => 0,
        }
    }

    /// Whether it has a heap.
    pub const fn has_heap(self) -> bool {
        matches!(self, Self::Texts | Self::Bytes | Self::Any)
    }
}

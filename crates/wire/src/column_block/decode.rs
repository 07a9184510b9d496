//! Reads blocks. Everything is checked once, so that values are read without checks.

use super::layout::Layout;
use super::{ALIGNMENT, DESCRIPTION, HAS_NULLS, HEAP};
use crate::reader::{MessageReader, corrupt, wrong};
use crate::schema;
use bobak_core::{Result, Row, Type, ValueRef};

/// Rows as one vector of values for each column, in the memory layout of Arrow.
#[derive(Clone, Debug)]
pub struct ColumnBlock<'a> {
    rows: usize,
    columns: Vec<BlockColumn<'a>>,
}

/// A column of a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockColumn<'a> {
    ty: Type,
    layout: Layout,
    validity: Option<&'a [u8]>,
    offsets: &'a [u8],
    values: &'a [u8],
    heap: &'a [u8],
}

/// What a column's description says.
struct Description {
    ty: Type,
    has_nulls: bool,
    heap: usize,
}

/// The buffers of a body, one after the other.
struct Buffers<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> Buffers<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let rest = self.body.get(self.at..).unwrap_or_default();
        let buffer = rest
            .get(..length)
            .ok_or_else(|| corrupt("the block ends in the middle of a column"))?;
        self.at += length.next_multiple_of(ALIGNMENT);
        Ok(buffer)
    }
}

impl<'a> ColumnBlock<'a> {
    /// Decodes and checks the body of a frame.
    ///
    /// # Errors
    /// `Corrupt`, naming the first damaged column.
    pub fn decode(body: &'a [u8]) -> Result<Self> {
        let mut reader = MessageReader::new(body);
        let (rows, count, zero) = (reader.u32()? as usize, reader.u16()?, reader.u16()?);
        if zero != 0 || (count == 0 && rows > 0) {
            return Err(corrupt("the block has no valid head"));
        }
        let mut described = Vec::new();
        for _ in 0..count {
            described.push(Description::read(&mut reader)?);
        }
        let mut buffers = Buffers { body, at: ALIGNMENT + described.len() * DESCRIPTION };
        let mut columns = Vec::with_capacity(described.len());
        for (place, description) in described.iter().enumerate() {
            let column = BlockColumn::read(description, rows, &mut buffers)?;
            if !column.is_valid(rows) {
                return Err(corrupt(format!("column {place} of the block is damaged")));
            }
            columns.push(column);
        }
        if buffers.at != body.len() {
            return Err(corrupt("the block has not the length that its columns have"));
        }
        Ok(Self { rows, columns })
    }

    /// The number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[BlockColumn<'a>] {
        &self.columns
    }

    /// A row, which reads the columns.
    #[inline]
    #[must_use]
    pub const fn row(&self, row: usize) -> impl Row + use<'_, 'a> {
        BlockRow { block: self, row }
    }
}

struct BlockRow<'b, 'a> {
    block: &'b ColumnBlock<'a>,
    row: usize,
}

impl Row for BlockRow<'_, '_> {
    fn len(&self) -> usize {
        self.block.columns.len()
    }

    #[inline]
    fn get(&self, column: usize) -> ValueRef<'_> {
        self.block.columns.get(column).map_or(ValueRef::Null, |column| column.value(self.row))
    }
}

impl Description {
    fn read(reader: &mut MessageReader<'_>) -> Result<Self> {
        let (number, flags) = (reader.u8()?, reader.u8()?);
        let (numbers, heap) = (reader.u16()?, reader.u32()? as usize);
        let ty = schema::numbered_type(number, numbers)?;
        let layout = Layout::of(ty);
        if flags > HAS_NULLS || (flags == HAS_NULLS && layout == Layout::Any) {
            return Err(wrong("the flags of a column", flags));
        }
        if heap > if layout.has_heap() { HEAP } else { 0 } {
            return Err(corrupt(format!("a column of {ty} has a heap of {heap} bytes")));
        }
        Ok(Self { ty, has_nulls: flags == HAS_NULLS, heap })
    }
}

impl<'a> BlockColumn<'a> {
    pub(super) const fn new(
        ty: Type,
        validity: Option<&'a [u8]>,
        offsets: &'a [u8],
        values: &'a [u8],
        heap: &'a [u8],
    ) -> Self {
        Self { ty, layout: Layout::of(ty), validity, offsets, values, heap }
    }

    fn read(described: &Description, rows: usize, buffers: &mut Buffers<'a>) -> Result<Self> {
        let layout = Layout::of(described.ty);
        let validity =
            if described.has_nulls { Some(buffers.take(rows.div_ceil(8))?) } else { None };
        let (offsets, values) =
            (buffers.take(layout.offsets(rows))?, buffers.take(layout.values(rows))?);
        Ok(Self::new(described.ty, validity, offsets, values, buffers.take(described.heap)?))
    }

    /// The type whose layout the column has: that of the result's column, or of its values; `Any` for values of several.
    #[must_use]
    pub const fn ty(&self) -> Type {
        self.ty
    }

    /// The value of a row; NULL if there is no such row.
    #[inline]
    #[must_use]
    pub fn value(&self, row: usize) -> ValueRef<'a> {
        if self.validity.is_some_and(|bits| !bit(bits, row)) {
            return ValueRef::Null;
        }
        self.read_value(row).unwrap_or(ValueRef::Null)
    }

    #[inline]
    fn read_value(&self, row: usize) -> Option<ValueRef<'a>> {
        Some(match self.layout {
            Layout::Integers { width, .. } => ValueRef::Int(self.integer(row, width)?),
            Layout::Doubles => ValueRef::Float(f64::from_le_bytes(self.array(row)?)),
            Layout::Texts => ValueRef::Text(std::str::from_utf8(self.heaped(row)?).ok()?),
            Layout::Bytes => ValueRef::Bytes(self.heaped(row)?),
            Layout::Bits => {
                ValueRef::Int((row / 8 < self.values.len()).then(|| bit(self.values, row))?.into())
            }
            Layout::Wide => ValueRef::Int(i128::from_le_bytes(self.array(row)?).try_into().ok()?),
            Layout::Singles => ValueRef::Float(f32::from_le_bytes(self.array(row)?).into()),
            Layout::Fixed(width) => ValueRef::Bytes(self.values.get(row * width..)?.get(..width)?),
            Layout::Any => self.any(row)?,
        })
    }

    #[inline]
    fn array<const N: usize>(&self, row: usize) -> Option<[u8; N]> {
        self.values.get(row * N..)?.first_chunk().copied()
    }

    #[inline]
    fn integer(&self, row: usize, width: usize) -> Option<i64> {
        let signed = matches!(self.layout, Layout::Integers { least, .. } if least < 0);
        Some(match (width, signed) {
            (1, true) => i8::from_le_bytes(self.array(row)?).into(),
            (1, false) => u8::from_le_bytes(self.array(row)?).into(),
            (2, true) => i16::from_le_bytes(self.array(row)?).into(),
            (2, false) => u16::from_le_bytes(self.array(row)?).into(),
            (4, true) => i32::from_le_bytes(self.array(row)?).into(),
            (4, false) => u32::from_le_bytes(self.array(row)?).into(),
            _ => i64::from_le_bytes(self.array(row)?),
        })
    }

    #[inline]
    fn offset(&self, row: usize) -> Option<usize> {
        let bytes = self.offsets.get(row * 4..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes) as usize)
    }

    #[inline]
    fn heaped(&self, row: usize) -> Option<&'a [u8]> {
        self.heap.get(self.offset(row)?..self.offset(row + 1)?)
    }

    fn any(&self, row: usize) -> Option<ValueRef<'a>> {
        let slot = u64::from_le_bytes(self.array(row)?);
        let heaped = || {
            let (start, length) = ((slot & 0xffff_ffff) as usize, (slot >> 32) as usize);
            self.heap.get(start..)?.get(..length)
        };
        Some(match self.offsets.get(row)? {
            1 => ValueRef::Int(slot.cast_signed()),
            2 => ValueRef::Float(f64::from_bits(slot)),
            3 => ValueRef::Text(std::str::from_utf8(heaped()?).ok()?),
            4 => ValueRef::Bytes(heaped()?),
            _ => ValueRef::Null,
        })
    }

    /// Whether every value can be read.
    fn is_valid(&self, rows: usize) -> bool {
        let readable = |row| match self.value(row) {
            ValueRef::Float(float) => !float.is_nan(),
            ValueRef::Null => self.validity.is_some_and(|bits| !bit(bits, row)),
            _ => true,
        };
        match self.layout {
            Layout::Texts | Layout::Bytes => self.has_valid_heap(rows),
            Layout::Any => self.has_valid_slots(rows),
            Layout::Integers { width: 8, least: 0, .. } => {
                (0..rows).all(|row| !matches!(self.value(row), ValueRef::Int(i64::MIN..0)))
            }
            Layout::Doubles | Layout::Singles | Layout::Wide => (0..rows).all(readable),
            Layout::Bits | Layout::Integers { .. } | Layout::Fixed(_) => true,
        }
    }

    /// Whether the offsets ascend from 0 to the end of the heap, and each text is UTF-8.
    fn has_valid_heap(&self, rows: usize) -> bool {
        let text = match self.layout {
            Layout::Texts => std::str::from_utf8(self.heap).ok(),
            _ => Some(""),
        };
        let Some(text) = text else { return false };
        let mut before = 0;
        let ascend = self.offsets.as_chunks::<4>().0.iter().all(|offset| {
            let offset = u32::from_le_bytes(*offset) as usize;
            let whole = self.layout != Layout::Texts || text.is_char_boundary(offset);
            whole && std::mem::replace(&mut before, offset) <= offset
        });
        ascend && self.offset(0) == Some(0) && self.offset(rows) == Some(self.heap.len())
    }

    /// Whether each slot has a value of its tag's class, and the heap has no gaps.
    fn has_valid_slots(&self, rows: usize) -> bool {
        let mut end = 0;
        let mut is_valid = |row: usize| {
            let tag = self.offsets.get(row).copied().unwrap_or(u8::MAX);
            let slot = self.array(row).map_or(0, u64::from_le_bytes);
            if matches!(tag, 3 | 4) {
                let (start, length) = ((slot & 0xffff_ffff) as usize, (slot >> 32) as usize);
                if std::mem::replace(&mut end, start.saturating_add(length)) != start {
                    return false;
                }
            }
            match (tag, self.any(row)) {
                (0, _) => slot == 0,
                (2, Some(ValueRef::Float(float))) => !float.is_nan(),
                (tag, Some(_)) => tag <= 4,
                (_, None) => false,
            }
        };
        (0..rows).all(&mut is_valid) && end == self.heap.len()
    }
}

#[inline]
fn bit(bits: &[u8], place: usize) -> bool {
    bits.get(place / 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1)
}

//! Builds blocks from rows.

use super::layout::Layout;
use super::{ALIGNMENT, BlockColumn, HAS_NULLS, HEAP};
use crate::writer::Encode;
use crate::{FrameKind, frame, schema};
use bobak_core::{Error, ErrorKind, Result, Row, Type, ValueRef};

/// Collects rows, column by column, for the frames of a response.
///
/// A column has the layout of its type, or of its values' class if its type is not known. A column with values that have not
/// its type gets the layout of the type `any` in that block.
#[derive(Debug)]
pub struct ColumnBlockEncoder {
    columns: Vec<EncodedColumn>,
    rows: usize,
    bytes: usize,
}

#[derive(Debug)]
struct EncodedColumn {
    /// The type of the column in the result.
    declared: Type,
    /// The type whose layout this block has; `None` as long as the type is not known, and all values are NULL.
    ty: Option<Type>,
    layout: Layout,
    rows: usize,
    /// A bit for each row; empty as long as there are no NULLs.
    validity: Vec<u8>,
    /// Offsets of texts and bytes, tags of values of any class.
    offsets: Vec<u8>,
    values: Vec<u8>,
    heap: Vec<u8>,
}

impl ColumnBlockEncoder {
    /// An empty block with columns of these types.
    #[must_use]
    pub fn new(types: impl IntoIterator<Item = Type>) -> Self {
        let columns = types.into_iter().map(EncodedColumn::new).collect();
        Self { columns, rows: 0, bytes: 0 }
    }

    /// Appends a row. After an error the block is of no more use.
    ///
    /// # Errors
    /// `TooLong` if a column's values are 2 GiB or more.
    #[inline]
    pub fn push(&mut self, row: &dyn Row) -> Result<()> {
        for (place, column) in self.columns.iter_mut().enumerate() {
            let value = row.get(place);
            self.bytes += match value {
                ValueRef::Text(text) => text.len(),
                ValueRef::Bytes(bytes) => bytes.len(),
                _ => 0,
            } + 8;
            column.push(value)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// The approximate size in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends the block as a frame, and removes its rows.
    ///
    /// # Errors
    /// `OutOfRange` for 4 GiB or more, or for more than 65,535 columns.
    pub fn write_frame(&mut self, out: &mut Vec<u8>, id: u32, more: bool) -> Result<()> {
        let rows = self.rows;
        frame::encode(out, FrameKind::Block, more, id, |out| {
            let start = out.len();
            out.encode_count(rows)?;
            out.encode_position(self.columns.len())?;
            out.encode_u16(0);
            self.columns.iter_mut().try_for_each(|column| column.describe(out))?;
            for column in &self.columns {
                column.buffers().into_iter().for_each(|buffer| {
                    out.extend_from_slice(buffer);
                    out.resize(start + (out.len() - start).next_multiple_of(ALIGNMENT), 0);
                });
            }
            Ok(())
        })?;
        self.columns.iter_mut().for_each(EncodedColumn::clear);
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl EncodedColumn {
    fn new(declared: Type) -> Self {
        let (validity, offsets, values, heap) = Default::default();
        let (ty, layout) = (None, Layout::Any);
        let mut column = Self { declared, ty, layout, rows: 0, validity, offsets, values, heap };
        column.clear();
        column
    }

    fn clear(&mut self) {
        [&mut self.validity, &mut self.offsets, &mut self.values, &mut self.heap]
            .into_iter()
            .for_each(Vec::clear);
        self.rows = 0;
        self.ty = None;
        if !matches!(self.declared, Type::Any | Type::Decimal) {
            self.choose(self.declared);
        }
    }

    /// Chooses the type of the block before the first value, and repeats the NULLs before it.
    fn choose(&mut self, ty: Type) {
        (self.ty, self.layout) = (Some(ty), Layout::of(ty));
        if matches!(self.layout, Layout::Texts | Layout::Bytes) {
            self.offsets.encode_u32(0);
        }
        for _ in 0..std::mem::take(&mut self.rows) {
            self.push_null();
        }
    }

    #[inline]
    fn push(&mut self, value: ValueRef<'_>) -> Result<()> {
        if self.ty.is_none() {
            return self.push_unknown(value);
        }
        if value.is_null() {
            self.push_null();
            return Ok(());
        }
        if !self.push_fitting(value)? {
            self.widen()?;
            self.push_fitting(value)?;
        }
        if !self.validity.is_empty() {
            self.push_bit(true);
        }
        self.rows += 1;
        Ok(())
    }

    /// Appends a value that has the layout; `false` for another one.
    #[inline]
    fn push_fitting(&mut self, value: ValueRef<'_>) -> Result<bool> {
        match (self.layout, value) {
            (Layout::Integers { width, least, most }, ValueRef::Int(integer))
                if (least..=most).contains(&integer) =>
            {
                put_integer(&mut self.values, width, integer);
            }
            (Layout::Doubles, ValueRef::Float(float)) => {
                self.values.extend_from_slice(&float.to_le_bytes());
            }
            (Layout::Texts, ValueRef::Text(text)) => self.push_heap(text.as_bytes())?,
            (Layout::Bytes, ValueRef::Bytes(bytes)) => self.push_heap(bytes)?,
            (Layout::Wide, ValueRef::Int(integer)) => {
                self.values.extend_from_slice(&i128::from(integer).to_le_bytes());
            }
            (Layout::Bits, ValueRef::Int(bit @ (0 | 1))) => {
                put_bit(&mut self.values, self.rows, bit == 1);
            }
            (Layout::Fixed(width), ValueRef::Bytes(bytes)) if bytes.len() == width => {
                self.values.extend_from_slice(bytes);
            }
            (Layout::Any, value) => self.push_any(value)?,
            (Layout::Singles | Layout::Doubles, value) => return Ok(self.push_exact_float(value)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Appends a number that a float of the layout equals: engines may store whole floats as integers.
    fn push_exact_float(&mut self, value: ValueRef<'_>) -> bool {
        let float = match value {
            ValueRef::Float(float) => float,
            ValueRef::Int(integer) if (integer as f64) as i128 == i128::from(integer) => {
                integer as f64
            }
            _ => return false,
        };
        let single = float as f32;
        if self.layout == Layout::Doubles {
            self.values.extend_from_slice(&float.to_le_bytes());
        } else if f64::from(single) == float {
            self.values.extend_from_slice(&single.to_le_bytes());
        } else {
            return false;
        }
        true
    }

    fn push_null(&mut self) {
        if self.layout == Layout::Any {
            self.offsets.push(0);
            self.values.encode_u64(0);
        } else {
            if self.validity.is_empty() {
                (0..self.rows).for_each(|row| put_bit(&mut self.validity, row, true));
            }
            self.push_bit(false);
            self.values.resize(self.layout.values(self.rows + 1), 0);
            if self.layout.has_heap() {
                self.offsets.encode_u32(self.heap.len() as u32);
            }
        }
        self.rows += 1;
    }

    #[inline]
    fn push_bit(&mut self, valid: bool) {
        put_bit(&mut self.validity, self.rows, valid);
    }

    /// Appends a value of a column whose type is not known: the first that is not NULL decides.
    #[cold]
    fn push_unknown(&mut self, value: ValueRef<'_>) -> Result<()> {
        match value {
            ValueRef::Null => {
                self.rows += 1;
                return Ok(());
            }
            ValueRef::Int(_) => self.choose(Type::I64),
            ValueRef::Float(_) => self.choose(Type::F64),
            ValueRef::Text(_) => self.choose(Type::Text),
            ValueRef::Bytes(_) => self.choose(Type::Bytes),
        }
        self.push(value)
    }

    #[inline]
    fn push_heap(&mut self, bytes: &[u8]) -> Result<()> {
        let end = heap_end(&self.heap, bytes)?;
        self.heap.extend_from_slice(bytes);
        self.offsets.encode_u32(end);
        Ok(())
    }

    fn push_any(&mut self, value: ValueRef<'_>) -> Result<()> {
        let (tag, slot) = match value {
            ValueRef::Null => (0, 0),
            ValueRef::Int(integer) => (1, integer.cast_unsigned()),
            ValueRef::Float(float) => (2, float.to_bits()),
            ValueRef::Text(text) => (3, self.push_slot(text.as_bytes())?),
            ValueRef::Bytes(bytes) => (4, self.push_slot(bytes)?),
        };
        self.offsets.push(tag);
        self.values.encode_u64(slot);
        Ok(())
    }

    fn push_slot(&mut self, bytes: &[u8]) -> Result<u64> {
        let start = self.heap.len() as u64;
        heap_end(&self.heap, bytes)?;
        self.heap.extend_from_slice(bytes);
        Ok(start | (bytes.len() as u64) << 32)
    }

    /// Gives the column the layout of values of any class.
    #[cold]
    fn widen(&mut self) -> Result<()> {
        let mut wide = Self::new(Type::Any);
        wide.choose(Type::Any);
        let column = self.view();
        for row in 0..self.rows {
            wide.push_any(column.value(row))?;
        }
        wide.rows = self.rows;
        wide.declared = self.declared;
        *self = wide;
        Ok(())
    }

    fn view(&self) -> BlockColumn<'_> {
        let [validity, offsets, values, heap] = self.buffers();
        let ty = self.ty.unwrap_or(Type::Any);
        BlockColumn::new(ty, (!validity.is_empty()).then_some(validity), offsets, values, heap)
    }

    const fn buffers(&self) -> [&[u8]; 4] {
        [
            self.validity.as_slice(),
            self.offsets.as_slice(),
            self.values.as_slice(),
            self.heap.as_slice(),
        ]
    }

    /// Appends the description. A column without values gets the layout of any class.
    fn describe(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if self.ty.is_none() {
            self.choose(Type::Any);
        }
        let ty = self.ty.unwrap_or(Type::Any);
        out.encode_u8(schema::type_number(ty));
        out.encode_u8(if self.validity.is_empty() { 0 } else { HAS_NULLS });
        out.encode_u16(if let Type::Vector(numbers) = ty { numbers } else { 0 });
        out.encode_count(self.heap.len())
    }
}

#[inline]
fn put_integer(out: &mut Vec<u8>, width: usize, integer: i64) {
    match width {
        1 => out.push(integer as u8),
        2 => out.extend_from_slice(&(integer as u16).to_le_bytes()),
        4 => out.extend_from_slice(&(integer as u32).to_le_bytes()),
        _ => out.extend_from_slice(&integer.to_le_bytes()),
    }
}

#[inline]
fn put_bit(bits: &mut Vec<u8>, place: usize, bit: bool) {
    if place.is_multiple_of(8) {
        bits.push(0);
    }
    if let Some(last) = bits.last_mut() {
        *last |= u8::from(bit) << (place % 8);
    }
}

/// Where a heap ends after these bytes.
#[inline]
fn heap_end(heap: &[u8], bytes: &[u8]) -> Result<u32> {
    let end = heap.len() + bytes.len();
    if end <= HEAP {
        return Ok(end as u32);
    }
    let message = format!("a value of {} bytes is too long for columns: read rows", bytes.len());
    Err(Error::new(ErrorKind::TooLong, message))
}

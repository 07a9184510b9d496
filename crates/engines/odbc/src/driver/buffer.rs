//! The values of one parameter, or of one column, of many rows.

use odbc_sys::{CDataType, NULL_DATA, SqlDataType};

/// How values lie in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferForm {
    Int,
    Float,
    /// UTF-16.
    Text,
    /// UTF-8.
    Utf8,
    Bytes,
    /// A date and a time of day: `SQL_TIMESTAMP_STRUCT`.
    Moment,
}

impl BufferForm {
    /// The bytes of a value, if all have the same number: they have it, whatever the driver says.
    pub(super) const fn fixed(self) -> Option<usize> {
        match self {
            Self::Int | Self::Float => Some(8),
            Self::Moment => Some(16),
            Self::Text | Self::Utf8 | Self::Bytes => None,
        }
    }

    /// What a cell has before a value is read. For 0000-00-00 MariaDB's driver reports NULL, but writes zeros into the cell;
    /// for NULL it leaves the cell as it is.
    pub(super) const fn blank(self) -> u64 {
        if matches!(self, Self::Moment) { u64::MAX } else { 0 }
    }

    /// Whether a cell whose value is reported as NULL has 0000-00-00: see [`blank`](Self::blank).
    pub(super) fn is_zero_date(self, cell: &[u64]) -> bool {
        self == Self::Moment && cell.first() == Some(&0)
    }

    /// The bytes of the NUL that drivers write after a value.
    pub(super) const fn terminator(self) -> usize {
        match self {
            Self::Text => 2,
            Self::Utf8 => 1,
            Self::Int | Self::Float | Self::Bytes | Self::Moment => 0,
        }
    }

    pub(super) const fn c_type(self) -> CDataType {
        match self {
            Self::Int => CDataType::SBigInt,
            Self::Float => CDataType::Double,
            Self::Text => CDataType::WChar,
            Self::Utf8 => CDataType::Char,
            Self::Bytes => CDataType::Binary,
            Self::Moment => CDataType::TypeTimestamp,
        }
    }
}

/// A column of cells of the same width, each with its length.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub form: BufferForm,
    /// The bytes of a cell, a multiple of eight.
    width: usize,
    cells: Vec<u64>,
    pub(super) lengths: Vec<isize>,
}

/// Beyond this many bytes a parameter is of the driver's long type.
const LONG: usize = 8_000;

impl Buffer {
    /// A buffer of NULLs; `bytes` is the longest text or bytes that a cell holds.
    pub(crate) fn new(form: BufferForm, bytes: usize, rows: usize) -> Self {
        let bytes = form.fixed().unwrap_or(bytes.max(1) + form.terminator());
        let width = bytes.next_multiple_of(8);
        Self {
            form,
            width,
            cells: vec![form.blank(); width / 8 * rows],
            lengths: vec![NULL_DATA; rows],
        }
    }

    pub(super) const fn c_type(&self) -> CDataType {
        self.form.c_type()
    }

    /// The type and the size that a parameter is declared with.
    pub(super) fn sql_type(&self) -> (SqlDataType, usize) {
        let is_long = self.width > LONG;
        match self.form {
            BufferForm::Int => (SqlDataType::EXT_BIG_INT, 19),
            BufferForm::Float => (SqlDataType::DOUBLE, 15),
            BufferForm::Text if is_long => (SqlDataType::EXT_W_LONG_VARCHAR, self.width / 2),
            BufferForm::Text => (SqlDataType::EXT_W_VARCHAR, self.width / 2),
            BufferForm::Utf8 if is_long => (SqlDataType::EXT_LONG_VARCHAR, self.width),
            BufferForm::Utf8 => (SqlDataType::VARCHAR, self.width),
            BufferForm::Bytes if is_long => (SqlDataType::EXT_LONG_VAR_BINARY, self.width),
            BufferForm::Bytes => (SqlDataType::EXT_VAR_BINARY, self.width),
            BufferForm::Moment => (SqlDataType::TIMESTAMP, 26),
        }
    }

    pub(super) const fn width(&self) -> usize {
        self.width
    }

    pub(super) fn start(&mut self) -> *mut std::ffi::c_void {
        self.cells.as_mut_ptr().cast()
    }

    /// How many bytes of a value a cell holds.
    fn capacity(&self) -> usize {
        self.width - self.form.terminator()
    }

    /// Sets a cell: an integer or a float as its eight bytes, a text as UTF-16. What is too long is cut: see
    /// [`new`](Self::new).
    pub(crate) fn set(&mut self, row: usize, value: &[u8]) {
        let bytes = value.len().min(self.capacity());
        let words = self.width / 8;
        let Some(cell) = self.cells.get_mut(row * words..(row + 1) * words) else { return };
        for (word, part) in cell.iter_mut().zip(value.get(..bytes).unwrap_or_default().chunks(8)) {
            let mut whole = [0; 8];
            for (to, from) in whole.iter_mut().zip(part) {
                *to = *from;
            }
            *word = u64::from_ne_bytes(whole);
        }
        if let Some(length) = self.lengths.get_mut(row) {
            *length = isize::try_from(bytes).unwrap_or(isize::MAX);
        }
    }

    /// Whether the driver had more of the value than the cell holds.
    pub(crate) fn is_cut(&self, row: usize) -> bool {
        let length = self.lengths.get(row).copied().unwrap_or(NULL_DATA);
        let is_long = usize::try_from(length).is_ok_and(|length| length > self.capacity());
        self.form.fixed().is_none() && (is_long || length == odbc_sys::NO_TOTAL)
    }

    /// The bytes of a cell; `None` for NULL.
    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        let length = self.lengths.get(row).copied().unwrap_or(NULL_DATA);
        let words = self.width / 8;
        let cell = self.cells.get(row * words..(row + 1) * words)?;
        if length == NULL_DATA && !self.form.is_zero_date(cell) {
            return None;
        }
        let fixed = self.form.fixed();
        let length = fixed.unwrap_or(usize::try_from(length).unwrap_or(0).min(self.capacity()));
        // SAFETY: integers are bytes, eight each, and `length` is not beyond the cell.
        Some(unsafe { std::slice::from_raw_parts(cell.as_ptr().cast(), length) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_values() {
        let mut buffer = Buffer::new(BufferForm::Text, 6, 3);
        buffer.set(1, b"abcdef");
        assert_eq!(
            (buffer.get(0), buffer.get(1), buffer.get(9)),
            (None, Some(&b"abcdef"[..]), None)
        );
        buffer.lengths[2] = 40;
        assert!(buffer.is_cut(2) && !buffer.is_cut(1));
        let mut bytes = Buffer::new(BufferForm::Bytes, 0, 1);
        bytes.set(0, b"");
        assert_eq!(bytes.get(0), Some(&b""[..]));
    }
}

//! Conversion of a row's values by SQLite to requested types.

use super::connection::Failure;
use super::row::RowRef;
use bobak_core::codec::RawValue;
use libsqlite3_sys as sys;
use std::slice;

/// The type to which a value is converted; NULL remains NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawType {
    /// A 64-bit integer.
    Int,
    /// A float.
    Float,
    /// A text, in UTF-8 if the stored text is.
    Text,
    /// Bytes, also those of a text, or of a number's text.
    Bytes,
}

impl RowRef<'_> {
    /// Calls `each` with the values of the first columns, one for each kind, converted as by
    /// SQLite's `sqlite3_column_…` functions; NULL for missing columns.
    #[inline]
    pub(crate) fn convert<'r>(
        &'r mut self,
        kinds: impl Iterator<Item = RawType>,
        mut each: impl FnMut(RawValue<'r>),
    ) -> Result<(), Failure> {
        for (column, kind) in kinds.enumerate() {
            if column >= self.columns {
                each(RawValue::Null);
                continue;
            }
            // SAFETY: the statement stands on a row that has the column. Each value is converted
            // once while `'r` lasts, which holds the row mutably: nothing lent is moved.
            match unsafe { converted(self.value(column), kind) } {
                Some(value) => each(value),
                None => return Err(Failure::own(sys::SQLITE_NOMEM, "out of memory")),
            }
        }
        Ok(())
    }
}

/// The value converted to that kind; `None` if there is no memory for the conversion.
///
/// # Safety
/// The value is valid, and neither changed nor converted again while the result lives.
#[inline]
unsafe fn converted<'r>(value: *mut sys::sqlite3_value, kind: RawType) -> Option<RawValue<'r>> {
    // SAFETY: the caller says so. Bytes are counted after the conversion, as is prescribed, and so
    // many are there.
    unsafe {
        if sys::sqlite3_value_type(value) == sys::SQLITE_NULL {
            return Some(RawValue::Null);
        }
        let start = match kind {
            RawType::Int => return Some(RawValue::Int(sys::sqlite3_value_int64(value))),
            RawType::Float => return Some(RawValue::Float(sys::sqlite3_value_double(value))),
            RawType::Text => sys::sqlite3_value_text(value),
            RawType::Bytes => sys::sqlite3_value_blob(value).cast(),
        };
        let length = usize::try_from(sys::sqlite3_value_bytes(value)).unwrap_or(0);
        let bytes = if length == 0 {
            // SQLite returns null for an empty blob, and if memory is exhausted.
            if start.is_null() && kind == RawType::Text {
                return None;
            }
            &[]
        } else if start.is_null() {
            return None;
        } else {
            slice::from_raw_parts(start, length)
        };
        Some(if kind == RawType::Text { RawValue::Text(bytes) } else { RawValue::Bytes(bytes) })
    }
}

//! One value of a row, read and written in parts.

use crate::{
    Assign, BulkChange, ColumnSchema, Comparison, Condition, Error, ErrorKind, Result, Row,
    TableSchema, Type, Value, ValueRef, stamp_assignments,
};
use std::io::{self, Read};
use std::sync::Arc;

/// Where a value is: the key of its row, and its column, which has bytes.
#[derive(Clone, Copy, Debug)]
pub struct ValueAddress<'a> {
    /// The table.
    pub table: &'a Arc<TableSchema>,
    /// The key, in key order.
    pub key: &'a [Value<'a>],
    /// The column's index.
    pub column: usize,
}

/// A value of which a part was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueState {
    /// The number of its bytes; `None` for NULL.
    pub length: Option<u64>,
    /// The [version](TableSchema::version) of its row, if the table has versions.
    pub version: Option<i64>,
}

/// Which bytes of a value are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueRange {
    /// The first byte.
    pub offset: u64,
    /// The most bytes.
    pub limit: usize,
}

impl ValueAddress<'_> {
    /// Checks that the value can be read in parts, and returns its column.
    ///
    /// # Errors
    /// `Unsupported` for a column that has no bytes, and for a view without a key; `Schema` for a column that does not
    /// exist; `Mismatch` for another number of values than the key has columns.
    pub fn check(&self) -> Result<&ColumnSchema> {
        let table = self.table;
        table.check_has_key()?;
        let (given, wanted) = (self.key.len(), table.key().len());
        if given != wanted {
            let error = Error::wrong_number(ErrorKind::Mismatch, given, wanted, "key column");
            return Err(error.in_table(table.name()));
        }
        let column = table.column_at(self.column)?;
        if column.ty != Type::Bytes {
            let message = format!("only bytes are read and written in parts, not {}", column.ty);
            return Err(self.error(ErrorKind::Unsupported, message));
        }
        Ok(column)
    }

    /// As [`check`](Self::check), before a write.
    ///
    /// # Errors
    /// As there; `Unsupported` for a view; `Misuse` for a column of the key, and for one that the engine computes.
    pub fn check_written(&self) -> Result<()> {
        self.check()?;
        self.table.check_writable()?;
        self.table.check_assigned(self.column)?;
        if self.table.key().contains(&self.column) {
            let message = "a key can't be assigned: delete the row and insert another";
            return Err(self.error(ErrorKind::Misuse, message));
        }
        Ok(())
    }

    /// The condition that matches the row.
    #[must_use]
    pub fn condition(&self) -> Condition {
        let equals = |(&column, value): (&usize, &Value<'_>)| Condition::Compare {
            column,
            comparison: Comparison::Equal,
            value: value.clone().into_owned(),
        };
        Condition::And(self.table.key().iter().zip(self.key).map(equals).collect())
    }

    /// What a write assigns, whose new value this is: the value, and the time of the modification.
    #[must_use]
    pub fn assignments(&self, value: Value<'static>) -> Vec<Assign> {
        let mut assigns = vec![Assign::Set { column: self.column, value }];
        stamp_assignments(self.table, &mut assigns);
        assigns
    }

    /// An error about the value's column.
    #[cold]
    pub fn error(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        let name = self.table.columns().get(self.column).map(|column| column.name.to_string());
        let error = Error::new(kind, message.into()).in_table(self.table.name());
        match name {
            Some(name) => error.in_column(name),
            None => error,
        }
    }

    /// The state of the value in its row.
    ///
    /// # Errors
    /// `Mismatch` if it is not bytes.
    pub fn state_in(&self, row: &dyn Row) -> Result<ValueState> {
        let length = match row.get(self.column) {
            ValueRef::Null => None,
            ValueRef::Bytes(bytes) => Some(bytes.len() as u64),
            other => return Err(Error::mismatch("bytes", other).in_table(self.table.name())),
        };
        let version = self.table.version().map(|version| row.get(version));
        Ok(ValueState { length, version: version.and_then(integer) })
    }
}

impl ValueState {
    /// What a row of SQL says about a value: the number of its bytes, a part of them, which is appended to `bytes`, and the
    /// version if there is one.
    pub fn of_row(row: &dyn Row, bytes: &mut Vec<u8>) -> Self {
        if let ValueRef::Bytes(part) = row.get(1) {
            bytes.extend_from_slice(part);
        }
        let version = if row.len() > 2 { integer(row.get(2)) } else { None };
        Self { length: integer(row.get(0)).map(i64::unsigned_abs), version }
    }
}

impl ValueRange {
    /// The first byte, counted from 1, and the most bytes, as SQL takes them: no value has more bytes.
    #[must_use]
    pub fn in_sql(&self) -> (i64, i64) {
        let most = i64::from(i32::MAX);
        let first = i64::try_from(self.offset).unwrap_or(most).min(most - 1) + 1;
        (first, i64::try_from(self.limit).unwrap_or(most).min(most))
    }

    /// The bytes in this range.
    #[must_use]
    pub fn of<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let offset = usize::try_from(self.offset).unwrap_or(usize::MAX).min(bytes.len());
        let rest = bytes.get(offset..).unwrap_or_default();
        rest.get(..self.limit.min(rest.len())).unwrap_or_default()
    }
}

fn integer(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Int(integer) => Some(integer),
        _ => None,
    }
}

/// [`Session::read_part`](crate::Session::read_part) by a lookup of the row: `get` is that of the session.
///
/// # Errors
/// As [`Session::read_part`](crate::Session::read_part).
pub fn read_part(
    value: &ValueAddress<'_>,
    range: ValueRange,
    bytes: &mut Vec<u8>,
    get: impl FnOnce(&mut dyn FnMut(&dyn Row) -> Result<()>) -> Result<bool>,
) -> Result<Option<ValueState>> {
    value.check()?;
    let mut state = None;
    get(&mut |row| {
        state = Some(value.state_in(row)?);
        if let ValueRef::Bytes(whole) = row.get(value.column) {
            bytes.extend_from_slice(range.of(whole));
        }
        Ok(())
    })?;
    Ok(state)
}

/// [`Session::write_value`](crate::Session::write_value) by a change of the row, with the whole value in memory: `change` is that of the session.
///
/// # Errors
/// As [`Session::write_value`](crate::Session::write_value).
pub fn write_value(
    value: &ValueAddress<'_>,
    length: u64,
    source: &mut dyn Read,
    change: impl FnOnce(&BulkChange<'_>) -> Result<u64>,
) -> Result<bool> {
    value.check_written()?;
    let mut source = ValueInput::new(source, length);
    let mut bytes = Vec::new();
    let room = usize::try_from(length).ok().and_then(|room| bytes.try_reserve_exact(room).ok());
    if room.is_none() {
        let message = format!("there is no memory for a value of {length} bytes");
        return Err(value.error(ErrorKind::Full, message));
    }
    while source.next_part(&mut bytes, 1 << 20)? {}
    let assigns = value.assignments(Value::from(bytes));
    let condition = value.condition();
    let assign = Some(&*assigns);
    Ok(change(&BulkChange { table: value.table, condition: Some(&condition), assign })? > 0)
}

/// The bytes that become a value, which are exactly as many as was said.
pub struct ValueInput<'s> {
    source: &'s mut dyn Read,
    length: u64,
    rest: u64,
}

impl<'s> ValueInput<'s> {
    /// A source of this number of bytes.
    pub fn new(source: &'s mut dyn Read, length: u64) -> Self {
        Self { source, length, rest: length }
    }

    /// Appends up to `limit` bytes to a buffer; returns `false` after the last ones.
    ///
    /// # Errors
    /// `Misuse` if there are fewer bytes, or more; those of the source.
    pub fn next_part(&mut self, bytes: &mut Vec<u8>, limit: usize) -> Result<bool> {
        if self.rest == 0 {
            return self.check_end().map(|()| false);
        }
        let most = self.rest.min(limit as u64);
        let before = bytes.len();
        let read = (&mut *self.source).take(most).read_to_end(bytes).map_err(failed)? as u64;
        debug_assert_eq!(bytes.len() - before, read as usize);
        self.rest -= read;
        if read < most {
            let (length, there) = (self.length, self.length - self.rest);
            let message = format!("the value ends after {there} bytes, but was to have {length}");
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        Ok(true)
    }

    fn check_end(&mut self) -> Result<()> {
        let mut one = [0];
        loop {
            match self.source.read(&mut one) {
                Ok(0) => return Ok(()),
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let message = format!("the value has more than the {} bytes that were named", self.length);
        Err(Error::new(ErrorKind::Misuse, message))
    }
}

/// The error of a source: Bobak's own, if that is what it passes on.
fn failed(error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => own,
        Err(other) => Error::io("read the value", other),
    }
}

//! Fields that are read only if the program asks for them.

use crate::{Error, ErrorKind, Field, FieldSet, Record, Result, Row, Value, ValueRef};
use std::sync::Arc;

/// A field that reads of its record leave out: a long text, a picture. It holds a value, or is not loaded.
///
/// ```
/// use bobak_core::OnRequest;
///
/// let body = OnRequest::from("a long text".to_owned());
/// assert_eq!(body.get().map(String::as_str), Some("a long text"));
/// assert_eq!(OnRequest::<String>::NotLoaded.into_option(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnRequest<T> {
    /// The field was not read. An update leaves the column as it is.
    #[default]
    NotLoaded,
    /// The field's value.
    Loaded(T),
}

impl<T> OnRequest<T> {
    /// The value, if it is loaded.
    #[must_use]
    pub const fn get(&self) -> Option<&T> {
        match self {
            Self::NotLoaded => None,
            Self::Loaded(value) => Some(value),
        }
    }

    /// The value, if it is loaded.
    #[must_use]
    pub fn into_option(self) -> Option<T> {
        match self {
            Self::NotLoaded => None,
            Self::Loaded(value) => Some(value),
        }
    }

    /// Whether it has a value.
    #[must_use]
    pub const fn is_loaded(&self) -> bool {
        matches!(self, Self::Loaded(_))
    }
}

impl<T> From<T> for OnRequest<T> {
    fn from(value: T) -> Self {
        Self::Loaded(value)
    }
}

impl<T: Field> OnRequest<T> {
    /// The value to store; NULL if it is not loaded, which no write may store. Called by the derive.
    ///
    /// # Errors
    /// As [`Field::to_value`].
    #[doc(hidden)]
    pub fn to_value(&self) -> Result<Value<'_>> {
        self.get().map_or(Ok(Value::Null), T::to_value)
    }

    /// Loads a stored value. Called by the derive.
    ///
    /// # Errors
    /// As [`Field::from_value`].
    #[doc(hidden)]
    pub fn set_value(&mut self, value: ValueRef<'_>) -> Result<()> {
        *self = Self::Loaded(T::from_value(value)?);
        Ok(())
    }
}

/// Reads a field, if the row has its column. Called by the derive.
///
/// # Errors
/// As [`Field::from_value`], with table and column.
#[doc(hidden)]
pub fn read_on_request<V: Field>(
    row: &dyn Row,
    column: usize,
    schema: fn() -> &'static Arc<crate::TableSchema>,
) -> Result<OnRequest<V>> {
    match row.is_left_out(column) {
        true => Ok(OnRequest::NotLoaded),
        false => crate::read_field(row, column, schema).map(OnRequest::Loaded),
    }
}

/// A row without some of its table's columns, which are NULL.
pub struct PartialRow<'a> {
    row: &'a dyn Row,
    left_out: FieldSet,
}

impl<'a> PartialRow<'a> {
    /// The row of a table of which `row` has the columns that are not left out, in their order.
    #[must_use]
    pub const fn new(row: &'a dyn Row, left_out: FieldSet) -> Self {
        Self { row, left_out }
    }
}

impl Row for PartialRow<'_> {
    fn len(&self) -> usize {
        self.row.len() + self.left_out.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        if self.left_out.contains(column) {
            return ValueRef::Null;
        }
        let before = self.left_out.iter().take_while(|left_out| *left_out < column).count();
        self.row.get(column - before)
    }

    fn is_left_out(&self, column: usize) -> bool {
        self.left_out.contains(column)
    }
}

/// Checks that a record has values in all of these fields.
///
/// # Errors
/// `Misuse` for a field that is not loaded.
pub fn check_loaded<T: Record>(record: &T, fields: FieldSet) -> Result<()> {
    let mut missing = record.not_loaded().iter().filter(|column| fields.contains(*column));
    match missing.next() {
        None => Ok(()),
        Some(column) => Err(not_loaded::<T>(column)),
    }
}

#[cold]
fn not_loaded<T: Record>(column: usize) -> Error {
    let message = "the field is not loaded, and this write needs its value: load it, or set it";
    let error = Error::new(ErrorKind::Misuse, message).in_table(T::TABLE);
    match T::schema().columns().get(column) {
        Some(column) => error.in_column(column.name.to_string()),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_row_has_the_columns_around_those_left_out() {
        let values = [Value::Int(0), Value::Int(2), Value::Int(4)];
        let values = values.as_slice();
        let row = PartialRow::new(&values, [1, 3].into_iter().collect());
        let found: Vec<_> = (0..row.len()).map(|column| row.get(column)).collect();
        let (null, int) = (ValueRef::Null, ValueRef::Int);
        assert_eq!(found, [int(0), null, int(2), null, int(4)]);
        assert!(row.is_left_out(3) && !row.is_left_out(4));
    }
}

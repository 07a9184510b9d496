//! Rows whose columns are known only at run time.

use crate::{Error, ErrorKind, Field, FromRow, Result, Row, Value};
use std::sync::Arc;

/// A row with named values: of a table opened without a record type, or of an SQL query.
///
/// ```
/// use bobak_core::DynRow;
/// let mut row = DynRow::new();
/// row.set("name", "Ada")?;
/// row.set("born", 1815)?;
/// assert_eq!(row.get::<i64>("born")?, 1815);
/// assert!(row.get::<i64>("name").is_err());
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DynRow {
    names: Arc<Vec<String>>,
    values: Vec<Value<'static>>,
}

impl DynRow {
    /// An empty row.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Copies a row of an engine, with the names of its columns.
    #[must_use]
    pub fn from_parts(names: Arc<Vec<String>>, row: &dyn Row) -> Self {
        let values = (0..names.len()).map(|place| row.get(place).to_owned()).collect();
        Self { names, values }
    }

    /// The columns' names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values, in the order of the names.
    #[must_use]
    pub fn values(&self) -> &[Value<'static>] {
        &self.values
    }

    /// The value of a column by name, ignoring ASCII case; `None` if there is no such column.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Value<'static>> {
        let place = self.names.iter().position(|n| n.eq_ignore_ascii_case(name))?;
        self.values.get(place)
    }

    /// The value of a column as a `V`.
    ///
    /// # Errors
    /// `Schema` if there is no such column; as [`Field::from_value`].
    pub fn get<V: Field>(&self, name: &str) -> Result<V> {
        let value = self.value(name).ok_or_else(|| {
            Error::new(ErrorKind::Schema, format!("the row has no column '{name}'"))
        })?;
        V::from_value(value.as_ref()).map_err(|error| error.in_column(name))
    }

    /// Sets a column's value; a new name is appended.
    ///
    /// # Errors
    /// As [`Field::to_value`].
    pub fn set(&mut self, name: &str, value: impl IntoStored) -> Result<()> {
        let value = value.into_stored().map_err(|error| error.in_column(name))?;
        match self.names.iter().position(|n| n.eq_ignore_ascii_case(name)) {
            Some(place) => {
                if let Some(old) = self.values.get_mut(place) {
                    *old = value;
                }
            }
            None => {
                Arc::make_mut(&mut self.names).push(name.to_owned());
                self.values.push(value);
            }
        }
        Ok(())
    }
}

impl Row for DynRow {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn get(&self, column: usize) -> crate::ValueRef<'_> {
        self.values.get(column).map_or(crate::ValueRef::Null, Value::as_ref)
    }
}

impl FromRow for DynRow {
    fn from_row(row: &dyn Row) -> Result<Self> {
        let name = |place: usize| row.name(place).map_or_else(|| place.to_string(), str::to_owned);
        Self::from_named_row(row, &Arc::new((0..row.len()).map(name).collect()))
    }

    fn from_named_row(row: &dyn Row, names: &Arc<Vec<String>>) -> Result<Self> {
        Ok(Self::from_parts(Arc::clone(names), row))
    }
}

/// What [`DynRow::set`] takes: any [`Field`], and `&str`.
pub trait IntoStored {
    /// The value.
    ///
    /// # Errors
    /// As [`Field::to_value`].
    fn into_stored(self) -> Result<Value<'static>>;
}

impl<V: Field> IntoStored for V {
    fn into_stored(self) -> Result<Value<'static>> {
        self.to_value().map(Value::into_owned)
    }
}

impl IntoStored for &str {
    fn into_stored(self) -> Result<Value<'static>> {
        Ok(Value::from(self).into_owned())
    }
}

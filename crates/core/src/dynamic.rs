//! Rows whose columns are known only at run time.

use crate::{
    Error, ErrorKind, Field, FromRow, IntoStored, Result, ResultColumn, Row, Type, Value, convert,
};
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
    columns: Arc<Vec<ResultColumn>>,
    values: Vec<Value<'static>>,
}

impl DynRow {
    /// An empty row.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Copies a row of an engine, whose columns these are.
    #[must_use]
    pub fn from_parts(columns: Arc<Vec<ResultColumn>>, row: &dyn Row) -> Self {
        let values = (0..columns.len()).map(|place| row.get(place).to_owned()).collect();
        Self { columns, values }
    }

    /// The columns. Those of an SQL query have the types that the engine knows; all others have the
    /// type `Any`, and values in stored form.
    #[must_use]
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// The columns' names.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// The values, in the order of the columns.
    #[must_use]
    pub fn values(&self) -> &[Value<'static>] {
        &self.values
    }

    /// The value of a column by name, ignoring ASCII case; `None` if there is no such column.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Value<'static>> {
        self.values.get(self.place(name)?)
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// The value of a column as a `V`: see [`convert`].
    ///
    /// # Errors
    /// `Schema` if there is no such column; as [`convert`] and [`Field::from_value`].
    pub fn get<V: Field>(&self, name: &str) -> Result<V> {
        let place = self.place(name).ok_or_else(|| {
            Error::new(ErrorKind::Schema, format!("the row has no column '{name}'"))
        })?;
        convert(Row::get(self, place), self.ty(place), V::TYPE)
            .and_then(V::from_value)
            .map_err(|error| error.in_column(name))
    }

    /// Sets a column's value; a new name is appended.
    ///
    /// # Errors
    /// As [`Field::to_value`].
    pub fn set(&mut self, name: &str, value: impl IntoStored) -> Result<()> {
        let value = value.into_stored().map_err(|error| error.in_column(name))?;
        match self.place(name) {
            Some(place) => {
                if let Some(old) = self.values.get_mut(place) {
                    *old = value;
                }
            }
            None => {
                Arc::make_mut(&mut self.columns).push(ResultColumn::new(name, Type::Any));
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

    fn name(&self, column: usize) -> Option<&str> {
        self.columns.get(column).map(|column| column.name.as_str())
    }

    fn ty(&self, column: usize) -> Type {
        self.columns.get(column).map_or(Type::Any, |column| column.ty)
    }
}

impl FromRow for DynRow {
    fn from_row(row: &dyn Row) -> Result<Self> {
        Self::from_result_row(row, &Arc::new(ResultColumn::of_row(row)))
    }

    fn from_result_row(row: &dyn Row, columns: &Arc<Vec<ResultColumn>>) -> Result<Self> {
        Ok(Self::from_parts(Arc::clone(columns), row))
    }
}

//! Rows on their way out: to a CSV file, to NDJSON or JSON, to a table on the terminal.
//!
//! One [`Sink`] for each form, all fed alike, so that no command knows which one it writes to.

mod csv;
mod json;
mod table;

pub use self::csv::CsvSink;
pub use self::json::JsonSink;
pub use self::table::TableSink;

use crate::error::Result;
use bobak::Row;
use bobak::schema::Type;

/// A column of what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputColumn {
    /// Its name in the header.
    pub name: String,
    /// What its values mean: dates are integers in the database, and texts here. `Any` where
    /// nothing is known: values are then written as they are.
    pub ty: Type,
}

/// Takes rows one by one and writes them in its form.
pub trait Sink {
    /// Takes the columns; called once, before all rows.
    ///
    /// # Errors
    /// Output that can't be written, or columns that have no place in the form.
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<()>;

    /// Writes a row. What it lacks at its end is NULL.
    ///
    /// # Errors
    /// Output that can't be written, or a value that would not come back from it.
    fn row(&mut self, row: &dyn Row) -> Result<()>;

    /// Writes what is still to be written; called once, after all rows.
    ///
    /// # Errors
    /// Output that can't be written.
    fn finish(&mut self) -> Result<()>;
}

#[cfg(test)]
pub(crate) mod testing {
    //! Rows and columns for the tests of the sinks.

    use super::OutputColumn;
    use bobak::schema::Type;
    use bobak::{Row, Value, ValueRef};

    /// A row of values: a slice is no `dyn Row` by itself.
    pub struct Values<'a>(pub &'a [Value<'a>]);

    impl Row for Values<'_> {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn get(&self, column: usize) -> ValueRef<'_> {
            self.0.get(column).map_or(ValueRef::Null, Value::as_ref)
        }
    }

    pub fn output_columns(columns: &[(&str, Type)]) -> Vec<OutputColumn> {
        columns.iter().map(|&(name, ty)| OutputColumn { name: name.to_owned(), ty }).collect()
    }
}

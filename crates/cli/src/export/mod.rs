//! Writes rows as CSV, NDJSON, JSON, a workbook, a file of Arrow or Parquet, or an aligned table.
//!
//! Each format is a [`RowFormat`], so commands need not know which one they use.

#[cfg(feature = "arrow")]
mod columnar;
mod csv;
mod json;
mod same_value;
mod table;
#[cfg(feature = "xlsx")]
mod workbook;

#[cfg(feature = "arrow")]
pub use self::columnar::{ColumnarFormat, ColumnarWriter};
pub use self::csv::CsvWriter;
pub use self::json::JsonWriter;
pub use self::same_value::comes_back;
pub use self::table::TableWriter;
#[cfg(feature = "xlsx")]
pub use self::workbook::WorkbookWriter;

use crate::error::Result;
use bobak::Row;
use bobak::schema::Type;

/// A column of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputColumn {
    /// Its name in the header.
    pub name: String,
    /// The type of its values: a date is stored as an integer and written as text. `Any` if the type
    /// is unknown; values are then written as stored.
    pub ty: Type,
}

/// How an import reads the values of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenAs {
    /// As fields of CSV.
    Csv,
    /// As values of JSON.
    Json,
    /// As cells of a workbook.
    #[cfg(feature = "xlsx")]
    Workbook,
}

/// Writes rows in one format.
pub trait RowFormat {
    /// Sets the columns and writes the header. Called once, before all rows.
    ///
    /// # Errors
    /// If the output can't be written, or the format can't represent the columns.
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<()>;

    /// Writes a row. Missing values at its end are NULL.
    ///
    /// # Errors
    /// If the output can't be written, or the format can't represent a value exactly.
    fn row(&mut self, row: &dyn Row) -> Result<()>;

    /// Writes buffered output. Called once, after all rows.
    ///
    /// # Errors
    /// If the output can't be written.
    fn finish(&mut self) -> Result<()>;
}

#[cfg(test)]
pub(crate) mod testing {
    //! Rows and columns for the tests of the writers.

    use super::OutputColumn;
    use bobak::schema::Type;
    use bobak::{Row, Value, ValueRef};

    /// A row of values; a slice can't be a `dyn Row` itself.
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

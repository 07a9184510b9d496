//! Fills record batches from rows.

use crate::column_values::{ColumnValues, column_values};
use crate::types::field;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use bobak_core::{Error, ErrorKind, Result, ResultColumn, Row, TableSchema, Type};
use std::sync::Arc;

/// The number of rows of a batch that suits most programs.
pub const BATCH_ROWS: usize = 65_536;
/// A batch ends after the row that reaches so many bytes, whatever number of rows it has: bounds the memory of long values.
pub const BATCH_BYTES: usize = 64 << 20;

/// Fills record batches from rows: see the [crate](crate).
///
/// Every batch has the same schema. If the type of a column is not [known](Type::Any), it is that of the first batch's values:
/// 64-bit integers, 64-bit floats (also if some are integers), text, or bytes; `Null` if there are only NULLs.
pub struct BatchBuilder {
    columns: Vec<BuiltColumn>,
    /// Known after the first batch.
    schema: Option<SchemaRef>,
    rows: usize,
    bytes: usize,
    max_rows: usize,
    max_bytes: usize,
    /// The rows of the batches before.
    before: u64,
}

struct BuiltColumn {
    name: String,
    ty: Type,
    nullable: bool,
    values: Box<dyn ColumnValues>,
}

impl BatchBuilder {
    /// A builder for rows with these columns, which may be NULL. Each batch has at most `rows` rows; 0 is treated as 1.
    #[must_use]
    pub fn new(columns: &[ResultColumn], rows: usize) -> Self {
        let columns = columns.iter().map(|column| (column.name.as_str(), column.ty, true));
        Self::with_columns(columns, rows)
    }

    /// A builder for the rows of a table, as [`new`](Self::new).
    #[must_use]
    pub fn for_table(table: &TableSchema, rows: usize) -> Self {
        let columns = table.columns().iter();
        let columns = columns.map(|column| (column.name.as_ref(), column.ty, column.nullable));
        Self::with_columns(columns, rows)
    }

    fn with_columns<'a>(columns: impl Iterator<Item = (&'a str, Type, bool)>, rows: usize) -> Self {
        let built = |(name, ty, nullable): (&str, Type, bool)| BuiltColumn {
            name: name.to_owned(),
            ty,
            nullable,
            values: column_values(ty),
        };
        Self {
            columns: columns.map(built).collect(),
            schema: None,
            rows: 0,
            bytes: 0,
            max_rows: rows.max(1),
            max_bytes: BATCH_BYTES,
            before: 0,
        }
    }

    /// Ends batches after fewer bytes than [`BATCH_BYTES`].
    #[must_use]
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = if bytes < BATCH_BYTES { bytes } else { BATCH_BYTES };
        self
    }

    /// Appends a row. Call [`finish`](Self::finish) once the batch [is full](Self::is_full). After an error the builder is of
    /// no more use.
    ///
    /// # Errors
    /// `Mismatch`, `OutOfRange` for a value that does not have its column's type; `TooLong` for one of about 2 GiB; each with
    /// the column and the row's number. `Misuse` if the batch is full.
    #[inline]
    pub fn push(&mut self, row: &dyn Row) -> Result<()> {
        if self.is_full() {
            return Err(Error::new(ErrorKind::Misuse, "the record batch is full: finish it"));
        }
        let mut bytes = 0;
        for (place, column) in self.columns.iter_mut().enumerate() {
            match column.values.push(row.get(place)) {
                Ok(added) => bytes += added,
                Err(error) => {
                    let number = self.before + self.rows as u64;
                    return Err(error.in_column(column.name.clone()).at_row(number));
                }
            }
        }
        self.bytes += bytes;
        self.rows += 1;
        Ok(())
    }

    /// Whether the batch takes no more rows.
    #[inline]
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.rows >= self.max_rows || self.bytes >= self.max_bytes
    }

    /// The number of rows since the last batch.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The rows since the last batch as a batch, which may be empty.
    ///
    /// # Errors
    /// `Mismatch` for a NULL in a column that may not be NULL, as files of other programs may have.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let arrays: Vec<ArrayRef> =
            self.columns.iter_mut().map(|column| column.values.finish()).collect::<Result<_>>()?;
        for (column, array) in self.columns.iter().zip(&arrays) {
            if !column.nullable && array.null_count() > 0 {
                let message = "a column that may not be NULL has NULLs";
                let error = Error::new(ErrorKind::Mismatch, message);
                return Err(error.in_column(column.name.clone()));
            }
        }
        let schema = Arc::clone(self.schema.get_or_insert_with(|| {
            let fields = self.columns.iter().zip(&arrays);
            Arc::new(Schema::new(fields.map(|(c, array)| c.field(array)).collect::<Vec<_>>()))
        }));
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.before += self.rows as u64;
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(crate::arrow_error)
    }
}

impl BuiltColumn {
    fn field(&self, array: &ArrayRef) -> Field {
        match self.ty {
            Type::Any => Field::new(self.name.as_str(), array.data_type().clone(), true),
            ty => field(&self.name, ty, self.nullable),
        }
    }
}

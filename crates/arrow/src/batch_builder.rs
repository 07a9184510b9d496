//! Fills record batches from rows.

use crate::any_values::AnyValues;
use crate::column_values::{array, column_buffer, converted, value_size};
use crate::types::field;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use bobak_core::{
    ColumnBuffer, Error, ErrorKind, Result, ResultColumn, Row, TableSchema, Type, ValueRef,
};
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
    /// The values of the columns; none of those whose type is not known.
    buffers: Vec<ColumnBuffer>,
    /// The columns with values of any length.
    variable: Vec<usize>,
    /// The bytes of a row without those values.
    row_bytes: usize,
    /// The bytes of values whose columns' type is not known.
    any_bytes: usize,
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
    /// The values, if the type is not known.
    any: AnyValues,
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
            any: AnyValues::default(),
        };
        let columns: Vec<_> = columns.map(built).collect();
        let is_variable = |ty| matches!(ty, Type::Bytes | Type::Text | Type::Json | Type::Decimal);
        Self {
            buffers: columns.iter().map(|column| column_buffer(column.ty)).collect(),
            variable: (0..columns.len()).filter(|&place| is_variable(columns[place].ty)).collect(),
            row_bytes: columns.iter().map(|column| value_size(column.ty)).sum(),
            any_bytes: 0,
            columns,
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
    /// `Mismatch` for a value that does not have its column's type, unless [`finish`](Self::finish) returns it; `TooLong` for one of
    /// about 2 GiB; each with the column and the row's number. `Misuse` if the batch is full.
    #[inline]
    pub fn push(&mut self, row: &dyn Row) -> Result<()> {
        if self.is_full() {
            return Err(Error::new(ErrorKind::Misuse, "the record batch is full: finish it"));
        }
        let mut place = row.append_to(&mut self.buffers, 0);
        while place < self.columns.len() {
            if let Err(error) = self.push_other(place, row.get(place)) {
                return Err(self.at(place, self.rows, error));
            }
            place = row.append_to(&mut self.buffers, place + 1);
        }
        self.rows += 1;
        let variable = self.variable.iter().map(|&place| self.buffers[place].byte_length());
        self.bytes = self.rows * self.row_bytes + variable.sum::<usize>() + self.any_bytes;
        Ok(())
    }

    /// Appends a value that the buffer of its column does not take as it is.
    fn push_other(&mut self, place: usize, value: ValueRef<'_>) -> Result<()> {
        let column = &mut self.columns[place];
        if column.ty == Type::Any {
            self.any_bytes += column.any.push(value)?;
            return Ok(());
        }
        if self.buffers[place].push(converted(column.ty, value)?.as_ref()) {
            return Ok(());
        }
        Err(Error::mismatch(column.ty.name(), value))
    }

    /// An error of a column's value in a row of this batch.
    #[cold]
    fn at(&self, place: usize, row: usize, error: Error) -> Error {
        error.in_column(self.columns[place].name.clone()).at_row(self.before + row as u64)
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

    /// Counts the rows from 0 again in errors.
    pub const fn count_from_zero(&mut self) {
        self.before = 0;
    }

    /// The rows since the last batch as a batch, which may be empty. After an error the builder is of no more use.
    ///
    /// # Errors
    /// `Mismatch`, `OutOfRange` as [`push`](Self::push); `Mismatch` for a NULL in a column that may not be NULL, as files of
    /// other programs may have.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let arrays = (0..self.columns.len()).map(|place| self.array(place));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let schema = Arc::clone(self.schema.get_or_insert_with(|| {
            let fields = self.columns.iter().zip(&arrays);
            Arc::new(Schema::new(fields.map(|(c, array)| c.field(array)).collect::<Vec<_>>()))
        }));
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.before += self.rows as u64;
        (self.rows, self.bytes, self.any_bytes) = (0, 0, 0);
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(crate::arrow_error)
    }

    fn array(&mut self, place: usize) -> Result<ArrayRef> {
        let column = &mut self.columns[place];
        if column.ty == Type::Any {
            return column.any.finish();
        }
        let array = array(column.ty, &mut self.buffers[place])
            .map_err(|(row, error)| self.at(place, row, error))?;
        let column = &self.columns[place];
        if !column.nullable && array.null_count() > 0 {
            let message = "a column that may not be NULL has NULLs";
            return Err(Error::new(ErrorKind::Mismatch, message).in_column(column.name.clone()));
        }
        Ok(array)
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

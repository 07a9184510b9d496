//! Reads record batches as rows of a table.

use crate::column_reader::ColumnReader;
use arrow_array::RecordBatch;
use bobak_core::{Error, ErrorKind, FieldSet, Result, TableSchema, Type, Value};

/// The rows of a record batch as values for a table, columns matched by name.
///
/// ```
/// use bobak_arrow::arrow_array::{Int32Array, RecordBatch, record_batch};
/// use bobak_arrow::BatchRows;
/// use bobak_core::{ColumnSchema, TableSchema, Value};
///
/// let table = TableSchema::builder("city")
///     .column(ColumnSchema::of::<i64>("id"))
///     .column(ColumnSchema::of::<String>("name"))
///     .key(["id"])
///     .build()?;
/// let batch = record_batch!(("name", Utf8, ["Bern", "Basel"])).unwrap();
/// let rows = BatchRows::new(&table, &batch)?;
/// assert_eq!(rows.len(), 2);
/// let mut values = vec![Value::Null, Value::Null];
/// rows.read(1, &mut values)?;
/// assert_eq!(values, [Value::Null, Value::from("Basel")]);
/// # Ok::<(), bobak_core::Error>(())
/// ```
pub struct BatchRows<'a> {
    /// The places of the columns in the table, with their values.
    columns: Vec<(usize, ColumnReader<'a>)>,
    given: FieldSet,
    batch: &'a RecordBatch,
    table: Option<&'a TableSchema>,
}

impl<'a> BatchRows<'a> {
    /// The rows of a batch for a table. Columns of the table that the batch does not have are left out.
    ///
    /// # Errors
    /// `Schema` for a column that the table does not have, or that the batch has twice; `Mismatch` for an array whose type the
    /// column does not take.
    pub fn new(table: &'a TableSchema, batch: &'a RecordBatch) -> Result<Self> {
        let mut given = FieldSet::EMPTY;
        let mut columns = Vec::with_capacity(batch.num_columns());
        let schema = batch.schema_ref();
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            let place = table.column(field.name())?;
            let column = table.column_at(place)?;
            let failed = |error: Error| {
                error.in_table(table.name().to_owned()).in_column(column.name.clone())
            };
            if given.contains(place) {
                return Err(failed(Error::new(ErrorKind::Schema, "the column is given twice")));
            }
            given.insert(place);
            columns.push((place, ColumnReader::new(array, column.ty).map_err(failed)?));
        }
        Ok(Self { columns, given, batch, table: Some(table) })
    }

    /// The rows of a batch as values of columns with these types, in the order of the batch.
    ///
    /// # Errors
    /// `Mismatch` for an array whose values a column of its type does not take, and for a wrong number of types.
    pub fn with_types(batch: &'a RecordBatch, types: &[Type]) -> Result<Self> {
        let (arrays, fields) = (batch.columns(), batch.schema_ref().fields());
        if arrays.len() != types.len() {
            let (given, wanted) = (types.len(), arrays.len());
            return Err(Error::wrong_number(ErrorKind::Mismatch, given, wanted, "type"));
        }
        let mut columns = Vec::with_capacity(types.len());
        for (place, ((array, field), ty)) in arrays.iter().zip(fields).zip(types).enumerate() {
            let reader = ColumnReader::new(array, *ty);
            columns.push((place, reader.map_err(|error| error.in_column(field.name()))?));
        }
        Ok(Self { given: FieldSet::first(columns.len()), columns, batch, table: None })
    }

    /// The columns of the table that the batch has.
    #[must_use]
    pub const fn given(&self) -> FieldSet {
        self.given
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the values of a row to `values`, which has one for each column of the table, or of the batch if there is no table;
    /// those of other columns stay as they are. The values are not checked against the column's rules.
    ///
    /// # Errors
    /// `OutOfRange` for a value without a stored form, such as a timestamp with nanoseconds; `Misuse` for a row from
    /// [`len`](Self::len) on.
    pub fn read(&self, row: usize, values: &mut [Value<'a>]) -> Result<()> {
        if row >= self.len() {
            return Err(Error::new(ErrorKind::Misuse, "the record batch has no such row"));
        }
        for (at, (place, column)) in self.columns.iter().enumerate() {
            let value = column.value(row).map_err(|error| self.name(error, at))?;
            if let Some(slot) = values.get_mut(*place) {
                *slot = value;
            }
        }
        Ok(())
    }

    /// Names the table, and the column of the batch at a place.
    #[cold]
    fn name(&self, error: Error, at: usize) -> Error {
        let fields = self.batch.schema_ref().fields();
        let error = match fields.get(at) {
            Some(field) => error.in_column(field.name().as_str()),
            None => error,
        };
        match self.table {
            Some(table) => error.in_table(table.name().to_owned()),
            None => error,
        }
    }
}

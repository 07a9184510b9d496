//! Adds the rows of Arrow record batches.

use super::{Batch, OnConflict};
use crate::dynamic::{self, DynTable};
use bobak_arrow::{BatchRows, RecordBatch};
use bobak_core::{DynRow, Result, Verb};

impl Batch<'_> {
    /// Adds an insert of each row of a record batch, columns matched by name. See [`insert_row`](Batch::insert_row): the same
    /// rules hold, and missing columns get their defaults.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct City { id: i64, name: String }
    /// # let db = Db::builder().record::<City>().open("memory:")?;
    /// # db.create_missing_tables()?;
    /// use bobak::arrow::{arrow_array::record_batch, arrow_schema};
    /// let rows = record_batch!(("name", Utf8, ["Bern", "Basel"])).unwrap();
    /// let mut batch = db.batch(BatchOptions::new());
    /// batch.insert_record_batch(&db.dynamic("city")?, &rows)?;
    /// assert_eq!(batch.finish()?.inserted, 2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`insert_row`](Batch::insert_row), with the row's number in this `Batch`; the rows before it are added. `Mismatch`,
    /// before any row is added, for an array whose type its column does not take.
    pub fn insert_record_batch(&mut self, table: &DynTable<'_>, rows: &RecordBatch) -> Result<()> {
        let verb = match self.options.on_conflict {
            OnConflict::Fail => Verb::Insert,
            OnConflict::Ignore => Verb::InsertOrIgnore,
            OnConflict::Replace => Verb::InsertOrReplace,
        };
        self.add_record_batch(table, verb, rows)
    }

    /// As [`insert_record_batch`](Batch::insert_record_batch), but an update if the key exists. See
    /// [`upsert_row`](Batch::upsert_row).
    ///
    /// # Errors
    /// As [`insert_record_batch`](Batch::insert_record_batch).
    pub fn upsert_record_batch(&mut self, table: &DynTable<'_>, rows: &RecordBatch) -> Result<()> {
        self.add_record_batch(table, Verb::Upsert, rows)
    }

    fn add_record_batch(
        &mut self,
        table: &DynTable<'_>,
        verb: Verb,
        batch: &RecordBatch,
    ) -> Result<()> {
        let schema = table.schema();
        let empty = DynRow::new();
        let rows = BatchRows::new(schema, batch)?;
        let (defaults, _) = dynamic::arrange(schema, &empty)?;
        for row in 0..rows.len() {
            let number = self.report.rows + self.writes.rows();
            let mut values = defaults.clone();
            rows.read(row, &mut values)
                .and_then(|()| self.insert_row_as(table, verb, rows.given(), values))
                .map_err(
                    |error| if error.row().is_some() { error } else { error.at_row(number) },
                )?;
        }
        Ok(())
    }
}

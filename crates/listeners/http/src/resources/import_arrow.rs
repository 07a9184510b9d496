//! Imports of streams in Arrow IPC: record batch after record batch, so in memory for one of them.

use crate::json::ParsedRow;
use crate::problem::Problem;
use crate::request::body_reader::BodyReader;
use crate::resources::bulk_load::BulkLoad;
use crate::resources::import::RowImport;
use bobak::arrow::{BatchRows, RecordBatch, StreamBatches};
use bobak_core::{Error, ErrorKind, Result, Value};

impl RowImport {
    pub(super) fn read_arrow(
        &self,
        load: &mut BulkLoad<'_>,
        mut body: BodyReader,
    ) -> Result<(), Problem> {
        let read = self.read_batches(load, &mut body);
        // An aborted body is no damaged stream.
        body.failure.map_or(read, Err)
    }

    fn read_batches(&self, load: &mut BulkLoad<'_>, body: &mut BodyReader) -> Result<(), Problem> {
        let mut batches = StreamBatches::new(body, self.max_record);
        while let Some(batch) = batches.next_batch().map_err(stream_problem)? {
            self.add_batch(load, &batch)?;
        }
        Ok(())
    }

    fn add_batch(&self, load: &mut BulkLoad<'_>, batch: &RecordBatch) -> Result<()> {
        let schema = &self.table.schema;
        let rows = BatchRows::new(schema, batch).map_err(|error| self.table.name_error(error))?;
        for row in 0..rows.len() {
            let parsed = self.read_row(&rows, row);
            load.add(&self.table, self.verb, parsed)?;
        }
        Ok(())
    }

    fn read_row<'b>(&self, rows: &BatchRows<'b>, row: usize) -> Result<ParsedRow<'b>> {
        let columns = self.table.schema.columns();
        let mut values = vec![Value::Null; columns.len()];
        rows.read(row, &mut values)?;
        for place in rows.given().iter() {
            let (Some(column), Some(value)) = (columns.get(place), values.get_mut(place)) else {
                continue;
            };
            if column.ty.has_text_form() || column.check_stored(value.as_ref()).is_err() {
                *value = column.accept(std::mem::take(value))?;
            }
        }
        Ok(ParsedRow { values, given: rows.given() })
    }
}

fn stream_problem(error: Error) -> Problem {
    match error.kind() {
        ErrorKind::TooLong => Problem::too_large(error.message()),
        ErrorKind::Corrupt => Problem::bad_request(error.message()),
        _ => error.into(),
    }
}

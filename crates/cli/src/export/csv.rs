//! CSV (RFC 4180): a header, then a line for each row, quoted where it must be.

use crate::error::{Error, Result};
use crate::export::{OutputColumn, Sink};
use bobak::Row;
use bobak_text::write;
use csv::{Terminator, Writer, WriterBuilder};
use std::io::Write;

/// Writes rows as CSV.
pub struct CsvSink<W: Write> {
    writer: Writer<W>,
    null: String,
    header: bool,
    columns: Vec<OutputColumn>,
    /// The text of one cell, used again.
    cell: String,
    rows: u64,
}

impl<W: Write> CsvSink<W> {
    /// Writes to `out`, with `delimiter` between two fields and `null` for NULL.
    pub fn new(out: W, delimiter: u8, null: impl Into<String>, header: bool) -> Self {
        let writer = WriterBuilder::new()
            .delimiter(delimiter)
            .terminator(Terminator::Any(b'\n'))
            .flexible(true)
            .from_writer(out);
        let null = null.into();
        Self { writer, null, header, columns: Vec::new(), cell: String::new(), rows: 0 }
    }
}

impl<W: Write> Sink for CsvSink<W> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<()> {
        self.columns = columns.to_vec();
        if self.header {
            let names = self.columns.iter().map(|column| column.name.as_bytes());
            self.writer.write_record(names).map_err(explain)?;
        }
        Ok(())
    }

    fn row(&mut self, row: &dyn Row) -> Result<()> {
        self.rows += 1;
        for (place, column) in self.columns.iter().enumerate() {
            let value = row.get(place);
            if value.is_null() {
                self.writer.write_field(&self.null).map_err(explain)?;
                continue;
            }
            self.cell.clear();
            write::write(&mut self.cell, column.ty, value);
            // Who reads the file could not tell it from NULL.
            if self.cell == self.null {
                return Err(Error::failed(format!(
                    "row {}, column {}: a value is {:?}, as NULL is written: choose another text \
                     with --null",
                    self.rows, column.name, self.null
                )));
            }
            self.writer.write_field(&self.cell).map_err(explain)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(explain)
    }

    fn finish(&mut self) -> Result<()> {
        self.writer.flush().map_err(|error| Error::output(&error))
    }
}

fn explain(error: csv::Error) -> Error {
    let sentence = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Error::output(&error),
        _ => Error::failed(format!("could not write the output: {sentence}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing::{Values, output_columns};
    use bobak::Value;
    use bobak::schema::Type;

    fn csv(null: &str, columns: &[(&str, Type)], rows: &[&[Value<'_>]]) -> Result<String> {
        let mut bytes = Vec::new();
        let mut sink = CsvSink::new(&mut bytes, b',', null, true);
        sink.begin(&output_columns(columns))?;
        for row in rows {
            sink.row(&Values(row))?;
        }
        sink.finish()?;
        drop(sink);
        Ok(String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let columns = [("id", Type::I64), ("a \"name\"", Type::Text)];
        let rows: [&[Value<'_>]; 4] = [
            &[Value::Int(1), Value::from("plain")],
            &[Value::Int(2), Value::from("a,b\n\"c\"")],
            &[Value::Int(3), Value::Null],
            &[Value::Int(4)],
        ];
        assert_eq!(
            csv("NA", &columns, &rows).expect("writes"),
            "id,\"a \"\"name\"\"\"\n1,plain\n2,\"a,b\n\"\"c\"\"\"\n3,NA\n4,NA\n"
        );
    }

    #[test]
    fn a_single_empty_field_is_still_a_line() {
        let rows: [&[Value<'_>]; 2] = [&[Value::Null], &[Value::from("x")]];
        assert_eq!(csv("", &[("a", Type::Text)], &rows).expect("writes"), "a\n\"\"\nx\n");
    }

    #[test]
    fn a_value_that_looks_like_null_is_refused() {
        let rows: [&[Value<'_>]; 2] = [&[Value::Null], &[Value::from("")]];
        let error = csv("", &[("a", Type::Text)], &rows).expect_err("ambiguous").to_string();
        assert!(error.starts_with("row 2, column a: ") && error.contains("--null"), "{error}");
        assert!(csv("\\N", &[("a", Type::Text)], &rows).is_ok());
    }
}

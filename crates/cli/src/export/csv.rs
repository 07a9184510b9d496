//! CSV (RFC 4180): a header, then one line per row, with quotes only if needed.

use crate::error::{Error, Result};
use crate::export::{OutputColumn, RowWriter};
use bobak::Row;
use bobak_text::write;
use csv::{Terminator, Writer, WriterBuilder};
use std::io::Write;

/// Writes rows as CSV.
pub struct CsvWriter<W: Write> {
    writer: Writer<W>,
    null: String,
    header: bool,
    columns: Vec<OutputColumn>,
    /// The text of one cell, reused.
    cell: String,
    rows: u64,
}

impl<W: Write> CsvWriter<W> {
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

impl<W: Write> RowWriter for CsvWriter<W> {
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
            // A reader of the file could not tell this value from NULL.
            if self.cell == self.null {
                return Err(Error::failed(format!(
                    "row {}, column {}: the value {:?} is also the text for NULL: choose another text \
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
        let mut writer = CsvWriter::new(&mut bytes, b',', null, true);
        writer.begin(&output_columns(columns))?;
        for row in rows {
            writer.row(&Values(row))?;
        }
        writer.finish()?;
        drop(writer);
        Ok(String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn fields_are_quoted_if_needed() {
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
    fn single_empty_field_is_a_quoted_line() {
        let rows: [&[Value<'_>]; 2] = [&[Value::Null], &[Value::from("x")]];
        assert_eq!(csv("", &[("a", Type::Text)], &rows).expect("writes"), "a\n\"\"\nx\n");
    }

    #[test]
    fn value_equal_to_null_text_is_rejected() {
        let rows: [&[Value<'_>]; 2] = [&[Value::Null], &[Value::from("")]];
        let error = csv("", &[("a", Type::Text)], &rows).expect_err("ambiguous").to_string();
        assert!(error.starts_with("row 2, column a: ") && error.contains("--null"), "{error}");
        assert!(csv("\\N", &[("a", Type::Text)], &rows).is_ok());
    }
}

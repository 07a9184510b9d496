//! CSV (RFC 4180): a header, then one line per row, with quotes only if needed.
//!
//! An empty text is `""`, so it differs from NULL, which is nothing between two delimiters unless
//! `--null` names a text. In a table of one column both are `""`, since readers skip empty lines.

use crate::error::{Error, Result};
use crate::export::{OutputColumn, RowFormat};
use bobak::schema::{Storage, Type};
use bobak::{Row, ValueRef};
use bobak_text::write;
use std::io::Write;

/// Writes rows as CSV.
pub struct CsvWriter<W: Write> {
    out: W,
    delimiter: char,
    null: String,
    header: bool,
    columns: Vec<OutputColumn>,
    /// The text of one line and of one cell, reused.
    line: String,
    cell: String,
    rows: u64,
}

impl<W: Write> CsvWriter<W> {
    /// Writes to `out`, with `delimiter` between two fields and `null` for NULL.
    pub fn new(out: W, delimiter: u8, null: impl Into<String>, header: bool) -> Self {
        Self {
            out,
            delimiter: char::from(delimiter),
            null: null.into(),
            header,
            columns: Vec::new(),
            line: String::new(),
            cell: String::new(),
            rows: 0,
        }
    }

    fn write_line(&mut self) -> Result<()> {
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes()).map_err(|error| Error::output(&error))?;
        self.line.clear();
        Ok(())
    }

    /// Adds the cell's text to the line.
    fn push_cell(&mut self, place: usize, quoted: bool) {
        if place > 0 {
            self.line.push(self.delimiter);
        }
        let special = |c: char| c == self.delimiter || matches!(c, '"' | '\n' | '\r');
        if quoted || self.cell.contains(special) {
            self.line.push('"');
            self.line.push_str(&self.cell.replace('"', "\"\""));
            self.line.push('"');
        } else {
            self.line.push_str(&self.cell);
        }
    }

    fn reject(&self, column: &OutputColumn, reason: &str) -> Error {
        Error::failed(format!("row {}, column {}: {reason}", self.rows, column.name))
    }
}

impl<W: Write> RowFormat for CsvWriter<W> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<()> {
        self.columns = columns.to_vec();
        if !self.header {
            return Ok(());
        }
        for (place, column) in columns.iter().enumerate() {
            self.cell.clone_from(&column.name);
            // A reader finds the delimiter, and that it is CSV, by the header.
            let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ');
            self.push_cell(place, !column.name.chars().all(is_plain) || column.name.is_empty());
        }
        self.write_line()
    }

    fn row(&mut self, row: &dyn Row) -> Result<()> {
        self.rows += 1;
        let columns = std::mem::take(&mut self.columns);
        let alone = columns.len() == 1;
        for (place, column) in columns.iter().enumerate() {
            let value = row.get(place);
            self.cell.clear();
            if value.is_null() {
                let null = std::mem::take(&mut self.null);
                self.cell.push_str(&null);
                self.null = null;
                self.push_cell(place, alone && self.cell.is_empty());
                continue;
            }
            if matches!(value, ValueRef::Bytes(_)) && column.ty.storage() == Storage::Text {
                let reason = "the value is bytes in a column of text, which CSV cannot tell from text: \
                              choose --format ndjson";
                return Err(self.reject(column, reason));
            }
            write::write(&mut self.cell, column.ty, value);
            if column.ty == Type::Any && matches!(value, ValueRef::Float(_)) {
                write::mark_as_float(&mut self.cell);
            }
            // A reader of the file could not tell this value from NULL.
            if self.cell == self.null && (alone || !self.cell.is_empty()) {
                let reason = format!(
                    "the value {:?} is also the text for NULL: choose another text with --null",
                    self.null
                );
                return Err(self.reject(column, &reason));
            }
            self.push_cell(place, self.cell.is_empty());
        }
        self.columns = columns;
        self.write_line()
    }

    fn finish(&mut self) -> Result<()> {
        self.out.flush().map_err(|error| Error::output(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing::{Values, output_columns};
    use bobak::Value;

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
    fn empty_text_differs_from_null() {
        let columns = [("a", Type::Text), ("b", Type::Text)];
        let rows: [&[Value<'_>]; 2] =
            [&[Value::Null, Value::from("")], &[Value::from(""), Value::Null]];
        assert_eq!(csv("", &columns, &rows).expect("writes"), "a,b\n,\"\"\n\"\",\n");
        assert_eq!(csv("-", &columns, &rows).expect("writes"), "a,b\n-,\"\"\n\"\",-\n");
        let bytes: [&[Value<'_>]; 1] = [&[Value::Null, Value::from(&[1_u8][..])]];
        let error = csv("", &columns, &bytes).expect_err("ambiguous").to_string();
        assert!(error.starts_with("row 1, column b: the value is bytes"), "{error}");
    }

    #[test]
    fn value_equal_to_null_text_is_rejected() {
        let rows: [&[Value<'_>]; 2] = [&[Value::Null], &[Value::from("")]];
        let error = csv("", &[("a", Type::Text)], &rows).expect_err("ambiguous").to_string();
        assert!(error.starts_with("row 2, column a: ") && error.contains("--null"), "{error}");
        assert!(csv("\\N", &[("a", Type::Text)], &rows).is_ok());
    }
}

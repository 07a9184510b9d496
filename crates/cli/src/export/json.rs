//! JSON: one object per row, on a line of its own (NDJSON) or in one array.
//!
//! Numbers are exact: integers have all 64 bits, floats their shortest form, money its decimals.
//! Dates and times are strings, bytes are base64, JSON columns are embedded documents, NULL is
//! `null`.

use crate::error::{Error, Result};
use crate::export::{OutputColumn, RowFormat};
use bobak::Row;
use bobak::schema::Type;
use bobak_text::json::{write_string, write_value};
use std::io::Write;

/// Writes rows as JSON objects.
pub struct JsonWriter<W: Write> {
    out: W,
    array: bool,
    columns: Vec<JsonMember>,
    /// The text of one object, reused.
    line: String,
    rows: u64,
}

struct JsonMember {
    /// The name as a JSON string, with its colon.
    name: String,
    ty: Type,
}

impl<W: Write> JsonWriter<W> {
    /// One object per line, each terminated by a line feed.
    pub const fn lines(out: W) -> Self {
        Self::new(out, false)
    }

    /// One array of objects.
    pub const fn array(out: W) -> Self {
        Self::new(out, true)
    }

    const fn new(out: W, array: bool) -> Self {
        Self { out, array, columns: Vec::new(), line: String::new(), rows: 0 }
    }

    fn write(&mut self, text: &str) -> Result<()> {
        self.out.write_all(text.as_bytes()).map_err(|error| Error::output(&error))
    }
}

impl<W: Write> RowFormat for JsonWriter<W> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<()> {
        for (index, column) in columns.iter().enumerate() {
            if columns.iter().take(index).any(|other| other.name == column.name) {
                return Err(Error::failed(format!(
                    "two columns are named {:?}, but JSON keys must be unique: rename one with AS",
                    column.name
                )));
            }
        }
        self.columns = columns
            .iter()
            .map(|column| JsonMember { name: label(&column.name), ty: column.ty })
            .collect();
        if self.array { self.write("[") } else { Ok(()) }
    }

    fn row(&mut self, row: &dyn Row) -> Result<()> {
        self.line.clear();
        self.line.push_str(match (self.array, self.rows) {
            (false, _) => "{",
            (true, 0) => "\n{",
            (true, _) => ",\n{",
        });
        for (place, member) in self.columns.iter().enumerate() {
            if place > 0 {
                self.line.push(',');
            }
            self.line.push_str(&member.name);
            write_value(&mut self.line, member.ty, row.get(place));
        }
        self.line.push_str(if self.array { "}" } else { "}\n" });
        self.rows += 1;
        self.out.write_all(self.line.as_bytes()).map_err(|error| Error::output(&error))
    }

    fn finish(&mut self) -> Result<()> {
        if self.array {
            self.write(if self.rows == 0 { "]\n" } else { "\n]\n" })?;
        }
        self.out.flush().map_err(|error| Error::output(&error))
    }
}

fn label(name: &str) -> String {
    let mut label = String::new();
    write_string(&mut label, name);
    label.push(':');
    label
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing::{Values, output_columns};
    use bobak::Value;

    fn json(array: bool, columns: &[(&str, Type)], rows: &[&[Value<'_>]]) -> Result<String> {
        let mut bytes = Vec::new();
        let mut writer = JsonWriter::new(&mut bytes, array);
        writer.begin(&output_columns(columns))?;
        for row in rows {
            writer.row(&Values(row))?;
        }
        writer.finish()?;
        Ok(String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn values_are_exact() {
        let columns = [
            ("i", Type::I64),
            ("f", Type::F64),
            ("b", Type::Bool),
            ("t", Type::Timestamp),
            ("c", Type::Currency),
            ("x", Type::Bytes),
            ("j", Type::Json),
            ("s", Type::Text),
            ("n", Type::I64),
        ];
        let row = [
            Value::Int(i64::MAX),
            Value::Float(0.1),
            Value::Int(0),
            Value::Int(1_500_000),
            Value::Int(-199_900),
            Value::from(&[0_u8, 1, 255][..]),
            Value::from("{\"a\":\n[12345678901234567890]}"),
            Value::from("é\"\\\n\u{0}"),
            Value::Null,
        ];
        let line = json(false, &columns, &[&row]).expect("writes");
        assert_eq!(
            line,
            "{\"i\":9223372036854775807,\"f\":0.1,\"b\":false,\"t\":\"1970-01-01T00:00:01.5Z\",\
             \"c\":-19.99,\"x\":\"AAH/\",\"j\":{\"a\": [12345678901234567890]},\
             \"s\":\"é\\\"\\\\\\n\\u0000\",\"n\":null}\n"
        );
        serde_json::from_str::<serde_json::Value>(&line).expect("is JSON");
    }

    #[test]
    fn array_is_one_document() {
        let columns = [("i", Type::I64)];
        assert_eq!(json(true, &columns, &[]).expect("writes"), "[]\n");
        let rows: [&[Value<'_>]; 2] = [&[Value::Int(1)], &[Value::Null]];
        assert_eq!(
            json(true, &columns, &rows).expect("writes"),
            "[\n{\"i\":1},\n{\"i\":null}\n]\n"
        );
    }

    #[test]
    fn duplicate_column_names_are_rejected() {
        let error = json(false, &[("a", Type::I64), ("a", Type::I64)], &[]).expect_err("rejected");
        assert!(error.to_string().contains("rename one with AS"), "{error}");
    }

    #[test]
    fn invalid_json_document_is_written_as_string() {
        let row = [Value::from("{oops")];
        assert_eq!(
            json(false, &[("j", Type::Json)], &[&row]).expect("writes"),
            "{\"j\":\"{oops\"}\n"
        );
    }
}

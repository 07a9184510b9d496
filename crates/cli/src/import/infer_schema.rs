//! The first pass: infers the column types and counts invalid lines before anything is written.

use crate::error::{Error, Result};
use crate::import::csv_format::CsvFormat;
use crate::import::csv_reader::CsvReader;
use crate::import::infer::{InferredColumn, NullTexts, validate};
use crate::import::input_file::InputFile;
use csv::ByteRecord;

/// The result of the first pass.
#[derive(Clone, Debug)]
pub struct InferredSchema {
    /// The columns, in the file's order.
    pub columns: Vec<InferredColumn>,
    /// The number of valid lines.
    pub valid: u64,
    /// The number of invalid lines.
    pub invalid: u64,
}

/// The number of lines between two progress reports.
pub const PROGRESS_INTERVAL: u64 = 16_384;

impl InferredSchema {
    /// Reads the whole input.
    ///
    /// `columns` holds what is known about the columns, in the file's order. If `stop` is set, the
    /// first invalid line fails the import. `progress` is called with the number of lines read so far.
    ///
    /// # Errors
    /// If the input can't be read, or a line is invalid and `stop` is set.
    pub fn infer(
        source: &InputFile,
        layout: &CsvFormat,
        columns: Vec<InferredColumn>,
        nulls: &NullTexts,
        stop: bool,
        mut progress: impl FnMut(u64),
    ) -> Result<Self> {
        let mut schema = Self { columns, valid: 0, invalid: 0 };
        let mut record = ByteRecord::new();
        source.read(|input| {
            let mut lines = CsvReader::new(input, source.name(), layout.delimiter);
            if layout.has_header {
                lines.next(&mut record)?;
            }
            while lines.next(&mut record)? {
                match validate(&record, &layout.columns, &schema.columns, nulls) {
                    None => schema.add(&record, nulls),
                    Some(reason) if stop => {
                        return Err(invalid_line(source, lines.number(&record), &reason));
                    }
                    Some(_) => schema.invalid += 1,
                }
                if (schema.valid + schema.invalid).is_multiple_of(PROGRESS_INTERVAL) {
                    progress(schema.valid + schema.invalid);
                }
            }
            Ok(())
        })?;
        Ok(schema)
    }

    fn add(&mut self, record: &ByteRecord, nulls: &NullTexts) {
        self.valid += 1;
        for (column, field) in self.columns.iter_mut().zip(record) {
            column.observe(field, nulls);
        }
    }
}

/// The error of an import that is aborted by an invalid line.
#[must_use]
pub fn invalid_line(source: &InputFile, line: u64, reason: &str) -> Error {
    Error::failed(format!(
        "{}, line {line}: {reason}; nothing was imported (pass --rejects FILE to write invalid lines there and \
         import the others)",
        source.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak::schema::Type;
    use std::io::Write;

    fn infer(text: &str, given: &[Option<Type>], stop: bool) -> Result<InferredSchema> {
        let mut file = tempfile::NamedTempFile::new().expect("makes a file");
        file.write_all(text.as_bytes()).expect("writes");
        let source = InputFile::open(file.path(), None)?;
        let layout = CsvFormat::detect(&source, None, None)?;
        let columns = given.iter().map(|given| InferredColumn::new(*given, false)).collect();
        InferredSchema::infer(&source, &layout, columns, &NullTexts::new(["", "NA"]), stop, |_| {})
    }

    #[test]
    fn types_are_inferred_from_the_whole_file() {
        let mut text = "a,b\n".to_owned();
        text.push_str(&"1,2\n".repeat(5_000));
        text.push_str("1.5,NA\n");
        let schema = infer(&text, &[None, None], true).expect("reads");
        let types: Vec<_> = schema.columns.iter().map(|c| (c.ty(), c.nullable())).collect();
        assert_eq!(types, [(Type::F64, false), (Type::I64, true)]);
        assert_eq!((schema.valid, schema.invalid), (5_001, 0));
    }

    #[test]
    fn invalid_line_aborts_or_is_ignored() {
        let text = "a,b\n1,2\n3\n4,x\n5,6\n";
        let given = [None, Some(Type::I64)];
        let error = infer(text, &given, true).expect_err("stops").to_string();
        assert!(error.contains("line 3: 1 field, expected 2 columns"), "{error}");
        let schema = infer(text, &given, false).expect("continues");
        assert_eq!((schema.valid, schema.invalid), (2, 2));
        assert_eq!(schema.columns[0].ty(), Type::I64);
    }
}

//! Collects invalid lines in a file, which can be corrected and imported again, and reports each with
//! its line number and the reason.

use crate::error::{Error, Result};
use crate::import::csv_format::CsvFormat;
use crate::import::csv_reader::field_text;
use crate::output::{OutputTarget, Terminal, count};
use csv::{ByteRecord, Writer, WriterBuilder};
use std::path::{Path, PathBuf};

/// The number of invalid lines that are reported one by one; the others are only counted.
pub const MAX_REPORTED: u64 = 20;

/// The file for invalid lines. It is created for the first one and renamed into place at the end.
pub struct RejectsFile {
    path: PathBuf,
    layout: CsvFormat,
    screen: Terminal,
    writer: Option<Writer<OutputTarget>>,
    count: u64,
}

impl RejectsFile {
    /// Invalid lines of an input of this format will be written to `path`.
    #[must_use]
    pub fn new(path: &Path, layout: &CsvFormat, screen: Terminal) -> Self {
        let (path, layout) = (path.to_owned(), layout.clone());
        Self { path, layout, screen, writer: None, count: 0 }
    }

    /// The number of rejected lines.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes and reports a line.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn push(&mut self, line: u64, reason: &str, record: &ByteRecord) -> Result<()> {
        self.count += 1;
        if self.count <= MAX_REPORTED {
            self.screen.note(format_args!("line {line}: {reason}"));
        }
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.begin()?,
        };
        let fields: ByteRecord = record.iter().map(|field| field_text(field).0).collect();
        writer.write_byte_record(&fields).map_err(|error| self.explain(error))?;
        self.writer = Some(writer);
        Ok(())
    }

    /// Completes the file, if any line was rejected.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn finish(&mut self) -> Result<()> {
        if self.count > MAX_REPORTED {
            self.screen.note(format_args!(
                "… and {} more invalid lines",
                count(self.count - MAX_REPORTED)
            ));
        }
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let output = writer.into_inner().map_err(|error| {
            Error::io(format_args!("write {}", self.path.display()), error.error())
        })?;
        output.finish()
    }

    fn begin(&self) -> Result<Writer<OutputTarget>> {
        let mut writer = WriterBuilder::new()
            .delimiter(self.layout.delimiter)
            .flexible(true)
            .from_writer(OutputTarget::open(Some(&self.path))?);
        if self.layout.has_header {
            writer.write_record(&self.layout.columns).map_err(|error| self.explain(error))?;
        }
        Ok(writer)
    }

    fn explain(&self, error: csv::Error) -> Error {
        Error::failed(format!("could not write {}: {error}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_lines_keep_their_fields() {
        let folder = tempfile::tempdir().expect("makes a folder");
        let path = folder.path().join("bad.csv");
        let columns = vec!["a".to_owned(), "b".to_owned()];
        let layout = CsvFormat { delimiter: b';', columns, has_header: true, types: Vec::new() };
        let mut rejects = RejectsFile::new(&path, &layout, Terminal::new(true));
        rejects.finish().expect("nothing to write");
        assert!(!path.exists(), "no bad line, no file");
        for fields in [&["1"][..], &["x;y", "2", "3"]] {
            rejects.push(2, "bad", &ByteRecord::from(fields.to_vec())).expect("writes");
        }
        rejects.finish().expect("writes");
        assert_eq!(rejects.count(), 2);
        assert_eq!(std::fs::read_to_string(&path).expect("reads"), "a;b\n1\n\"x;y\";2;3\n");
    }
}

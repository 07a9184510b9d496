//! Bad lines: each is told with its number and reason, and kept in a file of its own, which can
//! be mended and imported again.

use crate::error::{Error, Result};
use crate::import::layout::Layout;
use crate::output::{Output, Screen, count};
use csv::{ByteRecord, Writer, WriterBuilder};
use std::path::{Path, PathBuf};

/// How many bad lines are told one by one; the others are only counted.
pub const TOLD: u64 = 20;

/// Where bad lines go. The file is made at the first, and appears when the import is done.
pub struct Rejects {
    path: PathBuf,
    layout: Layout,
    screen: Screen,
    writer: Option<Writer<Output>>,
    count: u64,
}

impl Rejects {
    /// Bad lines of an input of this layout are to go to `path`.
    #[must_use]
    pub fn new(path: &Path, layout: &Layout, screen: Screen) -> Self {
        let (path, layout) = (path.to_owned(), layout.clone());
        Self { path, layout, screen, writer: None, count: 0 }
    }

    /// How many lines were set aside.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The file that they are in.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets a line aside.
    ///
    /// # Errors
    /// A file that can't be written.
    pub fn push(&mut self, line: u64, reason: &str, record: &ByteRecord) -> Result<()> {
        self.count += 1;
        if self.count <= TOLD {
            self.screen.note(format_args!("line {line}: {reason}"));
        }
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.begin()?,
        };
        writer.write_byte_record(record).map_err(|error| self.explain(error))?;
        self.writer = Some(writer);
        Ok(())
    }

    /// Completes the file, if there is one.
    ///
    /// # Errors
    /// A file that can't be written.
    pub fn finish(&mut self) -> Result<()> {
        if self.count > TOLD {
            self.screen.note(format_args!("… and {} more bad lines", count(self.count - TOLD)));
        }
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let output = writer.into_inner().map_err(|error| {
            Error::io(format_args!("write {}", self.path.display()), error.error())
        })?;
        output.finish()
    }

    fn begin(&self) -> Result<Writer<Output>> {
        let mut writer = WriterBuilder::new()
            .delimiter(self.layout.delimiter)
            .flexible(true)
            .from_writer(Output::open(Some(&self.path))?);
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
    fn bad_lines_keep_their_fields() {
        let folder = tempfile::tempdir().expect("makes a folder");
        let path = folder.path().join("bad.csv");
        let columns = vec!["a".to_owned(), "b".to_owned()];
        let layout = Layout { delimiter: b';', columns, has_header: true };
        let mut rejects = Rejects::new(&path, &layout, Screen::new(true));
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

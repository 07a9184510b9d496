//! Files in columns: Arrow IPC, and Parquet.

use crate::error::{Error, Result};
use crate::export::{OutputColumn, RowFormat};
use bobak::Row;
use bobak::arrow::{BATCH_ROWS, BatchBuilder, FileWriter, RecordBatch, arrow_error};
use bobak::schema::ResultColumn;
use std::io::Write;

/// The most bytes of a batch.
const BATCH_BYTES: usize = 16 << 20;
/// A row group of Parquet ends after so many bytes in memory.
#[cfg(feature = "parquet")]
const ROW_GROUP_BYTES: usize = 64 << 20;

/// A format in columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnarFormat {
    /// The file format of Arrow IPC.
    Arrow,
    /// Parquet.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// Writes rows as a file in columns, in bounded memory.
pub struct ColumnarWriter<W: Write> {
    format: ColumnarFormat,
    builder: BatchBuilder,
    /// Until the first batch, whose types are those of the file.
    out: Option<W>,
    file: Option<ColumnarFile<W>>,
}

/// A file after its first batch.
enum ColumnarFile<W: Write> {
    Arrow(Box<FileWriter<W>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetFile<W>>),
}

impl<W: Write> ColumnarWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W, format: ColumnarFormat) -> Self {
        let builder = BatchBuilder::new(&[], BATCH_ROWS);
        Self { format, builder, out: Some(out), file: None }
    }

    fn flush(&mut self) -> Result<()> {
        let batch = self.builder.finish()?;
        if let Some(out) = self.out.take() {
            self.file = Some(ColumnarFile::create(self.format, out, &batch)?);
        }
        match &mut self.file {
            Some(file) => file.write(&batch),
            None => Ok(()),
        }
    }
}

impl<W: Write> RowFormat for ColumnarWriter<W> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<()> {
        let columns: Vec<_> = columns
            .iter()
            .map(|column| ResultColumn::new(column.name.as_str(), column.ty))
            .collect();
        self.builder = BatchBuilder::new(&columns, BATCH_ROWS).max_bytes(BATCH_BYTES);
        Ok(())
    }

    fn row(&mut self, row: &dyn Row) -> Result<()> {
        if self.builder.is_full() {
            self.flush()?;
        }
        Ok(self.builder.push(row)?)
    }

    fn finish(&mut self) -> Result<()> {
        if self.builder.rows() > 0 || self.file.is_none() {
            self.flush()?;
        }
        match self.file.take() {
            Some(file) => file.finish(),
            None => Ok(()),
        }
    }
}

impl<W: Write> ColumnarFile<W> {
    fn create(format: ColumnarFormat, out: W, first: &RecordBatch) -> Result<Self> {
        Ok(match format {
            ColumnarFormat::Arrow => {
                let file = FileWriter::try_new(out, &first.schema()).map_err(arrow_error)?;
                Self::Arrow(Box::new(file))
            }
            #[cfg(feature = "parquet")]
            ColumnarFormat::Parquet => Self::Parquet(Box::new(ParquetFile::create(out, first)?)),
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Arrow(file) => Ok(file.write(batch).map_err(arrow_error)?),
            #[cfg(feature = "parquet")]
            Self::Parquet(file) => file.write(batch),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Arrow(mut file) => {
                file.finish().map_err(arrow_error)?;
                file.get_mut().flush().map_err(|error| Error::output(&error))
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(file) => file.finish(),
        }
    }
}

/// A Parquet file. Its writer needs an output that can be sent to other threads, so it writes to memory, from where the bytes
/// go to the output.
#[cfg(feature = "parquet")]
struct ParquetFile<W: Write> {
    writer: parquet::arrow::ArrowWriter<Vec<u8>>,
    out: W,
}

#[cfg(feature = "parquet")]
impl<W: Write> ParquetFile<W> {
    fn create(out: W, first: &RecordBatch) -> Result<Self> {
        use parquet::basic::Compression;
        use parquet::file::properties::WriterProperties;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("bobak ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer =
            parquet::arrow::ArrowWriter::try_new(Vec::new(), first.schema(), Some(properties));
        Ok(Self { writer: writer.map_err(|error| unwritten(&error))?, out })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(|error| unwritten(&error))?;
        if self.writer.in_progress_size() >= ROW_GROUP_BYTES {
            self.writer.flush().map_err(|error| unwritten(&error))?;
        }
        let bytes = self.writer.inner_mut();
        self.out.write_all(bytes).map_err(|error| Error::output(&error))?;
        bytes.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        let rest = self.writer.into_inner().map_err(|error| unwritten(&error))?;
        let written = self.out.write_all(&rest).and_then(|()| self.out.flush());
        written.map_err(|error| Error::output(&error))
    }
}

#[cfg(feature = "parquet")]
fn unwritten(error: &parquet::errors::ParquetError) -> Error {
    Error::failed(format!("could not write the Parquet file: {error}"))
}

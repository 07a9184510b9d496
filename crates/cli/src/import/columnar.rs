//! Reads files in columns (Arrow IPC, Parquet), and writes them as CSV, which the rest of the import reads. The columns keep
//! the types of the file.

use crate::error::{Error, Result};
use crate::import::columnar_kind::ColumnarKind;
use crate::import::convert::{finish, put_field, spool, unspooled};
use crate::import::{CsvFormat, InputFile};
use bobak::Value;
use bobak::arrow::arrow_schema::{ArrowError, Schema};
use bobak::arrow::{BatchRows, FileReader, RecordBatch, StreamReader, arrow_error, column_type};
use bobak::schema::Type;
use bobak_text::json::write_value;
use csv::Writer;
use std::fs::File;
use std::io::{BufReader, BufWriter};

type Batches = Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>>>;

/// The file as CSV in UTF-8, and its format with the types of the columns.
///
/// # Errors
/// If the file is damaged, or has a column of a type that no column takes, such as a structure.
pub fn from_columnar(source: &InputFile, kind: ColumnarKind) -> Result<(InputFile, CsvFormat)> {
    without_panics(|| read_columnar(source, kind)).unwrap_or_else(|| {
        Err(Error::failed(format!("could not read {}: the file is damaged", source.name())))
    })
}

/// The result of reading a file; `None` after a panic. The libraries that read these files panic at some damaged ones.
fn without_panics<R>(read: impl FnOnce() -> R) -> Option<R> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
    std::panic::set_hook(hook);
    done.ok()
}

fn read_columnar(source: &InputFile, kind: ColumnarKind) -> Result<(InputFile, CsvFormat)> {
    let file = BufReader::new(source.try_clone()?);
    let (schema, batches): (_, Batches) = match kind {
        ColumnarKind::ArrowFile => {
            let reader = FileReader::try_new(file, None).map_err(|error| damaged(source, error))?;
            (reader.schema(), Box::new(reader))
        }
        ColumnarKind::ArrowStream => {
            let reader =
                StreamReader::try_new(file, None).map_err(|error| damaged(source, error))?;
            (reader.schema(), Box::new(reader))
        }
        ColumnarKind::Parquet => parquet_batches(source)?,
    };
    let types = column_types(source, &schema)?;
    let names = schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut format = CsvFormat::of_columns(source.name(), names)?;
    let mut writer = Writer::from_writer(spool()?);
    for batch in batches {
        let batch = batch.map_err(|error| damaged(source, error))?;
        write_batch(&mut writer, &batch, &types)?;
    }
    let out = writer.into_inner().map_err(|error| unspooled(error.error()))?;
    format.types = types;
    Ok((finish(source, out)?, format))
}

#[cfg(feature = "parquet")]
fn parquet_batches(source: &InputFile) -> Result<(bobak::arrow::SchemaRef, Batches)> {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let unreadable = |error: parquet::errors::ParquetError| {
        Error::failed(format!("could not read the Parquet file {}: {error}", source.name()))
    };
    let builder = ParquetRecordBatchReaderBuilder::try_new(source.try_clone()?);
    let builder = builder.map_err(unreadable)?;
    let schema = std::sync::Arc::clone(builder.schema());
    Ok((schema, Box::new(builder.build().map_err(unreadable)?)))
}

#[cfg(not(feature = "parquet"))]
fn parquet_batches(source: &InputFile) -> Result<(bobak::arrow::SchemaRef, Batches)> {
    Err(Error::not_built_in(format_args!("read {}, a Parquet file", source.name()), "parquet"))
}

fn column_types(source: &InputFile, schema: &Schema) -> Result<Vec<Type>> {
    let ty = |field: &bobak::arrow::arrow_schema::FieldRef| match column_type(field) {
        Some(ty) => Ok(ty),
        // Only NULLs.
        None if field.data_type().is_null() => Ok(Type::Text),
        None => Err(Error::failed(format!(
            "{}, column {}: no column of a table takes the type {}",
            source.name(),
            field.name(),
            field.data_type()
        ))),
    };
    schema.fields().iter().map(ty).collect()
}

/// Writes the values as those of JSON are written.
fn write_batch(
    writer: &mut Writer<BufWriter<File>>,
    batch: &RecordBatch,
    types: &[Type],
) -> Result<()> {
    let rows = BatchRows::with_types(batch, types)?;
    let mut values = vec![Value::Null; types.len()];
    let (mut text, mut field) = (String::new(), Vec::new());
    for row in 0..rows.len() {
        rows.read(row, &mut values)?;
        for (value, ty) in values.iter().zip(types) {
            text.clear();
            field.clear();
            write_value(&mut text, *ty, value.as_ref());
            put_field(&text, &mut field).map_err(|error| Error::failed(error.to_string()))?;
            writer.write_field(&field).map_err(|error| Error::failed(error.to_string()))?;
        }
        writer.write_record(None::<&[u8]>).map_err(|error| Error::failed(error.to_string()))?;
    }
    Ok(())
}

fn damaged(source: &InputFile, error: ArrowError) -> Error {
    Error::failed(format!("could not read {}: {}", source.name(), arrow_error(error).message()))
}

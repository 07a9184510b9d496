//! Rows as a stream in Arrow IPC.

use bobak::arrow::{BATCH_ROWS, BatchBuilder, StreamWriter, arrow_error};
use bobak_core::{Result, ResultColumn, RowBuffer, Session, Source};
use std::io::Write;

/// A batch ends after the row that reaches so many bytes: bounds the memory of a response.
const BATCH_BYTES: usize = 2 << 20;

/// Writes all rows of a query. `columns` are those of the rows if they are known better than by the engine.
///
/// # Errors
/// Those of the query; `Mismatch`, `OutOfRange` for a value that does not have its column's type.
pub(crate) fn write_arrow(
    session: &dyn Session,
    source: &Source<'_>,
    columns: Option<&[ResultColumn]>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut cursor = session.open(source)?;
    let mut builder =
        BatchBuilder::new(columns.unwrap_or(&cursor.columns), BATCH_ROWS).max_bytes(BATCH_BYTES);
    let (mut rows, mut out, mut writer) = (RowBuffer::default(), Some(out), None);
    loop {
        session.fetch(&mut cursor, &mut rows)?;
        let ended = rows.rows() == 0;
        while let Some(row) = rows.next_row()? {
            if builder.is_full() {
                write_batch(&mut builder, &mut out, &mut writer)?;
            }
            builder.push(&row)?;
        }
        if ended {
            break;
        }
    }
    session.close(&mut cursor);
    if builder.rows() > 0 || writer.is_none() {
        write_batch(&mut builder, &mut out, &mut writer)?;
    }
    match &mut writer {
        Some(writer) => writer.finish().map_err(arrow_error),
        None => Ok(()),
    }
}

/// Writes a batch; with the first one, the schema.
fn write_batch<'o>(
    builder: &mut BatchBuilder,
    out: &mut Option<&'o mut dyn Write>,
    writer: &mut Option<StreamWriter<&'o mut dyn Write>>,
) -> Result<()> {
    let batch = builder.finish()?;
    if let Some(out) = out.take() {
        *writer = Some(StreamWriter::try_new(out, &batch.schema()).map_err(arrow_error)?);
    }
    match writer {
        Some(writer) => writer.write(&batch).map_err(arrow_error),
        None => Ok(()),
    }
}

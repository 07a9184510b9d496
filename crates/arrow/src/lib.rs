//! Rows as Arrow record batches, one array for each column, and record batches as rows.
//!
//! [`BatchBuilder`] fills arrays straight from the rows that engines lend. [`BatchRows`] reads the rows of a record batch as
//! values for a table. [`field`] and [`column_type`] map the types. [`StreamWriter`] and [`StreamReader`] are the stream
//! format of Arrow IPC, [`StreamBatches`] reads such streams from clients, [`FileWriter`] and [`FileReader`] its file format.
//!
//! ```
//! use bobak_arrow::{BatchBuilder, RecordBatch};
//! use bobak_core::{ResultColumn, Type, Value};
//!
//! let columns = [ResultColumn::new("id", Type::I64), ResultColumn::new("name", Type::Text)];
//! let mut builder = BatchBuilder::new(&columns, 1_000);
//! builder.push(&[Value::Int(1), Value::from("Bern")].as_slice())?;
//! let batch: RecordBatch = builder.finish()?;
//! assert_eq!((batch.num_rows(), batch.num_columns()), (1, 2));
//! # Ok::<(), bobak_core::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod any_values;
mod batch_builder;
mod batch_rows;
mod column_reader;
mod column_values;
mod stream_batches;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests: a failure names its line")]
mod tests;
mod types;

pub use arrow_array::{self, RecordBatch};
pub use arrow_ipc::reader::{FileReader, StreamReader};
pub use arrow_ipc::writer::{FileWriter, StreamWriter};
pub use arrow_schema::{self, SchemaRef};
pub use batch_builder::{BATCH_BYTES, BATCH_ROWS, BatchBuilder};
pub use batch_rows::BatchRows;
pub use stream_batches::StreamBatches;
pub use types::{arrow_error, column_type, field};

/// The media type of a stream in Arrow IPC.
pub const STREAM_MEDIA_TYPE: &str = "application/vnd.apache.arrow.stream";

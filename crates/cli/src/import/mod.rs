//! Imports a CSV or JSON file, a workbook, or a file of Arrow or Parquet in two passes. The first infers the column types from the whole file and finds
//! invalid lines before anything is written. The second inserts the rows.
//!
//! In order of use: [`InputFile`] opens and decompresses the file, [`to_csv`], `from_workbook` and `from_columnar` convert others to CSV, [`CsvFormat`] detects delimiter and
//! header, `csv_reader` splits lines into fields, `infer` finds the types ([`InferredSchema`]), `bobak_text` parses
//! values, [`ImportPlan`] maps file columns to table columns, [`Loader`] inserts the rows, and
//! [`RejectsFile`] collects invalid lines.

#[cfg(feature = "arrow")]
mod columnar;
mod columnar_kind;
mod convert;
mod csv_format;
pub mod csv_reader;
pub mod infer;
mod infer_schema;
mod input_file;
mod json_objects;
mod loader;
mod plan;
mod rejects;
#[cfg(feature = "xlsx")]
mod workbook;

pub use convert::{put_field, to_csv};
pub use csv_format::CsvFormat;
pub use infer_schema::InferredSchema;
pub use input_file::InputFile;
pub use loader::Loader;
pub use plan::{ImportPlan, is_key_name};
pub use rejects::RejectsFile;
#[cfg(feature = "xlsx")]
pub use workbook::from_workbook;

//! Output formats, and the flags for CSV output.

use crate::commands::arguments::delimiter;
#[cfg(feature = "arrow")]
use crate::export::{ColumnarFormat, ColumnarWriter};
use crate::export::{CsvWriter, JsonWriter, RowFormat, TableWriter};
use crate::output::Terminal;
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::Path;

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Aligned table for reading
    Table,
    /// CSV with a header
    Csv,
    /// One JSON object per line
    Ndjson,
    /// One JSON array of objects
    Json,
    /// Workbook of Excel and other spreadsheet programs
    #[cfg(feature = "xlsx")]
    Xlsx,
    /// File of Arrow IPC, in columns
    #[cfg(feature = "arrow")]
    Arrow,
    /// Parquet file, in columns
    #[cfg(feature = "parquet")]
    Parquet,
}

/// Settings of CSV output.
#[derive(Debug, Args)]
pub struct CsvOptions {
    /// Text for NULL in CSV [default: empty]
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub null: String,

    /// Delimiter of CSV fields
    #[arg(short, long, value_name = "CHAR", default_value = ",", value_parser = delimiter)]
    pub delimiter: u8,

    /// Write CSV without a header
    #[arg(long)]
    pub no_header: bool,
}

impl OutputFormat {
    /// The format for this file name's extension; CSV if it has no known one.
    #[must_use]
    pub fn from_path(path: Option<&Path>) -> Self {
        let extension = path.and_then(Path::extension).map(|text| text.to_ascii_lowercase());
        match extension.as_deref().and_then(|text| text.to_str()) {
            Some("ndjson" | "jsonl") => Self::Ndjson,
            Some("json") => Self::Json,
            #[cfg(feature = "xlsx")]
            Some("xlsx") => Self::Xlsx,
            #[cfg(feature = "arrow")]
            Some("arrow" | "feather") => Self::Arrow,
            #[cfg(feature = "parquet")]
            Some("parquet") => Self::Parquet,
            _ => Self::Csv,
        }
    }

    /// Creates a writer of this format over `out`.
    pub fn writer<'a>(
        self,
        out: impl Write + 'a,
        options: &CsvOptions,
        screen: &Terminal,
    ) -> Box<dyn RowFormat + 'a> {
        match self {
            Self::Table => Box::new(TableWriter::new(out, screen.width())),
            Self::Ndjson => Box::new(JsonWriter::lines(out)),
            Self::Json => Box::new(JsonWriter::array(out)),
            #[cfg(feature = "xlsx")]
            Self::Xlsx => Box::new(crate::export::WorkbookWriter::new(out)),
            #[cfg(feature = "arrow")]
            Self::Arrow => Box::new(ColumnarWriter::new(out, ColumnarFormat::Arrow)),
            #[cfg(feature = "parquet")]
            Self::Parquet => Box::new(ColumnarWriter::new(out, ColumnarFormat::Parquet)),
            Self::Csv => {
                let (delimiter, header) = (options.delimiter, !options.no_header);
                Box::new(CsvWriter::new(out, delimiter, options.null.as_str(), header))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_follows_file_extension() {
        for (name, format) in [
            ("a.csv", OutputFormat::Csv),
            ("a.NDJSON", OutputFormat::Ndjson),
            ("a.jsonl", OutputFormat::Ndjson),
            ("a.json", OutputFormat::Json),
            ("a.tsv", OutputFormat::Csv),
            ("a", OutputFormat::Csv),
        ] {
            assert_eq!(OutputFormat::from_path(Some(Path::new(name))), format, "{name}");
        }
        assert_eq!(OutputFormat::from_path(None), OutputFormat::Csv);
    }
}

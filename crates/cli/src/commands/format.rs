//! Output formats, and the flags for CSV output.

use crate::commands::arguments::delimiter;
use crate::error::{Error, Result};
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
    Xlsx,
    /// File of Arrow IPC, in columns
    Arrow,
    /// Parquet file, in columns
    Parquet,
}

/// Settings of CSV output.
#[derive(Debug, Args)]
pub struct CsvOptions {
    /// Text for NULL in CSV [default: empty]
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub null: String,

    /// Delimiter of CSV fields [default: a comma; a tab if the file's name ends in .tsv]
    #[arg(short, long, value_name = "CHAR", value_parser = delimiter)]
    pub delimiter: Option<u8>,

    /// Write CSV without a header
    #[arg(long)]
    pub no_header: bool,
}

/// How an output file is written, by the flags and the extensions of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFileFormat {
    /// The format.
    pub format: OutputFormat,
    /// Whether the file is compressed with gzip.
    pub is_gzip: bool,
    delimiter: u8,
}

/// Extensions of compressed files that no command writes.
const UNWRITTEN_COMPRESSIONS: [&str; 4] = ["zst", "zip", "bz2", "xz"];

impl OutputFileFormat {
    /// How the output is written: `given` is the format of the flag, `default` that of a name without an extension.
    ///
    /// # Errors
    /// A usage error for an extension of no format, unless one is given, and for a compression that is not written.
    pub fn new(
        path: Option<&Path>,
        given: Option<OutputFormat>,
        options: &CsvOptions,
        default: OutputFormat,
    ) -> Result<Self> {
        let name = path.and_then(Path::file_name).unwrap_or_default();
        let name = name.to_string_lossy().to_ascii_lowercase();
        let plain = name.strip_suffix(".gz");
        let is_gzip = plain.is_some();
        let extension = Path::new(plain.unwrap_or(&name)).extension();
        let extension = extension.and_then(|text| text.to_str()).unwrap_or_default();
        if UNWRITTEN_COMPRESSIONS.contains(&extension) {
            return Err(Error::usage(format!(
                "no output is compressed as .{extension}: name the file .gz, or compress it afterwards"
            )));
        }
        let format = match (given, extension) {
            (Some(format), _) => format,
            (None, "") => default,
            (None, extension) => OutputFormat::of_extension(extension)?,
        };
        if is_gzip
            && matches!(format, OutputFormat::Xlsx | OutputFormat::Arrow | OutputFormat::Parquet)
        {
            return Err(Error::usage(
                "a file of this format is not compressed with gzip: omit .gz",
            ));
        }
        let by_name = if matches!(extension, "tsv" | "tab") { b'\t' } else { b',' };
        Ok(Self { format, is_gzip, delimiter: options.delimiter.unwrap_or(by_name) })
    }

    /// Creates a writer of this format over `out`.
    ///
    /// # Errors
    /// A sentence with the feature if the program is built without the format.
    pub fn writer<'a>(
        self,
        out: impl Write + 'a,
        options: &CsvOptions,
        screen: &Terminal,
    ) -> Result<Box<dyn RowFormat + 'a>> {
        Ok(match self.format {
            OutputFormat::Table => Box::new(TableWriter::new(out, screen.width())),
            OutputFormat::Ndjson => Box::new(JsonWriter::lines(out)),
            OutputFormat::Json => Box::new(JsonWriter::array(out)),
            #[cfg(feature = "xlsx")]
            OutputFormat::Xlsx => Box::new(crate::export::WorkbookWriter::new(out)),
            #[cfg(feature = "arrow")]
            OutputFormat::Arrow => Box::new(ColumnarWriter::new(out, ColumnarFormat::Arrow)),
            #[cfg(feature = "parquet")]
            OutputFormat::Parquet => Box::new(ColumnarWriter::new(out, ColumnarFormat::Parquet)),
            OutputFormat::Csv => {
                let header = !options.no_header;
                Box::new(CsvWriter::new(out, self.delimiter, options.null.as_str(), header))
            }
            #[cfg(not(all(feature = "parquet", feature = "xlsx")))]
            format => {
                let name = format.to_possible_value();
                let name = name.as_ref().map_or("", |value| value.get_name());
                return Err(Error::not_built_in(format_args!("write the format {name}"), name));
            }
        })
    }
}

impl OutputFormat {
    fn of_extension(extension: &str) -> Result<Self> {
        Ok(match extension {
            "csv" | "tsv" | "tab" => Self::Csv,
            "ndjson" | "jsonl" => Self::Ndjson,
            "json" => Self::Json,
            "xlsx" => Self::Xlsx,
            "arrow" | "feather" => Self::Arrow,
            "parquet" => Self::Parquet,
            _ => {
                return Err(Error::usage(format!(
                    "no output format has the extension .{extension}: name the file .csv, .ndjson or .json, or choose \
                     the format with --format"
                )));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_name(name: &str, given: Option<OutputFormat>) -> Result<OutputFileFormat> {
        let options = CsvOptions { null: String::new(), delimiter: None, no_header: false };
        OutputFileFormat::new(Some(Path::new(name)), given, &options, OutputFormat::Csv)
    }

    #[test]
    fn format_follows_file_extension() {
        for (name, format, is_gzip, delimiter) in [
            ("a.csv", OutputFormat::Csv, false, b','),
            ("a.NDJSON", OutputFormat::Ndjson, false, b','),
            ("a.jsonl", OutputFormat::Ndjson, false, b','),
            ("a.json", OutputFormat::Json, false, b','),
            ("a.tsv", OutputFormat::Csv, false, b'\t'),
            ("a.xlsx", OutputFormat::Xlsx, false, b','),
            ("a.b/a.parquet", OutputFormat::Parquet, false, b','),
            ("a.csv.gz", OutputFormat::Csv, true, b','),
            ("a.tsv.GZ", OutputFormat::Csv, true, b'\t'),
            ("a.ndjson.gz", OutputFormat::Ndjson, true, b','),
            ("a", OutputFormat::Csv, false, b','),
            ("a.b/c", OutputFormat::Csv, false, b','),
            ("-", OutputFormat::Csv, false, b','),
        ] {
            let expected = OutputFileFormat { format, is_gzip, delimiter };
            assert_eq!(of_name(name, None).expect("is known"), expected, "{name}");
        }
    }

    #[test]
    fn unknown_extensions_need_the_flag() {
        for name in ["a.xls", "a.sql", "a.txt", "a.sql.gz"] {
            let error = of_name(name, None).expect_err(name).to_string();
            assert!(error.contains("no output format has the extension ."), "{error}");
            assert!(of_name(name, Some(OutputFormat::Json)).is_ok(), "{name}");
        }
        for name in ["a.csv.zst", "a.zip"] {
            let error = of_name(name, Some(OutputFormat::Csv)).expect_err(name).to_string();
            assert!(error.contains("name the file .gz"), "{error}");
        }
        assert!(of_name("a.parquet.gz", None).is_err());
    }
}

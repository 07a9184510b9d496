//! The forms of output, and the flags that they share.

use crate::commands::parse::delimiter;
use crate::export::{CsvSink, JsonSink, Sink, TableSink};
use crate::output::Screen;
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::Path;

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// An aligned table, for people
    Table,
    /// CSV, with a header
    Csv,
    /// A JSON object for each row, one a line
    Ndjson,
    /// One JSON array of objects
    Json,
}

/// How CSV is written.
#[derive(Debug, Args)]
pub struct SinkOptions {
    /// The text that CSV has for NULL [default: the empty text]
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub null: String,

    /// The character between two fields of CSV
    #[arg(short, long, value_name = "CHAR", default_value = ",", value_parser = delimiter)]
    pub delimiter: u8,

    /// Leave out the header of CSV
    #[arg(long)]
    pub no_header: bool,
}

impl Format {
    /// The form that a file of this name has; CSV where the name does not say.
    #[must_use]
    pub fn of(path: Option<&Path>) -> Self {
        let extension = path.and_then(Path::extension).map(|text| text.to_ascii_lowercase());
        match extension.as_deref().and_then(|text| text.to_str()) {
            Some("ndjson" | "jsonl") => Self::Ndjson,
            Some("json") => Self::Json,
            _ => Self::Csv,
        }
    }

    /// What writes this form to `out`.
    pub fn sink<'a>(
        self,
        out: impl Write + 'a,
        options: &SinkOptions,
        screen: &Screen,
    ) -> Box<dyn Sink + 'a> {
        match self {
            Self::Table => Box::new(TableSink::new(out, screen.width())),
            Self::Ndjson => Box::new(JsonSink::lines(out)),
            Self::Json => Box::new(JsonSink::array(out)),
            Self::Csv => {
                let (delimiter, header) = (options.delimiter, !options.no_header);
                Box::new(CsvSink::new(out, delimiter, options.null.as_str(), header))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_its_form() {
        for (name, format) in [
            ("a.csv", Format::Csv),
            ("a.NDJSON", Format::Ndjson),
            ("a.jsonl", Format::Ndjson),
            ("a.json", Format::Json),
            ("a.tsv", Format::Csv),
            ("a", Format::Csv),
        ] {
            assert_eq!(Format::of(Some(Path::new(name))), format, "{name}");
        }
        assert_eq!(Format::of(None), Format::Csv);
    }
}

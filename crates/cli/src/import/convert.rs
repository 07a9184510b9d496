//! Recognizes what a file is, and converts JSON and UTF-16 to what the rest of the import reads: CSV in UTF-8.

use crate::error::{Error, Result};
use crate::import::CsvFormat;
#[cfg(feature = "arrow")]
use crate::import::columnar::from_columnar;
use crate::import::columnar_kind::ColumnarKind;
use crate::import::csv_reader::{DOCUMENT, EXPLICIT, JSON_NULL};
use crate::import::input_file::InputFile;
use crate::import::json_objects::{JsonObjects, members};
use csv::{Writer, WriterBuilder};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

/// What the beginning of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Csv,
    Json,
    Utf16 {
        big_endian: bool,
    },
    /// Arrow IPC or Parquet.
    Columnar(ColumnarKind),
    /// Something that is neither, by its name.
    Other(&'static str),
}

/// Returns the input as CSV in UTF-8, and its format if that is known already.
///
/// # Errors
/// If the file can't be read, or is neither CSV, JSON nor a workbook.
pub fn to_csv(source: InputFile) -> Result<(InputFile, Option<CsvFormat>)> {
    match recognize(&first_bytes(&source)?) {
        Content::Csv if source.name().to_ascii_lowercase().ends_with(".xlsx") => {
            Err(Error::failed(format!("{} is no workbook, in spite of its name", source.name())))
        }
        Content::Csv => Ok((source, None)),
        Content::Json => from_json(&source).map(|(source, format)| (source, Some(format))),
        Content::Columnar(kind) => {
            from_columnar(&source, kind).map(|(source, format)| (source, Some(format)))
        }
        Content::Utf16 { big_endian } => {
            let source = from_utf16(&source, big_endian)?;
            match recognize(&first_bytes(&source)?) {
                Content::Json => from_json(&source).map(|(source, format)| (source, Some(format))),
                _ => Ok((source, None)),
            }
        }
        Content::Other(what) => Err(Error::failed(format!(
            "{} is {what}: expected CSV, JSON (an array of objects), NDJSON, a workbook (.xlsx), or a file of Arrow or Parquet",
            source.name()
        ))),
    }
}

fn recognize(bytes: &[u8]) -> Content {
    if let Some(kind) = ColumnarKind::of_bytes(bytes) {
        return Content::Columnar(kind);
    }
    match bytes {
        [0xff, 0xfe, ..] => return Content::Utf16 { big_endian: false },
        [0xfe, 0xff, ..] => return Content::Utf16 { big_endian: true },
        _ => {}
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    match text {
        [b'{' | b'[', ..] => Content::Json,
        [b'<', ..] => Content::Other("XML or HTML"),
        _ if text.starts_with(b"%PDF-") => Content::Other("a PDF file"),
        // The container of Excel 97 to 2003, and of encrypted workbooks.
        _ if text.starts_with(b"\xd0\xcf\x11\xe0") => {
            Content::Other("a workbook that has a password or is of Excel 2003 or older (.xls)")
        }
        _ if text.starts_with(b"SQLite format 3\0") => {
            Content::Other("an SQLite database (bobak copy copies its tables)")
        }
        _ => Content::Csv,
    }
}

#[cfg(not(feature = "arrow"))]
fn from_columnar(source: &InputFile, kind: ColumnarKind) -> Result<(InputFile, CsvFormat)> {
    let (what, feature) = match kind {
        ColumnarKind::Parquet => ("a Parquet file", "parquet"),
        ColumnarKind::ArrowFile | ColumnarKind::ArrowStream => ("a file of Arrow", "arrow"),
    };
    Err(Error::not_built_in(format_args!("read {}, {what}", source.name()), feature))
}

fn first_bytes(source: &InputFile) -> Result<Vec<u8>> {
    source.read(|input| {
        let mut bytes = Vec::new();
        let read = input.take(4096).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(source, &error))?;
        Ok(bytes)
    })
}

fn from_utf16(source: &InputFile, big_endian: bool) -> Result<InputFile> {
    let mut out = spool()?;
    source.read(|input| {
        let mut units = Vec::new();
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map_err(|error| unreadable(source, &error))?;
        let (pairs, rest) = bytes.as_chunks::<2>();
        let unit = |pair: &[u8; 2]| {
            if big_endian { u16::from_be_bytes(*pair) } else { u16::from_le_bytes(*pair) }
        };
        units.extend(pairs.iter().skip(1).map(unit));
        let text = char::decode_utf16(units).collect::<Result<String, _>>();
        let (Ok(text), []) = (text, rest) else {
            return Err(Error::failed(format!("{} is not valid UTF-16", source.name())));
        };
        out.write_all(text.as_bytes()).map_err(|error| unspooled(&error))
    })?;
    finish(source, out)
}

fn from_json(source: &InputFile) -> Result<(InputFile, CsvFormat)> {
    let mut columns: Vec<String> = Vec::new();
    each_object(source, |object| {
        for (name, _) in members(object) {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        Ok(())
    })?;
    if columns.is_empty() {
        return Err(Error::failed(format!("{} has no object with a member", source.name())));
    }
    let mut writer = WriterBuilder::new().from_writer(spool()?);
    each_object(source, |object| write_line(&mut writer, &columns, object))?;
    let out = writer.into_inner().map_err(|error| unspooled(error.error()))?;
    let format = CsvFormat { delimiter: b',', columns, has_header: false, types: Vec::new() };
    Ok((finish(source, out)?, format))
}

fn each_object(source: &InputFile, mut each: impl FnMut(&str) -> Result<()>) -> Result<()> {
    source.read(|input| {
        let mut objects = JsonObjects::new(input);
        while let Some(object) = objects.next(source.name())? {
            each(object)?;
        }
        Ok(())
    })
}

/// Writes the values as fields: numbers and truths as they are, others marked.
fn write_line(
    writer: &mut Writer<BufWriter<File>>,
    columns: &[String],
    object: &str,
) -> Result<()> {
    let members = members(object);
    let mut field = Vec::new();
    for column in columns {
        field.clear();
        // As in most readers, the last of several members with one name counts.
        let value = members.iter().rev().find(|(name, _)| name == column).map(|(_, value)| *value);
        put_field(value.unwrap_or("null"), &mut field)
            .map_err(|error| Error::failed(format!("column {column}: {error}")))?;
        writer.write_field(&field).map_err(|error| Error::failed(error.to_string()))?;
    }
    writer.write_record(None::<&[u8]>).map_err(|error| Error::failed(error.to_string()))
}

/// Appends the field for a value of JSON.
///
/// # Errors
/// If the value is a string with escapes that are no characters.
pub fn put_field(value: &str, field: &mut Vec<u8>) -> serde_json::Result<()> {
    if value == "null" {
        field.extend_from_slice(JSON_NULL);
    } else if value.starts_with('"') {
        field.extend_from_slice(EXPLICIT);
        field.extend_from_slice(serde_json::from_str::<String>(value)?.as_bytes());
    } else {
        if value.starts_with(['{', '[']) {
            field.extend_from_slice(DOCUMENT);
        }
        field.extend_from_slice(value.as_bytes());
    }
    Ok(())
}

pub(super) fn spool() -> Result<BufWriter<File>> {
    let file = tempfile::tempfile();
    file.map(BufWriter::new).map_err(|error| Error::io("create a temporary file", &error))
}

pub(super) fn finish(source: &InputFile, out: BufWriter<File>) -> Result<InputFile> {
    let file = out.into_inner().map_err(|error| unspooled(error.error()))?;
    InputFile::of_file(source.name(), file)
}

pub(super) fn unspooled(error: &io::Error) -> Error {
    Error::io("write a temporary file", error)
}

fn unreadable(source: &InputFile, error: &io::Error) -> Error {
    Error::io(format_args!("read {}", source.name()), error)
}

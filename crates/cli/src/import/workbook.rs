//! Reads a sheet of a workbook (`.xlsx`) and writes it as CSV, which the rest of the import reads. Cells keep their
//! types. Twice, in constant memory: dates of a column are written with times if one of them has one.

use crate::error::{Error, Result};
use crate::import::convert::{finish, spool, unspooled};
use crate::import::{CsvFormat, InputFile};
use crate::workbook::{SERIAL_END, SheetCell};
use calamine::{DataRef, ExcelDateTime, ExcelDateTimeType, Reader, Xlsx, XlsxError};
use csv::Writer;
use std::fs::File;
use std::io::{BufReader, BufWriter};

type Workbook = Xlsx<BufReader<File>>;
type Sheet = Writer<BufWriter<File>>;

/// The sheet as CSV in UTF-8. Its first row names the columns unless `columns` does. Empty rows are left out.
///
/// # Errors
/// If the workbook is damaged or has no such sheet, a cell holds an error, or two columns have the same name. A usage
/// error if there are several sheets and none is chosen.
pub fn from_workbook(
    source: &InputFile,
    sheet: Option<&str>,
    columns: Option<&[String]>,
) -> Result<(InputFile, CsvFormat)> {
    let damaged = |error| damaged(source, &error);
    source.check_parts()?;
    let file = source.try_clone()?;
    let mut workbook: Workbook = Xlsx::new(BufReader::new(file)).map_err(damaged)?;
    let sheet = choose_sheet(source, &workbook, sheet)?;
    let mut shape = Shape::default();
    each_row(source, &mut workbook, &sheet, |row| shape.add(row))?;
    if shape.width == 0 {
        let name = source.name();
        return Err(Error::failed(format!(
            "{name}: the sheet {sheet} is empty: expected a row of column names"
        )));
    }
    let (has_header, columns) = match columns {
        Some(columns) => (false, columns.to_vec()),
        None => (true, shape.names()),
    };
    let format = CsvFormat::of_columns(source.name(), columns)?;
    let mut writer = Writer::from_writer(spool()?);
    let width = shape.width.max(format.columns.len());
    let mut rows = 0;
    each_row(source, &mut workbook, &sheet, |row| {
        rows += 1;
        if has_header && rows == 1 { Ok(()) } else { write_row(&mut writer, &shape, row, width) }
    })?;
    let out = writer.into_inner().map_err(|error| unspooled(error.error()))?;
    Ok((finish(source, out)?, format))
}

/// Programs that write workbooks without calculating them leave formulas so.
const NO_RESULT: &str = "the cell has a formula without a result: open the workbook in a spreadsheet program, and save it";

fn choose_sheet(source: &InputFile, workbook: &Workbook, wanted: Option<&str>) -> Result<String> {
    let sheets = workbook.sheet_names();
    let (name, list) = (source.name(), sheets.join(", "));
    match (wanted, sheets.as_slice()) {
        (_, []) => Err(Error::failed(format!("{name} has no sheet"))),
        (None, [sheet]) => Ok(sheet.clone()),
        (None, several) => Err(Error::usage(format!(
            "{name} has {} sheets: choose one with --sheet ({list})",
            several.len()
        ))),
        (Some(wanted), sheets) => {
            let found = sheets.iter().find(|sheet| *sheet == wanted).cloned();
            found.ok_or_else(|| Error::failed(format!("{name} has no sheet {wanted}, but {list}")))
        }
    }
}

/// What a first pass finds.
#[derive(Default)]
struct Shape {
    width: usize,
    first: Vec<SheetCell>,
    /// The columns in which a date has a time of day.
    has_times: Vec<bool>,
}

impl Shape {
    fn add(&mut self, row: &[SheetCell]) -> Result<()> {
        if self.width == 0 {
            self.first = row.to_vec();
        }
        self.width = self.width.max(row.len());
        self.has_times.resize(self.width, false);
        for (cell, has_times) in row.iter().zip(&mut self.has_times) {
            *has_times |= matches!(cell, SheetCell::DateTime(_));
        }
        Ok(())
    }

    /// The first row's texts, with a name for a column that has none.
    fn names(&self) -> Vec<String> {
        let name = |at: usize| match self.first.get(at) {
            None | Some(SheetCell::Empty) => format!("column_{}", at + 1),
            Some(SheetCell::Text(text)) => text.clone(),
            Some(other) => String::from_utf8_lossy(&other.field(false)).into_owned(),
        };
        (0..self.width).map(name).collect()
    }
}

/// Calls `each` for each row that has a cell, with the cells up to the last one.
fn each_row(
    source: &InputFile,
    workbook: &mut Workbook,
    sheet: &str,
    mut each: impl FnMut(&[SheetCell]) -> Result<()>,
) -> Result<()> {
    let damaged = |error| damaged(source, &error);
    let mut cells = workbook.worksheet_cells_reader(sheet).map_err(damaged)?;
    let (mut row, mut number) = (Vec::new(), 0);
    while let Some(next) = cells.next_cell_with_formula_metadata().map_err(damaged)? {
        let (line, column) = next.pos;
        let cell = match (&next.value, next.formula) {
            (DataRef::Empty, Some(_)) => Err(NO_RESULT.to_owned()),
            (value, _) => cell(value),
        };
        let cell = cell.map_err(|reason| {
            let (name, row) = (source.name(), line + 1);
            Error::failed(format!("{name}, row {row}, column {}: {reason}", column + 1))
        })?;
        if cell == SheetCell::Empty {
            continue;
        }
        if line != number && !row.is_empty() {
            each(&row)?;
            row.clear();
        }
        number = line;
        row.resize(column as usize, SheetCell::Empty);
        row.push(cell);
    }
    if row.is_empty() { Ok(()) } else { each(&row) }
}

/// The cell of what the library read, or the reason why there is none.
fn cell(value: &DataRef<'_>) -> Result<SheetCell, String> {
    Ok(match value {
        DataRef::Empty => SheetCell::Empty,
        DataRef::Int(integer) => SheetCell::Number(*integer as f64),
        DataRef::Float(number) => SheetCell::Number(*number),
        DataRef::Bool(truth) => SheetCell::Bool(*truth),
        DataRef::SharedString(text) => SheetCell::Text((*text).to_owned()),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
            SheetCell::Text(text.clone())
        }
        DataRef::DateTime(date) => date_cell(date)?,
        DataRef::Error(error) => {
            return Err(format!("the cell holds the error {error}: correct it in the workbook"));
        }
    })
}

/// A date, date-time, or time of day: the number is days since the end of 1899, or of 1903 in old workbooks of Macintoshes.
fn date_cell(date: &ExcelDateTime) -> Result<SheetCell, String> {
    let serial = date.as_f64();
    let is_1904 = *date == ExcelDateTime::new(serial, ExcelDateTimeType::DateTime, true);
    let serial = match serial {
        _ if is_1904 && serial == 0.0 && !date.is_duration() => {
            return Err("the cell is 0 in the format of a date or a time, which is both the day 1904-01-01 and midnight in this workbook: \
                write it as a text"
                .to_owned());
        }
        _ if date.is_duration() || (0.0..1.0).contains(&serial) => {
            return Ok(SheetCell::Time(serial));
        }
        _ if is_1904 => serial + 1_462.0,
        // Excel has the day 1900-02-29, as Lotus 1-2-3 had.
        60.0..61.0 => {
            return Err("the cell holds the day 1900-02-29, which did not exist".to_owned());
        }
        0.0..60.0 => serial + 1.0,
        _ => serial,
    };
    if !(0.0..SERIAL_END).contains(&serial) {
        return Err(format!("the cell has the format of a date, but {serial} is not one"));
    }
    Ok(if serial.fract() == 0.0 { SheetCell::Date(serial) } else { SheetCell::DateTime(serial) })
}

fn write_row(writer: &mut Sheet, shape: &Shape, row: &[SheetCell], width: usize) -> Result<()> {
    for column in 0..width {
        let cell = row.get(column).unwrap_or(&SheetCell::Empty);
        let has_times = shape.has_times.get(column).is_some_and(|has_times| *has_times);
        writer.write_field(cell.field(has_times)).map_err(unwritten)?;
    }
    writer.write_record(None::<&[u8]>).map_err(unwritten)
}

fn unwritten(error: csv::Error) -> Error {
    Error::failed(format!("could not write a temporary file: {error}"))
}

fn damaged(source: &InputFile, error: &XlsxError) -> Error {
    Error::failed(format!("could not read the workbook {}: {error}", source.name()))
}

//! Workbooks (`.xlsx`): one sheet, with a header that stays in view. `crate::workbook` says what cells hold which values.

use crate::error::{Error, Result};
use crate::export::{OutputColumn, RowFormat};
use crate::workbook::{MAX_ROWS, MAX_TEXT, SheetCell};
use bobak::Row;
use rust_xlsxwriter::{Format, Formula, Workbook, Worksheet, XlsxError};
use std::io::Write;

/// Writes rows as a workbook, in constant memory but for the compressed file.
pub struct WorkbookWriter<W: Write> {
    out: W,
    workbook: Workbook,
    formats: Formats,
    columns: Vec<OutputColumn>,
    rows: u32,
}

/// How numbers that are dates and times are shown.
struct Formats {
    date: Format,
    date_time: Format,
    time: Format,
}

impl<W: Write> WorkbookWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        let format = |pattern| Format::new().set_num_format(pattern);
        let formats = Formats {
            date: format("yyyy-mm-dd"),
            date_time: format("yyyy-mm-dd hh:mm:ss.000"),
            time: format("hh:mm:ss.000"),
        };
        Self { out, workbook: Workbook::new(), formats, columns: Vec::new(), rows: 0 }
    }
}

impl<W: Write> RowFormat for WorkbookWriter<W> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<()> {
        self.columns = columns.to_vec();
        let sheet = self.workbook.add_worksheet_with_constant_memory().map_err(unwritten)?;
        sheet.set_freeze_panes(1, 0).map_err(unwritten)?.set_formula_result_default("");
        let bold = Format::new().set_bold();
        for (column, place) in columns.iter().zip(0_u16..) {
            sheet.write_string_with_format(0, place, &column.name, &bold).map_err(unwritten)?;
        }
        Ok(())
    }

    fn row(&mut self, row: &dyn Row) -> Result<()> {
        self.rows += 1;
        if self.rows >= MAX_ROWS {
            let most = MAX_ROWS - 1;
            return Err(Error::failed(format!(
                "a sheet has room for {most} rows: choose --format csv"
            )));
        }
        let sheet = self.workbook.worksheet_from_index(0).map_err(unwritten)?;
        for (place, column) in self.columns.iter().enumerate() {
            let cell = SheetCell::of_value(column.ty, row.get(place));
            if let SheetCell::Text(text) = &cell
                && text.encode_utf16().count() > MAX_TEXT
            {
                return Err(Error::failed(format!(
                    "row {}, column {}: a cell has room for {MAX_TEXT} characters: choose --format csv",
                    self.rows, column.name
                )));
            }
            let place =
                u16::try_from(place).map_err(|_| unwritten(XlsxError::RowColumnLimitError))?;
            write_cell(sheet, &self.formats, (self.rows, place), cell).map_err(unwritten)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let bytes = self.workbook.save_to_buffer().map_err(unwritten)?;
        self.out.write_all(&bytes).map_err(|error| Error::output(&error))?;
        self.out.flush().map_err(|error| Error::output(&error))
    }
}

fn write_cell(
    sheet: &mut Worksheet,
    formats: &Formats,
    (row, column): (u32, u16),
    cell: SheetCell,
) -> Result<(), XlsxError> {
    match cell {
        SheetCell::Empty => return Ok(()),
        // The library leaves out empty texts. A formula can have one as its result.
        SheetCell::Text(text) if text.is_empty() => {
            sheet.write_formula(row, column, Formula::new("=\"\""))
        }
        SheetCell::Text(text) => sheet.write_string(row, column, text),
        SheetCell::Bool(truth) => sheet.write_boolean(row, column, truth),
        SheetCell::Number(number) => sheet.write_number(row, column, number),
        SheetCell::Date(days) => sheet.write_number_with_format(row, column, days, &formats.date),
        SheetCell::DateTime(days) => {
            sheet.write_number_with_format(row, column, days, &formats.date_time)
        }
        SheetCell::Time(days) => sheet.write_number_with_format(row, column, days, &formats.time),
    }?;
    Ok(())
}

fn unwritten(error: XlsxError) -> Error {
    Error::failed(format!("could not write the workbook: {error}"))
}

//! An aligned table: numbers are right-aligned, NULL is visible.
//!
//! Column widths come from the first [`MEASURED_ROWS`] rows; later rows are written as they arrive, so
//! a result of any size takes constant memory.

use crate::error::{Error, Result};
use crate::export::{OutputColumn, RowFormat};
use bobak::schema::Type;
use bobak::{Row, ValueRef};
use bobak_text::write;
use std::io::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The number of rows that determine the column widths.
pub const MEASURED_ROWS: usize = 1_000;

/// The text for NULL.
const NULL: &str = "NULL";
/// The separator between columns.
const GAP: &str = "  ";
/// The minimum width to which a column is truncated.
const MIN_WIDTH: usize = 8;

/// Writes rows as an aligned table.
pub struct TableWriter<W: Write> {
    out: W,
    /// The maximum line width; `None` for no limit.
    max_width: Option<usize>,
    columns: Vec<OutputColumn>,
    widths: Vec<usize>,
    /// The rows buffered until the widths are known; `None` afterwards.
    buffered: Option<Vec<Vec<Cell>>>,
}

struct Cell {
    text: String,
    number: bool,
}

impl<W: Write> TableWriter<W> {
    /// Writes to `out`. If `max_width` is set, wide cells are truncated to fit.
    pub const fn new(out: W, max_width: Option<usize>) -> Self {
        Self { out, max_width, columns: Vec::new(), widths: Vec::new(), buffered: Some(Vec::new()) }
    }

    /// Sets the widths, and writes the header and the buffered rows.
    fn start(&mut self) -> Result<()> {
        let Some(buffered) = self.buffered.take() else { return Ok(()) };
        self.widths = measure(&self.columns, &buffered);
        if let Some(width) = self.max_width {
            shrink(&mut self.widths, width);
        }
        let header: Vec<_> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| Cell {
                text: one_line(&column.name),
                number: holds_numbers(&buffered, index),
            })
            .collect();
        self.write_line(&header)?;
        let rule: Vec<_> = self
            .widths
            .iter()
            .map(|width| Cell { text: "─".repeat(*width), number: false })
            .collect();
        self.write_line(&rule)?;
        buffered.iter().try_for_each(|row| self.write_line(row))
    }

    fn write_line(&mut self, cells: &[Cell]) -> Result<()> {
        let mut line = String::new();
        for (index, (cell, &width)) in cells.iter().zip(&self.widths).enumerate() {
            if index > 0 {
                line.push_str(GAP);
            }
            let text = truncate(&cell.text, width, self.max_width.is_some());
            let padding = " ".repeat(width.saturating_sub(text.width()));
            if cell.number {
                line.push_str(&padding);
                line.push_str(&text);
            } else {
                line.push_str(&text);
                line.push_str(&padding);
            }
        }
        line.truncate(line.trim_end().len());
        // If there are too many columns to shrink, the rest of the line is not shown.
        let mut line = truncate(&line, self.max_width.unwrap_or(0), self.max_width.is_some());
        line.push('\n');
        self.out.write_all(line.as_bytes()).map_err(|error| Error::output(&error))
    }
}

impl<W: Write> RowFormat for TableWriter<W> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, row: &dyn Row) -> Result<()> {
        let cells: Vec<_> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| cell(column.ty, row.get(index)))
            .collect();
        match &mut self.buffered {
            None => self.write_line(&cells),
            Some(buffered) => {
                buffered.push(cells);
                if buffered.len() >= MEASURED_ROWS { self.start() } else { Ok(()) }
            }
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.start()?;
        self.out.flush().map_err(|error| Error::output(&error))
    }
}

fn cell(ty: Type, value: ValueRef<'_>) -> Cell {
    let mut text = String::new();
    if value.is_null() {
        text.push_str(NULL);
    } else {
        write::write(&mut text, ty, value);
    }
    Cell { text: one_line(&text), number: write::is_number(ty, value) }
}

/// Escapes control characters, which would break lines or control the terminal.
fn one_line(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    let mut line = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

fn measure(columns: &[OutputColumn], rows: &[Vec<Cell>]) -> Vec<usize> {
    columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.text.width());
            cells.chain([one_line(&column.name).width()]).max().unwrap_or(0)
        })
        .collect()
}

/// Whether the first value of a column is a number; its header is then right-aligned too.
fn holds_numbers(rows: &[Vec<Cell>], index: usize) -> bool {
    let mut cells = rows.iter().filter_map(|row| row.get(index));
    cells.find(|cell| cell.text != NULL).is_some_and(|cell| cell.number)
}

/// Truncates wide columns to one width, the largest with which the line fits.
fn shrink(widths: &mut [usize], line_width: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    let fits = |most: &usize| {
        gaps + widths.iter().map(|width| (*width).min(*most)).sum::<usize>() <= line_width
    };
    let most = (MIN_WIDTH..=line_width).rev().find(fits).unwrap_or(MIN_WIDTH);
    for width in widths {
        *width = (*width).min(most);
    }
}

fn truncate(text: &str, width: usize, cuts: bool) -> String {
    if !cuts || text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing::{Values, output_columns};
    use bobak::Value;

    fn table(screen: Option<usize>, columns: &[(&str, Type)], rows: &[&[Value<'_>]]) -> String {
        let mut bytes = Vec::new();
        let mut writer = TableWriter::new(&mut bytes, screen);
        writer.begin(&output_columns(columns)).expect("begins");
        for row in rows {
            writer.row(&Values(row)).expect("writes");
        }
        writer.finish().expect("finishes");
        String::from_utf8(bytes).expect("text")
    }

    const COLUMNS: [(&str, Type); 3] =
        [("id", Type::I64), ("name", Type::Text), ("day", Type::Date)];

    #[test]
    fn columns_are_aligned_and_null_is_visible() {
        let rows: [&[Value<'_>]; 2] = [
            &[Value::Int(1), Value::from("Zoë"), Value::Int(0)],
            &[Value::Int(-200), Value::Null, Value::Null],
        ];
        assert_eq!(
            table(None, &COLUMNS, &rows),
            "  id  name  day\n\
             ────  ────  ──────────\n\
             \x20  1  Zoë   1970-01-01\n\
             -200  NULL  NULL\n"
        );
        assert_eq!(table(None, &[("n", Type::I64)], &[]), "n\n─\n");
    }

    #[test]
    fn wide_cells_are_truncated_only_with_max_width() {
        let long = "x".repeat(50);
        let rows: [&[Value<'_>]; 1] = [&[Value::Int(1), Value::from(long.as_str()), Value::Int(0)]];
        assert!(table(None, &COLUMNS, &rows).contains(&long));
        let cut = table(Some(30), &COLUMNS, &rows);
        assert!(cut.lines().all(|line| line.width() <= 30), "{cut}");
        assert!(cut.contains("xxx…  1970-01-01"), "{cut}");
        // A width too small for all columns must not loop.
        assert_eq!(table(Some(9), &COLUMNS, &rows), "id  name…\n──  ────…\n 1  xxxx…\n");
        assert!(table(Some(1), &COLUMNS, &rows).starts_with("…\n"));
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let rows: [&[Value<'_>]; 1] = [&[Value::from("a\nb\u{1b}[31m")]];
        assert!(table(None, &[("t", Type::Text)], &rows).contains("a\\nb\\u{1b}[31m"));
    }

    #[test]
    fn rows_after_measured_ones_are_written() {
        let row = [Value::Int(7)];
        let rows: Vec<&[Value<'_>]> = vec![&row; MEASURED_ROWS + 5];
        assert_eq!(table(None, &[("n", Type::I64)], &rows).lines().count(), MEASURED_ROWS + 7);
    }
}

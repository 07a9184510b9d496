//! A table for people: aligned columns, numbers to the right, NULL visible.
//!
//! The widths are those of the first [`MEASURED`] rows; later rows are written as they come, so
//! that a result of any size takes constant memory.

use crate::error::{Error, Result};
use crate::export::{OutputColumn, Sink};
use bobak::schema::Type;
use bobak::{Row, ValueRef};
use bobak_text::write;
use std::io::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many rows are looked at before the first is written.
pub const MEASURED: usize = 1_000;

/// What NULL looks like.
const NULL: &str = "NULL";
/// What stands between two columns.
const GAP: &str = "  ";
/// No column is cut below this width.
const NARROWEST: usize = 8;

/// Writes rows as an aligned table.
pub struct TableSink<W: Write> {
    out: W,
    /// The width to keep within; `None` where lines may be of any length.
    screen: Option<usize>,
    columns: Vec<OutputColumn>,
    widths: Vec<usize>,
    /// The rows that wait for the widths; `None` once these are known.
    waiting: Option<Vec<Vec<Cell>>>,
}

struct Cell {
    text: String,
    number: bool,
}

impl<W: Write> TableSink<W> {
    /// Writes to `out`. On a `screen` of so many columns, wide cells are cut to fit.
    pub const fn new(out: W, screen: Option<usize>) -> Self {
        Self { out, screen, columns: Vec::new(), widths: Vec::new(), waiting: Some(Vec::new()) }
    }

    /// Fixes the widths, and writes the header and the rows that have waited.
    fn start(&mut self) -> Result<()> {
        let Some(waiting) = self.waiting.take() else { return Ok(()) };
        self.widths = measure(&self.columns, &waiting);
        if let Some(screen) = self.screen {
            shrink(&mut self.widths, screen);
        }
        let header: Vec<_> = self
            .columns
            .iter()
            .enumerate()
            .map(|(place, column)| Cell {
                text: one_line(&column.name),
                number: holds_numbers(&waiting, place),
            })
            .collect();
        self.write_line(&header)?;
        let rule: Vec<_> = self
            .widths
            .iter()
            .map(|width| Cell { text: "─".repeat(*width), number: false })
            .collect();
        self.write_line(&rule)?;
        waiting.iter().try_for_each(|row| self.write_line(row))
    }

    fn write_line(&mut self, cells: &[Cell]) -> Result<()> {
        let mut line = String::new();
        for (place, (cell, &width)) in cells.iter().zip(&self.widths).enumerate() {
            if place > 0 {
                line.push_str(GAP);
            }
            let text = cut(&cell.text, width, self.screen.is_some());
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
        // Too many columns to shrink them all: what is beyond the screen is not shown.
        let mut line = cut(&line, self.screen.unwrap_or(0), self.screen.is_some());
        line.push('\n');
        self.out.write_all(line.as_bytes()).map_err(|error| Error::output(&error))
    }
}

impl<W: Write> Sink for TableSink<W> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, row: &dyn Row) -> Result<()> {
        let cells: Vec<_> = self
            .columns
            .iter()
            .enumerate()
            .map(|(place, column)| cell(column.ty, row.get(place)))
            .collect();
        match &mut self.waiting {
            None => self.write_line(&cells),
            Some(waiting) => {
                waiting.push(cells);
                if waiting.len() >= MEASURED { self.start() } else { Ok(()) }
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

/// Control characters in their escaped form: they would break the lines, or steer the terminal.
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
        .map(|(place, column)| {
            let cells = rows.iter().filter_map(|row| row.get(place)).map(|cell| cell.text.width());
            cells.chain([one_line(&column.name).width()]).max().unwrap_or(0)
        })
        .collect()
}

/// Whether the first value of a column is a number: its name then stands to the right too.
fn holds_numbers(rows: &[Vec<Cell>], place: usize) -> bool {
    let mut cells = rows.iter().filter_map(|row| row.get(place));
    cells.find(|cell| cell.text != NULL).is_some_and(|cell| cell.number)
}

/// Cuts the wide columns to one width, the largest with which the line fits the screen.
fn shrink(widths: &mut [usize], screen: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    let fits = |most: &usize| {
        gaps + widths.iter().map(|width| (*width).min(*most)).sum::<usize>() <= screen
    };
    let most = (NARROWEST..=screen).rev().find(fits).unwrap_or(NARROWEST);
    for width in widths {
        *width = (*width).min(most);
    }
}

fn cut(text: &str, width: usize, cuts: bool) -> String {
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
        let mut sink = TableSink::new(&mut bytes, screen);
        sink.begin(&output_columns(columns)).expect("begins");
        for row in rows {
            sink.row(&Values(row)).expect("writes");
        }
        sink.finish().expect("finishes");
        String::from_utf8(bytes).expect("text")
    }

    const COLUMNS: [(&str, Type); 3] =
        [("id", Type::I64), ("name", Type::Text), ("day", Type::Date)];

    #[test]
    fn columns_are_aligned_and_null_is_seen() {
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
    fn wide_cells_are_cut_on_a_screen_only() {
        let long = "x".repeat(50);
        let rows: [&[Value<'_>]; 1] = [&[Value::Int(1), Value::from(long.as_str()), Value::Int(0)]];
        assert!(table(None, &COLUMNS, &rows).contains(&long));
        let cut = table(Some(30), &COLUMNS, &rows);
        assert!(cut.lines().all(|line| line.width() <= 30), "{cut}");
        assert!(cut.contains("xxx…  1970-01-01"), "{cut}");
        // A screen too narrow for all columns is no reason to loop.
        assert_eq!(table(Some(9), &COLUMNS, &rows), "id  name…\n──  ────…\n 1  xxxx…\n");
        assert!(table(Some(1), &COLUMNS, &rows).starts_with("…\n"));
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let rows: [&[Value<'_>]; 1] = [&[Value::from("a\nb\u{1b}[31m")]];
        assert!(table(None, &[("t", Type::Text)], &rows).contains("a\\nb\\u{1b}[31m"));
    }

    #[test]
    fn rows_beyond_the_measured_ones_are_written_too() {
        let row = [Value::Int(7)];
        let rows: Vec<&[Value<'_>]> = vec![&row; MEASURED + 5];
        assert_eq!(table(None, &[("n", Type::I64)], &rows).lines().count(), MEASURED + 7);
    }
}

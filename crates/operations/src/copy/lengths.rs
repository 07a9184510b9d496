//! Values that are too long for the target: found before anything is written.

use super::plan::PlannedTable;
use super::table_copy::walk;
use bobak_core::{
    ColumnSchema, Engine, Error, ErrorKind, Expr, LengthLimit, Result, Row, Select, TableSchema,
};

/// A column whose values the target limits.
struct LimitedColumn {
    /// Its position in the source.
    source: usize,
    name: String,
    limit: LengthLimit,
    /// The length of the longest value that is too long, and the number of these.
    longest: usize,
    rows: u64,
}

/// Rejects values that are longer than the target's columns, as texts in keys are in MariaDB.
///
/// # Errors
/// `TooLong`; those of both engines.
pub(super) fn reject_long_values(
    from: &dyn Engine,
    to: &dyn Engine,
    tables: &[PlannedTable],
    there: &[TableSchema],
) -> Result<()> {
    for table in tables {
        let name = table.source.name();
        let existing = there.iter().find(|other| other.name().eq_ignore_ascii_case(name));
        let Some(target) = table.created.as_deref().or(existing) else { continue };
        let mut columns = limited_columns(to, table, target);
        if columns.is_empty() {
            continue;
        }
        let mut select = Select::all(&table.source);
        select.columns = columns.iter().map(|column| Expr::Column(column.source)).collect();
        walk(&*from.session()?, &select, |row| {
            columns.iter_mut().enumerate().for_each(|(place, column)| column.observe(row, place));
            Ok(())
        })?;
        if let Some(column) = columns.iter().find(|column| column.rows > 0) {
            return Err(column.error(to.name()).in_table(name.to_owned()));
        }
    }
    Ok(())
}

fn limited_columns(
    to: &dyn Engine,
    table: &PlannedTable,
    target: &TableSchema,
) -> Vec<LimitedColumn> {
    let limited = |(place, column): (usize, &ColumnSchema)| {
        let limit = to.length_limit(target, place)?;
        // The values of a table that the copy creates have the limits of its columns.
        if table.created.is_some() && is_within(column, limit) {
            return None;
        }
        let source = table.source.column(&column.name).ok()?;
        Some(LimitedColumn { source, name: column.name.to_string(), limit, longest: 0, rows: 0 })
    };
    target.columns().iter().enumerate().filter_map(limited).collect()
}

/// Whether the column's own limit excludes a value that is too long.
fn is_within(column: &ColumnSchema, limit: LengthLimit) -> bool {
    let most = column.max_chars.map(u64::from);
    most.is_some_and(|most| match limit {
        LengthLimit::Characters(limit) => most <= limit.into(),
        LengthLimit::Utf16Units(limit) => most * 2 <= limit.into(),
        LengthLimit::Bytes(limit) => most * 4 <= limit.into(),
        _ => false,
    })
}

impl LimitedColumn {
    fn observe(&mut self, row: &dyn Row, place: usize) {
        let value = row.get(place);
        if !self.limit.admits(value) {
            self.rows += 1;
            self.longest = self.longest.max(self.limit.length(value));
        }
    }

    fn error(&self, engine: &str) -> Error {
        let rows = match self.rows {
            1 => "1 row".to_owned(),
            rows => format!("{rows} rows"),
        };
        let message = format!(
            "values of {rows} are too long: {engine} stores at most {} in this column, since it is part of a key, \
             a unique index or a rule, and the longest has {}: shorten the values, or copy without the key or index",
            self.limit, self.longest
        );
        Error::new(ErrorKind::TooLong, message).in_column(self.name.clone())
    }
}

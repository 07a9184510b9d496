//! The layouts of tracked tables: which columns the log of a table has captured, since which change.
//!
//! Triggers name the columns that they capture. SQL can alter a table behind their back, so the engine
//! records the table's layout whenever it creates them. A table with another layout has values that are
//! not in its log.

use super::fixed;
use crate::{ColumnSchema, TableAlteration, TableSchema, Type};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// The table with the layouts of tracked tables: see [`layout_schema`].
pub const LAYOUT_TABLE: &str = "bobak_layout";

/// The schema of [`LAYOUT_TABLE`]. Each row says that the table `name` has had this [`layout`] since the
/// change `seq`: changes with larger numbers were captured with it. The last row of a table is in force.
#[must_use]
pub fn layout_schema() -> &'static Arc<TableSchema> {
    static SCHEMA: OnceLock<Arc<TableSchema>> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let table = TableSchema::builder(LAYOUT_TABLE)
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::of::<String>("name"))
            .column(ColumnSchema::new("seq", Type::I64))
            .column(ColumnSchema::of::<String>("layout"));
        fixed(table)
    })
}

/// What the layouts have, under an empty name, for a table that is no longer tracked, and once more if it is tracked again.
#[must_use]
pub fn untracked_text(table: &TableSchema) -> String {
    format!("untracked\t{}", table.name())
}

/// The columns of a table as text: for each its name, its type, and whether it may be NULL, is kept as
/// text, or belongs to the key. Two tables with the same text have the same values in a log.
#[must_use]
pub fn layout(table: &TableSchema) -> String {
    layout_with(table, |column| Some(column.nullable))
}

/// The [`layout`] that a table had before a column with this name was added to it.
#[must_use]
pub fn layout_before(table: &TableSchema, added: &str) -> String {
    layout_with(table, |column| (column.name != added).then_some(column.nullable))
}

/// The [`layout`] that a table had before an alteration that its log follows (see
/// [`TableAlteration::breaks_log`]), with the new names and without the dropped columns. `table` is as it is
/// stored now.
#[must_use]
pub fn layout_before_alteration(table: &TableSchema, alteration: &TableAlteration) -> String {
    layout_with(table, |column| {
        let source = alteration.source(alteration.to().column(&column.name).ok()?)?;
        alteration.from().columns().get(source).map(|column| column.nullable)
    })
}

/// The layout of the columns for which `nullable` returns whether they may be NULL.
fn layout_with(table: &TableSchema, nullable: impl Fn(&ColumnSchema) -> Option<bool>) -> String {
    let mut text = String::new();
    for (place, column) in table.columns().iter().enumerate() {
        let Some(nullable) = nullable(column) else { continue };
        let mut part = |part: std::fmt::Arguments<'_>| {
            text.write_fmt(part).expect("a String takes every text");
        };
        part(format_args!("{}", self::part(column, nullable)));
        if let Some(key) = table.key().iter().position(|key| *key == place) {
            part(format_args!(" key {key}"));
        }
        part(format_args!("; "));
    }
    text
}

/// What a layout has about a column, except for its place in the key.
pub(super) fn part(column: &ColumnSchema, nullable: bool) -> String {
    let kept = if column.is_kept_as_text() { " text" } else { "" };
    let nullable = if nullable { " null" } else { "" };
    format!("{:?} {:?}{kept}{nullable}", column.name, column.ty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_names_columns_types_and_key() {
        let table = TableSchema::builder("t")
            .column(ColumnSchema::of::<Option<String>>("a\"\n"))
            .column(ColumnSchema::new("b", Type::I64))
            .key(["b"])
            .build()
            .unwrap();
        assert_eq!(layout(&table), r#""a\"\n" Text null; "b" I64 key 0; "#);
        assert_eq!(layout_before(&table, "a\"\n"), r#""b" I64 key 0; "#);
    }
}

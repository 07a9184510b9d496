//! Statements for one row by its key, and for new rows.

use crate::Dialect;
use crate::writer::Writer;
use bobak_core::{FieldSet, TableSchema, ValueRef, Verb};

/// New rows. Parameters: each row's columns in schema order, one row after the other.
///
/// `without_key` leaves out the key's column, a single one, so that the engine makes it. `fields`
/// are what an `Upsert` sets in a row that is there; other verbs ignore them. `Update` and `Delete`
/// make no new rows: they count as `Insert` here.
#[must_use]
pub fn insert(
    dialect: Dialect,
    table: &TableSchema,
    verb: Verb,
    fields: FieldSet,
    rows: usize,
    without_key: bool,
) -> String {
    let mut writer = Writer::new(dialect);
    let left_out = |place: &usize| without_key && table.key().contains(place);
    let mut columns: Vec<_> = (0..table.columns().len()).filter(|place| !left_out(place)).collect();
    // A table that is but its key: there must be one column to name, and the engine makes it of NULL.
    let only_key = columns.is_empty();
    if only_key {
        columns.extend(table.key());
    }
    writer.raw(match (dialect, verb) {
        (Dialect::Sqlite, Verb::InsertOrReplace) => "INSERT OR REPLACE INTO ",
        (Dialect::Sqlite, _) => "INSERT INTO ",
    });
    writer.name(table.name()).raw(" (");
    writer.columns(table, columns.iter().copied());
    writer.raw(") VALUES ");
    writer.list(", ", 0..rows.max(1), |writer, _| {
        writer.raw("(");
        writer.list(", ", &columns, |writer, _| {
            if only_key {
                writer.raw("NULL");
            } else {
                writer.placeholder();
            }
        });
        writer.raw(")");
    });
    match (dialect, verb) {
        // Not OR IGNORE, which leaves out rows that break NOT NULL and CHECK rules too.
        (Dialect::Sqlite, Verb::InsertOrIgnore) => {
            writer.raw(" ON CONFLICT DO NOTHING");
        }
        (Dialect::Sqlite, Verb::Upsert) => {
            writer.raw(" ON CONFLICT (");
            writer.columns(table, table.key().iter().copied());
            writer.raw(") DO UPDATE SET ");
            set(&mut writer, table, fields, |writer, place| {
                writer.raw("excluded.").column(table, place);
            });
        }
        (Dialect::Sqlite, Verb::Insert | Verb::InsertOrReplace | Verb::Update | Verb::Delete) => {}
    }
    writer.into_text()
}

/// New values for the row with a key, and of the expected version where the table has versions,
/// which raises it. Parameters: `fields` in schema order, the key in key order, the version.
#[must_use]
pub fn update(dialect: Dialect, table: &TableSchema, fields: FieldSet) -> String {
    let mut writer = Writer::new(dialect);
    writer.raw("UPDATE ").name(table.name()).raw(" SET ");
    set(&mut writer, table, fields, |writer, _| {
        writer.placeholder();
    });
    where_key(&mut writer, table);
    if let Some(version) = table.version() {
        writer.raw(" AND ").column(table, version).raw(" = ").placeholder();
    }
    writer.into_text()
}

/// Deletes the row with a key. Parameters: the key in key order.
#[must_use]
pub fn delete(dialect: Dialect, table: &TableSchema) -> String {
    let mut writer = Writer::new(dialect);
    writer.raw("DELETE FROM ").name(table.name());
    where_key(&mut writer, table);
    writer.into_text()
}

/// All columns, in schema order, of the row with a key. Parameters: the key in key order.
#[must_use]
pub fn get(dialect: Dialect, table: &TableSchema) -> String {
    let mut writer = Writer::new(dialect);
    writer.raw("SELECT ");
    writer.columns(table, 0..table.columns().len());
    writer.raw(" FROM ").name(table.name());
    where_key(&mut writer, table);
    writer.into_text()
}

/// `"a" = …, "b" = …`, and the version raised. Where that is nothing, a column set to itself: the
/// row is still looked for, and counted.
fn set(
    writer: &mut Writer<'_>,
    table: &TableSchema,
    fields: FieldSet,
    mut write: impl FnMut(&mut Writer<'_>, usize),
) {
    writer.list(", ", fields.iter(), |writer, place| {
        writer.column(table, place).raw(" = ");
        write(writer, place);
    });
    raise_version(writer, table, fields.is_empty());
}

/// The end of a SET list: the version raised by one; of an empty list without a version, a column
/// of the key set to itself.
pub(crate) fn raise_version(writer: &mut Writer<'_>, table: &TableSchema, empty: bool) {
    if let Some(version) = table.version() {
        let comma = if empty { "" } else { ", " };
        // One more than the largest integer would be stored as a float.
        writer.raw(comma).column(table, version).raw(" = CASE WHEN ").column(table, version);
        writer.raw(" < ").literal(ValueRef::Int(i64::MAX)).raw(" THEN ").column(table, version);
        let overflow = writer.dialect.overflow();
        writer.raw(" + 1 ELSE ").raw(overflow).raw(" END");
    } else if let (true, Some(&key)) = (empty, table.key().first()) {
        writer.column(table, key).raw(" = ").column(table, key);
    }
}

fn where_key(writer: &mut Writer<'_>, table: &TableSchema) {
    writer.raw(" WHERE ");
    writer.list(" AND ", table.key(), |writer, &place| {
        writer.column(table, place).raw(" = ").placeholder();
    });
}

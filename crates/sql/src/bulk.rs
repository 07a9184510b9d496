//! Many rows in one statement, as arrays: of PostgreSQL.
//!
//! Each parameter is an array with one column's values of all rows; `unnest` makes rows of them
//! again. `WITH ORDINALITY` numbers them, so that the answer says which rows it is about.

use crate::Dialect;
use crate::write::{push_on_conflict, push_returning, set};
use crate::writer::Writer;
use bobak_core::{FieldSet, TableSchema, Verb};

/// A statement over arrays, and the columns of its parameters in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkStatement {
    /// The text.
    pub text: String,
    /// The columns' places in the schema.
    pub columns: Vec<usize>,
}

/// `COPY … FROM STDIN` in the binary format, with these columns.
#[must_use]
pub fn copy_in(table: &TableSchema, columns: &[usize]) -> String {
    let mut writer = Writer::new(Dialect::Postgres);
    writer.raw("COPY ").name(table.name()).raw(" (");
    writer.columns(table, columns.iter().copied());
    writer.raw(") FROM STDIN (FORMAT binary)");
    writer.into_text()
}

/// New rows, all written columns of each. An `InsertOrIgnore` gives the keys of those that are new, in
/// their order; an `Upsert` gives for each row whether it is new.
#[must_use]
pub fn insert_arrays(table: &TableSchema, verb: Verb, fields: FieldSet) -> BulkStatement {
    let columns: Vec<usize> = table.written_columns().collect();
    let mut writer = Writer::new(Dialect::Postgres);
    writer.raw("INSERT INTO ").name(table.name()).raw(" (");
    writer.columns(table, columns.iter().copied());
    writer.raw(") SELECT * FROM unnest(");
    push_arrays(&mut writer, columns.len());
    writer.raw(")");
    push_on_conflict(&mut writer, table, verb, fields);
    push_returning(&mut writer, table, verb, verb == Verb::InsertOrIgnore);
    BulkStatement { text: writer.into_text(), columns }
}

/// New rows without keys. The server generates the keys in the order of the rows, and gives them.
#[must_use]
pub fn insert_arrays_without_keys(table: &TableSchema) -> BulkStatement {
    let columns: Vec<usize> =
        table.written_columns().filter(|place| !table.key().contains(place)).collect();
    let mut writer = Writer::new(Dialect::Postgres);
    writer.raw("INSERT INTO ").name(table.name()).raw(" (");
    writer.columns(table, columns.iter().copied());
    writer.raw(") SELECT ");
    writer.list(", ", 0..columns.len(), |writer, place| {
        writer.raw(&format!("\"new\".c{place}"));
    });
    writer.raw(" FROM ");
    push_rows(&mut writer, columns.len());
    // The default of the key is evaluated after the rows are sorted.
    writer.raw(" ORDER BY \"new\".number");
    push_returning(&mut writer, table, Verb::Insert, true);
    BulkStatement { text: writer.into_text(), columns }
}

/// New values for `fields` of the rows with these keys (and versions, where the table has them).
/// Gives the numbers of the rows that were found, counted from 1.
#[must_use]
pub fn update_arrays(table: &TableSchema, fields: FieldSet) -> BulkStatement {
    let mut columns: Vec<usize> = fields.iter().collect();
    let of_fields = columns.len();
    columns.extend(table.key());
    columns.extend(table.version());
    let mut writer = Writer::new(Dialect::Postgres);
    writer.raw("UPDATE ").name(table.name()).raw(" SET ");
    let mut number = 0;
    set(&mut writer, table, fields, |writer, _| {
        writer.raw(&format!("\"new\".c{number}"));
        number += 1;
    });
    writer.raw(" FROM ");
    push_rows(&mut writer, columns.len());
    push_where_key(&mut writer, table, of_fields);
    if let Some(version) = table.version() {
        writer.raw(" AND ").name(table.name()).raw(".").column(table, version);
        writer.raw(&format!(" = \"new\".c{}", columns.len() - 1));
    }
    writer.raw(" RETURNING \"new\".number");
    BulkStatement { text: writer.into_text(), columns }
}

/// Deletes the rows with these keys. Gives the numbers of those that were found, counted from 1.
#[must_use]
pub fn delete_arrays(table: &TableSchema) -> BulkStatement {
    delete_by_arrays(table, table.key())
}

/// Deletes the rows that have these values in the columns, such as those of a unique index.
#[must_use]
pub fn delete_by_arrays(table: &TableSchema, columns: &[usize]) -> BulkStatement {
    let columns = columns.to_vec();
    let mut writer = Writer::new(Dialect::Postgres);
    writer.raw("DELETE FROM ").name(table.name()).raw(" USING ");
    push_rows(&mut writer, columns.len());
    push_where(&mut writer, table, &columns, 0);
    writer.raw(" RETURNING \"new\".number");
    BulkStatement { text: writer.into_text(), columns }
}

/// Which of these keys are there: their numbers, counted from 1.
#[must_use]
pub fn exist_arrays(table: &TableSchema) -> BulkStatement {
    let columns = table.key().to_vec();
    let mut writer = Writer::new(Dialect::Postgres);
    writer.raw("SELECT \"new\".number FROM ").name(table.name()).raw(", ");
    push_rows(&mut writer, columns.len());
    push_where_key(&mut writer, table, 0);
    BulkStatement { text: writer.into_text(), columns }
}

/// The arrays as numbered rows, whose columns are `c0`, `c1`, ….
fn push_rows(writer: &mut Writer<'_>, columns: usize) {
    writer.raw("unnest(");
    push_arrays(writer, columns);
    writer.raw(") WITH ORDINALITY AS \"new\"(");
    for column in 0..columns {
        writer.raw(&format!("c{column}, "));
    }
    writer.raw("number)");
}

fn push_arrays(writer: &mut Writer<'_>, columns: usize) {
    writer.list(", ", 0..columns, |writer, _| {
        writer.placeholder();
    });
}

fn push_where_key(writer: &mut Writer<'_>, table: &TableSchema, first: usize) {
    push_where(writer, table, table.key(), first);
}

/// The columns against `c{first}` and those after it.
fn push_where(writer: &mut Writer<'_>, table: &TableSchema, columns: &[usize], first: usize) {
    writer.raw(" WHERE ");
    writer.list(" AND ", columns.iter().enumerate(), |writer, (at, &place)| {
        writer.around(table, place, |writer| {
            writer.name(table.name()).raw(".").column(table, place);
        });
        writer.raw(" = ");
        writer.around(table, place, |writer| {
            writer.raw(&format!("\"new\".c{}", first + at));
        });
    });
}

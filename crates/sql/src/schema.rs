//! Statements that make tables, columns and indexes.

use crate::Dialect;
use crate::declared_type;
use crate::writer::Writer;
use bobak_core::{ColumnSchema, KeyGeneration, OnDelete, TableSchema, Type, ValueRef};

/// Creates the table, then its indexes.
#[must_use]
pub fn create_table(dialect: Dialect, table: &TableSchema) -> Vec<String> {
    let mut writer = Writer::new(dialect);
    writer.raw("CREATE TABLE ").name(table.name()).raw(" (");
    let integer_key = table.has_integer_key();
    let primary_key = if is_given_though_makable(table) { GIVEN_KEY } else { "PRIMARY KEY" };
    writer.list(", ", 0..table.columns().len(), |writer, place| {
        if let Some(column) = table.columns().get(place) {
            let is_key = integer_key && table.key().contains(&place);
            define(writer, column, is_key.then_some(primary_key), column.default.is_some());
        }
    });
    if !integer_key {
        // A plain rowid table, also where the key is a text or has several columns: WITHOUT ROWID
        // would keep whole rows in the key's tree, where long rows, and keys that do not arrive in
        // order, split pages over and over; and it would take the rowid from those who read it.
        // Its keys are NOT NULL, which SQLite does not see to by itself.
        writer.raw(", ").raw(primary_key).raw(" (");
        writer.columns(table, table.key().iter().copied());
        writer.raw(")");
    }
    writer.raw(")");
    let mut statements = vec![writer.into_text()];
    statements.extend((0..table.indexes().len()).map(|index| add_index(dialect, table, index)));
    statements
}

/// How a key is declared that could be made, but is given by the user: so that a table opened
/// without its struct does the same.
pub const GIVEN_KEY: &str = "CONSTRAINT \"bobak_given_key\" PRIMARY KEY";

/// Whether the key is of a type that the engine or Bobak would make keys of.
fn is_given_though_makable(table: &TableSchema) -> bool {
    let ty = |&place: &usize| table.columns().get(place).map(|column| column.ty);
    table.key_generation() == KeyGeneration::Given
        && table.key().len() == 1
        && matches!(table.key().first().and_then(ty), Some(Type::I64 | Type::Uuid))
}

/// Adds the column at this place to a table that is there without it.
///
/// A NOT NULL column without a default gets 0, the empty text or no bytes as its default, since old
/// rows need a value. The index of a unique column is one of the table's indexes: see
/// [`add_index`].
#[must_use]
pub fn add_column(dialect: Dialect, table: &TableSchema, column: usize) -> Vec<String> {
    let Some(column) = table.columns().get(column) else {
        return Vec::new();
    };
    let mut writer = Writer::new(dialect);
    writer.raw("ALTER TABLE ").name(table.name()).raw(" ADD COLUMN ");
    define(&mut writer, column, None, column.default.is_some() || !column.nullable);
    vec![writer.into_text()]
}

/// Creates the index at this place; the empty text where there is none.
#[must_use]
pub fn add_index(dialect: Dialect, table: &TableSchema, index: usize) -> String {
    let Some(index) = table.indexes().get(index) else {
        return String::new();
    };
    let mut writer = Writer::new(dialect);
    let unique = if index.unique { "UNIQUE " } else { "" };
    writer.raw("CREATE ").raw(unique).raw("INDEX ").name(&index.name);
    writer.raw(" ON ").name(table.name()).raw(" (");
    writer.columns(table, index.columns.iter().copied());
    writer.raw(")");
    writer.into_text()
}

/// `"name" TYPE` and the column's rules.
fn define(
    writer: &mut Writer<'_>,
    column: &ColumnSchema,
    primary_key: Option<&str>,
    default: bool,
) {
    writer.name(&column.name);
    let declared = declared_type(writer.dialect, column);
    if !declared.is_empty() {
        writer.raw(" ").raw(&declared);
    }
    if let Some(primary_key) = primary_key {
        writer.raw(" ").raw(primary_key);
    } else if !column.nullable {
        writer.raw(" NOT NULL");
    }
    writer.raw(writer.dialect.collate(column.collation));
    if default {
        define_default(writer, column);
    }
    if let Some(check) = &column.check {
        writer.raw(" CHECK (").raw(check).raw(")");
    }
    if let Some(reference) = &column.reference {
        writer.raw(" REFERENCES ").name(&reference.table).raw("(");
        writer.name(&reference.column).raw(")");
        writer.raw(match reference.on_delete {
            OnDelete::Restrict => " ON DELETE RESTRICT",
            OnDelete::Cascade => " ON DELETE CASCADE",
            OnDelete::SetNull => " ON DELETE SET NULL",
        });
    }
}

fn define_default(writer: &mut Writer<'_>, column: &ColumnSchema) {
    // A date kept as text, say, may have its default as a number: the value is in its stored form.
    let value = column.added_value();
    let value = value.as_ref();
    match (writer.dialect, value) {
        // What is more than a plain literal stands in parentheses.
        (Dialect::Sqlite, ValueRef::Text(text)) if text.contains('\0') => {
            writer.raw(" DEFAULT (").literal(value).raw(")");
        }
        (Dialect::Sqlite, _) => {
            writer.raw(" DEFAULT ").literal(value);
        }
    }
}

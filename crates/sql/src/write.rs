//! Statements for one row by its key, and for new rows.

use crate::Dialect;
use crate::default::DefaultExpression;
use crate::writer::Writer;
use bobak_core::{FieldSet, TableSchema, ValueRef, Verb};

/// New rows. Parameters: each row's written columns in schema order, one row after the other.
///
/// `without_key` leaves out the key's column, a single one, so that the engine makes it. `fields`
/// are what an upsert sets in a row that is there; other verbs ignore them. `Update` and `Delete`
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
    let mut columns: Vec<_> = table.written_columns().filter(|place| !left_out(place)).collect();
    // A table that is but its key: there must be one column to name, and the engine makes it of NULL.
    let only_key = columns.is_empty();
    if only_key {
        columns.extend(table.key());
    }
    writer.raw(match (dialect, verb) {
        (Dialect::Sqlite, Verb::InsertOrReplace) => "INSERT OR REPLACE INTO ",
        (Dialect::MariaDb | Dialect::MySql, Verb::InsertOrReplace) => "REPLACE INTO ",
        // A row in its way is deleted by a statement of its own: see `delete_in_the_way`.
        (Dialect::Sqlite | Dialect::Postgres | Dialect::MariaDb | Dialect::MySql, _) => {
            "INSERT INTO "
        }
    });
    writer.name(table.name()).raw(" (");
    writer.columns(table, columns.iter().copied());
    writer.raw(") VALUES ");
    writer.list(", ", 0..rows.max(1), |writer, _| {
        writer.raw("(");
        writer.list(", ", &columns, |writer, &place| {
            if only_key {
                writer.raw(match dialect {
                    Dialect::Sqlite | Dialect::MariaDb | Dialect::MySql => "NULL",
                    Dialect::Postgres => "DEFAULT",
                });
            } else if let Some(default) = default_for_null(dialect, table, place) {
                writer.raw("coalesce(").placeholder();
                writer.raw(", ").raw(default.sql()).raw(")");
            } else {
                writer.placeholder();
            }
        });
        writer.raw(")");
    });
    push_on_conflict(&mut writer, table, verb, fields);
    push_returning(&mut writer, table, verb, without_key);
    writer.into_text()
}

/// What makes a column's value where a new row has NULL there, which the column can't hold.
fn default_for_null(
    dialect: Dialect,
    table: &TableSchema,
    place: usize,
) -> Option<DefaultExpression> {
    let column = table.columns().get(place).filter(|column| !column.nullable)?;
    let text = column.default_sql.as_deref().filter(|_| dialect == Dialect::Sqlite)?;
    DefaultExpression::parse(text)
}

/// What happens to a row whose key or unique value is there.
pub(crate) fn push_on_conflict(
    writer: &mut Writer<'_>,
    table: &TableSchema,
    verb: Verb,
    fields: FieldSet,
) {
    if writer.dialect.is_mysql() {
        // IGNORE swallows other errors too, and ON DUPLICATE KEY checks every unique index.
        // The engine handles an existing row by its error instead.
        return;
    }
    match verb {
        // Not OR IGNORE, which leaves out rows that break NOT NULL and CHECK rules too.
        Verb::InsertOrIgnore => {
            writer.raw(" ON CONFLICT DO NOTHING");
        }
        Verb::Upsert | Verb::UpsertOn(_) => {
            writer.raw(" ON CONFLICT (");
            writer.all_compared(table, verb.conflict_columns(table).iter().copied());
            writer.raw(") DO UPDATE SET ");
            set(writer, table, fields, |writer, place| {
                writer.raw("excluded.").column(table, place);
            });
        }
        Verb::Insert | Verb::InsertOrReplace | Verb::Update | Verb::Delete => {}
    }
}

/// What the engine asks back: the key that was made, and of an upsert whether the row is new. An upsert on a unique index
/// always gives the row's key.
pub(crate) fn push_returning(
    writer: &mut Writer<'_>,
    table: &TableSchema,
    verb: Verb,
    with_key: bool,
) {
    let is_by_index = matches!(verb, Verb::UpsertOn(_));
    let with_key = with_key || is_by_index;
    match writer.dialect {
        Dialect::Sqlite if is_by_index => writer.raw(" RETURNING "),
        // It tells the last key by itself.
        Dialect::Sqlite | Dialect::MySql => return,
        Dialect::MariaDb if with_key => writer.raw(" RETURNING "),
        Dialect::MariaDb => return,
        Dialect::Postgres if verb.is_upsert() => {
            writer.raw(" RETURNING ").name(table.name()).raw(".xmax = 0")
        }
        Dialect::Postgres if with_key => writer.raw(" RETURNING "),
        Dialect::Postgres => return,
    };
    if with_key {
        let follows = writer.dialect == Dialect::Postgres && verb.is_upsert();
        writer.raw(if follows { ", " } else { "" });
        writer.columns(table, table.key().iter().copied());
    }
}

/// Deletes the rows that conflict with a new row by the key or by a unique index, for `InsertOrReplace` in dialects without
/// it. Returns the text, and the columns of its parameters in their order; `None` if no row can conflict.
#[must_use]
pub fn delete_in_the_way(
    dialect: Dialect,
    table: &TableSchema,
    without_key: bool,
) -> Option<(String, Vec<usize>)> {
    let unique = table.indexes().iter().filter(|index| index.unique);
    let key = (!without_key).then(|| table.key().to_vec());
    let ways: Vec<Vec<usize>> =
        key.into_iter().chain(unique.map(|index| index.columns.clone())).collect();
    if ways.is_empty() {
        return None;
    }
    let mut writer = Writer::new(dialect);
    writer.raw("DELETE FROM ").name(table.name()).raw(" WHERE ");
    writer.list(" OR ", &ways, |writer, columns| {
        writer.raw("(");
        writer.list(" AND ", columns, |writer, &place| {
            writer.compared(table, place).raw(" = ").compared_placeholder(table, place);
        });
        writer.raw(")");
    });
    Some((writer.into_text(), ways.concat()))
}

/// New values for the row with a key, and of the expected version where the table has versions,
/// which raises it. Parameters: `fields` in schema order, the key in key order, the version.
#[must_use]
pub fn update(dialect: Dialect, table: &TableSchema, fields: FieldSet) -> String {
    let mut writer = Writer::new(dialect);
    push_update(&mut writer, table, fields);
    if let Some(version) = table.version() {
        writer.raw(" AND ").column(table, version).raw(" = ").placeholder();
    }
    writer.into_text()
}

/// As [`update`], whatever the row's version.
#[must_use]
pub fn overwrite(dialect: Dialect, table: &TableSchema, fields: FieldSet) -> String {
    let mut writer = Writer::new(dialect);
    push_update(&mut writer, table, fields);
    writer.into_text()
}

/// As [`overwrite`], of the row with the values of these columns, such as those of a unique index. Parameters: `fields` in
/// schema order, the columns in their order.
#[must_use]
pub fn overwrite_by(
    dialect: Dialect,
    table: &TableSchema,
    fields: FieldSet,
    columns: &[usize],
) -> String {
    let mut writer = Writer::new(dialect);
    push_set(&mut writer, table, fields);
    where_equal(&mut writer, table, columns);
    writer.into_text()
}

/// The key of the row with the values of these columns. Parameters: the columns in their order.
#[must_use]
pub fn key_by(dialect: Dialect, table: &TableSchema, columns: &[usize]) -> String {
    columns_by(dialect, table, table.key().iter().copied(), columns)
}

/// Some columns of the row with the values of others. Parameters: those in their order.
#[must_use]
pub fn columns_by(
    dialect: Dialect,
    table: &TableSchema,
    shown: impl IntoIterator<Item = usize>,
    columns: &[usize],
) -> String {
    let mut writer = Writer::new(dialect);
    writer.raw("SELECT ");
    writer.columns(table, shown);
    writer.raw(" FROM ").name(table.name());
    where_equal(&mut writer, table, columns);
    writer.into_text()
}

fn push_update(writer: &mut Writer<'_>, table: &TableSchema, fields: FieldSet) {
    push_set(writer, table, fields);
    where_key(writer, table);
}

fn push_set(writer: &mut Writer<'_>, table: &TableSchema, fields: FieldSet) {
    writer.raw("UPDATE ").name(table.name()).raw(" SET ");
    set(writer, table, fields, |writer, _| {
        writer.placeholder();
    });
}

/// Whether there is a row with a key: one row, or none. Parameters: the key in key order.
#[must_use]
pub fn exists(dialect: Dialect, table: &TableSchema) -> String {
    let mut writer = Writer::new(dialect);
    writer.raw("SELECT 1 FROM ").name(table.name());
    where_key(&mut writer, table);
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

/// `"a" = …, "b" = …`, with the version raised. If no field is set, assigns a column to itself, so that the row is still
/// found and counted.
pub(crate) fn set(
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
        if writer.dialect == Dialect::Postgres {
            // An overflow is an error by itself. The table's name tells it from `excluded`.
            writer.raw(comma).column(table, version).raw(" = ");
            writer.name(table.name()).raw(".").column(table, version).raw(" + 1");
            return;
        }
        if writer.dialect.is_mysql() {
            // Beyond the largest integer there is an error, nothing else.
            writer.raw(comma).column(table, version).raw(" = ").column(table, version).raw(" + 1");
            return;
        }
        // One more than the largest integer would be stored as a float.
        writer.raw(comma).column(table, version).raw(" = CASE WHEN ").column(table, version);
        writer.raw(" < ").literal(ValueRef::Int(i64::MAX)).raw(" THEN ").column(table, version);
        let overflow = writer.dialect.overflow();
        writer.raw(" + 1 ELSE ").raw(overflow).raw(" END");
    } else if let (true, Some(&key)) = (empty, table.key().first()) {
        writer.column(table, key).raw(" = ");
        if writer.dialect == Dialect::Postgres {
            writer.name(table.name()).raw(".");
        }
        writer.column(table, key);
    }
}

pub(crate) fn where_key(writer: &mut Writer<'_>, table: &TableSchema) {
    where_equal(writer, table, table.key());
}

fn where_equal(writer: &mut Writer<'_>, table: &TableSchema, columns: &[usize]) {
    writer.raw(" WHERE ");
    writer.list(" AND ", columns, |writer, &place| {
        writer.compared(table, place).raw(" = ").compared_placeholder(table, place);
    });
}

/// The keys, and the versions if the table has them, of the rows with one of so many keys, locked until the transaction
/// ends. Parameters: each key in key order, one after the other.
#[must_use]
pub fn lock_keys(dialect: Dialect, table: &TableSchema, keys: usize) -> String {
    let mut writer = Writer::new(dialect);
    writer.raw("SELECT ");
    writer.columns(table, table.key().iter().copied().chain(table.version()));
    writer.raw(" FROM ").name(table.name());
    where_keys(&mut writer, table, keys);
    writer.raw(" FOR UPDATE");
    writer.into_text()
}

/// Deletes the rows with one of so many keys. If the dialect can, the statement returns the keys of the deleted rows.
/// Parameters as of [`lock_keys`].
#[must_use]
pub fn delete_keys(dialect: Dialect, table: &TableSchema, keys: usize) -> String {
    let mut writer = Writer::new(dialect);
    writer.raw("DELETE FROM ").name(table.name());
    where_keys(&mut writer, table, keys);
    if dialect == Dialect::MariaDb {
        writer.raw(" RETURNING ");
        writer.columns(table, table.key().iter().copied());
    }
    writer.into_text()
}

fn where_keys(writer: &mut Writer<'_>, table: &TableSchema, keys: usize) {
    writer.raw(" WHERE ");
    if let [place] = table.key() {
        writer.sorted(table, *place).raw(" IN (");
        writer.list(", ", 0..keys, |writer, _| {
            writer.placeholder();
        });
        writer.raw(")");
        return;
    }
    // Not (a, b) IN (…), for which MariaDB reads the whole table.
    writer.list(" OR ", 0..keys, |writer, _| {
        writer.raw("(");
        writer.list(" AND ", table.key(), |writer, &place| {
            writer.sorted(table, place).raw(" = ").placeholder();
        });
        writer.raw(")");
    });
}

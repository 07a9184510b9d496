//! Writing one row: the statement for its verb, and the row's outcome.

use crate::connection::Connection;
use crate::connection::statement_cache::{StatementKind, TableStatementKey};
use crate::error::translate;
use crate::ffi::StatementId;
use crate::session::exhausted_keys::{explain_full, no_key_left};
use crate::session::foreign_key_error;
use crate::session::replace::replace;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    BulkChange, ColumnSchema, Error, ErrorKind, FieldSet, GeneratedKey, KeyGeneration, Outcome,
    Result, Row, TableSchema, Value, ValueRef, Verb,
};
use bobak_sql::{Dialect, quote};

/// A row's values by column position, from a record or from a batch's bytes.
pub(crate) trait WriteValues<'v>: Copy {
    /// The value at this position; NULL past the end.
    fn value(self, place: usize) -> ValueRef<'v>;

    /// Whether the value at this position is NULL.
    #[inline]
    fn is_null(self, place: usize) -> bool {
        self.value(place).is_null()
    }

    /// The number of values.
    fn count(self) -> usize;
}

impl<'v> WriteValues<'v> for &'v [Value<'v>] {
    #[inline]
    fn value(self, place: usize) -> ValueRef<'v> {
        self.get(place).map_or(ValueRef::Null, Value::as_ref)
    }

    #[inline]
    fn count(self) -> usize {
        self.len()
    }
}

impl<'v> WriteValues<'v> for EncodedRow<'v> {
    #[inline]
    fn value(self, place: usize) -> ValueRef<'v> {
        EncodedRow::value(&self, place)
    }

    #[inline]
    fn is_null(self, place: usize) -> bool {
        EncodedRow::is_null(&self, place)
    }

    #[inline]
    fn count(self) -> usize {
        bobak_core::Row::len(&self)
    }
}

/// Writes one row. It is a single statement and needs no transaction, except to find out why an
/// update found no row: that is checked at that moment.
pub(crate) fn write_row<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    verb: Verb,
    fields: FieldSet,
    values: impl WriteValues<'v>,
) -> Result<Outcome> {
    table.check_written(verb)?;
    let written = match verb {
        // A new key is above those that are there, also of the rows that are replaced.
        Verb::InsertOrReplace
            if !table.key().iter().any(|&place| values.is_null(place))
                && connection.table_info(table)?.is_referenced =>
        {
            replace(connection, table, values)
        }
        Verb::Insert | Verb::InsertOrIgnore | Verb::InsertOrReplace => {
            insert(connection, table, verb, values)
        }
        Verb::Upsert => upsert(connection, table, fields, values),
        Verb::UpsertOn(_) => upsert_on(connection, table, verb, fields, values),
        Verb::Update => update(connection, table, fields, values),
        Verb::Delete => delete(connection, table, values),
    };
    written.map_err(|error| {
        foreign_key_error::of_write(connection, error, table, verb, fields, values)
    })
}

/// Changes all rows that match; returns their number.
pub(crate) fn change(connection: &mut Connection, change: &BulkChange<'_>) -> Result<u64> {
    change.table.check_writable()?;
    connection
        .change_rows(change)
        .map_err(|error| foreign_key_error::of_change(connection, error, change))
}

/// The statement that inserts this number of rows.
pub(crate) fn insert_statement(
    connection: &mut Connection,
    table: &TableSchema,
    verb: Verb,
    fields: FieldSet,
    rows: usize,
    without_key: bool,
) -> Result<StatementId> {
    let kind = match verb {
        Verb::InsertOrIgnore => StatementKind::InsertOrIgnore,
        Verb::InsertOrReplace => StatementKind::InsertOrReplace,
        Verb::Upsert => StatementKind::Upsert,
        Verb::UpsertOn(index) => StatementKind::UpsertOn(index),
        Verb::Insert | Verb::Update | Verb::Delete => StatementKind::Insert,
    };
    let key =
        TableStatementKey { schema: table.id(), kind, rows: rows as u32, without_key, fields };
    connection.table_statement(key, table, || {
        bobak_sql::insert(Dialect::Sqlite, table, verb, fields, rows, without_key)
    })
}

/// The statement that inserts this number of rows with generated keys. If a row fails, those
/// before it remain.
pub(crate) fn insert_or_fail_statement(
    connection: &mut Connection,
    table: &TableSchema,
    rows: usize,
) -> Result<StatementId> {
    let key =
        TableStatementKey { rows: rows as u32, ..plain_key(table, StatementKind::InsertOrFail) };
    connection.table_statement(key, table, || {
        let verb = Verb::Insert;
        let insert = bobak_sql::insert(Dialect::Sqlite, table, verb, FieldSet::EMPTY, rows, true);
        insert.replacen("INSERT", "INSERT OR FAIL", 1)
    })
}

/// Whether the engine generates this row's key.
#[inline]
pub(crate) fn needs_key<'v>(table: &TableSchema, values: impl WriteValues<'v>) -> bool {
    table.key_generation() == KeyGeneration::Engine
        && table.key().first().is_some_and(|&place| values.is_null(place))
}

/// Rejects a row whose number of values is not that of the columns.
#[inline]
pub(crate) fn check_count<'v>(table: &TableSchema, values: impl WriteValues<'v>) -> Result<()> {
    if values.count() == table.columns().len() {
        Ok(())
    } else {
        Err(wrong_count(table, table.columns().len(), values.count()))
    }
}

#[cold]
fn wrong_count(table: &TableSchema, wanted: usize, given: usize) -> Error {
    Error::wrong_number(ErrorKind::Misuse, given, wanted, "column")
        .in_table(table.name().to_owned())
}

pub(super) fn insert<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    verb: Verb,
    values: impl WriteValues<'v>,
) -> Result<Outcome> {
    check_count(table, values)?;
    if verb == Verb::InsertOrReplace
        && let Some(column) = null_for_default(table, values)
    {
        let error = Error::new(ErrorKind::Constraint, "a required value is NULL");
        return Err(error.in_table(table.name().to_owned()).in_column(column.name.clone()));
    }
    let needs_key = needs_key(table, values);
    let id = insert_statement(connection, table, verb, FieldSet::EMPTY, 1, needs_key)?;
    if let Err(error) = run_insert(connection, table, id, values, needs_key) {
        return Err(if needs_key { explain_full(connection, table, error) } else { error });
    }
    if connection.db.changes() == 0 {
        match verb {
            Verb::InsertOrIgnore => return Ok(Outcome::Ignored),
            _ => reject_left_out(connection, table)?,
        }
    }
    if needs_key && connection.db.last_insert_rowid() > LARGE_KEY {
        reject_random_key(connection, table)?;
    }
    Ok(inserted(connection, needs_key))
}

/// A trigger or a constraint skipped the row: an error, since the row is not stored. Writes to a
/// view run triggers and are not counted.
#[cold]
fn reject_left_out(connection: &mut Connection, table: &TableSchema) -> Result<()> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'view' AND lower(name) = lower(?1)";
    let rows = connection.all_rows(sql, &[Value::from(table.name())])?;
    if rows.first().and_then(|row| row.first()) == Some(&Value::Int(1)) {
        return Ok(());
    }
    let message = "a trigger, or a constraint with ON CONFLICT IGNORE, skipped the row";
    Err(Error::new(ErrorKind::Constraint, message).in_table(table.name().to_owned()))
}

/// Generated keys above this are checked: counting up to here takes centuries.
const LARGE_KEY: i64 = 1 << 40;

/// Undoes an insert with a random key: SQLite generates them once the largest key is taken.
#[cold]
fn reject_random_key(connection: &mut Connection, table: &TableSchema) -> Result<()> {
    let made = connection.db.last_insert_rowid();
    if made == i64::MAX || last_key(connection, table)? != i64::MAX {
        return Ok(());
    }
    delete(connection, table, [Value::Int(made)].as_slice())?;
    Err(no_key_left(table))
}

/// The column that has a NULL for which SQLite's REPLACE would store the default.
#[inline]
pub(crate) fn null_for_default<'v>(
    table: &TableSchema,
    values: impl WriteValues<'v>,
) -> Option<&ColumnSchema> {
    let replaced = |(place, column): &(usize, &ColumnSchema)| {
        !column.nullable && column.default.is_some() && values.value(*place).is_null()
    };
    table.columns().iter().enumerate().find(replaced).map(|(_, column)| column)
}

#[inline]
fn inserted(connection: &Connection, generated_key: bool) -> Outcome {
    Outcome::Inserted(generated_key.then(|| GeneratedKey::Int(connection.db.last_insert_rowid())))
}

/// Runs an insert statement of one row. Omits the key if the engine generates it.
#[inline]
fn run_insert<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    id: StatementId,
    values: impl WriteValues<'v>,
    without_key: bool,
) -> Result<()> {
    connection
        .db
        .execute(id, insert_places(table, without_key).map(|place| values.value(place)))
        .map_err(|failure| translate(failure, Some(table)))
}

/// The columns of an insert of one row.
#[inline]
fn insert_places(table: &TableSchema, without_key: bool) -> impl Iterator<Item = usize> + '_ {
    let left_out = match table.key() {
        [place] if without_key => *place,
        _ => usize::MAX,
    };
    table.written_columns().filter(move |&place| place != left_out)
}

/// Inserts or updates. An insert changes SQLite's last rowid and an update does not, which
/// distinguishes the two.
fn upsert<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    fields: FieldSet,
    values: impl WriteValues<'v>,
) -> Result<Outcome> {
    check_count(table, values)?;
    if needs_key(table, values) {
        return insert(connection, table, Verb::Insert, values);
    }
    let id = insert_statement(connection, table, Verb::Upsert, fields, 1, false)?;
    if table.key_generation() != KeyGeneration::Engine && !connection.table_info(table)?.rowids {
        let key = table.key().iter().map(|&place| values.value(place));
        let there = key_exists(connection, table, key)?;
        run_insert(connection, table, id, values, false)?;
        if connection.db.changes() == 0 {
            reject_left_out(connection, table)?;
        }
        return Ok(if there { Outcome::Changed(1) } else { Outcome::Inserted(None) });
    }
    let (run, is_inserted) = watch_rowid(connection, table, values, |connection| {
        run_insert(connection, table, id, values, false)
    });
    run?;
    if connection.db.changes() == 0 {
        reject_left_out(connection, table)?;
    }
    Ok(if is_inserted { Outcome::Inserted(None) } else { Outcome::Changed(1) })
}

/// Runs an upsert of these values, and returns whether it inserted a row with a rowid.
fn watch_rowid<'v, R>(
    connection: &mut Connection,
    table: &TableSchema,
    values: impl WriteValues<'v>,
    run: impl FnOnce(&mut Connection) -> R,
) -> (R, bool) {
    let mark = match table.key() {
        // Never the rowid that inserting this row would set.
        [place] if table.has_integer_key() => match values.value(*place) {
            ValueRef::Int(key) => !key,
            _ => i64::MIN,
        },
        // A rowid that SQLite never generates.
        _ => i64::MIN,
    };
    let before = connection.db.last_insert_rowid();
    connection.db.set_last_insert_rowid(mark);
    let done = run(connection);
    let is_inserted = connection.db.last_insert_rowid() != mark;
    if !is_inserted {
        // SQL can query it.
        connection.db.set_last_insert_rowid(before);
    }
    (done, is_inserted)
}

/// Inserts, or updates the row with the same values in a unique index. The statement returns the row's key.
fn upsert_on<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    verb: Verb,
    fields: FieldSet,
    values: impl WriteValues<'v>,
) -> Result<Outcome> {
    check_count(table, values)?;
    check_index(table, verb)?;
    let needs_key = needs_key(table, values);
    // Without rowids, only the row itself tells whether it is new.
    let was_there = if needs_key || connection.table_info(table)?.rowids {
        None
    } else {
        Some(unique_row_exists(connection, table, verb, values)?)
    };
    let id = insert_statement(connection, table, verb, fields, 1, needs_key)?;
    let ((key, changes), is_inserted) = watch_rowid(connection, table, values, |connection| {
        let key = run_returning_key(connection, table, id, values, needs_key);
        (key, connection.db.changes())
    });
    let key = key?;
    if changes == 0 {
        reject_left_out(connection, table)?;
    }
    if !was_there.map_or(is_inserted, |there| !there) {
        return Ok(Outcome::of_updated(table, |_| {
            key.first().map_or(ValueRef::Null, Value::as_ref)
        }));
    }
    if needs_key && connection.db.last_insert_rowid() > LARGE_KEY {
        reject_random_key(connection, table)?;
    }
    Ok(inserted(connection, needs_key))
}

/// Rejects an upsert by the number of an index that the table does not have.
fn check_index(table: &TableSchema, verb: Verb) -> Result<()> {
    if !verb.conflict_columns(table).is_empty() {
        return Ok(());
    }
    let message = "an upsert names no unique index";
    Err(Error::new(ErrorKind::Misuse, message).in_table(table.name().to_owned()))
}

/// Whether a row has these values in the unique index of an upsert.
fn unique_row_exists<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    verb: Verb,
    values: impl WriteValues<'v>,
) -> Result<bool> {
    let columns = verb.conflict_columns(table);
    let sql = bobak_sql::key_by(Dialect::Sqlite, table, columns);
    let wanted: Vec<Value<'_>> = columns.iter().map(|&at| values.value(at).into()).collect();
    Ok(!connection.all_rows(&sql, &wanted)?.is_empty())
}

/// As [`run_insert`], of a statement that returns the row's key.
fn run_returning_key<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    id: StatementId,
    values: impl WriteValues<'v>,
    without_key: bool,
) -> Result<Vec<Value<'static>>> {
    let places = insert_places(table, without_key);
    let failed = |failure| translate(failure, Some(table));
    let values = places.map(|place| values.value(place));
    let mut rows = connection.db.rows(id, values).map_err(failed)?;
    let mut key = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        key = (0..table.key().len()).map(|at| row.get(at).to_owned()).collect();
    }
    Ok(key)
}

fn update<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    fields: FieldSet,
    values: impl WriteValues<'v>,
) -> Result<Outcome> {
    check_count(table, values)?;
    let key = TableStatementKey {
        schema: table.id(),
        kind: StatementKind::Update,
        rows: 1,
        without_key: false,
        fields,
    };
    let id = connection
        .table_statement(key, table, || bobak_sql::update(Dialect::Sqlite, table, fields))?;
    let places = fields.iter().chain(table.key().iter().copied()).chain(table.version());
    connection
        .db
        .execute(id, places.map(|place| values.value(place)))
        .map_err(|failure| translate(failure, Some(table)))?;
    if connection.db.changes() > 0 {
        return Ok(Outcome::Changed(1));
    }
    let key = table.key().iter().map(|&place| values.value(place));
    Err(if table.version().is_some() && key_exists(connection, table, key)? {
        let message = "the row was changed since it was read: read it again";
        Error::new(ErrorKind::Conflict, message).in_table(table.name().to_owned())
    } else {
        let message = "no row has this key";
        Error::new(ErrorKind::NotFound, message).in_table(table.name().to_owned())
    })
}

fn delete<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    values: impl WriteValues<'v>,
) -> Result<Outcome> {
    let wanted = table.key().len();
    if values.count() != wanted {
        return Err(wrong_count(table, wanted, values.count()));
    }
    let key = plain_key(table, StatementKind::Delete);
    let id =
        connection.table_statement(key, table, || bobak_sql::delete(Dialect::Sqlite, table))?;
    connection
        .db
        .execute(id, (0..wanted).map(|place| values.value(place)))
        .map_err(|failure| translate(failure, Some(table)))?;
    Ok(Outcome::Changed(connection.db.changes()))
}

/// The statement that reads a row by its key.
#[inline]
pub(crate) fn get_statement(
    connection: &mut Connection,
    table: &TableSchema,
) -> Result<StatementId> {
    let key = plain_key(table, StatementKind::Get);
    connection.table_statement(key, table, || bobak_sql::get(Dialect::Sqlite, table))
}

/// The key of a statement that depends on its table only.
#[inline]
pub(crate) fn plain_key(table: &TableSchema, kind: StatementKind) -> TableStatementKey {
    TableStatementKey {
        schema: table.id(),
        kind,
        rows: 1,
        without_key: false,
        fields: FieldSet::EMPTY,
    }
}

fn key_exists<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    key: impl Iterator<Item = ValueRef<'v>>,
) -> Result<bool> {
    let id = get_statement(connection, table)?;
    let db = &mut connection.db;
    let found = db.rows(id, key).and_then(|mut rows| Ok(rows.next()?.is_some()));
    found.map_err(|failure| translate(failure, Some(table)))
}

/// The largest key; 0 for an empty table, so that the next key is one more in both cases.
pub(crate) fn last_key(connection: &mut Connection, table: &TableSchema) -> Result<i64> {
    let place = table.key().first().copied().unwrap_or_default();
    let name = table.columns().get(place).map_or("", |column| &column.name);
    let id = connection.table_statement(plain_key(table, StatementKind::LastKey), table, || {
        let quoted = |name| quote(Dialect::Sqlite, name);
        format!("SELECT max({}) FROM {}", quoted(name), quoted(table.name()))
    })?;
    let failed = |failure| translate(failure, Some(table));
    let mut rows = connection.db.rows(id, std::iter::empty::<ValueRef<'_>>()).map_err(failed)?;
    let key = rows.next().map_err(failed)?;
    Ok(match key.as_ref().map(|row| row.get(0)) {
        Some(ValueRef::Int(key)) => key,
        _ => 0,
    })
}

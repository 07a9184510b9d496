//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::columns::{is_exact, sent_kind};
use crate::connection::{Connection, TypedValue};
use crate::dialect::MssqlStatements;
use crate::texts;
use crate::values::encode;
use bobak_core::{
    Collation, Error, ErrorKind, FieldSet, GeneratedKey, Outcome, Result, Row, TableSchema, Type,
    Value, ValueRef, Verb,
};
use bobak_engine_common::{
    RowSteps, ServerRow, ServerWrite, StatementDialect, check_version, in_column, kept_type,
    needs_key, no_key_left, no_such_row, none_if_beyond, reject_null,
};

/// A write of one row.
pub(crate) struct MssqlWrite<'a> {
    pub table: &'a TableSchema,
    pub verb: Verb,
    pub fields: FieldSet,
    pub row: &'a dyn Row,
}

impl<'a> MssqlWrite<'a> {
    pub(crate) const fn of(write: &ServerWrite<'a>) -> Self {
        let ServerWrite { table, verb, fields, row } = *write;
        Self { table, verb, fields, row }
    }

    /// The fields as they are set, then the columns by which the row is found.
    fn assigned(&self, columns: &[usize]) -> Vec<MssqlKeyValue<'_>> {
        let plain = |place: usize| (kept_type(self.table, place), None, self.row.get(place));
        let fields = self.fields.iter().map(plain);
        let columns = columns.iter().map(|&place| compared(self.table, place, self.row.get(place)));
        fields.chain(columns).collect()
    }

    fn check_fields(&self) -> Result<()> {
        self.fields.iter().try_for_each(|place| {
            check_value(self.table, place, self.row.get(place))
                .map_err(|error| in_column(error, self.table, Some(place)))
        })
    }
}

impl RowSteps<Connection> for MssqlWrite<'_> {
    fn parts(&self) -> ServerWrite<'_> {
        let Self { table, verb, fields, row } = *self;
        ServerWrite { table, verb, fields, row }
    }

    fn delete(&self, connection: &mut Connection) -> Result<Outcome> {
        let table = self.table;
        let sql = MssqlStatements.delete(table);
        let keys: Vec<_> = (0..table.key().len()).map(|at| self.row.get(at)).collect();
        let key = table.key().iter().zip(keys).map(|(place, value)| compared(table, *place, value));
        let changed = run(connection, table, &sql, table.key(), &key.collect::<Vec<_>>());
        none_if_beyond(changed, table, table.key()).map(|changed| Outcome::Changed(changed.min(1)))
    }

    fn insert(&self, connection: &mut Connection) -> Result<Outcome> {
        let table = self.table;
        let made = needs_key(table, self.row);
        self.check()?;
        let sql = texts::insert(table, made);
        let places: Vec<usize> = texts::written(table, made).collect();
        let values: Vec<TypedValue<'_>> =
            places.iter().map(|&place| (kept_type(table, place), self.row.get(place))).collect();
        let located = |error: Error, at: usize| in_column(error, table, places.get(at).copied());
        if !made {
            connection.run(Some(table), &sql, &values, &located)?;
            return Ok(Outcome::Inserted(None));
        }
        let (mut key, types) = (None, [Type::I64]);
        let each = &mut |row: &ServerRow| {
            if let ValueRef::Int(made) = row.get(0) {
                key = Some(made);
            }
            Ok(true)
        };
        let done =
            connection.each_located(Some(table), &sql, &values, Some(&types), &located, each);
        done.map_err(|error| out_of_keys(error, table))?;
        match key {
            Some(key) => Ok(Outcome::Inserted(Some(GeneratedKey::Int(key)))),
            None => Err(no_key_returned(table)),
        }
    }

    /// Deletes the rows that are in the way of a new one.
    fn clear(&self, connection: &mut Connection) -> Result<()> {
        let made = needs_key(self.table, self.row);
        let text = MssqlStatements.delete_in_the_way(self.table, made);
        let Some((sql, places)) = text else { return Ok(()) };
        let values: Vec<_> =
            places.iter().map(|&place| compared(self.table, place, self.row.get(place))).collect();
        run(connection, self.table, &sql, &places, &values).map(drop)
    }

    /// Sets the fields of the row with the same values in the upsert's columns; `None` if there is none.
    fn overwrite(&self, connection: &mut Connection) -> Result<Option<Outcome>> {
        let (table, columns) = (self.table, self.verb.conflict_columns(self.table));
        self.check_fields()?;
        let values = self.assigned(columns);
        let sql = MssqlStatements.overwrite(table, self.fields, columns);
        let places: Vec<usize> = self.fields.iter().chain(columns.iter().copied()).collect();
        let changed =
            none_if_beyond(run(connection, table, &sql, &places, &values), table, columns)?;
        if changed == 0 || self.verb == Verb::Upsert {
            return Ok((changed > 0).then_some(Outcome::Changed(1)));
        }
        let sql = texts::get(table, table.key().iter().copied(), columns, "");
        let keys: Vec<_> =
            columns.iter().map(|&place| compared(table, place, self.row.get(place))).collect();
        let keys: Vec<TypedValue<'_>> = keys.iter().map(given).collect();
        let types: Vec<Type> = table.key().iter().map(|&place| kept_type(table, place)).collect();
        let mut outcome = None;
        connection.each(Some(table), &sql, &keys, Some(&types), &mut |row| {
            outcome = Some(Outcome::of_updated(table, |_| row.get(0)));
            Ok(true)
        })?;
        Ok(outcome)
    }

    fn update(&self, connection: &mut Connection) -> Result<Outcome> {
        let table = self.table;
        self.check_fields()?;
        let mut values = self.assigned(table.key());
        let mut places: Vec<usize> =
            self.fields.iter().chain(table.key().iter().copied()).collect();
        if let Some(version) = table.version() {
            values.push((kept_type(table, version), None, self.row.get(version)));
            places.push(version);
        }
        let sql = MssqlStatements.update(table, self.fields);
        let changed = run(connection, table, &sql, &places, &values);
        if none_if_beyond(changed, table, table.key())? > 0 {
            return Ok(Outcome::Changed(1));
        }
        let Some(version) = table.version() else { return Err(no_such_row(table)) };
        let sql = texts::get(table, [version], table.key(), "");
        let key: Vec<_> =
            table.key().iter().map(|&place| compared(table, place, self.row.get(place))).collect();
        let key: Vec<TypedValue<'_>> = key.iter().map(given).collect();
        let mut found = Err(no_such_row(table));
        connection.each(Some(table), &sql, &key, Some(&[Type::I64]), &mut |row| {
            found = check_version(table, row.get(0), self.row.get(version));
            Ok(true)
        })?;
        // Of the version that was given: another has changed the row since.
        found.and_then(|()| Err(no_such_row(table)))
    }

    /// Rejects a row in which a required value is NULL, before duplicates and whatever an update sets; and one that the
    /// server would change, or find equal to another.
    fn check(&self) -> Result<()> {
        reject_null(self.table, self.row)?;
        for place in 0..self.row.len() {
            check_value(self.table, place, self.row.get(place))
                .map_err(|error| in_column(error, self.table, Some(place)))?;
        }
        Ok(())
    }
}

/// Rejects a value that the column cannot have.
fn check_value(table: &TableSchema, place: usize, value: ValueRef<'_>) -> Result<()> {
    encode(sent_kind(table, place)?, value)?;
    match value {
        ValueRef::Text(text) if text.ends_with(' ') && is_exact(table, place) => {
            let message = "a text that must be unique or is referenced ends with a space, which SQL Server ignores";
            Err(Error::new(ErrorKind::Unsupported, message))
        }
        _ => Ok(()),
    }
}

#[cold]
pub(crate) fn no_key_returned(table: &TableSchema) -> Error {
    let message = "the server did not return the keys that it made";
    Error::new(ErrorKind::Engine, message).in_table(table.name().to_owned())
}

/// The error of an insert for which the server has no key.
pub(crate) fn out_of_keys(error: Error, table: &TableSchema) -> Error {
    match error.kind() == ErrorKind::OutOfRange && error.message().contains("IDENTITY") {
        true => no_key_left(table),
        false => error,
    }
}

/// A value that a column is compared with: its type, the folded one if it has one, and itself.
pub(crate) type MssqlKeyValue<'v> = (Type, Option<Value<'static>>, ValueRef<'v>);

pub(crate) fn given<'v>(value: &'v MssqlKeyValue<'v>) -> TypedValue<'v> {
    let (ty, folded, value) = value;
    (*ty, folded.as_ref().map_or(*value, Value::as_ref))
}

pub(crate) fn compared<'v>(
    table: &TableSchema,
    place: usize,
    value: ValueRef<'v>,
) -> MssqlKeyValue<'v> {
    let collation = table.columns().get(place).map(|column| column.collation).unwrap_or_default();
    let folded = match value {
        ValueRef::Text(text) if collation != Collation::Binary => {
            Some(Value::from(collation.fold(text).into_owned()))
        }
        _ => None,
    };
    (kept_type(table, place), folded, value)
}

/// Runs a statement whose parameters are values of these columns.
fn run(
    connection: &mut Connection,
    table: &TableSchema,
    sql: &str,
    places: &[usize],
    values: &[MssqlKeyValue<'_>],
) -> Result<u64> {
    let values: Vec<TypedValue<'_>> = values.iter().map(given).collect();
    connection.run(Some(table), sql, &values, &|error, at| {
        in_column(error, table, places.get(at).copied())
    })
}

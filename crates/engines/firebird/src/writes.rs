//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::columns::counted;
use crate::connection::{Connection, GivenValue};
use crate::{catalog, texts};
use bobak_core::{
    Collation, Error, ErrorKind, FieldSet, GeneratedKey, KeyGeneration, Outcome, Result, Row,
    TableSchema, Type, Value, ValueRef, Verb,
};
use bobak_engine_common::{
    RowSteps, ServerWrite, check_version, in_column, kept_type, needs_key, no_key_left,
    no_such_row, none_if_beyond, reject_null,
};
use std::sync::Arc;

/// A write of one row.
pub(crate) struct FirebirdWrite<'a> {
    pub table: &'a TableSchema,
    pub verb: Verb,
    pub fields: FieldSet,
    pub row: &'a dyn Row,
}

impl<'a> FirebirdWrite<'a> {
    pub(crate) const fn of(write: &ServerWrite<'a>) -> Self {
        let ServerWrite { table, verb, fields, row } = *write;
        Self { table, verb, fields, row }
    }

    fn insert_once(&self, connection: &mut Connection, made: bool) -> Result<Outcome> {
        let table = self.table;
        let sql = texts::insert(connection.names, table, made);
        let places: Vec<usize> = texts::written(table, made).collect();
        let values: Vec<GivenValue<'_>> =
            places.iter().map(|&place| (kept_type(table, place), self.row.get(place))).collect();
        let located = |error: Error, at: usize| in_column(error, table, places.get(at).copied());
        if !made {
            connection.run(Some(table), &sql, &values, &located)?;
            if let Some(ValueRef::Int(key)) = table.key().first().map(|&at| self.row.get(at)) {
                advance(connection, table, key)?;
            }
            return Ok(Outcome::Inserted(None));
        }
        let key = connection.insert_for_key(table, &sql, &values, &located)?;
        if key < 1 {
            // The generator has begun again at the smallest integer.
            let sql = texts::delete(connection.names, table);
            connection.run(
                Some(table),
                &sql,
                &[(Type::I64, ValueRef::Int(key))],
                &|error, _| error,
            )?;
            return Err(no_key_left(table));
        }
        Ok(Outcome::Inserted(Some(GeneratedKey::Int(key))))
    }

    /// The fields as they are set, then the columns by which the row is found.
    fn assigned(&self, columns: &[usize]) -> Vec<ComparedValue<'_>> {
        let plain = |place: usize| (kept_type(self.table, place), None, self.row.get(place));
        let fields = self.fields.iter().map(plain);
        let columns = columns.iter().map(|&place| compared(self.table, place, self.row.get(place)));
        fields.chain(columns).collect()
    }
}

impl RowSteps<Connection> for FirebirdWrite<'_> {
    fn parts(&self) -> ServerWrite<'_> {
        let Self { table, verb, fields, row } = *self;
        ServerWrite { table, verb, fields, row }
    }

    fn delete(&self, connection: &mut Connection) -> Result<Outcome> {
        let table = self.table;
        let sql = texts::delete(connection.names, table);
        let keys: Vec<_> = (0..table.key().len()).map(|at| self.row.get(at)).collect();
        let key = table.key().iter().zip(keys).map(|(place, value)| compared(table, *place, value));
        let changed = run(connection, table, &sql, table.key(), &key.collect::<Vec<_>>());
        none_if_beyond(changed, table, table.key()).map(|changed| Outcome::Changed(changed.min(1)))
    }

    fn insert(&self, connection: &mut Connection) -> Result<Outcome> {
        let table = self.table;
        let made = needs_key(table, self.row);
        reject_null(self.table, self.row)?;
        match self.insert_once(connection, made) {
            // Keys were given that the generator has not reached.
            Err(error)
                if made && error.kind() == ErrorKind::Duplicate && is_of_key(table, &error) =>
            {
                resync(connection, table)?;
                self.insert_once(connection, made)
            }
            other => other,
        }
    }

    /// Deletes the rows that are in the way of a new one.
    fn clear(&self, connection: &mut Connection) -> Result<()> {
        let made = needs_key(self.table, self.row);
        let text = texts::delete_in_the_way(connection.names, self.table, made);
        let Some((sql, places)) = text else { return Ok(()) };
        let values: Vec<_> =
            places.iter().map(|&place| compared(self.table, place, self.row.get(place))).collect();
        run(connection, self.table, &sql, &places, &values).map(drop)
    }

    /// Sets the fields of the row with the same values in the upsert's columns; `None` if there is none.
    fn overwrite(&self, connection: &mut Connection) -> Result<Option<Outcome>> {
        let (table, columns) = (self.table, self.verb.conflict_columns(self.table));
        let values = self.assigned(columns);
        let sql = texts::overwrite(connection.names, table, self.fields, columns);
        let places: Vec<usize> = self.fields.iter().chain(columns.iter().copied()).collect();
        let changed =
            none_if_beyond(run(connection, table, &sql, &places, &values), table, columns)?;
        if changed == 0 || self.verb == Verb::Upsert {
            return Ok((changed > 0).then_some(Outcome::Changed(1)));
        }
        let sql = texts::get(connection.names, table, table.key().iter().copied(), columns);
        let keys: Vec<_> =
            columns.iter().map(|&place| compared(table, place, self.row.get(place))).collect();
        let keys: Vec<GivenValue<'_>> = keys.iter().map(given).collect();
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
        let mut values = self.assigned(table.key());
        let mut places: Vec<usize> =
            self.fields.iter().chain(table.key().iter().copied()).collect();
        if let Some(version) = table.version() {
            values.push((kept_type(table, version), None, self.row.get(version)));
            places.push(version);
        }
        let sql = texts::update(connection.names, table, self.fields);
        let changed = run(connection, table, &sql, &places, &values);
        if none_if_beyond(changed, table, table.key())? > 0 {
            return Ok(Outcome::Changed(1));
        }
        let Some(version) = table.version() else { return Err(no_such_row(table)) };
        let sql = texts::get(connection.names, table, [version], table.key());
        let key: Vec<_> =
            table.key().iter().map(|&place| compared(table, place, self.row.get(place))).collect();
        let key: Vec<GivenValue<'_>> = key.iter().map(given).collect();
        let mut found = Err(no_such_row(table));
        connection.each(Some(table), &sql, &key, Some(&[Type::I64]), &mut |row| {
            found = check_version(table, row.get(0), self.row.get(version));
            Ok(true)
        })?;
        // Of the version that was given: another has changed the row since.
        found.and_then(|()| Err(no_such_row(table)))
    }
}

/// A value that a column is compared with: its type, the folded one if it has one, and itself.
pub(crate) type ComparedValue<'v> = (Type, Option<Value<'static>>, ValueRef<'v>);

pub(crate) fn given<'v>(value: &'v ComparedValue<'v>) -> GivenValue<'v> {
    let (ty, folded, value) = value;
    (*ty, folded.as_ref().map_or(*value, Value::as_ref))
}

pub(crate) fn compared<'v>(
    table: &TableSchema,
    place: usize,
    value: ValueRef<'v>,
) -> ComparedValue<'v> {
    let collation = table.columns().get(place).map(|column| column.collation).unwrap_or_default();
    let folded = match value {
        ValueRef::Text(text) if collation != Collation::Binary => {
            Some(Value::from(collation.fold(text).into_owned()))
        }
        ValueRef::Bytes(bytes) if kept_type(table, place) == Type::Bytes => {
            Some(Value::from(counted(bytes)))
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
    values: &[ComparedValue<'_>],
) -> Result<u64> {
    let values: Vec<GivenValue<'_>> = values.iter().map(given).collect();
    connection.run(Some(table), sql, &values, &|error, at| {
        in_column(error, table, places.get(at).copied())
    })
}

fn is_of_key(table: &TableSchema, error: &Error) -> bool {
    error.column() == Some(&*table.column_names(table.key()))
}

fn generator(connection: &mut Connection, table: &TableSchema) -> Result<Option<Arc<str>>> {
    if let Some(known) = connection.generators.get(&table.id()) {
        return Ok(known.clone());
    }
    let name = connection.names.stored(table.name()).into_owned();
    let found: Option<Arc<str>> = catalog::generator(connection, &name)?.map(Into::into);
    connection.generators.insert(table.id(), found.clone());
    Ok(found)
}

/// Takes so many keys from the generator of a table; the first of them. `None` if there are not so many.
pub(crate) fn take_keys(
    connection: &mut Connection,
    table: &TableSchema,
    count: usize,
) -> Result<Option<i64>> {
    let Some(generator) = generator(connection, table)? else { return Ok(None) };
    let count = i64::try_from(count).unwrap_or(0);
    let last = generate(connection, table, &generator, count)?;
    let first = last.wrapping_sub(count).wrapping_add(1);
    Ok((first > 0 && last >= first).then_some(first))
}

/// Advances a generator by so much; returns where it is.
fn generate(
    connection: &mut Connection,
    table: &TableSchema,
    generator: &str,
    by: i64,
) -> Result<i64> {
    let sql = format!("SELECT GEN_ID({generator}, CAST(? AS BIGINT)) FROM RDB$DATABASE");
    number(connection, table, &sql, &[(Type::I64, ValueRef::Int(by))])
}

fn number(
    connection: &mut Connection,
    table: &TableSchema,
    sql: &str,
    values: &[GivenValue<'_>],
) -> Result<i64> {
    let mut number = 0;
    connection.each(Some(table), sql, values, None, &mut |row| {
        if let ValueRef::Int(found) = row.get(0) {
            number = found;
        }
        Ok(true)
    })?;
    Ok(number)
}

/// Advances the generator of a table to a key that was given, so that it does not make that key.
pub(crate) fn advance(connection: &mut Connection, table: &TableSchema, key: i64) -> Result<()> {
    let reached = connection.reached.get(&table.id()).copied().unwrap_or(0);
    if table.key_generation() != KeyGeneration::Engine || key <= reached {
        return Ok(());
    }
    let Some(generator) = generator(connection, table)? else { return Ok(()) };
    let current = generate(connection, table, &generator, 0)?;
    if key > current {
        generate(connection, table, &generator, key.wrapping_sub(current))?;
    }
    connection.reached.insert(table.id(), key);
    Ok(())
}

/// Advances the generator of a table beyond all keys that are there.
pub(crate) fn resync(connection: &mut Connection, table: &TableSchema) -> Result<()> {
    let names = connection.names;
    let key = names.columns(table, table.key().iter().copied());
    let sql = format!("SELECT MAX({key}) FROM {}", names.quoted(table.name()));
    let largest = number(connection, table, &sql, &[])?;
    connection.reached.remove(&table.id());
    advance(connection, table, largest)
}

//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::columns::{makes_key, oracle_type};
use crate::connection::{Connection, OracleParameter};
use crate::dialect::OracleStatements;
use crate::driver::{BindKind, OracleBind, OracleCell, OracleValue};
use crate::values::encode;
use crate::{sequences, texts};
use bobak_core::{
    Collation, Error, ErrorKind, FieldSet, GeneratedKey, Outcome, Result, Row, TableSchema, Type,
    Value, ValueRef, Verb,
};
use bobak_engine_common::{
    RowSteps, ServerWrite, StatementDialect, check_version, in_column, kept_type, needs_key,
    no_key_left, no_such_row, none_if_beyond, reject_null,
};

/// A write of one row.
pub(crate) struct OracleWrite<'a> {
    pub table: &'a TableSchema,
    pub verb: Verb,
    pub fields: FieldSet,
    pub row: &'a dyn Row,
}

/// The values of a statement.
pub(crate) type Binds<'v> = Vec<OracleBind<'v>>;

impl<'a> OracleWrite<'a> {
    pub(crate) const fn of(write: &ServerWrite<'a>) -> Self {
        let ServerWrite { table, verb, fields, row } = *write;
        Self { table, verb, fields, row }
    }

    /// The key of a row that is deleted, which has no other values.
    pub(crate) fn deleted_key(&self) -> Result<Binds<'a>> {
        let key = self.table.key().iter().enumerate();
        key.map(|(at, &place)| compared(self.table, place, self.row.get(at))).collect()
    }

    /// The values of a new row.
    pub(crate) fn inserted(&self, made: bool) -> Result<Binds<'a>> {
        let bind = |place: usize| {
            encode(oracle_type(self.table, place)?, self.row.get(place))
                .map_err(|error| in_column(error, self.table, Some(place)))
        };
        texts::written(self.table, made).map(bind).collect()
    }

    fn insert_once(&self, connection: &mut Connection, made: bool) -> Result<Outcome> {
        let (table, sql) = (self.table, texts::insert(self.table, made));
        let binds = [self.inserted(made)?];
        if !made {
            connection.run(Some(table), &sql, &binds, None)?;
            if let Some(ValueRef::Int(key)) = table.key().first().map(|&at| self.row.get(at)) {
                sequences::pass(connection, table, key)?;
            }
            return Ok(Outcome::Inserted(None));
        }
        let key = table.key().first().copied().unwrap_or(0);
        let sql = texts::returning(table, &sql, key, texts::written(table, made).count() + 1);
        let done = connection.run(Some(table), &sql, &binds, Some(BindKind::Number));
        let done = done.map_err(|error| out_of_keys(error, table))?;
        match done.returned.first().and_then(|row| row.first()).and_then(made_key) {
            Some(key) => Ok(Outcome::Inserted(Some(key))),
            None => Err(no_key_returned(table)),
        }
    }

    /// The outcome of an upsert that found a row, the first column of whose key is this.
    pub(crate) fn overwritten(&self, key: &OracleCell) -> Outcome {
        let bytes = if let OracleCell::Bytes(bytes) = key { bytes.as_slice() } else { &[] };
        match (self.verb, made_key(key)) {
            (Verb::Upsert, _) => Outcome::Changed(1),
            (_, Some(GeneratedKey::Int(key))) => {
                Outcome::of_updated(self.table, |_| ValueRef::Int(key))
            }
            _ => Outcome::of_updated(self.table, |_| ValueRef::Bytes(bytes)),
        }
    }

    /// The fields as they are set, then the columns by which the row is found.
    pub(crate) fn assigned(&self, columns: &[usize]) -> Result<Binds<'a>> {
        let mut binds = Vec::new();
        for place in self.fields.iter() {
            let bind = encode(oracle_type(self.table, place)?, self.row.get(place));
            binds.push(bind.map_err(|error| in_column(error, self.table, Some(place)))?);
        }
        binds.extend(self.values_of(columns)?);
        Ok(binds)
    }

    /// Values of columns by which rows are found.
    fn values_of(&self, places: &[usize]) -> Result<Binds<'a>> {
        let bind = |&place: &usize| compared(self.table, place, self.row.get(place));
        places.iter().map(bind).collect()
    }

    /// The values of an update: the fields, the key, and the version if there is one.
    pub(crate) fn updated(&self) -> Result<Binds<'a>> {
        let mut binds = self.assigned(self.table.key())?;
        if let Some(version) = self.table.version() {
            binds.push(compared(self.table, version, self.row.get(version))?);
        }
        Ok(binds)
    }
}

impl RowSteps<Connection> for OracleWrite<'_> {
    fn parts(&self) -> ServerWrite<'_> {
        let Self { table, verb, fields, row } = *self;
        ServerWrite { table, verb, fields, row }
    }

    fn delete(&self, connection: &mut Connection) -> Result<Outcome> {
        let table = self.table;
        let changed = self
            .deleted_key()
            .and_then(|key| {
                connection.run(Some(table), &OracleStatements.delete(table), &[key], None)
            })
            .map(|done| done.count);
        none_if_beyond(changed, table, table.key()).map(|changed| Outcome::Changed(changed.min(1)))
    }

    fn insert(&self, connection: &mut Connection) -> Result<Outcome> {
        let table = self.table;
        let made = needs_key(table, self.row);
        self.check()?;
        match self.insert_once(connection, made) {
            // Keys were given that the sequence has not reached.
            Err(error) if made && is_of_key(table, &error) && has_sequence(table) => {
                sequences::skip(connection, table)?;
                self.insert_once(connection, made)
            }
            other => other,
        }
    }

    /// Deletes the rows that are in the way of a new one.
    fn clear(&self, connection: &mut Connection) -> Result<()> {
        let made = needs_key(self.table, self.row);
        let text = OracleStatements.delete_in_the_way(self.table, made);
        let Some((sql, places)) = text else { return Ok(()) };
        let binds = self.values_of(&places)?;
        connection.run(Some(self.table), &sql, &[binds], None).map(drop)
    }

    /// Sets the fields of the row with the same values in the upsert's columns; `None` if there is none.
    fn overwrite(&self, connection: &mut Connection) -> Result<Option<Outcome>> {
        let (table, columns) = (self.table, self.verb.conflict_columns(self.table));
        let sql = OracleStatements.overwrite(table, self.fields, columns);
        let binds = self.assigned(columns)?;
        let (key, kind) = returned_key(table)?;
        let sql = texts::returning(table, &sql, key, binds.len() + 1);
        let done = connection.run(Some(table), &sql, &[binds], Some(kind))?;
        let found = done.returned.first().and_then(|rows| rows.first());
        Ok(found.map(|key| self.overwritten(key)))
    }

    fn update(&self, connection: &mut Connection) -> Result<Outcome> {
        let table = self.table;
        let sql = OracleStatements.update(table, self.fields);
        let changed = self
            .updated()
            .and_then(|binds| connection.run(Some(table), &sql, &[binds], None))
            .map(|done| done.count);
        if none_if_beyond(changed, table, table.key())? > 0 {
            return Ok(Outcome::Changed(1));
        }
        let Some(version) = table.version() else { return Err(no_such_row(table)) };
        let sql = texts::get(table, [version], table.key(), "");
        let key: Vec<KeyValue<'_>> =
            table.key().iter().map(|&place| key_value(table, place, self.row.get(place))).collect();
        let key: Vec<OracleParameter<'_>> = key.iter().map(typed).collect();
        let mut found = Err(no_such_row(table));
        connection.each(Some(table), &sql, &key, Some(&[Type::I64]), &mut |row| {
            found = check_version(table, row.get(0), self.row.get(version));
            Ok(true)
        })?;
        // Of the version that was given: another has changed the row since.
        found.and_then(|()| Err(no_such_row(table)))
    }

    /// Rejects a row in which a required value is NULL, before duplicates and whatever an update sets; and one with an empty
    /// text in its key, which Oracle takes for NULL.
    fn check(&self) -> Result<()> {
        reject_null(self.table, self.row)?;
        for &place in self.table.key() {
            if self.row.get(place) == ValueRef::Text("") {
                let message = "on Oracle, an empty text is no key: Oracle has no empty texts";
                let error = Error::new(ErrorKind::Unsupported, message);
                return Err(in_column(error, self.table, Some(place)));
            }
        }
        Ok(())
    }
}

/// The first column of the key, and what its values are returned as.
pub(crate) fn returned_key(table: &TableSchema) -> Result<(usize, BindKind)> {
    let place = table.key().first().copied().unwrap_or(0);
    Ok((place, oracle_type(table, place)?.bind()))
}

/// A key of the server's.
pub(crate) fn made_key(cell: &OracleCell) -> Option<GeneratedKey> {
    match cell {
        OracleCell::Number(digits) => digits.parse().ok().map(GeneratedKey::Int),
        _ => None,
    }
}

/// Whether the keys of a table are those of a sequence of Bobak's.
pub(crate) fn has_sequence(table: &TableSchema) -> bool {
    table.key().first().is_some_and(|&place| makes_key(table, place))
}

/// Whether an error is that a row with this key exists.
pub(crate) fn is_of_key(table: &TableSchema, error: &Error) -> bool {
    error.kind() == ErrorKind::Duplicate && error.column() == Some(&table.column_names(table.key()))
}

#[cold]
pub(crate) fn no_key_returned(table: &TableSchema) -> Error {
    let message = "the server did not return the keys that it made";
    Error::new(ErrorKind::Engine, message).in_table(table.name().to_owned())
}

/// The error of an insert for which the server has no key.
pub(crate) fn out_of_keys(error: Error, table: &TableSchema) -> Error {
    match error.code() == Some(8_004) {
        true => no_key_left(table),
        false => error,
    }
}

/// A value that a column is compared with: its type, the folded one if it has one, and itself.
pub(crate) type KeyValue<'v> = (Type, Option<Value<'static>>, ValueRef<'v>);

pub(crate) fn typed<'v>(value: &'v KeyValue<'v>) -> OracleParameter<'v> {
    let (ty, folded, value) = value;
    (*ty, folded.as_ref().map_or(*value, Value::as_ref))
}

fn folded(table: &TableSchema, place: usize, value: ValueRef<'_>) -> Option<String> {
    let collation = table.columns().get(place)?.collation;
    match value {
        ValueRef::Text(text) if collation != Collation::Binary => {
            Some(collation.fold(text).into_owned())
        }
        _ => None,
    }
}

pub(crate) fn key_value<'v>(
    table: &TableSchema,
    place: usize,
    value: ValueRef<'v>,
) -> KeyValue<'v> {
    (kept_type(table, place), folded(table, place, value).map(Value::from), value)
}

/// A value by which rows are found.
fn compared<'v>(table: &TableSchema, place: usize, value: ValueRef<'v>) -> Result<OracleBind<'v>> {
    let located = |error: Error| in_column(error, table, Some(place));
    let ty = oracle_type(table, place)?;
    let Some(text) = folded(table, place, value) else { return encode(ty, value).map_err(located) };
    match encode(ty, ValueRef::Text(&text)).map_err(located)? {
        (kind, OracleValue::Text(text)) => Ok((kind, OracleValue::Text(text.into_owned().into()))),
        (kind, _) => Ok((kind, OracleValue::Null)),
    }
}

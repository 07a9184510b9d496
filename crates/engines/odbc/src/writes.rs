//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::connection::Connection;
use crate::product::ProductKind;
use crate::values::{BoundParameter, Target};
use bobak_core::{
    Collation, Error, ErrorKind, FieldSet, GeneratedKey, KeyGeneration, Outcome, Result, Row,
    TableSchema, ValueRef, Verb,
};
use bobak_engine_common::{RowSteps, ServerWrite, needs_key};
use bobak_sql::{Dialect, quote};

/// A write of one row.
pub(crate) struct OdbcWrite<'a> {
    pub table: &'a TableSchema,
    pub verb: Verb,
    pub fields: FieldSet,
    pub row: &'a dyn Row,
}

impl<'a> OdbcWrite<'a> {
    pub(crate) const fn of(write: &ServerWrite<'a>) -> Self {
        let ServerWrite { table, verb, fields, row } = *write;
        Self { table, verb, fields, row }
    }

    fn insert_once(&self, connection: &mut Connection, made: bool) -> Result<Outcome> {
        let verb = match (self.verb, connection.product.kind) {
            (Verb::InsertOrReplace, ProductKind::MySql | ProductKind::Sqlite) => {
                Verb::InsertOrReplace
            }
            _ => Verb::Insert,
        };
        let sql = insert_text(connection, self.table, verb, 1, made);
        let mut parameters = Vec::with_capacity(self.row.len());
        for place in written_columns(self.table, made) {
            parameters.push(value_of(connection, self.table, place, self.row.get(place))?);
        }
        if !made {
            connection.run(Some(self.table), &sql, parameters)?;
            if let Some(ValueRef::Int(key)) = self.table.key().first().map(|&at| self.row.get(at)) {
                advance(connection, self.table, key)?;
            }
            return Ok(Outcome::Inserted(None));
        }
        let mut key = None;
        let mut note = |row: &crate::values::Cells| {
            if let ValueRef::Int(made) = row.get(0) {
                key = Some(GeneratedKey::Int(made));
            }
            Ok(true)
        };
        let last = last_key_text(connection, self.table)?;
        let targets = Some(vec![Target::Int]);
        match last {
            None => connection.each(Some(self.table), &sql, parameters, targets, &mut note)?,
            Some(last) => {
                connection.run(Some(self.table), &sql, parameters)?;
                connection.each(Some(self.table), last, Vec::new(), targets, &mut note)?;
            }
        }
        match key {
            Some(key) => Ok(Outcome::Inserted(Some(key))),
            None => Err(strange_keys(self.table)),
        }
    }

    fn push_key(
        &self,
        connection: &Connection,
        columns: &[usize],
        parameters: &mut Vec<BoundParameter>,
    ) -> Result<()> {
        let mut columns = columns.iter();
        columns.try_for_each(|&place| {
            self.push_compared(connection, place, self.row.get(place), parameters)
        })
    }

    fn push_compared(
        &self,
        connection: &Connection,
        place: usize,
        value: ValueRef<'_>,
        parameters: &mut Vec<BoundParameter>,
    ) -> Result<()> {
        parameters.push(compared(connection, self.table, place, value)?);
        Ok(())
    }
}

impl RowSteps<Connection> for OdbcWrite<'_> {
    fn parts(&self) -> ServerWrite<'_> {
        let Self { table, verb, fields, row } = *self;
        ServerWrite { table, verb, fields, row }
    }

    fn insert(&self, connection: &mut Connection) -> Result<Outcome> {
        let made = needs_key(self.table, self.row);
        match self.insert_once(connection, made) {
            Err(error)
                if made
                    && error.kind() == ErrorKind::Duplicate
                    && connection.product.kind == ProductKind::Postgres =>
            {
                // Keys were given that the sequence has not reached.
                resync(connection, self.table)?;
                self.insert_once(connection, made)
            }
            // MariaDB's driver does not say that there is no next key.
            Err(error)
                if made
                    && error.kind() == ErrorKind::OutOfRange
                    && is_of_key(self.table, &error) =>
            {
                let message = "the largest possible key is in use: there is no next one";
                Err(Error::new(ErrorKind::Full, message)
                    .in_table(self.table.name())
                    .with_source(error))
            }
            other => other,
        }
    }

    /// Deletes the rows that are in the way of a new one.
    fn clear(&self, connection: &mut Connection) -> Result<()> {
        let made = needs_key(self.table, self.row);
        match connection.product.kind {
            // Their insert does it.
            ProductKind::MySql | ProductKind::Sqlite => Ok(()),
            ProductKind::Postgres | ProductKind::Other => {
                let dialect = connection.product.dialect;
                let text = bobak_sql::delete_in_the_way(dialect, self.table, made);
                let Some((sql, places)) = text else { return Ok(()) };
                let mut parameters = Vec::new();
                for place in places {
                    self.push_compared(connection, place, self.row.get(place), &mut parameters)?;
                }
                connection.run(Some(self.table), &sql, parameters).map(drop)
            }
        }
    }

    /// Sets the fields of the row with the same values in the upsert's columns; `None` if there is none.
    fn overwrite(&self, connection: &mut Connection) -> Result<Option<Outcome>> {
        let columns = self.verb.conflict_columns(self.table);
        let mut parameters = Vec::new();
        for place in self.fields.iter() {
            parameters.push(value_of(connection, self.table, place, self.row.get(place))?);
        }
        self.push_key(connection, columns, &mut parameters)?;
        let dialect = connection.product.dialect;
        let sql = bobak_sql::overwrite_by(dialect, self.table, self.fields, columns);
        let changed = connection.run(Some(self.table), &sql, parameters)?;
        if self.verb == Verb::Upsert {
            return Ok((changed > 0).then_some(Outcome::Changed(1)));
        }
        let mut key = Vec::new();
        self.push_key(connection, columns, &mut key)?;
        let sql = bobak_sql::key_by(dialect, self.table, columns);
        let kind = connection.product.kind;
        let target = |place: &usize| self.table.columns().get(*place).map(|c| Target::of(kind, c));
        let targets = self.table.key().iter().filter_map(target).collect();
        let mut outcome = None;
        connection.each(Some(self.table), &sql, key, Some(targets), &mut |row| {
            outcome = Some(Outcome::of_updated(self.table, |_| row.get(0)));
            Ok(true)
        })?;
        Ok(outcome.filter(|_| changed > 0))
    }

    fn update(&self, connection: &mut Connection) -> Result<Outcome> {
        let table = self.table;
        let mut parameters = Vec::new();
        for place in self.fields.iter() {
            parameters.push(value_of(connection, table, place, self.row.get(place))?);
        }
        self.push_key(connection, table.key(), &mut parameters)?;
        if let Some(version) = table.version() {
            parameters.push(value_of(connection, table, version, self.row.get(version))?);
        }
        let sql = bobak_sql::update(connection.product.dialect, table, self.fields);
        if connection.run(Some(table), &sql, parameters)? > 0 {
            return Ok(Outcome::Changed(1));
        }
        // Why was there none? Some databases do not count rows that stay as they are.
        let (mut key, kind) = (Vec::new(), connection.product.kind);
        self.push_key(connection, table.key(), &mut key)?;
        let mut found = None;
        let targets = table.columns().iter().map(|column| Target::of(kind, column)).collect();
        let sql = bobak_sql::get(connection.product.dialect, table);
        connection.each(Some(table), &sql, key, Some(targets), &mut |row| {
            found = Some(table.version().is_none_or(|at| row.get(at) == self.row.get(at)));
            Ok(true)
        })?;
        match found {
            None => Err(not_found(table)),
            Some(false) => Err(conflict(table)),
            Some(true) => Ok(Outcome::Changed(1)),
        }
    }

    fn delete(&self, connection: &mut Connection) -> Result<Outcome> {
        let mut parameters = Vec::new();
        for (at, &place) in self.table.key().iter().enumerate() {
            self.push_compared(connection, place, self.row.get(at), &mut parameters)?;
        }
        let sql = bobak_sql::delete(connection.product.dialect, self.table);
        let changed = connection.run(Some(self.table), &sql, parameters)?;
        Ok(Outcome::Changed(changed.min(1)))
    }
}

/// A value that a column is compared with.
pub(crate) fn compared(
    connection: &Connection,
    table: &TableSchema,
    place: usize,
    value: ValueRef<'_>,
) -> Result<BoundParameter> {
    let collation = table.columns().get(place).map(|column| column.collation).unwrap_or_default();
    match value {
        // The column that is compared there is in lower case.
        ValueRef::Text(text)
            if collation != Collation::Binary && connection.product.kind == ProductKind::MySql =>
        {
            value_of(connection, table, place, ValueRef::Text(&collation.fold(text)))
        }
        _ => value_of(connection, table, place, value),
    }
}

/// A value of a column.
pub(crate) fn value_of(
    connection: &Connection,
    table: &TableSchema,
    place: usize,
    value: ValueRef<'_>,
) -> Result<BoundParameter> {
    let kind = connection.product.kind;
    let Some(column) = table.columns().get(place) else {
        return BoundParameter::single(kind, Target::of_value(value), value);
    };
    let made = BoundParameter::single(kind, Target::of(kind, column), value);
    made.map_err(|error| error.in_table(table.name()).in_column(column.name.as_ref()))
}

/// The columns that an insert writes.
pub(crate) fn written_columns(table: &TableSchema, made: bool) -> impl Iterator<Item = usize> + '_ {
    table.written_columns().filter(move |place| !(made && table.key().contains(place)))
}

/// The text of an insert.
pub(crate) fn insert_text(
    connection: &Connection,
    table: &TableSchema,
    verb: Verb,
    rows: usize,
    made: bool,
) -> String {
    bobak_sql::insert(connection.product.dialect, table, verb, FieldSet::EMPTY, rows, made)
}

/// Advances the sequence of a table to a key that was given, so that it does not generate that key.
pub(crate) fn advance(connection: &mut Connection, table: &TableSchema, key: i64) -> Result<()> {
    let reached = connection.reached.get(&table.id()).copied().unwrap_or(0);
    if connection.product.kind != ProductKind::Postgres
        || table.key_generation() != KeyGeneration::Engine
        || key <= reached
    {
        return Ok(());
    }
    let Some(sequence) = sequence(table) else { return Ok(()) };
    let sql = format!(
        "SELECT setval({sequence}, {key}) WHERE {key} > coalesce(pg_sequence_last_value({sequence}), 0)"
    );
    connection.command(&sql)?;
    connection.reached.insert(table.id(), key);
    Ok(())
}

/// The sequence that generates a table's keys, as an expression.
fn sequence(table: &TableSchema) -> Option<String> {
    let column = table.key().first().and_then(|place| table.columns().get(*place))?;
    let text = |name: &str| name.replace('\'', "''");
    let name = text(&quote(Dialect::Postgres, table.name()));
    Some(format!("pg_get_serial_sequence('{name}', '{}')", text(&column.name)))
}

/// Advances the sequence of a table beyond all keys that are there.
fn resync(connection: &mut Connection, table: &TableSchema) -> Result<()> {
    let Some(column) = table.key().first().and_then(|place| table.columns().get(*place)) else {
        return Ok(());
    };
    let (name, key) =
        (quote(Dialect::Postgres, table.name()), quote(Dialect::Postgres, &column.name));
    let Some(sequence) = sequence(table) else { return Ok(()) };
    let sql = format!(
        "SELECT setval({sequence}, greatest((SELECT max({key}) FROM {name}), \
         coalesce(pg_sequence_last_value({sequence}), 1)))"
    );
    connection.each(Some(table), &sql, Vec::new(), None, &mut |_| Ok(true))
}

/// The query for the key that the database has made last, if the insert does not return it.
fn last_key_text(connection: &Connection, table: &TableSchema) -> Result<Option<&'static str>> {
    match (connection.product.kind, connection.product.dialect) {
        (ProductKind::Postgres, _) | (_, Dialect::MariaDb) => Ok(None),
        (ProductKind::Sqlite, _) => Ok(Some("SELECT last_insert_rowid()")),
        (ProductKind::MySql, _) => Ok(Some("SELECT LAST_INSERT_ID()")),
        (ProductKind::Other, _) => Err(no_generated_keys(table)),
    }
}

/// Whether an error is about the column of the key.
fn is_of_key(table: &TableSchema, error: &Error) -> bool {
    let key = table.key().first().and_then(|place| table.columns().get(*place));
    key.is_some_and(|column| error.message().contains(&format!("'{}'", column.name)))
}

#[cold]
fn not_found(table: &TableSchema) -> Error {
    Error::new(ErrorKind::NotFound, "no row has this key").in_table(table.name())
}

#[cold]
fn conflict(table: &TableSchema) -> Error {
    let message = "the row was changed since it was read: read it again";
    let error = Error::new(ErrorKind::Conflict, message).in_table(table.name());
    match table.version().and_then(|place| table.columns().get(place)) {
        Some(column) => error.in_column(column.name.as_ref()),
        None => error,
    }
}

#[cold]
fn no_generated_keys(table: &TableSchema) -> Error {
    let message = "Bobak does not know how this database returns the keys that it generates: give \
                   the row a key";
    Error::new(ErrorKind::Unsupported, message).in_table(table.name())
}

#[cold]
pub(crate) fn strange_keys(table: &TableSchema) -> Error {
    let message = "the database did not report the keys that it generated";
    Error::new(ErrorKind::Engine, message).in_table(table.name())
}

//! What each verb does with a row on a server, in statements.

use crate::{
    ServerWrite, StatementConnection, StatementDialect, StatementValue, check_row_length,
    check_version, in_column, is_of_key, needs_key, no_key_returned, no_such_row, none_if_beyond,
    reject_null, written_columns,
};
use bobak_core::{ErrorKind, GeneratedKey, Outcome, Result, TableSchema, ValueRef, Verb};

/// The statements of a write of one row. The caller makes those of one write atomic.
pub trait RowSteps: StatementConnection {
    /// Rejects a value that a column cannot have, before anything is sent.
    ///
    /// # Errors
    /// `Unsupported`, and others that say why.
    fn check_value(&self, _: &TableSchema, _: usize, _: ValueRef<'_>) -> Result<()> {
        Ok(())
    }

    /// Reads what [`check_value`](Self::check_value) must know of a table that is written to.
    ///
    /// # Errors
    /// Those of the server.
    fn prepare_checks(&mut self, _: &TableSchema) -> Result<()> {
        Ok(())
    }

    /// Rejects some values of a row.
    ///
    /// # Errors
    /// As [`check_value`](Self::check_value), with the column.
    fn check_values(
        &self,
        write: &ServerWrite<'_>,
        mut places: impl Iterator<Item = usize>,
    ) -> Result<()> {
        places.try_for_each(|place| {
            let checked = self.check_value(write.table, place, write.row.get(place));
            checked.map_err(|error| in_column(error, write.table, Some(place)))
        })
    }

    /// Rejects a row that the server would reject or change, before anything of it is written.
    ///
    /// # Errors
    /// `Constraint` if a required value is NULL; as [`check_value`](Self::check_value).
    fn check_row(&self, write: &ServerWrite<'_>) -> Result<()> {
        reject_null(write.table, write.row)?;
        self.check_values(write, 0..write.row.len())
    }

    /// The statement that inserts the row; without its key if the server makes that.
    fn insert_text(&self, write: &ServerWrite<'_>, made: bool) -> String {
        self.dialect().insert(write.table, made)
    }

    /// Inserts a row whose key the server makes; returns that.
    ///
    /// # Errors
    /// Those of the server.
    fn insert_for_key(
        &mut self,
        table: &TableSchema,
        sql: &str,
        values: &[StatementValue<'_>],
    ) -> Result<Option<i64>> {
        self.integers(Some((table, table.key())), sql, values).map(|mut keys| keys.pop())
    }

    /// Lets the keys that the server makes go on after one that a row was given.
    ///
    /// # Errors
    /// Those of the server.
    fn pass_key(&mut self, _: &TableSchema, _: i64) -> Result<()> {
        Ok(())
    }

    /// Lets the keys that the server makes go on after the largest one, since it has made one that exists; returns whether that
    /// can help.
    ///
    /// # Errors
    /// Those of the server.
    fn skip_keys(&mut self, _: &TableSchema) -> Result<bool> {
        Ok(false)
    }

    /// Inserts the row.
    ///
    /// # Errors
    /// Those of the server.
    fn insert_row(&mut self, write: &ServerWrite<'_>) -> Result<Outcome> {
        let made = needs_key(write.table, write.row);
        self.check_row(write)?;
        match self.insert_once(write, made) {
            // Rows were given keys, or another program has written them.
            Err(error) if made && is_of_key(write.table, &error) => {
                match self.skip_keys(write.table)? {
                    true => self.insert_once(write, made),
                    false => Err(error),
                }
            }
            other => other,
        }
    }

    /// Inserts the row: see [`insert_row`](Self::insert_row).
    ///
    /// # Errors
    /// Those of the server.
    fn insert_once(&mut self, write: &ServerWrite<'_>, made: bool) -> Result<Outcome> {
        let (table, sql) = (write.table, self.insert_text(write, made));
        let values: Vec<_> = write.stored(written_columns(table, made)).collect();
        if made {
            let key = self.insert_for_key(table, &sql, &values)?;
            let key = key.ok_or_else(|| no_key_returned(table))?;
            return Ok(Outcome::Inserted(Some(GeneratedKey::Int(key))));
        }
        self.run(Some(table), &sql, &values)?;
        self.pass_keys(table, &[*write])?;
        Ok(Outcome::Inserted(None))
    }

    /// Lets the keys that the server makes go on after the largest one of rows.
    ///
    /// # Errors
    /// As [`pass_key`](Self::pass_key).
    fn pass_keys(&mut self, table: &TableSchema, writes: &[ServerWrite<'_>]) -> Result<()> {
        let Some(&place) = table.key().first() else { return Ok(()) };
        let key = |write: &ServerWrite<'_>| match write.row.get(place) {
            ValueRef::Int(key) => Some(key),
            _ => None,
        };
        let largest = writes.iter().filter_map(key).max();
        largest.map_or(Ok(()), |largest| self.pass_key(table, largest))
    }

    /// Deletes the rows that are in the way of a new one.
    ///
    /// # Errors
    /// Those of the server.
    fn clear_row(&mut self, write: &ServerWrite<'_>) -> Result<()> {
        let (table, dialect) = (write.table, self.dialect());
        let text = dialect.delete_in_the_way(table, needs_key(table, write.row));
        let Some((sql, places)) = text else { return Ok(()) };
        self.run(Some(table), &sql, &write.compared(&dialect, &places)).map(drop)
    }

    /// Sets the fields of the row with the same values in the upsert's columns; `None` if there is none.
    ///
    /// # Errors
    /// Those of the server.
    fn overwrite_row(&mut self, write: &ServerWrite<'_>) -> Result<Option<Outcome>> {
        let (table, dialect) = (write.table, self.dialect());
        let columns = write.verb.conflict_columns(table);
        self.check_values(write, write.fields.iter())?;
        let sql = dialect.overwrite(table, write.fields, columns);
        let changed = self.run(Some(table), &sql, &write.assigned(&dialect, columns));
        let changed = none_if_beyond(changed, table, columns)?;
        if changed == 0 || write.verb == Verb::Upsert {
            return Ok((changed > 0).then_some(Outcome::Changed(1)));
        }
        let sql = dialect.get(table, table.key().iter().copied(), columns);
        let (by, mut outcome) = (write.compared(&dialect, columns), None);
        self.each(Some((table, table.key())), &sql, &by, &mut |row| {
            outcome = Some(Outcome::of_updated(table, |_| row.get(0)));
            Ok(true)
        })?;
        Ok(outcome)
    }

    /// Sets the fields of the row with the key.
    ///
    /// # Errors
    /// `NotFound`, `Conflict`; those of the server.
    fn update_row(&mut self, write: &ServerWrite<'_>) -> Result<Outcome> {
        let (table, dialect) = (write.table, self.dialect());
        self.check_values(write, write.fields.iter())?;
        let sql = dialect.update(table, write.fields);
        let changed = self.run(Some(table), &sql, &write.updated(&dialect));
        if none_if_beyond(changed, table, table.key())? > 0 {
            return Ok(Outcome::Changed(1));
        }
        // Why was there none?
        let unchanged = table.key().first().filter(|_| !Self::COUNTS_UNCHANGED);
        let Some(shown) = table.version().or(unchanged.copied()) else {
            return Err(no_such_row(table));
        };
        let sql = dialect.get(table, [shown], table.key());
        let (key, mut found) = (write.compared(&dialect, table.key()), Err(no_such_row(table)));
        self.each(Some((table, &[shown])), &sql, &key, &mut |row| {
            found = match table.version() {
                Some(version) => check_version(table, row.get(0), write.row.get(version)),
                None => Ok(()),
            };
            Ok(true)
        })?;
        match Self::COUNTS_UNCHANGED {
            // Of the version that was given: another has changed the row since.
            true => found.and_then(|()| Err(no_such_row(table))),
            false => found.map(|()| Outcome::Changed(1)),
        }
    }

    /// Deletes the row with the key.
    ///
    /// # Errors
    /// Those of the server.
    fn delete_row(&mut self, write: &ServerWrite<'_>) -> Result<Outcome> {
        let (table, dialect) = (write.table, self.dialect());
        let key = write.deleted_key(&dialect);
        let changed = self.run(Some(table), &dialect.delete(table), &key);
        none_if_beyond(changed, table, table.key()).map(|changed| Outcome::Changed(changed.min(1)))
    }

    /// Writes the row.
    ///
    /// # Errors
    /// As [`Session::write`](bobak_core::Session::write).
    fn write_row(&mut self, write: &ServerWrite<'_>) -> Result<Outcome> {
        let ServerWrite { table, verb, row, .. } = *write;
        check_row_length(table, verb, row)?;
        self.prepare_checks(table)?;
        match verb {
            Verb::Insert => self.insert_row(write),
            Verb::InsertOrReplace => {
                self.check_row(write)?;
                self.clear_row(write)?;
                self.insert_row(write)
            }
            Verb::InsertOrIgnore => match self.insert_row(write) {
                Err(error) if error.kind() == ErrorKind::Duplicate => Ok(Outcome::Ignored),
                other => other,
            },
            // Its key is new, so that there is no such row.
            Verb::Upsert if needs_key(table, row) => self.insert_row(write),
            Verb::Upsert | Verb::UpsertOn(_) => {
                self.check_row(write)?;
                if let Some(outcome) = self.overwrite_row(write)? {
                    return Ok(outcome);
                }
                match self.insert_row(write) {
                    // Another session was faster, unless it is about another value.
                    Err(error) if error.kind() == ErrorKind::Duplicate => {
                        self.overwrite_row(write)?.ok_or(error)
                    }
                    other => other,
                }
            }
            Verb::Update => self.update_row(write),
            Verb::Delete => self.delete_row(write),
        }
    }
}

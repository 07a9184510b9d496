//! What each verb does with a row on a server, in statements.

use crate::{ServerWrite, check_row_length, needs_key, reject_null};
use bobak_core::{ErrorKind, Outcome, Result, Verb};

/// The statements of a write of one row. The caller makes those of one write atomic.
pub trait RowSteps<C> {
    /// What is written.
    fn parts(&self) -> ServerWrite<'_>;

    /// Rejects a row that the server would reject or change, before anything of it is written.
    ///
    /// # Errors
    /// `Constraint` if a required value is NULL.
    fn check(&self) -> Result<()> {
        let ServerWrite { table, row, .. } = self.parts();
        reject_null(table, row)
    }

    /// Inserts the row.
    ///
    /// # Errors
    /// Those of the server.
    fn insert(&self, connection: &mut C) -> Result<Outcome>;

    /// Deletes the rows that are in the way of a new one.
    ///
    /// # Errors
    /// Those of the server.
    fn clear(&self, connection: &mut C) -> Result<()>;

    /// Sets the fields of the row with the same values in the upsert's columns; `None` if there is none.
    ///
    /// # Errors
    /// Those of the server.
    fn overwrite(&self, connection: &mut C) -> Result<Option<Outcome>>;

    /// Sets the fields of the row with the key.
    ///
    /// # Errors
    /// `NotFound`, `Conflict`; those of the server.
    fn update(&self, connection: &mut C) -> Result<Outcome>;

    /// Deletes the row with the key.
    ///
    /// # Errors
    /// Those of the server.
    fn delete(&self, connection: &mut C) -> Result<Outcome>;

    /// Writes the row.
    ///
    /// # Errors
    /// As [`Session::write`](bobak_core::Session::write).
    fn run(&self, connection: &mut C) -> Result<Outcome> {
        let ServerWrite { table, verb, row, .. } = self.parts();
        check_row_length(table, verb, row)?;
        match verb {
            Verb::Insert => self.insert(connection),
            Verb::InsertOrReplace => {
                self.check()?;
                self.clear(connection)?;
                self.insert(connection)
            }
            Verb::InsertOrIgnore => match self.insert(connection) {
                Err(error) if error.kind() == ErrorKind::Duplicate => Ok(Outcome::Ignored),
                other => other,
            },
            // Its key is new, so that there is no such row.
            Verb::Upsert if needs_key(table, row) => self.insert(connection),
            Verb::Upsert | Verb::UpsertOn(_) => {
                self.check()?;
                if let Some(outcome) = self.overwrite(connection)? {
                    return Ok(outcome);
                }
                match self.insert(connection) {
                    // Another session was faster, unless it is about another value.
                    Err(error) if error.kind() == ErrorKind::Duplicate => {
                        self.overwrite(connection)?.ok_or(error)
                    }
                    other => other,
                }
            }
            Verb::Update => self.update(connection),
            Verb::Delete => self.delete(connection),
        }
    }
}

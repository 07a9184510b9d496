//! Batches on a server: rows that are sent together, and in halves if one of them fails, until it is found.

use crate::{ServerOperations, is_row_error};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    FieldSet, Interrupt, OnError, Outcome, Result, Row, Run, TableSchema, Verb, Write,
};

/// A write of one row, in whatever form the row is.
#[derive(Clone, Copy)]
pub struct ServerWrite<'a> {
    /// The table.
    pub table: &'a TableSchema,
    /// What happens.
    pub verb: Verb,
    /// For updates and upserts: the columns that are set.
    pub fields: FieldSet,
    /// As [`Write::values`].
    pub row: &'a dyn Row,
}

impl<'a> ServerWrite<'a> {
    /// A write of a session.
    #[must_use]
    pub fn of(write: &'a Write<'_>) -> Self {
        let Write { table, verb, fields, ref values } = *write;
        Self { table, verb, fields, row: values }
    }

    /// A row of a batch.
    #[must_use]
    pub fn in_run(run: &Run<'a>, row: &'a dyn Row) -> Self {
        Self { table: run.table, verb: run.verb, fields: run.fields, row }
    }
}

impl std::fmt::Debug for ServerWrite<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerWrite")
            .field("table", &self.table.name())
            .field("verb", &self.verb)
            .finish_non_exhaustive()
    }
}

/// Writes rows: all of them, or none.
pub type WriteTogether<'w, C> = dyn FnMut(&mut C, &[EncodedRow<'_>]) -> Result<Vec<Outcome>> + 'w;

/// A batch that is sent in an open transaction. After an error the caller undoes what was done.
pub struct ServerBatch<'c, C> {
    /// Where it is sent.
    pub connection: &'c mut C,
    /// What happens after a row that fails.
    pub on_error: OnError,
    /// Gets the outcome of each row.
    pub each: &'c mut dyn FnMut(Result<Outcome>),
}

impl<C: ServerOperations> ServerBatch<'_, C> {
    /// Sends rows of a run, of which `first` is the first one's number, one by one.
    ///
    /// # Errors
    /// That of a row, if the batch stops there; those of the connection.
    pub fn singly(&mut self, run: &Run<'_>, rows: &[EncodedRow<'_>], first: u64) -> Result<()> {
        for (number, row) in (first..).zip(rows) {
            Interrupt::check()?;
            let row = ServerWrite { table: run.table, verb: run.verb, fields: run.fields, row };
            match self.single(&row).map_err(|error| error.at_row(number)) {
                Err(error)
                    if self.on_error == OnError::Stop
                        || !is_row_error(error.kind())
                        || self.connection.has_ended(&error) =>
                {
                    return Err(error);
                }
                outcome => (self.each)(outcome),
            }
        }
        Ok(())
    }

    /// Writes a row. One of several steps that fails must leave nothing, if the batch goes on without it.
    ///
    /// # Errors
    /// As [`Session::write`](bobak_core::Session::write).
    pub fn single(&mut self, row: &ServerWrite<'_>) -> Result<Outcome> {
        match C::has_steps(row.verb)
            && self.on_error == OnError::Continue
            && self.connection.has_savepoints()
        {
            true => self.connection.undoing(|connection| connection.write(row)),
            false => self.connection.write(row),
        }
    }

    /// Sends rows of a run by `together`, which writes all or none; fewer than `few` one by one. If one of them is wrong, it
    /// sends each half.
    ///
    /// # Errors
    /// As [`singly`](Self::singly).
    pub fn in_halves(
        &mut self,
        run: &Run<'_>,
        rows: &[EncodedRow<'_>],
        first: u64,
        few: usize,
        together: &mut WriteTogether<'_, C>,
    ) -> Result<()> {
        Interrupt::check()?;
        if rows.len() < few.max(2) {
            return self.singly(run, rows, first);
        }
        match together(self.connection, rows) {
            Ok(outcomes) => {
                outcomes.into_iter().for_each(|outcome| (self.each)(Ok(outcome)));
                Ok(())
            }
            Err(error)
                if self.connection.may_be_of_row(&error) && !self.connection.has_ended(&error) =>
            {
                let (left, right) = rows.split_at(rows.len() / 2);
                self.in_halves(run, left, first, few, together)?;
                self.in_halves(run, right, first + left.len() as u64, few, together)
            }
            Err(error) => Err(error),
        }
    }
}

//! Batches on a server: rows that are sent together, and in halves if one of them fails, until it is found.

use crate::{ServerOperations, StatementDialect, StatementValue, is_row_error, needs_key};
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

    /// Values of columns, as they are stored.
    pub fn stored(
        &self,
        places: impl IntoIterator<Item = usize>,
    ) -> impl Iterator<Item = StatementValue<'a>> {
        let Self { table, row, .. } = *self;
        places.into_iter().map(|place| StatementValue::new(table, place, row.get(place)))
    }

    /// Values of columns by which rows are found.
    pub fn compared<D: StatementDialect>(
        &self,
        dialect: &D,
        places: &[usize],
    ) -> Vec<StatementValue<'a>> {
        let of = |&place: &usize| dialect.compared(self.table, place, self.row.get(place));
        places.iter().map(of).collect()
    }

    /// The key of a row that is deleted, which has no other values.
    pub fn deleted_key<D: StatementDialect>(&self, dialect: &D) -> Vec<StatementValue<'a>> {
        let key = self.table.key().iter().enumerate();
        key.map(|(at, &place)| dialect.compared(self.table, place, self.row.get(at))).collect()
    }

    /// The fields as they are set, then the columns by which the row is found.
    pub fn assigned<D: StatementDialect>(
        &self,
        dialect: &D,
        columns: &[usize],
    ) -> Vec<StatementValue<'a>> {
        self.stored(self.fields.iter()).chain(self.compared(dialect, columns)).collect()
    }

    /// The values of an update: the fields, the key, and the version if there is one.
    pub fn updated<D: StatementDialect>(&self, dialect: &D) -> Vec<StatementValue<'a>> {
        let mut values = self.assigned(dialect, self.table.key());
        values.extend(self.stored(self.table.version()));
        values
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
    /// Sends the rows of a run: in parts, or one by one where the server has no better way.
    ///
    /// # Errors
    /// As [`singly`](Self::singly).
    pub fn send_run(&mut self, run: &Run<'_>) -> Result<()> {
        let rows: Vec<EncodedRow<'_>> = run.iter().collect();
        let is_made = |row: &EncodedRow<'_>| run.verb != Verb::Delete && needs_key(run.table, row);
        let mut number = run.first;
        for alike in rows.chunk_by(|a, b| is_made(a) == is_made(b)) {
            let (made, mut rest) = (alike.first().is_some_and(is_made), alike);
            while !rest.is_empty() {
                let (length, is_together) = self.connection.part(run, rest, made);
                let (part, later) = rest.split_at(length.clamp(1, rest.len()));
                match is_together {
                    true => C::send_part(self, run, part, (number, made))?,
                    false => self.singly(run, part, number)?,
                }
                number += part.len() as u64;
                rest = later;
            }
        }
        Ok(())
    }

    /// Sends rows of a run, of which `first` is the first one's number, one by one.
    ///
    /// # Errors
    /// That of a row, if the batch stops there; those of the connection.
    pub fn singly(&mut self, run: &Run<'_>, rows: &[EncodedRow<'_>], first: u64) -> Result<()> {
        for (number, row) in (first..).zip(rows) {
            Interrupt::check()?;
            let row = ServerWrite::in_run(run, row);
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
            true => self.connection.undoing(|connection| connection.write_row(row)),
            false => self.connection.write_row(row),
        }
    }

    /// Sends rows of a run together, all or none; a few one by one. If one of them is wrong, it sends each half.
    ///
    /// # Errors
    /// As [`singly`](Self::singly).
    pub fn in_halves(
        &mut self,
        run: &Run<'_>,
        rows: &[EncodedRow<'_>],
        (first, made): (u64, bool),
    ) -> Result<()> {
        Interrupt::check()?;
        if rows.len() < C::FEW.max(2) {
            return self.singly(run, rows, first);
        }
        let writes: Vec<_> = rows.iter().map(|row| ServerWrite::in_run(run, row)).collect();
        match self.connection.send_together(run, &writes, made) {
            Ok(outcomes) => {
                outcomes.into_iter().for_each(|outcome| (self.each)(Ok(outcome)));
                Ok(())
            }
            Err(error)
                if self.connection.may_be_of_row(&error) && !self.connection.has_ended(&error) =>
            {
                let (left, right) = rows.split_at(rows.len() / 2);
                self.in_halves(run, left, (first, made))?;
                self.in_halves(run, right, (first + left.len() as u64, made))
            }
            Err(error) => Err(error),
        }
    }
}

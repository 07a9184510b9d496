//! Cursors: queries whose rows are fetched a part at a time.
//!
//! Outside a transaction, on a file with readers, a cursor has a reading connection to itself until
//! its rows are read: SQLite keeps it at the state of its first step. With a rollback journal it
//! has it until the next write (see [`standing`](crate::standing)). On the writing (or single)
//! connection its statement stays open beside other work; before the first write it is read to its
//! end into memory ("spilled"), since SQLite does not say what an open statement sees of a write,
//! and a rollback ends it.

use crate::connection::Connection;
use crate::error::{misuse, translate};
use crate::ffi::StatementId;
use crate::gate::{Lease, Pool};
use crate::standing::Standing;
use bobak_core::{Error, ErrorKind, Result, RowBuffer, Value};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// About how many bytes a part has.
const PART: usize = 64 * 1024;

/// A session's cursor.
#[derive(Debug)]
pub(crate) struct OpenCursor<'e> {
    /// What was read ahead.
    ready: VecDeque<RowBuffer>,
    rest: Rest<'e>,
}

/// Where the rows that were not read yet come from.
#[derive(Debug)]
enum Rest<'e> {
    /// There are none.
    Nothing,
    /// A reader of its own.
    Own(OwnReader<'e>),
    /// A reader of its own until somebody writes.
    Standing(Arc<Standing>, &'e Pool),
    /// A statement on the connection that all share.
    Shared(Arc<Shared>),
}

/// A reading connection on which nothing but this statement runs.
#[derive(Debug)]
struct OwnReader<'e> {
    lease: Lease<'e>,
    statement: StatementId,
    text: Box<str>,
}

/// A statement on a shared connection: known to its session, and to its connection, which spills
/// it. Its lock is never held while a connection is waited for.
#[derive(Debug)]
pub(crate) struct Shared {
    text: Box<str>,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Running(StatementId),
    /// Read to its end, or to an error, which the last fetch gives.
    Spilled(VecDeque<RowBuffer>, Option<Error>),
    Closed,
}

/// What a fetch needs besides the cursor.
pub(crate) enum Fetched {
    /// Nothing: the rows are there, none where there are no more.
    Done,
    /// The shared connection, to step this on.
    NeedsConnection(Arc<Shared>),
}

impl<'e> OpenCursor<'e> {
    /// Starts the query on a reader of its own, and reads the first part: from that step on the
    /// rows are those of this moment.
    pub(crate) fn on_reader(
        mut lease: Lease<'e>,
        text: &str,
        values: &[Value<'_>],
    ) -> Result<(Self, Vec<String>)> {
        let (statement, names) = begin(&mut lease, text, values)?;
        let text = text.into();
        let mut own = OwnReader { lease, statement, text };
        let mut first = RowBuffer::default();
        let more = fill(&mut own.lease, statement, &mut first)?;
        let rest = if more { Rest::Own(own) } else { Rest::Nothing };
        let ready = VecDeque::from([first]);
        Ok((Self { ready, rest }, names))
    }

    /// As [`on_reader`](Self::on_reader), where a reader keeps the writer from its commit.
    pub(crate) fn on_standing_reader(
        mut lease: Lease<'e>,
        pool: &'e Pool,
        text: &str,
        values: &[Value<'_>],
    ) -> Result<(Self, Vec<String>)> {
        let (statement, names) = begin(&mut lease, text, values)?;
        let mut first = RowBuffer::default();
        let rest = match fill(&mut lease, statement, &mut first) {
            Ok(true) => {
                let rows = Shared::new(text, statement);
                Rest::Standing(Standing::start(pool, lease, rows), pool)
            }
            other => {
                end(&mut lease, text, statement);
                other.map(|_| Rest::Nothing)?
            }
        };
        let ready = VecDeque::from([first]);
        Ok((Self { ready, rest }, names))
    }

    /// Starts the query on a connection that others use too.
    pub(crate) fn on_shared(
        connection: &mut Connection,
        text: &str,
        values: &[Value<'_>],
    ) -> Result<(Self, Vec<String>)> {
        let (statement, names) = begin(connection, text, values)?;
        let mut first = RowBuffer::default();
        let filled = fill(connection, statement, &mut first);
        let rest = match filled {
            Ok(true) => {
                let shared = Arc::new(Shared::new(text, statement));
                connection.add_cursor(Arc::clone(&shared));
                Rest::Shared(shared)
            }
            other => {
                end(connection, text, statement);
                other.map(|_| Rest::Nothing)?
            }
        };
        let ready = VecDeque::from([first]);
        Ok((Self { ready, rest }, names))
    }

    /// Runs a statement that writes to its end, and keeps its rows.
    pub(crate) fn of_write(
        connection: &mut Connection,
        text: &str,
        values: &[Value<'_>],
    ) -> Result<(Self, Vec<String>)> {
        let (statement, names) = begin(connection, text, values)?;
        let mut ready = VecDeque::new();
        let result = fill_all(connection, statement, &mut ready);
        end(connection, text, statement);
        result?;
        let rest = Rest::Nothing;
        Ok((Self { ready, rest }, names))
    }

    /// The next rows into `rows`, as far as that goes without the shared connection.
    pub(crate) fn fetch(&mut self, rows: &mut RowBuffer) -> Result<Fetched> {
        if let Some(part) = self.ready.pop_front() {
            *rows = part;
            return Ok(Fetched::Done);
        }
        let more = match &mut self.rest {
            Rest::Nothing => return Ok(Fetched::Done),
            Rest::Own(own) => fill(&mut own.lease, own.statement, rows),
            Rest::Standing(standing, pool) => standing.fetch(pool, rows).map(|()| rows.rows() > 0),
            Rest::Shared(shared) => match shared.take_part(rows) {
                Some(taken) => taken.map(|()| true),
                None => return Ok(Fetched::NeedsConnection(Arc::clone(shared))),
            },
        };
        if !matches!(more, Ok(true)) {
            self.rest = Rest::Nothing;
        }
        more.map(|_| Fetched::Done)
    }

    /// The statement on the shared connection, where there is one, to be closed there.
    pub(crate) fn into_shared(self) -> Option<Arc<Shared>> {
        match &self.rest {
            Rest::Shared(shared) => Some(Arc::clone(shared)),
            Rest::Nothing | Rest::Own(_) | Rest::Standing(..) => None,
        }
    }
}

impl Drop for OpenCursor<'_> {
    fn drop(&mut self) {
        if let Rest::Standing(standing, pool) = &self.rest {
            standing.close(pool);
        }
    }
}

impl Drop for OwnReader<'_> {
    fn drop(&mut self) {
        end(&mut self.lease, &self.text, self.statement);
    }
}

impl Shared {
    pub(crate) fn new(text: &str, statement: StatementId) -> Self {
        Self { text: text.into(), state: Mutex::new(State::Running(statement)) }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(*self.lock(), State::Running(_))
    }

    /// Reads the next part on the connection.
    pub(crate) fn fetch(&self, connection: &mut Connection, rows: &mut RowBuffer) -> Result<()> {
        let mut state = self.lock();
        let State::Running(statement) = *state else {
            drop(state);
            return self.take_part(rows).unwrap_or(Ok(()));
        };
        let more = fill(connection, statement, rows);
        if !matches!(more, Ok(true)) {
            end(connection, &self.text, statement);
            *state = State::Closed;
        }
        more.map(|_| ())
    }

    /// Reads all that is left into memory.
    pub(crate) fn spill(&self, connection: &mut Connection) {
        let mut state = self.lock();
        if let State::Running(statement) = *state {
            let mut parts = VecDeque::new();
            let error = fill_all(connection, statement, &mut parts).err();
            end(connection, &self.text, statement);
            *state = State::Spilled(parts, error);
        }
    }

    /// Gives the statement back.
    pub(crate) fn close(&self, connection: &mut Connection) {
        let mut state = self.lock();
        if let State::Running(statement) = *state {
            end(connection, &self.text, statement);
        }
        *state = State::Closed;
    }

    /// A part that was spilled; `None` while the statement is running.
    pub(crate) fn take_part(&self, rows: &mut RowBuffer) -> Option<Result<()>> {
        match &mut *self.lock() {
            State::Running(_) => None,
            State::Spilled(parts, error) => match parts.pop_front() {
                Some(part) => {
                    *rows = part;
                    Some(Ok(()))
                }
                None => Some(error.take().map_or(Ok(()), Err)),
            },
            State::Closed => Some(Ok(())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the statement, and begins it with copies of the values; gives its columns' names.
fn begin(
    connection: &mut Connection,
    text: &str,
    values: &[Value<'_>],
) -> Result<(StatementId, Vec<String>)> {
    let statement = connection.take_text_statement(text)?;
    let begun = connection.check_parameters(statement, values.len()).and_then(|()| {
        let values = values.iter().map(Value::as_ref);
        connection.db.begin(statement, values).map_err(|failure| translate(failure, None))
    });
    match begun {
        Ok(()) => Ok((statement, connection.db.column_names(statement))),
        Err(error) => {
            end(connection, text, statement);
            Err(error)
        }
    }
}

fn end(connection: &mut Connection, text: &str, statement: StatementId) {
    connection.db.reset(statement);
    connection.keep_text(text, statement);
}

/// Steps until `rows` is about a part; `false` where the rows have ended.
fn fill(connection: &mut Connection, statement: StatementId, rows: &mut RowBuffer) -> Result<bool> {
    while rows.bytes() < PART {
        match connection.db.step(statement) {
            Ok(Some(row)) => rows.push(&row)?,
            Ok(None) => return Ok(false),
            Err(failure) => return Err(translate(failure, None)),
        }
    }
    Ok(true)
}

fn fill_all(
    connection: &mut Connection,
    statement: StatementId,
    parts: &mut VecDeque<RowBuffer>,
) -> Result<()> {
    let mut bytes = 0;
    loop {
        let mut part = RowBuffer::default();
        let more = fill(connection, statement, &mut part)?;
        bytes += part.bytes();
        if bytes > connection.max_ahead {
            let message = format!(
                "over {} bytes of its rows were not fetched yet when they had to be kept in memory, \
                 since the session wrote or its transaction ended: fetch them before, read in a \
                 session of their own, or raise `max_ahead`",
                connection.max_ahead
            );
            parts.clear();
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
        if part.rows() > 0 {
            parts.push_back(part);
        }
        if !more {
            return Ok(());
        }
    }
}

/// The error of a cursor that is not open.
pub(crate) fn not_open() -> Error {
    misuse("the cursor is not open")
}

//! Cursors: queries whose rows are fetched in parts.
//! | Outside transactions, a cursor of a file has a reading connection to itself until its rows
//! are read: SQLite keeps the state of its first step. With a rollback journal it has the
//! connection until the next write (see [`active_cursors`](crate::pool)). On the writing (or
//! only) connection, its statement runs next to other statements; before the first write its
//! remaining rows are read into memory, since SQLite does not define what a running statement
//! sees of a write, and a rollback aborts it.

use super::SqliteSession;
use super::query::SqlText;
use super::session_connection::{AccessMode, SessionConnection};
use crate::connection::Connection;
use crate::connection::shared_cursor::{SharedCursor, begin, end, fill, fill_all};
use crate::connection::typed_text_cache::TypedText;
use crate::error::misuse;
use crate::ffi::StatementId;
use crate::pool::ActiveCursor;
use crate::pool::{Pool, PooledConnection};
use bobak_core::{Error, Result, RowBuffer, Value};
use std::collections::VecDeque;
use std::sync::Arc;

/// A session's open cursor.
#[derive(Debug)]
pub(crate) struct OpenCursor<'e> {
    /// Parts that were read ahead.
    ready: VecDeque<RowBuffer>,
    rest: Rest<'e>,
}

/// Where the remaining rows come from.
#[derive(Debug)]
enum Rest<'e> {
    /// There are none.
    Nothing,
    /// A reading connection of its own.
    Own(OwnReader<'e>),
    /// A reading connection of its own, until a write needs it.
    ActiveCursor(Arc<ActiveCursor>, &'e Pool),
    /// A statement on a shared connection.
    Shared(Arc<SharedCursor>),
}

/// A reading connection that runs this statement only.
#[derive(Debug)]
struct OwnReader<'e> {
    pooled: PooledConnection<'e>,
    statement: StatementId,
    text: Box<str>,
}

/// What a fetch needs in addition to the cursor.
pub(crate) enum FetchOutput {
    /// Nothing: the rows are there; none at the end.
    Done,
    /// The shared connection, to continue this query.
    NeedsConnection(Arc<SharedCursor>),
}

/// A cursor over an SQL text, the names of its columns, and what is known about their types.
type OpenedText<'e> = (OpenCursor<'e>, Vec<String>, Arc<TypedText>);

impl<'e> SqliteSession<'e> {
    /// Opens a cursor. Returns the names of its columns, and their types if they are known.
    pub(super) fn open_cursor(
        &self,
        text: SqlText<'_>,
        values: &[Value<'_>],
    ) -> Result<OpenedText<'e>> {
        let (mut using, typed) = self.text_connection(AccessMode::Read, text)?;
        let sql = typed.text(text.sql);
        if !Self::reads_only(&mut using, sql)? {
            drop(using);
            let mut opened = None;
            self.text_atomically(text, |connection, sql| {
                opened = Some(OpenCursor::of_write(connection, sql, values)?);
                Ok(())
            })?;
            let (cursor, names) = opened.ok_or_else(not_open)?;
            return Ok((cursor, names, typed));
        }
        let (cursor, names) = self.open_reading(using, sql, values)?;
        Ok((cursor, names, typed))
    }

    pub(super) fn open_reading(
        &self,
        mut using: SessionConnection<'_, 'e>,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<(OpenCursor<'e>, Vec<String>)> {
        if using.in_transaction() || self.engine.is_single() {
            return OpenCursor::on_shared(using.get(), sql, values);
        }
        match (using.pooled.take(), self.engine.blocking_readers()) {
            (Some(pooled), None) => OpenCursor::on_reader(pooled, sql, values),
            (Some(pooled), Some(pool)) => OpenCursor::on_pinned_reader(pooled, pool, sql, values),
            (None, _) => Err(not_open()),
        }
    }
}

impl<'e> OpenCursor<'e> {
    /// Starts the query on a reading connection of its own, and reads the first part, which fixes
    /// the state that the cursor sees.
    pub(crate) fn on_reader(
        mut pooled: PooledConnection<'e>,
        text: &str,
        values: &[Value<'_>],
    ) -> Result<(Self, Vec<String>)> {
        let (statement, names) = begin(&mut pooled, text, values)?;
        let text = text.into();
        let mut own = OwnReader { pooled, statement, text };
        let mut first = RowBuffer::default();
        let more = fill(&mut own.pooled, statement, &mut first)?;
        let rest = if more { Rest::Own(own) } else { Rest::Nothing };
        let ready = VecDeque::from([first]);
        Ok((Self { ready, rest }, names))
    }

    /// As [`on_reader`](Self::on_reader), if readers block commits.
    pub(crate) fn on_pinned_reader(
        mut pooled: PooledConnection<'e>,
        pool: &'e Pool,
        text: &str,
        values: &[Value<'_>],
    ) -> Result<(Self, Vec<String>)> {
        let (statement, names) = begin(&mut pooled, text, values)?;
        let mut first = RowBuffer::default();
        let rest = match fill(&mut pooled, statement, &mut first) {
            Ok(true) => {
                let rows = SharedCursor::new(text, statement);
                Rest::ActiveCursor(ActiveCursor::start(pool, pooled, rows), pool)
            }
            other => {
                end(&mut pooled, text, statement);
                other.map(|_| Rest::Nothing)?
            }
        };
        let ready = VecDeque::from([first]);
        Ok((Self { ready, rest }, names))
    }

    /// Starts the query on a connection that also runs other statements.
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
                let shared = Arc::new(SharedCursor::new(text, statement));
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

    /// Runs a statement that writes, and keeps its rows.
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

    /// Fetches the next rows, as far as possible without the shared connection.
    pub(crate) fn fetch(&mut self, rows: &mut RowBuffer) -> Result<FetchOutput> {
        if let Some(part) = self.ready.pop_front() {
            *rows = part;
            return Ok(FetchOutput::Done);
        }
        let more = match &mut self.rest {
            Rest::Nothing => return Ok(FetchOutput::Done),
            Rest::Own(own) => fill(&mut own.pooled, own.statement, rows),
            Rest::ActiveCursor(active, pool) => active.fetch(pool, rows).map(|()| rows.rows() > 0),
            Rest::Shared(shared) => match shared.take_part(rows) {
                Some(taken) => taken.map(|()| true),
                None => return Ok(FetchOutput::NeedsConnection(Arc::clone(shared))),
            },
        };
        if !matches!(more, Ok(true)) {
            self.rest = Rest::Nothing;
        }
        more.map(|_| FetchOutput::Done)
    }

    /// The query on the shared connection, if there is one, to be closed there.
    pub(crate) fn into_shared(self) -> Option<Arc<SharedCursor>> {
        match &self.rest {
            Rest::Shared(shared) => Some(Arc::clone(shared)),
            Rest::Nothing | Rest::Own(_) | Rest::ActiveCursor(..) => None,
        }
    }
}

impl Drop for OpenCursor<'_> {
    fn drop(&mut self) {
        if let Rest::ActiveCursor(active, pool) = &self.rest {
            active.close(pool);
        }
    }
}

impl Drop for OwnReader<'_> {
    fn drop(&mut self) {
        end(&mut self.pooled, &self.text, self.statement);
    }
}

/// The error of a cursor that is not open.
pub(crate) fn not_open() -> Error {
    misuse("the cursor is not open")
}

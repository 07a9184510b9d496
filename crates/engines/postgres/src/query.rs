//! Reading rows: by key, and by queries, a part at a time so that memory stays constant.

use crate::connection::{Connection, Prepared};
use crate::error::locate;
use crate::facts::SQL;
use crate::message::{self, Message};
use crate::outcome::is_utility;
use crate::row::Spans;
use crate::state::{GUARD, State, UNGUARD};
use crate::value::Outside;
use crate::{error, sql_text};
use bobak_core::{Error, ErrorKind, Result, Row, Source, TableSchema, Value};
use std::sync::Arc;

/// A question, ready to be asked.
pub(crate) struct Question<'a> {
    pub prepared: Arc<Prepared>,
    pub parameters: Vec<Value<'a>>,
    pub table: Option<&'a Arc<TableSchema>>,
    /// Whether it may fail while it runs, so that a transaction needs a mark round it.
    pub may_fail: bool,
}

/// How many rows are asked for first; then as many as make about so many bytes.
const FIRST: u32 = 64;
/// Of a query, whose rows are handed out as they come: what is passed over where nobody wants more.
const STREAMED: usize = 8 << 20;
/// Of a cursor, which keeps them.
pub(crate) const KEPT: usize = 1 << 20;
/// The most rows of a part.
const MOST: usize = 200_000;

/// The row with a key.
///
/// # Errors
/// As [`Session::get`](bobak_core::Session::get).
pub(crate) fn get(
    state: &mut State<'_>,
    connection: &mut Connection,
    table: &Arc<TableSchema>,
    key: &[Value<'_>],
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<bool> {
    match get_once(state, connection, table, key, row) {
        Err(error) if is_outdated(&error) && !state.open => {
            get_once(state, connection, table, key, row)
        }
        done => done,
    }
}

/// Whether a table was changed beside the engine since the statement was prepared: no row has been
/// handed out then.
fn is_outdated(error: &Error) -> bool {
    error::server(error).is_some_and(|said| said.code() == "0A000")
}

fn get_once(
    state: &mut State<'_>,
    connection: &mut Connection,
    table: &Arc<TableSchema>,
    key: &[Value<'_>],
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<bool> {
    let facts = state.facts(connection, table)?;
    let prepared = state.prepare(connection, &facts.texts.get, &[])?;
    let value = |place: usize| key.get(place).map_or_else(Default::default, Value::as_ref);
    connection.bind(&prepared, "", Outside::Infinite, value).map_err(|e| plain(e, Some(table)))?;
    connection.execute("", 0);
    connection.sync();
    connection.send("asking for a row")?;
    let mut found = false;
    let mut spans = std::mem::take(&mut state.spans);
    let done = connection.finish(|message| match message {
        Message::Row(body) => {
            found = true;
            row(&spans.of(body, &prepared.columns))
        }
        _ => Ok(()),
    });
    state.spans = spans;
    state
        .settle(connection, done)
        .map_err(|e| if error::server(&e).is_some() { locate(e, table) } else { e })?;
    Ok(found)
}

/// Hands out the rows of a source.
///
/// # Errors
/// As [`Session::query`](bobak_core::Session::query).
pub(crate) fn run(
    state: &mut State<'_>,
    connection: &mut Connection,
    source: &Source<'_>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    match run_once(state, connection, source, row) {
        Err(error) if is_outdated(&error) && !state.open => {
            run_once(state, connection, source, row)
        }
        done => done,
    }
}

fn run_once(
    state: &mut State<'_>,
    connection: &mut Connection,
    source: &Source<'_>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let question = question(state, connection, source)?;
    let guarded = state.open && question.may_fail;
    if guarded {
        connection.utility(GUARD);
    }
    question.bind(connection, "")?;
    let mut spans = std::mem::take(&mut state.spans);
    let done = hand_out(connection, &question, &mut spans, row, guarded);
    state.spans = spans;
    state.settle(connection, done).map_err(|error| question.locate(error))
}

/// Part after part, until there are no more rows or nobody wants them.
fn hand_out(
    connection: &mut Connection,
    question: &Question<'_>,
    spans: &mut Spans,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    guarded: bool,
) -> Result<()> {
    // An aggregate gives few rows, and the server may use several processes for all of them only.
    let mut rows = if question.may_fail { 0 } else { FIRST };
    loop {
        connection.execute("", rows);
        message::flush(&mut connection.out);
        connection.send("asking for rows")?;
        let mut part = Part::default();
        let end = read_part(connection, &mut part, |body| {
            row(&spans.of(body, &question.prepared.columns))
        });
        match end {
            Ok(Ended::More) => rows = part.next(STREAMED),
            Ok(Ended::Enough | Ended::All) => break,
            Err(error) => {
                return Err(close(connection, Some(error), guarded).err().unwrap_or_else(nothing));
            }
        }
    }
    close(connection, None, guarded)
}

/// Ends the portal, and the statement's transaction where it had one of its own.
fn close(connection: &mut Connection, error: Option<Error>, guarded: bool) -> Result<()> {
    if connection.is_broken {
        return error.map_or(Ok(()), Err);
    }
    if guarded && error.as_ref().is_none_or(|error| crate::error::server(error).is_none()) {
        connection.utility(UNGUARD);
    }
    connection.sync();
    connection.send("ending a query")?;
    let done = connection.finish(|_| Ok(()));
    error.map_or(done, Err)
}

fn nothing() -> Error {
    Error::new(ErrorKind::Engine, "the query ended without a reason")
}

/// What a part was like.
#[derive(Default)]
pub(crate) struct Part {
    pub rows: usize,
    pub bytes: usize,
}

impl Part {
    /// How many rows the next one should have, for about so many bytes.
    pub fn next(&self, bytes: usize) -> u32 {
        let each = (self.bytes / self.rows.max(1)).max(1);
        (bytes / each).clamp(1, MOST) as u32
    }
}

/// Why a part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// There are more rows.
    More,
    /// Nobody wants more.
    Enough,
    /// There are no more.
    All,
}

/// Reads the rows of one part; those that nobody wants are passed over. After an error that is not
/// the server's the part is read to its end all the same.
///
/// # Errors
/// Those of the server, the line and `row`.
pub(crate) fn read_part(
    connection: &mut Connection,
    part: &mut Part,
    mut row: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<Ended> {
    let _stoppable = connection.stoppable();
    let mut wanted = true;
    let mut failed = None;
    loop {
        let ended = match connection.next() {
            Ok(Message::Row(body)) => {
                part.rows += 1;
                part.bytes += body.len();
                if wanted {
                    match row(body) {
                        Ok(more) => wanted = more,
                        Err(error) => {
                            failed = Some(error);
                            wanted = false;
                        }
                    }
                }
                continue;
            }
            Ok(Message::More) => Ended::More,
            Ok(Message::Done(tag)) if is_utility(tag) => continue,
            Ok(Message::Done(_)) => Ended::All,
            Ok(Message::Error(body)) => {
                return Err(crate::error::ServerError::parse(body).into_error());
            }
            Ok(_) => continue,
            // The line is given up: what the server still sends can't be told from what is to come.
            Err(lost) => return Err(lost.error),
        };
        return match failed {
            Some(error) => Err(error),
            None if !wanted => Ok(Ended::Enough),
            None => Ok(ended),
        };
    }
}

/// The statement of a source, prepared.
///
/// # Errors
/// Those of the server and the line.
pub(crate) fn question<'a>(
    state: &mut State<'_>,
    connection: &mut Connection,
    source: &Source<'a>,
) -> Result<Question<'a>> {
    match *source {
        Source::Select(select) => {
            let statement = bobak_sql::select(SQL, select);
            let prepared = state
                .prepare(connection, &statement.text, &[])
                .map_err(|error| locate(error, &select.table))?;
            let parameters = statement.parameters;
            let (table, may_fail) = (Some(&select.table), select.is_grouped());
            Ok(Question { prepared, parameters, table, may_fail })
        }
        Source::Sql { text, parameters } => {
            let prepared = sql_text::prepare(state, connection, text, parameters)?;
            let parameters = parameters.to_vec();
            Ok(Question { prepared, parameters, table: None, may_fail: true })
        }
    }
}

impl Question<'_> {
    /// Appends the request that binds it to a portal.
    ///
    /// # Errors
    /// Those of a value that can't be sent.
    pub fn bind(&self, connection: &mut Connection, portal: &str) -> Result<()> {
        let value =
            |place: usize| self.parameters.get(place).map_or_else(Default::default, Value::as_ref);
        let bound = connection.bind(&self.prepared, portal, Outside::Infinite, value);
        bound.map_err(|error| {
            connection.out.clear();
            connection.trouble();
            plain(error, self.table)
        })
    }

    /// Names the table.
    pub fn locate(&self, error: Error) -> Error {
        match self.table {
            Some(table) if error::server(&error).is_some() => locate(error, table),
            _ => error,
        }
    }
}

/// The error of a parameter, without its number.
pub(crate) fn plain(error: Error, table: Option<&Arc<TableSchema>>) -> Error {
    let plain = error.to_bare();
    match table {
        Some(table) => plain.in_table(table.name().to_owned()),
        None => plain,
    }
}

//! Reads rows by key and by queries. A query is fetched in parts, so that memory stays constant.

use crate::connection::{Connection, PreparedStatement};
use crate::error;
use crate::error::{locate, without_row};
use crate::protocol::message::{self, Message};
use crate::protocol::row::{SqlRow, ValueSpans};
use crate::protocol::value::Outside;
use crate::session::fetch::{self, FetchEnd, FetchStats};
use crate::session::sql_text;
use crate::session::state::SessionState;
use crate::session::typed;
use crate::session::undo::UndoPoint;
use bobak_core::{
    Comparison, Condition, Error, Join, Result, Row, RowLock, Select, Source, TableSchema, Value,
};
use std::sync::Arc;

/// A query, prepared and ready to be bound.
pub(crate) struct PreparedSource<'a> {
    pub prepared: Arc<PreparedStatement>,
    pub parameters: Vec<Value<'a>>,
    pub table: Option<&'a Arc<TableSchema>>,
    /// Whether it may fail while it runs, so that a transaction needs a savepoint around it.
    pub may_fail: bool,
    /// Whether it has few rows, so that the server may send all of them at once.
    pub is_short: bool,
    /// How many milliseconds it waits for a locked row, if not as long as other statements.
    pub lock_wait: Option<u32>,
}

/// How many rows the first fetch reads; later ones depend on the size of rows.
const FIRST_FETCH_ROWS: u32 = 64;
/// About how many bytes a fetch reads. If the caller stops early, the rest of them is skipped.
const STREAMED: usize = 8 << 20;

/// Reads the row with a key.
///
/// # Errors
/// As [`Session::get`](bobak_core::Session::get).
pub(crate) fn get(
    state: &mut SessionState<'_>,
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

/// Whether another program has changed the table since the statement was prepared. No row has been returned then.
pub(crate) fn is_outdated(error: &Error) -> bool {
    error::server(error).is_some_and(|said| said.code() == "0A000")
}

fn get_once(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    table: &Arc<TableSchema>,
    key: &[Value<'_>],
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<bool> {
    let table_info = state.table_info(connection, table)?;
    let prepared = state.prepare(connection, &table_info.sql_texts.get, &[])?;
    let value = |place: usize| key.get(place).map_or_else(Default::default, Value::as_ref);
    connection
        .bind(&prepared, "", Outside::Infinite, value)
        .map_err(|e| without_row(e, Some(table)))?;
    connection.execute("", 0);
    connection.sync();
    connection.send("asking for a row")?;
    let (mut found, mut spans) = (false, std::mem::take(&mut state.spans));
    let done = connection.finish(|message| match message {
        Message::Row(body) => {
            found = true;
            row(&spans.of(body, &prepared.columns).checked()?)
        }
        _ => Ok(()),
    });
    state.spans = spans;
    state
        .settle(connection, UndoPoint::Nothing, done)
        .map_err(|e| if error::server(&e).is_some() { locate(e, table) } else { e })?;
    Ok(found)
}

/// Runs a query and calls `row` for each row.
///
/// # Errors
/// As [`Session::query`](bobak_core::Session::query).
pub(crate) fn run(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    source: &Source<'_>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    run_prepared(state, connection, row, |state, connection| prepare(state, connection, source))
}

/// Runs a join and calls `row` for each row; `false` if the server would calculate it in another way.
///
/// # Errors
/// As [`Session::join`](bobak_core::Session::join).
pub(crate) fn run_join(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    join: &Join,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<bool> {
    run_if_prepared(state, connection, row, |state, connection| {
        let Some((prepared, parameters)) = typed::join(state, connection, join)? else {
            return Ok(None);
        };
        Ok(Some(PreparedSource {
            prepared,
            parameters,
            table: join.tables.first().map(|first| &first.table),
            may_fail: true,
            is_short: false,
            lock_wait: None,
        }))
    })
}

/// Prepares a query and runs it; again if another program has changed its table since it was prepared.
pub(crate) fn run_prepared<'a>(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    prepare: impl Fn(&mut SessionState<'_>, &mut Connection) -> Result<PreparedSource<'a>>,
) -> Result<()> {
    let done = run_if_prepared(state, connection, row, |state, connection| {
        prepare(state, connection).map(Some)
    });
    done.map(drop)
}

/// As [`run_prepared`]; returns whether `prepare` returned a query.
fn run_if_prepared<'a>(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    prepare: impl Fn(&mut SessionState<'_>, &mut Connection) -> Result<Option<PreparedSource<'a>>>,
) -> Result<bool> {
    let Some(prepared) = prepare(state, connection)? else { return Ok(false) };
    match run_once(state, connection, &prepared, row) {
        Err(error) if is_outdated(&error) && !state.open => {
            let Some(prepared) = prepare(state, connection)? else { return Ok(false) };
            run_once(state, connection, &prepared, row)?;
        }
        done => done?,
    }
    Ok(true)
}

fn run_once(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    prepared_query: &PreparedSource<'_>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    if let Some(millis) = prepared_query.lock_wait {
        connection.statement(&format!("SET LOCAL lock_timeout = {millis}"), |_| {})?;
    }
    let point = match prepared_query.may_fail {
        true => state.protect(connection),
        false => UndoPoint::Nothing,
    };
    prepared_query.bind(connection, "").inspect_err(|_| state.nothing_done(point))?;
    let mut spans = std::mem::take(&mut state.spans);
    let done = hand_out(connection, prepared_query, &mut spans, row, state.open.then_some(point));
    state.spans = spans;
    let done = state.settle(connection, point, done).map_err(|error| prepared_query.locate(error));
    if prepared_query.lock_wait.is_some() && !state.failed {
        connection.statement("SET LOCAL lock_timeout TO DEFAULT", |_| {})?;
    }
    done
}

/// Fetches part after part, until there are no more rows or nobody wants them. `inside` undoes the query of a transaction.
fn hand_out(
    connection: &mut Connection,
    prepared_query: &PreparedSource<'_>,
    spans: &mut ValueSpans,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    inside: Option<UndoPoint>,
) -> Result<()> {
    // An aggregate returns few rows, and the server uses parallel workers only if all rows are requested.
    let sends_all = prepared_query.may_fail || prepared_query.is_short;
    let mut rows = if sends_all { 0 } else { FIRST_FETCH_ROWS };
    // Then a request and its end are one round trip. The portal of a transaction outlives it.
    let syncs = sends_all || inside.is_some();
    loop {
        connection.execute("", rows);
        if let Some(point) = inside {
            point.release(connection);
        }
        match syncs {
            true => connection.sync(),
            false => message::flush(&mut connection.out),
        }
        connection.send("asking for rows")?;
        let mut stats = FetchStats::default();
        match receive(connection, prepared_query, spans, &mut stats, row, syncs) {
            Ok(FetchEnd::More) => rows = stats.next_rows(STREAMED),
            done if syncs || connection.is_broken => return done.map(drop),
            done => {
                let closed = close(connection);
                return done.and(closed);
            }
        }
    }
}

/// Receives the rows of a request, and waits for its end if it has one.
fn receive(
    connection: &mut Connection,
    prepared_query: &PreparedSource<'_>,
    spans: &mut ValueSpans,
    stats: &mut FetchStats,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    syncs: bool,
) -> Result<FetchEnd> {
    let end = fetch::read_rows(connection, stats, |body| {
        let found = spans.of(body, &prepared_query.prepared.columns).checked()?;
        if prepared_query.is_sql() { row(&SqlRow(found)) } else { row(&found) }
    });
    if !syncs || connection.is_broken {
        return end;
    }
    let ready = connection.finish(|_| Ok(()));
    end.and_then(|end| ready.map(|()| end))
}

/// Closes the portal, and ends the statement's own transaction.
fn close(connection: &mut Connection) -> Result<()> {
    connection.sync();
    connection.send("ending a query")?;
    connection.finish(|_| Ok(()))
}

/// The most rows that are sent at once to a caller who may want fewer.
const SHORT: usize = 1_000;

/// Whether a query has few rows, or those of some values.
fn is_short(select: &Select) -> bool {
    let is_limited = select.limit.is_some_and(|limit| limit <= SHORT as u64);
    is_limited || select.condition.as_ref().is_some_and(|condition| is_listed(select, condition))
}

fn is_listed(select: &Select, condition: &Condition) -> bool {
    match condition {
        Condition::And(parts) => parts.iter().any(|part| is_listed(select, part)),
        Condition::In { values, .. } => values.len() <= SHORT,
        Condition::Compare { column, comparison: Comparison::Equal, .. } => {
            *select.table.key() == [*column]
        }
        _ => false,
    }
}

/// Prepares the statement of a source.
///
/// # Errors
/// Those of the server and the connection.
pub(crate) fn prepare<'a>(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    source: &Source<'a>,
) -> Result<PreparedSource<'a>> {
    match *source {
        Source::Select(select) => {
            select.check_lock(state.open)?;
            select.check_search("postgres", true)?;
            let (prepared, parameters) = typed::select(state, connection, select)?;
            let may_fail = select.is_grouped() || select.lock.is_some();
            let (table, lock_wait) =
                (Some(&select.table), select.lock.and_then(RowLock::wait_millis));
            let is_short = is_short(select);
            Ok(PreparedSource { prepared, parameters, table, may_fail, is_short, lock_wait })
        }
        Source::Sql { text, parameters } => {
            let (prepared, parameters) = sql_text::prepare(state, connection, text, parameters)?;
            let table = None;
            Ok(PreparedSource {
                prepared,
                parameters,
                table,
                may_fail: true,
                is_short: false,
                lock_wait: None,
            })
        }
    }
}

impl PreparedSource<'_> {
    /// Whether it is SQL text, not a query over a table.
    pub const fn is_sql(&self) -> bool {
        self.table.is_none()
    }

    /// Appends the request that binds the parameters to a portal.
    ///
    /// # Errors
    /// Those of a value that can't be sent.
    pub fn bind(&self, connection: &mut Connection, portal: &str) -> Result<()> {
        let value =
            |place: usize| self.parameters.get(place).map_or_else(Default::default, Value::as_ref);
        let bound = connection.bind(&self.prepared, portal, Outside::Infinite, value);
        bound.map_err(|error| {
            connection.out.clear();
            connection.check_after_error();
            without_row(error, self.table.map(AsRef::as_ref))
        })
    }

    /// Adds the table's name to an error of the server.
    pub fn locate(&self, error: Error) -> Error {
        match self.table {
            Some(table) if error::server(&error).is_some() => locate(error, table),
            _ => error,
        }
    }
}

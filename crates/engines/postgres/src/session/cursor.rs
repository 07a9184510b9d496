//! Opens, fetches from and closes cursors.
//!
//! A cursor reads the rows of one snapshot while its session does other things. Outside a transaction it has a
//! connection of its own, whose portal keeps the snapshot. In a transaction it is a portal of the transaction's
//! connection. Before that transaction ends, or rolls back to a savepoint, the remaining rows are read into memory,
//! since the server closes the portal.

use crate::connection::Connection;
use crate::protocol::row::PgColumn;
use crate::session::fetch::FetchEnd;
use crate::session::open_cursors::{OpenCursor, RemainingRows, close_portal, end_request};
use crate::session::query;
use crate::session::state::SessionState;
use crate::session::undo::UndoPoint;
use bobak_core::{Cursor, CursorId, Error, ErrorKind, Result, RowBuffer, Source};
use std::sync::Arc;

/// Opens a cursor.
///
/// # Errors
/// As [`Session::open`](bobak_core::Session::open).
pub(crate) fn open(state: &mut SessionState<'_>, source: &Source<'_>) -> Result<Cursor> {
    state.cursors.last_id += 1;
    let id = state.cursors.last_id;
    let cursor = if state.open {
        let portal = format!("bobak_cursor_{id}");
        state.with(|state, connection| open_inside(state, connection, source, portal))?
    } else {
        open_outside(state, source)?
    };
    let columns = match source {
        Source::Select(select) => Source::select_columns(select),
        Source::Sql { .. } => cursor.columns.iter().map(PgColumn::described).collect(),
    };
    state.cursors.open.insert(id, cursor);
    Ok(Cursor::new(CursorId(id), Arc::new(columns)))
}

fn open_inside<'e>(
    state: &mut SessionState<'e>,
    connection: &mut Connection,
    source: &Source<'_>,
    portal: String,
) -> Result<OpenCursor<'e>> {
    let prepared_query = query::prepare(state, connection, source)?;
    let mut cursor = OpenCursor::new(&prepared_query.prepared.columns, prepared_query.is_sql());
    if prepared_query.may_fail {
        // Its savepoint would stay open as long as the cursor, so all rows are read now.
        query::run(state, connection, source, &mut |row| cursor.keep(row).map(|()| true))?;
        return Ok(cursor);
    }
    prepared_query.bind(connection, &portal)?;
    let done = cursor.read(connection, &portal, true);
    let ended = state.settle(connection, UndoPoint::Nothing, done);
    let ended = ended.map_err(|error| prepared_query.locate(error))?;
    if ended == FetchEnd::More {
        cursor.remaining = RemainingRows::Portal(portal);
    } else {
        close_portal(connection, &portal)?;
    }
    Ok(cursor)
}

fn open_outside<'e>(state: &mut SessionState<'e>, source: &Source<'_>) -> Result<OpenCursor<'e>> {
    let mut pooled = state.take()?;
    let mut begun = begin_outside(state, &mut pooled, source);
    if begun.as_ref().is_err_and(query::is_outdated) {
        begun = begin_outside(state, &mut pooled, source);
    }
    let (mut cursor, end) = begun?;
    match end {
        FetchEnd::More => cursor.remaining = RemainingRows::OwnConnection(pooled),
        _ => end_request(&mut pooled)?,
    }
    Ok(cursor)
}

/// Prepares a query, and reads its first rows.
fn begin_outside<'e>(
    state: &mut SessionState<'e>,
    connection: &mut Connection,
    source: &Source<'_>,
) -> Result<(OpenCursor<'e>, FetchEnd)> {
    let prepared_query = query::prepare(state, connection, source)?;
    let mut cursor = OpenCursor::new(&prepared_query.prepared.columns, prepared_query.is_sql());
    prepared_query.bind(connection, "")?;
    match cursor.read(connection, "", false) {
        Ok(end) => Ok((cursor, end)),
        Err(error) => {
            if !connection.is_broken {
                end_request(connection)?;
            }
            state.forget_if_outdated(connection, &error);
            Err(prepared_query.locate(error))
        }
    }
}

/// Fetches the next rows of a cursor; none after the last.
///
/// # Errors
/// As [`Session::fetch`](bobak_core::Session::fetch).
pub(crate) fn fetch(
    state: &mut SessionState<'_>,
    cursor: CursorId,
    rows: &mut RowBuffer,
) -> Result<()> {
    // Removed from the state, since reading needs the rest of it.
    let mut open = state.cursors.open.remove(&cursor.0).ok_or_else(Cursor::not_open)?;
    let done = fetch_from(&mut open, state, rows);
    state.cursors.open.insert(cursor.0, open);
    done
}

/// Closes a cursor.
pub(crate) fn close(state: &mut SessionState<'_>, cursor: CursorId) {
    let Some(cursor) = state.cursors.open.remove(&cursor.0) else { return };
    match cursor.remaining {
        RemainingRows::OwnConnection(mut pooled) => {
            if end_request(&mut pooled).is_err() {
                pooled.is_broken = true;
            }
        }
        RemainingRows::Portal(portal) => {
            // If that fails, the end of the transaction closes the portal.
            let _ = state.with(|_, connection| close_portal(connection, &portal));
        }
        RemainingRows::None | RemainingRows::Lost => {}
    }
}

fn fetch_from<'e>(
    cursor: &mut OpenCursor<'e>,
    state: &mut SessionState<'e>,
    rows: &mut RowBuffer,
) -> Result<()> {
    if cursor.received.is_empty() {
        match &mut cursor.remaining {
            RemainingRows::Lost => {
                let message = "the cursor was lost with its transaction";
                return Err(Error::new(ErrorKind::Misuse, message));
            }
            RemainingRows::None => {}
            RemainingRows::Portal(portal) => {
                let portal = portal.clone();
                let ended = state.with(|state, connection| {
                    let done = cursor.read(connection, &portal, true);
                    let ended = state.settle(connection, UndoPoint::Nothing, done)?;
                    if ended != FetchEnd::More {
                        close_portal(connection, &portal)?;
                    }
                    Ok(ended)
                })?;
                if ended != FetchEnd::More {
                    cursor.remaining = RemainingRows::None;
                }
            }
            RemainingRows::OwnConnection(_) => cursor.read_own()?,
        }
    }
    if let Some(ready) = cursor.received.pop_front() {
        *rows = ready;
    }
    Ok(())
}

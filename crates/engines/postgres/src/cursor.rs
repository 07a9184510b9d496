//! Cursors: rows of one moment, read a part at a time while the session does other things.
//!
//! Outside a transaction a cursor has a connection of its own, whose portal keeps its snapshot.
//! Inside one it is a portal of the transaction's connection; before the transaction, or a mark
//! that it was opened after, comes to its end, the rest is read into memory.

use crate::connection::Connection;
use crate::message;
use crate::pool::PooledConnection;
use crate::query::{self, Ended, Part, Question};
use crate::row::Column;
use crate::state::State;
use bobak_core::{Cursor, CursorId, Error, ErrorKind, Result, Row, RowBuffer, Source};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The cursors of a session.
#[derive(Default)]
pub(crate) struct Cursors<'e> {
    open: BTreeMap<u64, Reading<'e>>,
    made: u64,
}

struct Reading<'e> {
    columns: Arc<Vec<Column>>,
    /// What has come and was not handed out.
    ready: VecDeque<RowBuffer>,
    source: Rest<'e>,
    next: u32,
}

/// Where the rest comes from.
enum Rest<'e> {
    /// A connection of its own.
    Own(PooledConnection<'e>),
    /// A portal of the transaction, by its name.
    Inside(String),
    /// There is none.
    None,
    /// It was lost with its transaction.
    Lost,
}

/// About how many bytes a fetch gives.
const FETCH: usize = 64 << 10;

/// Opens a cursor.
///
/// # Errors
/// As [`Session::open`](bobak_core::Session::open).
pub(crate) fn open(state: &mut State<'_>, source: &Source<'_>) -> Result<Cursor> {
    state.cursors.made += 1;
    let id = state.cursors.made;
    let reading = if state.open {
        let portal = format!("bobak_cursor_{id}");
        state.with(|state, connection| open_inside(state, connection, source, portal))?
    } else {
        open_outside(state, source)?
    };
    let names = match source {
        Source::Select(select) => Source::select_names(select),
        Source::Sql { .. } => reading.columns.iter().map(|column| column.name.clone()).collect(),
    };
    state.cursors.open.insert(id, reading);
    Ok(Cursor::new(CursorId(id), Arc::new(names)))
}

fn open_inside<'e>(
    state: &mut State<'e>,
    connection: &mut Connection,
    source: &Source<'_>,
    portal: String,
) -> Result<Reading<'e>> {
    let question = query::question(state, connection, source)?;
    let mut reading = Reading::new(&question);
    if question.may_fail {
        // It would hold a mark open as long as it is: its rows are read now.
        query::run(state, connection, source, &mut |row| reading.keep(row).map(|()| true))?;
        return Ok(reading);
    }
    question.bind(connection, &portal)?;
    let done = reading.read(connection, &portal, true);
    let ended = state.settle(connection, done).map_err(|error| question.locate(error))?;
    if ended == Ended::More {
        reading.source = Rest::Inside(portal);
    } else {
        // One that stays open would keep its table from being changed.
        close_portal(connection, &portal)?;
    }
    Ok(reading)
}

fn open_outside<'e>(state: &mut State<'e>, source: &Source<'_>) -> Result<Reading<'e>> {
    let mut pooled = state.take()?;
    let question = query::question(state, &mut pooled, source)?;
    let mut reading = Reading::new(&question);
    question.bind(&mut pooled, "")?;
    match reading.read(&mut pooled, "", false) {
        Ok(Ended::More) => reading.source = Rest::Own(pooled),
        Ok(_) => end(&mut pooled)?,
        Err(error) => {
            if !pooled.is_broken {
                end(&mut pooled)?;
            }
            return Err(question.locate(error));
        }
    }
    Ok(reading)
}

/// Ends what the connection is doing.
fn end(connection: &mut Connection) -> Result<()> {
    connection.sync();
    connection.send("ending a query")?;
    connection.finish(|_| Ok(()))
}

fn close_portal(connection: &mut Connection, portal: &str) -> Result<()> {
    message::close(&mut connection.out, b'P', portal);
    end(connection)
}

/// The next rows of a cursor.
///
/// # Errors
/// As [`Session::fetch`](bobak_core::Session::fetch).
pub(crate) fn fetch(state: &mut State<'_>, cursor: CursorId, rows: &mut RowBuffer) -> Result<()> {
    let mut reading = state.cursors.open.remove(&cursor.0).ok_or_else(Cursor::not_open)?;
    let done = reading.fetch(state, rows);
    state.cursors.open.insert(cursor.0, reading);
    done
}

/// Closes a cursor.
pub(crate) fn close(state: &mut State<'_>, cursor: CursorId) {
    let Some(reading) = state.cursors.open.remove(&cursor.0) else { return };
    match reading.source {
        Rest::Own(mut pooled) => {
            if end(&mut pooled).is_err() {
                pooled.is_broken = true;
            }
        }
        Rest::Inside(portal) => {
            // A portal that stays is ended by the transaction.
            let _ = state.with(|_, connection| close_portal(connection, &portal));
        }
        Rest::None | Rest::Lost => {}
    }
}

impl<'e> Cursors<'e> {
    /// Whether one of them keeps a connection from others.
    pub fn hold_a_connection(&self) -> bool {
        self.open.values().any(|reading| matches!(reading.source, Rest::Own(_)))
    }

    /// Reads the oldest of those into memory, so that its connection is free.
    ///
    /// # Errors
    /// Those of the server and the line.
    pub fn release_one(&mut self) -> Result<()> {
        let own = |reading: &&mut Reading<'e>| matches!(reading.source, Rest::Own(_));
        self.open.values_mut().find(own).map_or(Ok(()), Reading::release)
    }

    /// Reads all of them into memory.
    ///
    /// # Errors
    /// Those of the server and the line.
    pub fn release_all(&mut self) -> Result<()> {
        self.open.values_mut().try_for_each(Reading::release)
    }

    /// Whether some stand in the transaction.
    pub fn any_inside(&self) -> bool {
        self.open.values().any(|reading| matches!(reading.source, Rest::Inside(_)))
    }

    /// Reads those into memory.
    ///
    /// # Errors
    /// Those of the server and the line.
    pub fn drain_inside(
        &mut self,
        state: &mut State<'e>,
        connection: &mut Connection,
    ) -> Result<()> {
        for reading in self.open.values_mut() {
            while let Rest::Inside(portal) = &reading.source {
                let portal = portal.clone();
                let done = reading.read(connection, &portal, true);
                match state.settle(connection, done) {
                    Ok(Ended::More) => {}
                    Ok(_) => {
                        reading.source = Rest::None;
                        close_portal(connection, &portal)?;
                    }
                    Err(error) => {
                        reading.source = Rest::Lost;
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// The transaction is gone, and those in it.
    pub fn fail_inside(&mut self) {
        for reading in self.open.values_mut() {
            if matches!(reading.source, Rest::Inside(_)) {
                reading.source = Rest::Lost;
            }
        }
    }
}

impl<'e> Reading<'e> {
    fn new(question: &Question<'_>) -> Self {
        let columns = Arc::new(question.prepared.columns.clone());
        Self { columns, ready: VecDeque::new(), source: Rest::None, next: 64 }
    }

    /// Keeps a row until it is fetched.
    fn keep(&mut self, row: &dyn Row) -> Result<()> {
        if self.ready.back().is_none_or(|last| last.bytes() >= FETCH) {
            self.ready.push_back(RowBuffer::default());
        }
        match self.ready.back_mut() {
            Some(last) => last.push(row),
            None => Ok(()),
        }
    }

    /// Reads the next part from a portal; `sync` ends the requests, which in a transaction leaves
    /// the portal as it is.
    fn read(&mut self, connection: &mut Connection, portal: &str, sync: bool) -> Result<Ended> {
        connection.execute(portal, self.next);
        if sync {
            connection.sync();
        } else {
            message::flush(&mut connection.out);
        }
        connection.send("reading on")?;
        let (columns, mut part) = (Arc::clone(&self.columns), Part::default());
        let mut spans = crate::row::Spans::default();
        let ended = query::read_part(connection, &mut part, |body| {
            self.keep(&spans.of(body, &columns)).map(|()| true)
        });
        if sync && !connection.is_broken {
            let ready = connection.finish(|_| Ok(()));
            let ended = ended?;
            ready?;
            self.next = part.next(query::KEPT);
            return Ok(ended);
        }
        self.next = part.next(query::KEPT);
        ended
    }

    fn fetch(&mut self, state: &mut State<'e>, rows: &mut RowBuffer) -> Result<()> {
        if self.ready.is_empty() {
            match &mut self.source {
                Rest::Lost => {
                    let message = "the cursor's rows went with its transaction";
                    return Err(Error::new(ErrorKind::Misuse, message));
                }
                Rest::None => {}
                Rest::Inside(portal) => {
                    let portal = portal.clone();
                    let ended = state.with(|state, connection| {
                        let done = self.read(connection, &portal, true);
                        let ended = state.settle(connection, done)?;
                        if ended != Ended::More {
                            close_portal(connection, &portal)?;
                        }
                        Ok(ended)
                    })?;
                    if ended != Ended::More {
                        self.source = Rest::None;
                    }
                }
                Rest::Own(_) => self.read_own()?,
            }
        }
        if let Some(ready) = self.ready.pop_front() {
            *rows = ready;
        }
        Ok(())
    }

    /// Reads a part from the cursor's own connection; gives that back after the last.
    fn read_own(&mut self) -> Result<()> {
        let Rest::Own(mut pooled) = std::mem::replace(&mut self.source, Rest::None) else {
            return Ok(());
        };
        match self.read(&mut pooled, "", false) {
            Ok(Ended::More) => self.source = Rest::Own(pooled),
            Ok(_) => end(&mut pooled)?,
            Err(error) => {
                pooled.is_broken = true;
                return Err(error);
            }
        }
        Ok(())
    }

    fn release(&mut self) -> Result<()> {
        while matches!(self.source, Rest::Own(_)) {
            self.read_own()?;
        }
        Ok(())
    }
}

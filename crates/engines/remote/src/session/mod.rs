//! Sessions: which connection runs an operation, and what happens if it breaks.

mod errors;
mod joins;
mod response;
mod search;
mod state;
mod value_parts;

use self::response::{WINDOW, count, hand_out, losses, ok};
use crate::batch;
use crate::broken::{Broken, CallError, Effect};
use crate::engine::RemoteState;
use crate::link::{Link, unexpected};
use crate::pool::{PooledLink, Purpose};
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{
    BulkChange, Cursor, CursorId, Error, ErrorKind, Interrupt, Join, OnError, Outcome, Parameter,
    Result, ResultColumn, Row, RowBuffer, SchemaChange, SchemaDetails, Session, Source,
    TableSchema, TransactionControl, Value, ValueAddress, ValueRange, ValueState, Write,
    WriteBatch,
};
use bobak_wire::{FrameHeader, Response, ResultForm, encode_request};
use errors::{lost, misuse};
use state::{Encoder, RemoteCursor, SessionLink, TransactionState, close, exchange};
use std::cell::{Cell, RefCell};
use std::io::Read;
use std::sync::Arc;

/// A session. It acquires a connection at its first operation and keeps it, unless all sessions share one.
pub(crate) struct RemoteSession<'e> {
    engine: &'e RemoteState,
    number: u64,
    link: Cell<SessionLink<'e>>,
    transaction: Cell<TransactionState>,
    cursors: RefCell<Vec<RemoteCursor>>,
    next_cursor: Cell<u64>,
    /// The columns of the SQL text that was run last, if it returned no rows.
    empty_columns: Cell<Vec<ResultColumn>>,
}

/// A connection in use by one operation. Dropping it restores the session's state.
struct LinkUse<'s, 'e> {
    session: &'s RemoteSession<'e>,
    link: Option<PooledLink<'e>>,
    /// Whether an earlier operation used it: the server may have closed it since.
    is_reused: bool,
}

impl<'e> RemoteSession<'e> {
    pub fn new(engine: &'e RemoteState, number: u64) -> Self {
        Self {
            engine,
            number,
            link: Cell::new(SessionLink::None),
            transaction: Cell::new(TransactionState::None),
            cursors: RefCell::default(),
            next_cursor: Cell::new(1),
            empty_columns: Cell::default(),
        }
    }

    /// Runs a request whose response is `Ok`.
    pub fn done(
        &self,
        effect: Effect,
        put: &dyn Fn(&mut Vec<u8>, u32) -> Result<()>,
    ) -> Result<()> {
        self.call(effect, &|link| link.put(put), |link, _, head| ok(link, head))
    }

    /// Runs a request: `put` queues it, `read` reads the first response and those that follow.
    #[inline]
    fn call<R>(
        &self,
        effect: Effect,
        put: Encoder<'_>,
        read: impl FnOnce(&mut Link, u32, FrameHeader) -> Result<R, CallError>,
    ) -> Result<R> {
        Interrupt::check()?;
        let mut using = self.enter(Purpose::Operation)?;
        let done = match using.begin(effect, put) {
            Ok((id, head)) => using.link().and_then(|link| read(link, id, head)),
            Err(failed) => Err(failed),
        };
        using.finish(effect, done)
    }

    #[inline]
    fn enter(&self, purpose: Purpose) -> Result<LinkUse<'_, 'e>> {
        let (link, is_reused) = match self.link.replace(SessionLink::Lent) {
            SessionLink::Kept(link) => (Some(link), true),
            SessionLink::None => (None, false),
            SessionLink::Lent => {
                return Err(misuse("the session is in use by another call"));
            }
        };
        let mut using = LinkUse { session: self, link, is_reused };
        if self.transaction.get() == TransactionState::Lost && purpose == Purpose::Operation {
            return Err(lost());
        }
        if using.link.is_none() {
            let link = self.engine.pool.acquire(self.number, purpose)?;
            using.is_reused = link.is_reused();
            using.link = Some(link);
        }
        Ok(using)
    }

    /// What is lost if the connection breaks during a write.
    fn effect_of_write(&self) -> Effect {
        match self.transaction.get() {
            TransactionState::None => Effect::Unknown,
            _ => Effect::Transaction,
        }
    }

    fn effect_of_read(&self) -> Effect {
        match self.transaction.get() {
            TransactionState::None => Effect::Nothing,
            _ => Effect::Transaction,
        }
    }

    fn step(&self, step: TransactionControl<'_>, effect: Effect) -> Result<()> {
        self.done(effect, &|out, id| encode_request::control(out, id, step))
    }

    fn begin(&self) -> Result<()> {
        if self.transaction.get() == TransactionState::Open {
            return Err(misuse("a transaction is already open"));
        }
        let mut using = self.enter(Purpose::Operation)?;
        let put = |link: &mut Link| {
            link.put(|out, id| encode_request::control(out, id, TransactionControl::Begin))
        };
        let begun = match using.begin(Effect::Nothing, &put) {
            Ok((_, head)) => using.link().and_then(|link| ok(link, head)),
            Err(failed) => Err(failed),
        };
        using.finish(Effect::Nothing, begun)?;
        // Before the connection is returned to the pool.
        self.set_transaction(TransactionState::Open);
        Ok(())
    }

    fn end(&self, step: TransactionControl<'_>) -> Result<()> {
        let ended = match (self.transaction.get(), step) {
            (TransactionState::None, _) => return Err(misuse("no transaction is open")),
            (TransactionState::Lost, TransactionControl::Rollback) => Ok(()),
            (TransactionState::Lost, _) => Err(lost()),
            (_, TransactionControl::Commit) => self.step(step, Effect::Unknown),
            _ => self.step(step, Effect::Nothing),
        };
        match ended {
            // Called inside a callback: nothing has happened.
            Err(error) if error.kind() == ErrorKind::Misuse && self.is_lent() => Err(error),
            // Whatever the response, the transaction has ended.
            ended => {
                self.set_transaction(TransactionState::None);
                ended
            }
        }
    }

    fn is_lent(&self) -> bool {
        let link = self.link.replace(SessionLink::Lent);
        let is_lent = matches!(link, SessionLink::Lent);
        self.link.set(link);
        is_lent
    }

    fn set_transaction(&self, transaction: TransactionState) {
        self.transaction.set(transaction);
        match transaction {
            TransactionState::Open => self.engine.pool.set_owner(self.number),
            _ => self.engine.pool.clear_owner(self.number),
        }
    }

    fn cursor(&self, cursor: CursorId) -> Option<RemoteCursor> {
        self.cursors.borrow().iter().find(|open| open.id == cursor.0).copied()
    }

    fn run_query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        search::check(&self.engine.engine, &self.engine.capabilities, source)?;
        let named = matches!(source, Source::Sql { .. });
        let put = |link: &mut Link| {
            let others = link.others_of(source)?;
            let source = link.source(source, &others)?;
            let form = ResultForm { columns: named, blocks: false };
            link.put(|out, id| encode_request::query(out, id, WINDOW, form, source))
        };
        // SQL may write. Without a row it is unknown whether it was committed.
        let effect = if named { self.effect_of_write() } else { self.effect_of_read() };
        let columns = self.call(effect, &put, |link, id, head| hand_out(link, id, head, row))?;
        self.empty_columns.set(columns);
        Ok(())
    }
}

impl Session for RemoteSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        // Statements that begin and end transactions must not be interrupted.
        Interrupt::hold_off(|| match step {
            TransactionControl::Begin => self.begin(),
            TransactionControl::Commit | TransactionControl::Rollback => self.end(step),
            _ if self.transaction.get() == TransactionState::None => {
                Err(misuse("no transaction is open"))
            }
            _ => self.step(step, Effect::Transaction),
        })
    }

    fn in_transaction(&self) -> bool {
        self.transaction.get() != TransactionState::None
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let put = |link: &mut Link| {
            let handle = link.table(write.table)?;
            let what = (&**write.table, write.verb, write.fields);
            link.put(|out, id| encode_request::write(out, id, handle, what, write.values))
        };
        self.call(self.effect_of_write(), &put, |link, _, head| match link.response(head)? {
            Response::Outcomes(mut outcomes) => match outcomes.next() {
                Some(Ok(outcome)) => outcome.map_err(CallError::Rejected),
                Some(Err(error)) => Err(Broken::Garbled(error).into()),
                None => Err(unexpected(&Response::Ok)),
            },
            other => Err(unexpected(&other)),
        })
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        let put = |link: &mut Link| {
            let others = link.other_tables(change.table, change.condition)?;
            let handle = link.table(change.table)?;
            link.put(|out, id| encode_request::change(out, id, handle, change, &others))
        };
        self.call(self.effect_of_write(), &put, count)
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut using = self.enter(Purpose::Operation)?;
        let sent = using.link().and_then(|link| batch::send(link, batch, on_error, each));
        using.finish(self.effect_of_write(), sent)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let put = |link: &mut Link| {
            let handle = link.table(table)?;
            link.put(|out, id| encode_request::get(out, id, handle, key))
        };
        self.call(self.effect_of_read(), &put, |link, _, head| match link.response(head)? {
            Response::Rows(mut rows) => match rows.next() {
                Some(Ok(found)) => row(&found).map(|()| true).map_err(CallError::Rejected),
                Some(Err(error)) => Err(Broken::Garbled(error).into()),
                None => Ok(false),
            },
            other => Err(unexpected(&other)),
        })
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        self.run_query(source, row)
    }

    fn join(&self, join: &Join, row: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<bool> {
        self.run_join(join, row)
    }

    fn result_columns(&self, _: &str, _: &[Parameter<'_>]) -> Result<Option<Vec<ResultColumn>>> {
        Ok(Some(self.empty_columns.take()).filter(|columns| !columns.is_empty()))
    }

    fn read_part(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        self.read_part_of(value, range, bytes)
    }

    fn write_value(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        self.write_value_of(value, length, source)
    }

    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        self.explain_query(query)
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        search::check(&self.engine.engine, &self.engine.capabilities, source)?;
        let put = |link: &mut Link| {
            let others = link.others_of(source)?;
            let source = link.source(source, &others)?;
            link.put(|out, id| encode_request::open(out, id, source))
        };
        let effect = match source {
            Source::Select(_) => self.effect_of_read(),
            Source::Sql { .. } => self.effect_of_write(),
        };
        let (link, number, columns) =
            self.call(effect, &put, |link, _, head| match link.response(head)? {
                Response::Columns { cursor, columns } => Ok((link.number(), cursor, columns)),
                other => Err(unexpected(&other)),
            })?;
        let id = self.next_cursor.get();
        self.next_cursor.set(id + 1);
        self.cursors.borrow_mut().push(RemoteCursor { id, link, number });
        Ok(Cursor::new(CursorId(id), Arc::new(columns)))
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        rows.clear();
        let open = self.cursor(cursor.id()?).ok_or_else(Cursor::not_open)?;
        let mut using = self.enter(Purpose::Cursor)?;
        let fetched = using.link().and_then(|link| {
            if link.number() != open.link {
                let message = "the connection broke, and the cursor is lost: open it again";
                return Err(Error::new(ErrorKind::Unreachable, message).into());
            }
            let put = |out: &mut Vec<u8>, id| {
                encode_request::fetch(out, id, open.number);
                Ok(())
            };
            let id = link.put(put)?;
            link.send()?;
            let head = link.receive(id)?;
            match link.response(head)? {
                Response::Rows(found) => {
                    rows.push_framed(found.as_bytes()).map_err(|e| Broken::Garbled(e).into())
                }
                other => Err(unexpected(&other)),
            }
        });
        using.finish(self.effect_of_read(), fetched)
    }

    fn close(&self, cursor: &mut Cursor) {
        let Some(open) = cursor.id().ok().and_then(|id| self.cursor(id)) else { return };
        self.cursors.borrow_mut().retain(|other| other.id != open.id);
        // If the session is in use, or the connection is broken, the cursor ends with its connection.
        if let Ok(mut using) = self.enter(Purpose::Cursor) {
            let closed = using.link().and_then(|link| close(link, &[open]));
            let _ = using.finish(self.effect_of_read(), closed);
        }
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        Ok(self.tables_and_views()?.into_iter().filter(|table| !table.is_view()).collect())
    }

    fn views(&self) -> Result<Vec<TableSchema>> {
        Ok(self.tables_and_views()?.into_iter().filter(TableSchema::is_view).collect())
    }

    fn tables_and_views(&self) -> Result<Vec<TableSchema>> {
        let put = |link: &mut Link| {
            link.put(|out, id| {
                encode_request::tables(out, id);
                Ok(())
            })
        };
        self.call(self.effect_of_read(), &put, |link, _, head| match link.response(head)? {
            Response::Schemas(tables) => Ok(tables),
            other => Err(unexpected(&other)),
        })
    }

    fn schema_details(&self) -> Result<SchemaDetails> {
        let put = |link: &mut Link| {
            link.put(|out, id| {
                encode_request::losses(out, id);
                Ok(())
            })
        };
        self.call(self.effect_of_read(), &put, losses)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.done(self.effect_of_write(), &|out, id| encode_request::alter(out, id, changes))
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        let put = |link: &mut Link| {
            let source = link.text(sql, parameters)?;
            link.put(|out, id| encode_request::execute(out, id, source))
        };
        self.call(self.effect_of_write(), &put, count)
    }
}

impl LinkUse<'_, '_> {
    #[inline]
    fn link(&mut self) -> Result<&mut Link, CallError> {
        self.link.as_deref_mut().ok_or_else(|| misuse("the session has no connection").into())
    }

    /// Sends a request and waits for the first response. An idle connection that turns out to be broken is replaced by a
    /// new one if the request can be repeated.
    #[inline]
    fn begin(&mut self, effect: Effect, put: Encoder<'_>) -> Result<(u32, FrameHeader), CallError> {
        match exchange(self.link()?, put) {
            Err(CallError::Broken(Broken::Io(_) | Broken::Closed(_)))
                if effect == Effect::Nothing && self.is_reused =>
            {
                self.is_reused = false;
                if let Some(mut link) = self.link.take() {
                    link.reconnect()?;
                    self.link = Some(link);
                }
                exchange(self.link()?, put)
            }
            other => other,
        }
    }

    /// Sets the session's state according to the result of the call.
    #[inline]
    fn finish<R>(&mut self, effect: Effect, result: Result<R, CallError>) -> Result<R> {
        match result {
            Ok(result) => Ok(result),
            Err(CallError::Rejected(error)) => Err(error),
            Err(CallError::Broken(broken)) => {
                if let Some(link) = self.link.take() {
                    link.discard();
                }
                if effect == Effect::Transaction {
                    self.session.set_transaction(TransactionState::Lost);
                }
                Err(broken.into_error(effect))
            }
        }
    }
}

impl Drop for LinkUse<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        let session = self.session;
        let link = self.link.take().filter(|_| !session.engine.pool.is_shared());
        session.link.set(link.map_or(SessionLink::None, SessionLink::Kept));
    }
}

impl Drop for RemoteSession<'_> {
    #[inline]
    fn drop(&mut self) {
        let cursors = self.cursors.take();
        if !cursors.is_empty()
            && let Ok(mut using) = self.enter(Purpose::Cursor)
        {
            let closed = using.link().and_then(|link| close(link, &cursors));
            let _ = using.finish(self.effect_of_read(), closed);
        }
        if self.transaction.get() == TransactionState::Open {
            // If this fails, the connection is closed, and the server rolls back.
            let _ = self.end(TransactionControl::Rollback);
        }
    }
}

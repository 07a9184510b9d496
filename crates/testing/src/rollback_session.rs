//! A session of the program inside the one transaction of a test.

use crate::rollback::{HeldSession, RollbackEngine};
use bobak::batch::{OnError, Outcome};
use bobak::engine::{
    BulkChange, SchemaChange, Session, Source, TransactionControl, Write, WriteBatch,
};
use bobak::schema::{SchemaDetails, TableSchema};
use bobak::{Error, ErrorKind, Result, Row, Value};
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{Parameter, SideEffects, ValueAddress, ValueRange, ValueState, atomically};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// The savepoint of one call: engines whose transaction ends at an error go on after it.
const CALL: &str = "bobak_test_call";
/// The savepoint that stands for the program's transaction.
const TRANSACTION: &str = "bobak_test";

/// How long a call waits for the transaction of another thread, as SQLite's busy timeout.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The error of a call next to the open transaction of another session.
fn is_open(thread: ThreadId) -> Error {
    let message = match thread == std::thread::current().id() {
        true => "a transaction is open: write through it, or end it first",
        false => "a transaction of another thread was open for the whole busy timeout",
    };
    Error::new(ErrorKind::Busy, message)
}

pub struct RollbackSession<'e> {
    engine: &'e RollbackEngine,
    number: u64,
    in_transaction: AtomicBool,
}

impl<'e> RollbackSession<'e> {
    pub const fn new(engine: &'e RollbackEngine, number: u64) -> Self {
        Self { engine, number, in_transaction: AtomicBool::new(false) }
    }

    /// Runs a call that may write.
    fn write_with<R>(&self, run: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        self.alone(|held| atomically(&*held.session, CALL, || run(&*held.session)))
    }

    fn read_with<R>(&self, run: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        self.engine.with(|held| atomically(&*held.session, CALL, || run(&*held.session)))
    }

    /// Runs a call while no other session has a transaction open, which could undo it: waits for one of another thread.
    fn alone<R>(&self, run: impl FnOnce(&mut HeldSession<'_>) -> Result<R>) -> Result<R> {
        let (mut run, until) = (Some(run), Instant::now() + BUSY_TIMEOUT);
        loop {
            let done = self.engine.with(|held| match held.owner {
                Some((owner, thread)) if owner != self.number => {
                    let waits = thread != std::thread::current().id() && Instant::now() < until;
                    if waits { Ok(None) } else { Err(is_open(thread)) }
                }
                _ => run.take().map(|run| run(held)).transpose(),
            })?;
            match done {
                Some(done) => return Ok(done),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn begin(&self) -> Result<()> {
        if self.in_transaction() {
            return Err(Error::new(ErrorKind::Misuse, "a transaction is open already"));
        }
        self.alone(|held| {
            held.session.control(TransactionControl::Savepoint(TRANSACTION))?;
            held.owner = Some((self.number, std::thread::current().id()));
            self.in_transaction.store(true, Ordering::Relaxed);
            Ok(())
        })
    }

    fn end(&self, held: &mut HeldSession<'_>, undo: bool) -> Result<()> {
        if held.owner.take_if(|(owner, _)| *owner == self.number).is_none() {
            return Err(Error::new(ErrorKind::Misuse, "there is no open transaction"));
        }
        self.in_transaction.store(false, Ordering::Relaxed);
        if undo {
            held.session.control(TransactionControl::RollbackTo(TRANSACTION))?;
        }
        held.session.control(TransactionControl::Release(TRANSACTION))
    }
}

impl Session for RollbackSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        if matches!(step, TransactionControl::Begin) {
            return self.begin();
        }
        self.engine.with(|held| match step {
            TransactionControl::Commit => self.end(held, false),
            TransactionControl::Rollback => self.end(held, true),
            _ if !self.in_transaction() => {
                Err(Error::new(ErrorKind::Misuse, "there is no open transaction"))
            }
            step => held.session.control(step),
        })
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction.load(Ordering::Relaxed)
    }

    fn begin_reading(&self) -> Result<()> {
        self.control(TransactionControl::Begin)
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.write_with(|session| session.write(write))
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        self.write_with(|session| session.change(change))
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        self.write_with(|session| session.batch(batch, on_error, each))
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        self.write_with(|session| session.execute(sql, parameters))
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let engine = self.engine.inner();
        if engine.capabilities().implicit_ddl_commit {
            let message = format!(
                "the {} engine commits when tables change, so nothing could be rolled back: create them before",
                engine.name()
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.write_with(|session| session.alter(changes))
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        // SQL may write; the engine decides.
        self.read_with(|session| session.query(source, row))
    }

    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        self.read_with(|session| session.explain(query))
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.read_with(|session| session.get(table, key, row))
    }

    fn read_part(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        self.read_with(|session| session.read_part(value, range, bytes))
    }

    fn write_value(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        self.write_with(|session| session.write_value(value, length, source))
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.read_with(|session| session.tables())
    }

    fn views(&self) -> Result<Vec<TableSchema>> {
        self.read_with(|session| session.views())
    }

    fn set_actor(&self, actor: Option<&str>) -> Result<()> {
        self.read_with(|session| session.set_actor(actor))
    }

    fn schema_details(&self) -> Result<SchemaDetails> {
        self.read_with(|session| session.schema_details())
    }

    fn side_effects(&self) -> Result<SideEffects> {
        self.read_with(|session| session.side_effects())
    }
}

impl Drop for RollbackSession<'_> {
    fn drop(&mut self) {
        if self.in_transaction() {
            // If it fails, the engine has ended the transaction, which undoes everything.
            let _ = self.control(TransactionControl::Rollback);
        }
    }
}

//! An engine with planned failures, for tests of code that uses engines.

use bobak_core::change_log::Trigger;
use bobak_core::{
    BulkChange, Cursor, Engine, EngineLayer, Error, ErrorKind, Estimate, Join, OnError, Outcome,
    Parameter, Result, Row, RowBuffer, SchemaChange, Session, SessionLayer, Source, TableSchema,
    TransactionControl, Value, Write, WriteBatch,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Any engine, with planned failures.
///
/// ```
/// use bobak_core::{TransactionControl, ErrorKind};
/// use bobak_memory::Memory;
/// use bobak_testkit::{FaultyEngine, Probe};
///
/// let engine = FaultyEngine::new(Box::new(Memory::new()));
/// let faults = engine.faults();
/// let probe = Probe::new(&engine)?;
/// faults.fail_commit(1, ErrorKind::Full);
/// probe.control(TransactionControl::Begin)?;
/// assert_eq!(probe.control(TransactionControl::Commit).unwrap_err().kind(), ErrorKind::Full);
/// # Ok::<(), bobak_core::Error>(())
/// ```
pub struct FaultyEngine {
    engine: Box<dyn Engine>,
    faults: Arc<Faults>,
    estimate: Option<Estimate>,
}

/// The planned failures, shared with the engine. Counts include all of its sessions.
///
/// An *operation* is any call that may fail: of a session all but `close`, of an engine `session`
/// and `flush`. A *commit* is an explicit one, or the implicit one of a write, change, batch, statement
/// or schema change outside a transaction.
#[derive(Debug, Default)]
pub struct Faults(Mutex<Plan>);

#[derive(Debug, Default)]
struct Plan {
    operations: u64,
    commits: u64,
    at_operation: Vec<(u64, ErrorKind)>,
    at_commit: Vec<(u64, ErrorKind)>,
    end_at: Option<u64>,
}

impl Faults {
    /// Fails the `n`-th operation from now on, 1 being the next; it does not reach the engine.
    pub fn fail_operation(&self, n: u64, kind: ErrorKind) {
        let mut plan = self.plan();
        let at = plan.operations.saturating_add(n);
        plan.at_operation.push((at, kind));
    }

    /// Fails the `n`-th commit from now on, 1 being the next; the engine rolls its changes
    /// back.
    pub fn fail_commit(&self, n: u64, kind: ErrorKind) {
        let mut plan = self.plan();
        let at = plan.commits.saturating_add(n);
        plan.at_commit.push((at, kind));
    }

    /// Ends the process at the `n`-th operation from now on, as a kill does; the operation does not reach the engine.
    pub fn end_process_at(&self, n: u64) {
        let mut plan = self.plan();
        plan.end_at = Some(plan.operations.saturating_add(n));
    }

    /// Forgets the failures that have not come yet.
    pub fn forget(&self) {
        let mut plan = self.plan();
        plan.at_operation.clear();
        plan.at_commit.clear();
    }

    /// How many failures have not come yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        let plan = self.plan();
        plan.at_operation.len() + plan.at_commit.len()
    }

    /// How many operations there were.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.plan().operations
    }

    /// How many commits there were.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.plan().commits
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn operation(&self) -> Result<()> {
        let mut plan = self.plan();
        plan.operations += 1;
        let now = plan.operations;
        if plan.end_at == Some(now) {
            std::process::abort();
        }
        due(&mut plan.at_operation, now).map_or(Ok(()), |kind| Err(injected(kind)))
    }

    fn commit(&self) -> Result<()> {
        let mut plan = self.plan();
        plan.commits += 1;
        let now = plan.commits;
        due(&mut plan.at_commit, now).map_or(Ok(()), |kind| Err(injected(kind)))
    }
}

fn due(faults: &mut Vec<(u64, ErrorKind)>, now: u64) -> Option<ErrorKind> {
    let place = faults.iter().position(|(at, _)| *at == now)?;
    Some(faults.swap_remove(place).1)
}

fn injected(kind: ErrorKind) -> Error {
    Error::new(kind, "a failure made for a test")
}

impl FaultyEngine {
    /// Wraps an engine; nothing fails yet.
    #[must_use]
    pub fn new(engine: Box<dyn Engine>) -> Self {
        let faults = Arc::default();
        Self { engine, faults, estimate: None }
    }

    /// Says this of all tables, as if the engine were another one, a server far away for one.
    #[must_use]
    pub fn with_estimate(mut self, estimate: Estimate) -> Self {
        self.estimate = Some(estimate);
        self
    }

    /// The failures to come.
    #[must_use]
    pub fn faults(&self) -> Arc<Faults> {
        Arc::clone(&self.faults)
    }
}

impl EngineLayer for FaultyEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.engine
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        self.faults.operation()?;
        Ok(Box::new(FaultySession { inner: self.engine.session()?, faults: &self.faults }))
    }

    fn estimate(&self, table: &TableSchema) -> Estimate {
        self.estimate.unwrap_or_else(|| self.engine.estimate(table))
    }

    fn flush(&self) -> Result<()> {
        self.faults.operation()?;
        self.engine.flush()
    }
}

struct FaultySession<'e> {
    inner: Box<dyn Session + 'e>,
    faults: &'e Faults,
}

impl FaultySession<'_> {
    /// Runs what commits by itself outside a transaction, and rolls it back where that commit is
    /// to fail.
    fn committing<R>(&self, run: impl FnOnce() -> Result<R>) -> Result<R> {
        self.faults.operation()?;
        if self.inner.in_transaction() {
            return run();
        }
        let Err(fault) = self.faults.commit() else {
            return run();
        };
        self.inner.control(TransactionControl::Begin)?;
        let done = run();
        self.inner.control(TransactionControl::Rollback)?;
        done.and(Err(fault))
    }
}

impl SessionLayer for FaultySession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.faults.operation()?;
        self.inner.tables()
    }

    fn triggers(&self) -> Result<Option<Vec<Trigger>>> {
        self.faults.operation()?;
        self.inner.triggers()
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.faults.operation()?;
        self.inner.get(table, key, row)
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        self.faults.operation()?;
        self.inner.query(source, row)
    }

    fn join(&self, join: &Join, row: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<bool> {
        self.faults.operation()?;
        self.inner.join(join, row)
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        self.faults.operation()?;
        self.inner.open(source)
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        self.faults.operation()?;
        self.inner.fetch(cursor, rows)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.committing(|| self.inner.alter(changes))
    }

    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        self.faults.operation()?;
        if step == TransactionControl::Commit
            && self.inner.in_transaction()
            && let Err(fault) = self.faults.commit()
        {
            self.inner.control(TransactionControl::Rollback)?;
            return Err(fault);
        }
        self.inner.control(step)
    }

    fn begin_reading(&self) -> Result<()> {
        self.faults.operation()?;
        self.inner.begin_reading()
    }

    fn begin_replay(&self, tables: &[&str]) -> Result<()> {
        self.faults.operation()?;
        self.inner.begin_replay(tables)
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.committing(|| self.inner.write(write))
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        self.committing(|| self.inner.change(change))
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        self.committing(|| self.inner.batch(batch, on_error, each))
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        self.committing(|| self.inner.execute(sql, parameters))
    }
}

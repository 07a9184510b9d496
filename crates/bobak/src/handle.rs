//! How tables reach their engine: through a session of their own, or through the transaction that they were opened in.

use bobak_core::statements::CallSite;
use bobak_core::{
    Engine, Error, ErrorKind, Outcome, QueryTemplate, Result, Row, Session, SlotValues,
    TableSchema, Value, Write,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Where the operations of a table go.
#[derive(Clone)]
pub(crate) enum SessionSource<'a> {
    /// A new session for each operation, which commits by itself.
    Engine(EngineHandle),
    /// The session of an open transaction.
    Transaction(&'a dyn LendSession),
}

/// The engines of a database, as its tables see them.
pub(crate) trait EngineSet: Send + Sync {
    /// The engine at an index; 0 is the main engine.
    fn engine(&self, index: usize) -> Result<&Arc<dyn Engine>>;

    /// The index of the engine that keeps a table: `otherwise` if no record type of the model has this schema.
    fn engine_with(&self, table: &Arc<TableSchema>, otherwise: usize) -> usize;

    /// Checks once that the engine at an index has the table of a record, with its columns. `stored` returns the engine's
    /// tables and views.
    ///
    /// # Errors
    /// `Misuse` for a record that is not registered; `Schema` if the table is missing or differs.
    fn check_table(
        &self,
        engine: usize,
        table: &Arc<TableSchema>,
        stored: &mut dyn FnMut() -> Result<Vec<TableSchema>>,
    ) -> Result<()>;

    /// Normalizes the values of a row, which the engine at an index keeps, by the rules of its record.
    ///
    /// # Errors
    /// Those of functions, and of values that do not fit their column.
    fn normalize(&self, engine: usize, table: &TableSchema, values: &mut [Value<'_>])
    -> Result<()>;
}

impl dyn EngineSet + '_ {
    /// The index of the engine that keeps all tables that `tables` passes on, those of no record type at `otherwise`; `None` if
    /// several do, or there is no table.
    pub(crate) fn engine_with_all(
        &self,
        otherwise: usize,
        tables: impl FnOnce(&mut dyn FnMut(&Arc<TableSchema>)),
    ) -> Option<usize> {
        let (mut keeping, mut keeps_all) = (None, true);
        tables(&mut |table| {
            let engine = self.engine_with(table, otherwise);
            keeps_all &= *keeping.get_or_insert(engine) == engine;
        });
        keeping.filter(|_| keeps_all)
    }
}

/// An engine of a database.
#[derive(Clone)]
pub(crate) struct EngineHandle {
    engines: Arc<dyn EngineSet>,
    index: usize,
}

impl EngineHandle {
    /// The engine at an index.
    pub(crate) fn new(engines: Arc<dyn EngineSet>, index: usize) -> Result<Self> {
        engines.engine(index)?;
        Ok(Self { engines, index })
    }

    pub(crate) const fn engines(&self) -> &Arc<dyn EngineSet> {
        &self.engines
    }

    #[inline]
    pub(crate) fn engine(&self) -> Result<&Arc<dyn Engine>> {
        self.engines.engine(self.index)
    }
}

impl SessionSource<'_> {
    /// The same source on the engine that keeps a table.
    ///
    /// # Errors
    /// `Unsupported` in a transaction of another engine.
    pub(crate) fn keeping(&self, table: &Arc<TableSchema>) -> Result<Self> {
        let index = self.engines().engine_with(table, self.engine_index());
        match self {
            Self::Engine(handle) => {
                EngineHandle::new(Arc::clone(&handle.engines), index).map(Self::Engine)
            }
            Self::Transaction(session) => {
                check_same_engine(session.engine_index(), index, table)?;
                Ok(Self::Transaction(*session))
            }
        }
    }

    /// Checks that the engine of this source's session has the table of a record.
    pub(crate) fn check_table(
        &self,
        session: &dyn Session,
        table: &Arc<TableSchema>,
    ) -> Result<()> {
        let (engines, index) = (self.engines(), self.engine_index());
        check_same_engine(index, engines.engine_with(table, index), table)?;
        engines.check_table(index, table, &mut || session.tables_and_views())
    }

    /// The engines of the database.
    pub(crate) fn engines(&self) -> &dyn EngineSet {
        match self {
            Self::Engine(handle) => &*handle.engines,
            Self::Transaction(session) => session.engines(),
        }
    }

    /// The index of the engine.
    pub(crate) fn engine_index(&self) -> usize {
        match self {
            Self::Engine(handle) => handle.index,
            Self::Transaction(session) => session.engine_index(),
        }
    }

    /// Runs an operation.
    #[inline]
    #[track_caller]
    pub(crate) fn with<R>(&self, run: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        let _at = CallSite::enter();
        match self {
            Self::Engine(handle) => run(&*handle.engine()?.session()?),
            Self::Transaction(session) => session.with(run),
        }
    }

    #[inline]
    #[track_caller]
    pub(crate) fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let _at = CallSite::enter();
        match self {
            Self::Engine(handle) => handle.engine()?.write(write),
            Self::Transaction(session) => session.write(write),
        }
    }

    #[inline]
    #[track_caller]
    pub(crate) fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let _at = CallSite::enter();
        match self {
            Self::Engine(handle) => handle.engine()?.get(table, key, row),
            Self::Transaction(session) => session.get(table, key, row),
        }
    }
}

/// Checks that a transaction of the engine at one index can use a table of the engine at another.
pub(crate) fn check_same_engine(
    transaction: usize,
    engine: usize,
    table: &TableSchema,
) -> Result<()> {
    if engine == transaction {
        return Ok(());
    }
    let message = "a transaction belongs to one engine, and this table is on another";
    Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()))
}

/// A transaction's session, lent to one call at a time, so that tables and transactions are `Sync`.
pub(crate) struct TransactionSession<'db> {
    session: Mutex<Box<dyn Session + 'db>>,
    engines: &'db dyn EngineSet,
    /// The index of its engine.
    engine: usize,
    /// Whether a call failed because of a conflict with another transaction.
    conflict: AtomicBool,
}

/// [`TransactionSession`] without its lifetime parameter.
pub(crate) trait LendSession: Sync {
    /// Lends the session to `run`.
    ///
    /// # Errors
    /// `Misuse` if the session is lent already: inside a callback, or to another thread.
    fn lend(&self, run: &mut dyn FnMut(&dyn Session)) -> Result<()>;

    /// See [`Session::write`]: as by [`lend`](Self::lend), with less work, as the two below.
    fn write(&self, write: &Write<'_>) -> Result<Outcome>;

    /// See [`Session::get`].
    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool>;

    /// See [`Session::run_template`].
    fn run_template(
        &self,
        template: &QueryTemplate,
        values: &SlotValues<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<Option<u64>>;

    /// Notes whether a call failed because of a conflict with another transaction.
    fn note(&self, error: &Error);

    /// The engines of the database.
    fn engines(&self) -> &dyn EngineSet;

    /// The index of the transaction's engine.
    fn engine_index(&self) -> usize;
}

impl<'db> TransactionSession<'db> {
    pub(crate) fn new(
        session: Box<dyn Session + 'db>,
        engines: &'db dyn EngineSet,
        engine: usize,
    ) -> Self {
        let (session, conflict) = (Mutex::new(session), AtomicBool::new(false));
        Self { session, engines, engine, conflict }
    }

    #[inline]
    fn lock(&self) -> Result<MutexGuard<'_, Box<dyn Session + 'db>>> {
        // `try_lock`, since a callback that uses its own transaction would wait for itself forever.
        match self.session.try_lock() {
            Ok(session) => Ok(session),
            // A callback has panicked. The session is as it was before, or reports its own state.
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let message = "the transaction is in use by another call: \
                               read with list or iter before you write";
                Err(Error::new(ErrorKind::Misuse, message))
            }
        }
    }

    /// Whether a call failed because of a conflict with another transaction: a repetition may succeed.
    pub(crate) fn has_conflict(&self) -> bool {
        self.conflict.load(Ordering::Relaxed)
    }
}

impl LendSession for TransactionSession<'_> {
    #[inline]
    fn lend(&self, run: &mut dyn FnMut(&dyn Session)) -> Result<()> {
        run(&**self.lock()?);
        Ok(())
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.lock()?.write(write).inspect_err(|error| self.note(error))
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.lock()?.get(table, key, row).inspect_err(|error| self.note(error))
    }

    fn run_template(
        &self,
        template: &QueryTemplate,
        values: &SlotValues<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<Option<u64>> {
        let result = self.lock()?.run_template(template, values, row);
        result.inspect_err(|error| self.note(error))
    }

    fn note(&self, error: &Error) {
        if error.kind() == ErrorKind::Serialization {
            self.conflict.store(true, Ordering::Relaxed);
        }
    }

    fn engines(&self) -> &dyn EngineSet {
        self.engines
    }

    fn engine_index(&self) -> usize {
        self.engine
    }
}

impl<'a> dyn LendSession + 'a {
    /// Runs a `FnOnce` through the object-safe `FnMut` of [`lend`](LendSession::lend).
    #[inline]
    pub(crate) fn with<R>(&self, run: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        let (mut run, mut result) = (Some(run), None);
        self.lend(&mut |session| result = run.take().map(|run| run(session)))?;
        result
            .unwrap_or_else(|| Err(Error::new(ErrorKind::Misuse, "the session was not lent")))
            .inspect_err(|error| self.note(error))
    }
}

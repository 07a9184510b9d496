//! Transactions and savepoints.

use crate::batch::{Batch, BatchOptions};
use crate::catalog::{CacheInvalidation, Catalog};
use crate::dynamic::DynTable;
use crate::handle::{LendSession, SessionSource, TransactionSession};
use crate::parameters::Parameters;
use crate::sql::{self, RunText};
use crate::table::Table;
use bobak_core::statements::CallSite;
use bobak_core::{
    FromRow, Parameter, Record, Result, Row, SchemaChange, Session, TableSchema, TransactionControl,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Several operations that are committed together by [`commit`](Transaction::commit), or rolled back when the transaction
/// is dropped. Others see none of them before the commit.
///
/// A transaction belongs to one engine, and other writers may wait for its end: keep it short.
///
/// ```
/// # use bobak::prelude::*;
/// # #[derive(Record)] struct Account { #[record(key = "given")] id: i64, balance: Currency }
/// # let db = Db::builder().record::<Account>().open("memory:")?;
/// # db.create_missing_tables()?;
/// # for id in 1..=2 { db.table()?.insert(&Account { id, balance: Currency::ZERO })?; }
/// let five = Currency::from_units(5)?;
/// let transaction = db.begin()?;
/// let accounts = transaction.table::<Account>()?;
/// accounts.set(1, [Account::BALANCE.add(Currency::from_units(-5)?)])?;
/// accounts.set(2, [Account::BALANCE.add(five)])?;
/// transaction.commit()?;
/// assert_eq!(db.table::<Account>()?.require(2)?.balance, five);
/// # Ok::<(), Error>(())
/// ```
#[must_use = "a transaction that is dropped is rolled back"]
pub struct Transaction<'db> {
    session: TransactionSession<'db>,
    catalog: &'db Catalog,
    /// The index of its engine.
    engine: usize,
    savepoints: AtomicU64,
    open: bool,
    // Fields drop in this order: the session, which may roll back, before the caches may store rows again.
    invalidation: Mutex<CacheInvalidation>,
}

impl<'db> Transaction<'db> {
    #[track_caller]
    pub(crate) fn begin(catalog: &'db Catalog, engine: usize) -> Result<Self> {
        let _at = CallSite::enter();
        let session = catalog.engine(engine)?.session()?;
        session.control(TransactionControl::Begin)?;
        Ok(Self {
            session: TransactionSession::new(session, catalog, engine),
            catalog,
            engine,
            savepoints: AtomicU64::new(0),
            open: true,
            invalidation: Mutex::default(),
        })
    }

    /// A transaction over the session of one that is open, and that stays open when this is dropped.
    pub(crate) fn within(
        catalog: &'db Catalog,
        engine: usize,
        session: Box<dyn Session + 'db>,
    ) -> Self {
        let session = TransactionSession::new(session, catalog, engine);
        let (savepoints, invalidation) = (AtomicU64::new(0), Mutex::default());
        Self { session, catalog, engine, savepoints, open: false, invalidation }
    }

    /// The records of one type, inside the transaction.
    ///
    /// # Errors
    /// `Unsupported` if another engine keeps them; `Schema` if their table is missing or differs.
    pub fn table<T: Record>(&self) -> Result<Table<'_, T>> {
        self.catalog.bind_inside::<T>(self.engine, || self.stored())?;
        Ok(Table::new(self.source()))
    }

    /// A table or view that no struct describes, inside the transaction.
    ///
    /// # Errors
    /// `Schema` if the transaction's engine has no table with this name.
    pub fn dynamic(&self, name: &str) -> Result<DynTable<'_>> {
        let schema = TableSchema::find_in(self.stored()?, name)?;
        Ok(DynTable::new(self.source(), Arc::new(schema)))
    }

    /// Creates a table from a schema built at run time, as part of the transaction.
    ///
    /// # Errors
    /// As [`Db::create_table`](crate::Db::create_table).
    #[track_caller]
    pub fn create_table(&self, schema: TableSchema) -> Result<DynTable<'_>> {
        schema.check_writable()?;
        let schema = Arc::new(schema);
        let change = [SchemaChange::CreateTable(Arc::clone(&schema))];
        self.source().with(|session| session.alter(&change))?;
        Ok(DynTable::new(self.source(), schema))
    }

    fn stored(&self) -> Result<Vec<TableSchema>> {
        self.source().with(|session| session.tables_and_views())
    }

    /// A batch inside the transaction: its rows are sent in parts, and committed with the transaction.
    #[track_caller]
    pub fn batch(&self, options: BatchOptions) -> Batch<'_> {
        Batch::in_transaction(self.catalog, self.engine, &self.session, options)
    }

    /// Runs SQL and reads its rows. See [`Db::sql`](crate::Db::sql). The statement can read the tables of all engines, and
    /// write to those of the transaction's engine. In a transaction of a main engine that is SQLite it may instead write to
    /// one attached engine, if the transaction writes to nothing else.
    ///
    /// # Errors
    /// As [`Db::sql`](crate::Db::sql).
    #[track_caller]
    pub fn sql<R: FromRow>(&self, text: &str, parameters: impl Parameters) -> Result<Vec<R>> {
        sql::list(self, text, parameters)
    }

    /// Runs SQL that returns no rows. See [`Db::execute`](crate::Db::execute).
    ///
    /// # Errors
    /// As [`Db::execute`](crate::Db::execute).
    #[track_caller]
    pub fn execute(&self, text: &str, parameters: impl Parameters) -> Result<u64> {
        let _at = CallSite::enter();
        let (text, parameters) = parameters.into_arguments()?.bind(text)?;
        self.invalidate_caches(&text);
        self.catalog.execute_in(self.engine, &self.session, &text, &parameters)
    }

    /// Creates a savepoint. Operations after it are rolled back if it is dropped before [`Savepoint::release`].
    ///
    /// # Errors
    /// Those of the engine.
    #[track_caller]
    pub fn savepoint(&self) -> Result<Savepoint<'_>> {
        let number = self.savepoints.fetch_add(1, Ordering::Relaxed);
        let name = format!("bobak_{number}");
        self.control(TransactionControl::Savepoint(&name))?;
        Ok(Savepoint { session: &self.session, name, open: true })
    }

    /// Runs `work` under a savepoint: if it fails, only its own operations are rolled back.
    ///
    /// # Errors
    /// Those of `work`, and of the engine.
    #[track_caller]
    pub fn nested<R>(&self, work: impl FnOnce(&Self) -> Result<R>) -> Result<R> {
        let savepoint = self.savepoint()?;
        let result = work(self)?;
        savepoint.release()?;
        Ok(result)
    }

    /// Makes all operations durable and visible.
    ///
    /// # Errors
    /// `Full`, `Io`, `Constraint` (of a deferred foreign key). The transaction is rolled back then.
    #[track_caller]
    pub fn commit(mut self) -> Result<()> {
        self.open = false;
        self.control(TransactionControl::Commit)
    }

    /// Rolls back all operations.
    ///
    /// # Errors
    /// Those of the engine; the operations are rolled back nevertheless.
    #[track_caller]
    pub fn rollback(mut self) -> Result<()> {
        self.open = false;
        self.control(TransactionControl::Rollback)
    }

    /// Whether a call failed because of a conflict with another transaction.
    pub(crate) fn has_conflict(&self) -> bool {
        self.session.has_conflict()
    }

    #[track_caller]
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        self.source().with(|session| session.control(step))
    }

    /// Keeps caches from storing what a statement may write, until the transaction ends.
    fn invalidate_caches(&self, text: &str) {
        let mut invalidation = self.invalidation.lock().unwrap_or_else(PoisonError::into_inner);
        self.catalog.invalidate_caches(text, &mut invalidation);
    }

    pub(crate) fn source(&self) -> SessionSource<'_> {
        SessionSource::Transaction(&self.session)
    }
}

impl RunText for Transaction<'_> {
    fn query_text(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
        columns: Option<&mut Vec<bobak_core::ResultColumn>>,
    ) -> Result<()> {
        self.invalidate_caches(text);
        self.catalog.query_in(self.engine, &self.session, (text, parameters), row, columns)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            // An error can't be returned from here, and the end of the session rolls back too.
            let _ = self.control(TransactionControl::Rollback);
        }
    }
}

/// A point in a transaction to roll back to. See [`Transaction::savepoint`].
///
/// Savepoints nest: one that is released or dropped also ends the later ones.
#[must_use = "a savepoint that is dropped rolls back"]
pub struct Savepoint<'t> {
    session: &'t dyn LendSession,
    name: String,
    open: bool,
}

impl Savepoint<'_> {
    /// Keeps the operations since the savepoint, as part of the transaction.
    ///
    /// # Errors
    /// `Misuse` if an outer savepoint has ended before.
    #[track_caller]
    pub fn release(mut self) -> Result<()> {
        self.open = false;
        self.control(TransactionControl::Release(&self.name))
    }

    /// Rolls back the operations since the savepoint.
    ///
    /// # Errors
    /// `Misuse` if an outer savepoint has ended before.
    #[track_caller]
    pub fn rollback(mut self) -> Result<()> {
        self.open = false;
        self.undo()
    }

    #[track_caller]
    fn undo(&self) -> Result<()> {
        self.control(TransactionControl::RollbackTo(&self.name))?;
        self.control(TransactionControl::Release(&self.name))
    }

    #[track_caller]
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let _at = CallSite::enter();
        self.session.with(|session| session.control(step))
    }
}

impl Drop for Savepoint<'_> {
    fn drop(&mut self) {
        if self.open {
            // If this fails, an outer savepoint or the transaction has ended, which rolled back already.
            let _ = self.undo();
        }
    }
}

//! Transactions and savepoints.

use crate::access::{Handle, Lend, Lent};
use crate::db::Inner;
use crate::route::Forgotten;
use crate::sql::RunText;
use crate::{Batch, BatchOptions, DynTable, Parameters, Table};
use bobak_core::{Control, FromRow, Record, Result, Row, SchemaChange, TableSchema, Value};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Many operations as one: all of them happen at [`commit`](Transaction::commit), none of them
/// where it is dropped before. Others see nothing of it until then.
///
/// It belongs to one engine, and other writers wait for its end: keep it short.
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
    session: Lent<'db>,
    inner: &'db Inner,
    engine: usize,
    savepoints: AtomicU64,
    open: bool,
    // Dropped after the session, which may roll back then: what SQL wrote to any engine is kept by no cache before.
    forgotten: Mutex<Forgotten>,
}

impl<'db> Transaction<'db> {
    pub(crate) fn begin(inner: &'db Inner, engine: usize) -> Result<Self> {
        let session = inner.engine(engine)?.session()?;
        session.control(Control::Begin)?;
        Ok(Self {
            session: Lent::new(session),
            inner,
            engine,
            savepoints: AtomicU64::new(0),
            open: true,
            forgotten: Mutex::default(),
        })
    }

    /// The records of one type, inside the transaction.
    ///
    /// # Errors
    /// `Unsupported` where they are kept on another engine; `Schema` where their table is missing
    /// or differs.
    pub fn table<T: Record>(&self) -> Result<Table<'_, T>> {
        self.inner.bind_inside::<T>(self.engine, || self.stored())?;
        Ok(Table::new(self.handle()))
    }

    /// A table that no struct describes, inside the transaction.
    ///
    /// # Errors
    /// `Schema` where there is none of this name on the transaction's engine.
    pub fn dynamic(&self, name: &str) -> Result<DynTable<'_>> {
        let schema = TableSchema::find_in(self.stored()?, name)?;
        Ok(DynTable::new(self.handle(), Arc::new(schema)))
    }

    /// Creates a table from a description made at run time, as part of the transaction.
    ///
    /// # Errors
    /// As [`Db::create_table`](crate::Db::create_table).
    pub fn create_table(&self, schema: TableSchema) -> Result<DynTable<'_>> {
        let schema = Arc::new(schema);
        let change = [SchemaChange::CreateTable(Arc::clone(&schema))];
        self.handle().with(|session| session.alter(&change))?;
        Ok(DynTable::new(self.handle(), schema))
    }

    fn stored(&self) -> Result<Vec<TableSchema>> {
        self.handle().with(|session| session.tables())
    }

    /// A batch inside the transaction: its rows are sent as they come, and committed with it.
    pub fn batch(&self, options: BatchOptions) -> Batch<'_> {
        Batch::in_transaction(self.inner, self.engine, &self.session, options)
    }

    /// Runs SQL, and reads its rows. See [`Db::sql`](crate::Db::sql). It reads the tables of all
    /// engines, and writes to those of the transaction's. Inside a transaction of the main engine
    /// where that is SQLite it may write to an attached engine instead, if to nothing else.
    ///
    /// # Errors
    /// As [`Db::sql`](crate::Db::sql).
    pub fn sql<R: FromRow>(&self, text: &str, parameters: impl Parameters) -> Result<Vec<R>> {
        crate::sql::list(self, text, parameters)
    }

    /// Runs SQL that gives no rows. See [`Db::execute`](crate::Db::execute).
    ///
    /// # Errors
    /// As [`Db::execute`](crate::Db::execute).
    pub fn execute(&self, text: &str, parameters: impl Parameters) -> Result<u64> {
        let parameters = parameters.into_values()?;
        let inner = self.inner;
        self.forget(text);
        inner.execute_in(self.engine, &self.session, text, &parameters)
    }

    /// Marks a place to come back to. What is done until [`Savepoint::release`] is undone where
    /// the savepoint is dropped before.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn savepoint(&self) -> Result<Savepoint<'_>> {
        let number = self.savepoints.fetch_add(1, Ordering::Relaxed);
        let name = format!("bobak_{number}");
        self.control(Control::Savepoint(&name))?;
        Ok(Savepoint { session: &self.session, name, open: true })
    }

    /// Runs `work` under a savepoint: where it fails, only what it did is undone.
    ///
    /// # Errors
    /// Those of `work`, and of the engine.
    pub fn nested<R>(&self, work: impl FnOnce(&Self) -> Result<R>) -> Result<R> {
        let savepoint = self.savepoint()?;
        let result = work(self)?;
        savepoint.release()?;
        Ok(result)
    }

    /// Makes all of it durable and visible.
    ///
    /// # Errors
    /// `Full`, `Io`, `Constraint` (of a deferred foreign key): it is rolled back then.
    pub fn commit(mut self) -> Result<()> {
        self.open = false;
        self.control(Control::Commit)
    }

    /// Undoes all of it.
    ///
    /// # Errors
    /// Those of the engine; nothing of it stays even so.
    pub fn rollback(mut self) -> Result<()> {
        self.open = false;
        self.control(Control::Rollback)
    }

    fn control(&self, step: Control<'_>) -> Result<()> {
        self.handle().with(|session| session.control(step))
    }

    /// Makes caches forget what a statement may write, until the transaction is over.
    fn forget(&self, text: &str) {
        let mut forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        self.inner.forget(text, &mut forgotten);
    }

    fn handle(&self) -> Handle<'_> {
        Handle::Transaction(&self.session)
    }
}

impl RunText for Transaction<'_> {
    fn query_text(
        &self,
        text: &str,
        parameters: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        self.forget(text);
        self.inner.query_in(self.engine, &self.session, text, parameters, row)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            // Nobody is left to tell; the session's own end would undo it too.
            let _ = self.control(Control::Rollback);
        }
    }
}

/// A place in a transaction to come back to. See [`Transaction::savepoint`].
///
/// Savepoints end in the opposite order of their beginning: one that is released or dropped ends
/// those begun after it.
#[must_use = "a savepoint that is dropped undoes what was done since"]
pub struct Savepoint<'t> {
    session: &'t dyn Lend,
    name: String,
    open: bool,
}

impl Savepoint<'_> {
    /// Keeps what was done since, as part of the transaction.
    ///
    /// # Errors
    /// `Misuse` where an outer savepoint has ended before.
    pub fn release(mut self) -> Result<()> {
        self.open = false;
        self.control(Control::Release(&self.name))
    }

    /// Undoes what was done since.
    ///
    /// # Errors
    /// `Misuse` where an outer savepoint has ended before.
    pub fn rollback(mut self) -> Result<()> {
        self.open = false;
        self.undo()
    }

    fn undo(&self) -> Result<()> {
        self.control(Control::RollbackTo(&self.name))?;
        self.control(Control::Release(&self.name))
    }

    fn control(&self, step: Control<'_>) -> Result<()> {
        self.session.with(|session| session.control(step))
    }
}

impl Drop for Savepoint<'_> {
    fn drop(&mut self) {
        if self.open {
            // Where it fails an outer savepoint, or the transaction, has ended and undone it.
            let _ = self.undo();
        }
    }
}

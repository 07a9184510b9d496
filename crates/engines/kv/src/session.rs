//! Sessions: operations, and transactions over them.

use crate::NAME;
use crate::catalog::TableCatalog;
use crate::data::{DATA, Data, TableRows};
use crate::engine::KvFile;
use crate::error::failed;
use crate::scan::scan;
use crate::transaction::WriteTransaction;
use bobak_core::codec::EncodedRow;
use bobak_core::engine::fallback;
use bobak_core::{
    Error, ErrorKind, Interrupt, OnError, Outcome, Result, Row, Run, SchemaChange, Session, Source,
    TableSchema, TransactionControl, Value, Write, WriteBatch,
};
use bobak_engine_common::{ColumnMap, EachRow, run_select, write_row};
use redb::ReadTransaction;
use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;

/// A session of the key-value engine.
pub(super) struct KvSession<'e> {
    shared: &'e KvFile,
    /// Borrowed while a call runs, so that a call from inside a row's callback is rejected.
    transaction: RefCell<Option<Transaction<'e>>>,
    in_transaction: Cell<bool>,
}

enum Transaction<'e> {
    Reading(ReadTransaction, Arc<TableCatalog>),
    Writing(Box<WriteTransaction<'e>>),
}

impl<'e> KvSession<'e> {
    pub fn new(shared: &'e KvFile) -> Self {
        Self { shared, transaction: RefCell::new(None), in_transaction: Cell::new(false) }
    }

    fn enter(&self) -> Result<RefMut<'_, Option<Transaction<'e>>>> {
        self.transaction.try_borrow_mut().map_err(|_| {
            let message = "the session is in a row callback: use another session, or a cursor";
            Error::new(ErrorKind::Misuse, message)
        })
    }

    /// Reads from the open transaction, or from the state of this moment.
    fn read<R>(
        &self,
        transaction: &Option<Transaction<'e>>,
        work: impl FnOnce(&Data<'_>, &TableCatalog) -> Result<R>,
    ) -> Result<R> {
        let begun;
        let (redb, catalog) = match transaction {
            Some(Transaction::Writing(writing)) => {
                return work(&writing.data()?, &writing.catalog);
            }
            Some(Transaction::Reading(redb, catalog)) => (redb, catalog),
            None => {
                begun = self.shared.begin_read()?;
                (&begun.0, &begun.1)
            }
        };
        let table = redb.open_table(DATA).map_err(|error| failed("read", error))?;
        work(&Data::Reading(table), catalog)
    }

    /// Where the schema's columns are in its table, if not in the same places.
    fn map(&self, schema: &TableSchema) -> Result<Option<Arc<ColumnMap>>> {
        Ok(match &*self.enter()? {
            Some(Transaction::Writing(writing)) => writing.catalog.map(schema),
            Some(Transaction::Reading(_, catalog)) => catalog.map(schema),
            None => self.shared.catalog().map(schema),
        })
    }

    /// Writes in the open transaction, or in one of its own.
    fn change<R>(&self, work: impl FnOnce(&mut WriteTransaction<'e>) -> Result<R>) -> Result<R> {
        match &mut *self.enter()? {
            Some(Transaction::Writing(writing)) => work(writing),
            Some(Transaction::Reading(..)) => {
                Err(Error::new(ErrorKind::ReadOnly, "the transaction is read-only"))
            }
            None => {
                let mut writing = WriteTransaction::begin(self.shared)?;
                let result = work(&mut writing)?;
                writing.commit().map(|()| result)
            }
        }
    }

    fn begin(&self, begin: impl FnOnce() -> Result<Transaction<'e>>) -> Result<()> {
        let mut transaction = self.enter()?;
        if transaction.is_some() {
            let message = "a transaction is already open: use a savepoint";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        *transaction = Some(begin()?);
        self.in_transaction.set(true);
        Ok(())
    }
}

impl Session for KvSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        if step == TransactionControl::Begin {
            let begin = || WriteTransaction::begin(self.shared).map(Box::new);
            return self.begin(|| begin().map(Transaction::Writing));
        }
        let mut transaction = self.enter()?;
        match (step, &mut *transaction) {
            (_, None) => Err(Error::new(ErrorKind::Misuse, "no transaction is open")),
            (TransactionControl::Commit | TransactionControl::Rollback, Some(_)) => {
                self.in_transaction.set(false);
                match (step, transaction.take()) {
                    (TransactionControl::Commit, Some(Transaction::Writing(writing))) => {
                        writing.commit()
                    }
                    _ => Ok(()),
                }
            }
            (step, Some(Transaction::Writing(writing))) => writing.savepoint(step),
            (_, Some(Transaction::Reading(..))) => Ok(()),
        }
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    fn begin_reading(&self) -> Result<()> {
        self.begin(|| {
            let (redb, catalog) = self.shared.begin_read()?;
            Ok(Transaction::Reading(redb, catalog))
        })
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        Interrupt::check()?;
        if let Some(map) = self.map(write.table)? {
            return map.write(self, write);
        }
        self.change(|transaction| {
            let (mut writer, catalog) = transaction.writer()?;
            let table = catalog.find(write.table)?;
            write_row(&mut TableRows { writer: &mut writer, table }, &table.stored, write)
        })
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
        for run in batch.runs() {
            if self.map(run.table)?.is_some() {
                return fallback::batch(self, batch, on_error, each);
            }
        }
        let write = |transaction: &mut WriteTransaction<'_>| {
            batch.runs().try_for_each(|run| write_run(transaction, &run, on_error, each))
        };
        if self.in_transaction.get() {
            return self.change(|transaction| transaction.atomically(write));
        }
        self.change(write)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        if self.map(table)?.is_some() {
            return fallback::get(self, table, key, row);
        }
        self.read(&*self.enter()?, |data, catalog| {
            let table = catalog.find(table)?;
            let found = data.find(table, 0, &table.stored.key_of(key)?)?;
            found.map_or(Ok(false), |bytes| row(&EncodedRow::new(bytes.value())).map(|()| true))
        })
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let select = source.as_select(NAME)?;
        let mapped = self.map(&select.table)?.map(|map| map.select(select));
        let select = mapped.as_ref().unwrap_or(select);
        let transaction = self.enter()?;
        select.check_lock(transaction.is_some())?;
        if let (Some(_), Some(Transaction::Reading(..))) = (select.lock, &*transaction) {
            return Err(Error::new(ErrorKind::ReadOnly, "the transaction is read-only"));
        }
        self.read(&transaction, |data, catalog| {
            let table = catalog.find(&select.table)?;
            let condition = select.condition.as_ref();
            let scan = |each: &mut EachRow<'_>| scan(data, table, condition, each);
            run_select(&table.stored.schema, select, scan, row)
        })
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.read(&*self.enter()?, |_, catalog| {
            let schemas = catalog.tables.iter().map(|table| &table.stored.schema);
            Ok(schemas.map(|schema| TableSchema::clone(schema)).collect())
        })
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.change(|transaction| {
            transaction.atomically(|transaction| {
                let (mut writer, catalog) = transaction.writer()?;
                let altered = catalog.alter(&mut writer, changes)?;
                drop(writer);
                transaction.set_catalog(altered);
                Ok(())
            })
        })
    }
}

/// Writes the rows of a run.
fn write_run(
    transaction: &mut WriteTransaction<'_>,
    run: &Run<'_>,
    on_error: OnError,
    each: &mut dyn FnMut(Result<Outcome>),
) -> Result<()> {
    let (mut writer, catalog) = transaction.writer()?;
    let table = catalog.find(run.table);
    for (number, row) in (run.first..).zip(run.iter()) {
        Interrupt::check()?;
        let values: Vec<Value<'_>> =
            (0..row.len()).map(|column| row.value(column).into()).collect();
        let write = Write { table: run.table, verb: run.verb, fields: run.fields, values: &values };
        let written = match &table {
            Ok(table) => {
                write_row(&mut TableRows { writer: &mut writer, table }, &table.stored, &write)
            }
            Err(_) => catalog.find(run.table).map(|_| Outcome::Ignored),
        };
        match written.map_err(|error| error.at_row(number)) {
            Err(error) if on_error == OnError::Stop || *writer.failed => return Err(error),
            outcome => each(outcome),
        }
    }
    Ok(())
}

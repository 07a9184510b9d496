//! Sessions: operations, and transactions over them.

use crate::NAME;
use crate::catalog::{self, TableCatalog};
use crate::data::{Data, TableRows};
use crate::engine::KvFile;
use crate::scan::scan;
use crate::transaction::{Mark, WriteTransaction};
use bobak_core::codec::EncodedRow;
use bobak_core::engine::fallback;
use bobak_core::{
    Error, ErrorKind, Interrupt, OnError, Outcome, Result, Row, Run, SchemaChange, Session, Source,
    TableSchema, TransactionControl, Value, Write, WriteBatch,
};
use bobak_engine_common::{
    ColumnMap, EachRow, LocalTransaction, SavepointStack, TransactionSlot, run_select, write_row,
};
use redb::ReadTransaction;
use std::sync::Arc;

/// A session of the key-value engine.
pub(super) struct KvSession<'e> {
    shared: &'e KvFile,
    transaction: TransactionSlot<Transaction<'e>>,
}

enum Transaction<'e> {
    Reading(ReadTransaction, Arc<TableCatalog>),
    Writing(Box<WriteTransaction<'e>>),
}

/// The open transaction, if there is one.
type Open<'e> = Option<SavepointStack<Transaction<'e>>>;

impl<'e> KvSession<'e> {
    pub fn new(shared: &'e KvFile) -> Self {
        Self { shared, transaction: TransactionSlot::default() }
    }

    /// Reads from the open transaction, or from the state of this moment.
    fn read<R>(
        &self,
        transaction: &Open<'e>,
        work: impl FnOnce(&Data<'_>, &TableCatalog) -> Result<R>,
    ) -> Result<R> {
        match transaction.as_deref() {
            Some(Transaction::Writing(writing)) => work(&writing.data()?, &writing.catalog),
            Some(Transaction::Reading(redb, catalog)) => work(&Data::reading(redb)?, catalog),
            None => {
                let (redb, catalog) = self.shared.begin_read()?;
                work(&Data::reading(&redb)?, &catalog)
            }
        }
    }

    /// Where the schema's columns are in its table, if not in the same places.
    fn map(&self, schema: &TableSchema) -> Result<Option<Arc<ColumnMap>>> {
        Ok(match self.transaction.enter()?.as_deref() {
            Some(Transaction::Writing(writing)) => writing.catalog.map(schema),
            Some(Transaction::Reading(_, catalog)) => catalog.map(schema),
            None => self.shared.catalog().map(schema),
        })
    }

    /// Writes in the open transaction, or in one of its own.
    fn change<R>(&self, work: impl FnOnce(&mut WriteTransaction<'e>) -> Result<R>) -> Result<R> {
        match self.transaction.enter()?.as_deref_mut() {
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
}

impl<'e> Transaction<'e> {
    fn writing(&mut self) -> Option<&mut WriteTransaction<'e>> {
        if let Self::Writing(writing) = self { Some(writing) } else { None }
    }
}

impl LocalTransaction for Transaction<'_> {
    type Mark = Option<Mark>;

    fn mark(&mut self) -> Option<Mark> {
        self.writing().map(WriteTransaction::mark)
    }

    fn return_to(&mut self, mark: &Option<Mark>) -> Result<()> {
        let writing = self.writing().zip(mark.as_ref());
        writing.map_or(Ok(()), |(writing, mark)| writing.return_to(mark))
    }

    fn forget_marks(&mut self) {
        self.writing().into_iter().for_each(WriteTransaction::forget_marks);
    }

    fn commit(self) -> Result<()> {
        if let Self::Writing(writing) = self { writing.commit() } else { Ok(()) }
    }
}

impl Session for KvSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let begin = || WriteTransaction::begin(self.shared).map(Box::new);
        self.transaction.control(step, || begin().map(Transaction::Writing))
    }

    fn in_transaction(&self) -> bool {
        self.transaction.is_open()
    }

    fn begin_reading(&self) -> Result<()> {
        self.transaction.control(TransactionControl::Begin, || {
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
        let is_mapped = |run: Run<'_>| matches!(self.map(run.table), Ok(Some(_)));
        if batch.runs().any(is_mapped) {
            return fallback::batch(self, batch, on_error, each);
        }
        let write = |transaction: &mut WriteTransaction<'_>| {
            batch.runs().try_for_each(|run| write_run(transaction, &run, on_error, each))
        };
        if self.in_transaction() {
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
        self.read(&*self.transaction.enter()?, |data, catalog| {
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
        if fallback::nearest(self, source, || self.transaction.enter(), row)? {
            return Ok(());
        }
        let select = source.as_select(NAME)?;
        let mapped = self.map(&select.table)?.map(|map| map.select(select));
        let select = mapped.as_ref().unwrap_or(select);
        let transaction = self.transaction.enter()?;
        select.check_lock(transaction.is_some())?;
        select.check_search(NAME, false)?;
        if let (Some(_), Some(Transaction::Reading(..))) = (select.lock, transaction.as_deref()) {
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
        self.read(&*self.transaction.enter()?, |_, catalog| Ok(catalog.schemas()))
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.change(|transaction| {
            transaction.atomically(|transaction| {
                let (mut writer, catalog) = transaction.writer()?;
                let altered = catalog::alter(catalog, &mut writer, changes)?;
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
    fallback::write_run(run, on_error, each, &mut |write| match &table {
        Ok(table) => write_row(&mut TableRows { writer: &mut writer, table }, &table.stored, write),
        Err(_) => catalog.find(run.table).map(|_| Outcome::Ignored),
    })
}

//! A complete engine over `BTreeMap`s, in one file: the example of `docs/adding-an-engine.md`.
//!
//! It has the eight required methods and its capabilities; the contract's defaults do the rest.

use bobak_core::codec::EncodedRow;
use bobak_core::{
    Capabilities, Engine, Error, ErrorKind, Outcome, Result, Row, SchemaChange, Session, Source,
    TableSchema, TransactionControl, Write,
};
use bobak_engine_common::{
    ColumnMap, EachRow, HeldWriteLock, RowStore, StoredTable, TableAdditions, WriteLock,
    encode_row, missing_table, reject_references, run_select, table_exists, write_row,
};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// An engine that keeps its tables in memory.
pub struct BTreeEngine {
    published: RwLock<Arc<TableSet>>,
    writer: WriteLock,
}

/// All tables at one moment. Clones share what neither of them changes.
#[derive(Clone, Default)]
struct TableSet {
    tables: Vec<Arc<Table>>,
}

/// One table. Rows are sorted by the bytes of their sort keys, which is the order of their keys.
#[derive(Clone)]
struct Table {
    stored: Arc<StoredTable>,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    /// For each index that is unique: the key of each row by its values.
    unique: Vec<BTreeMap<Vec<u8>, Vec<u8>>>,
    /// The largest key that the table ever had.
    largest_key: i64,
}

impl Table {
    fn new(schema: Arc<TableSchema>) -> Result<Self> {
        reject_references(NAME, &schema)?;
        let unique = vec![BTreeMap::new(); schema.indexes().len()];
        Ok(Self {
            stored: Arc::new(StoredTable::new(schema)?),
            rows: BTreeMap::new(),
            unique,
            largest_key: 0,
        })
    }
}

impl RowStore for Table {
    fn find(&self, index: usize, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let key = match index.checked_sub(1) {
            None => Some(key),
            Some(at) => self.unique.get(at).and_then(|keys| keys.get(key)).map(Vec::as_slice),
        };
        Ok(key.and_then(|key| self.rows.get(key)).cloned())
    }

    fn last(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.rows.values().next_back().cloned())
    }

    fn largest_key(&self) -> Result<i64> {
        Ok(self.largest_key)
    }

    fn set_largest_key(&mut self, key: i64) -> Result<()> {
        self.largest_key = key;
        Ok(())
    }

    fn replace(&mut self, old: Option<EncodedRow<'_>>, new: Option<EncodedRow<'_>>) -> Result<()> {
        let stored = &self.stored;
        let indexes = stored.schema.indexes().iter().zip(&mut self.unique).enumerate();
        for (at, (_, keys)) in indexes.filter(|(_, (index, _))| index.unique) {
            if let Some(old) = old {
                keys.remove(&stored.index_key(at + 1, old));
            }
            if let Some(new) = new {
                keys.insert(stored.index_key(at + 1, new), stored.index_key(0, new));
            }
        }
        if let Some(old) = old {
            self.rows.remove(&stored.index_key(0, old));
        }
        if let Some(new) = new {
            self.rows.insert(stored.index_key(0, new), new.as_bytes().to_vec());
        }
        Ok(())
    }
}

impl TableSet {
    fn position(&self, table: &TableSchema) -> Result<usize> {
        let same =
            |other: &Arc<Table>| other.stored.schema.name().eq_ignore_ascii_case(table.name());
        self.tables.iter().position(same).ok_or_else(|| missing_table(table))
    }

    /// The table of a schema, and where the schema's columns are in it, if not in the same places.
    fn find(&mut self, table: &TableSchema) -> Result<(&mut Arc<Table>, Option<ColumnMap>)> {
        let position = self.position(table)?;
        let found = self.tables.get_mut(position).expect("the position was found just now");
        let map = ColumnMap::new(table, &found.stored.schema)?;
        Ok((found, map))
    }

    fn alter(&mut self, changes: &[SchemaChange]) -> Result<()> {
        for change in changes {
            match change {
                SchemaChange::CreateTable(table) if self.position(table).is_ok() => {
                    return Err(table_exists(table));
                }
                SchemaChange::CreateTable(table) => {
                    self.tables.push(Arc::new(Table::new(Arc::clone(table))?));
                }
                // Below, for all changes of a table together.
                SchemaChange::AddColumn { .. } | SchemaChange::AddIndex { .. } => {}
                _ => return Err(Error::unsupported(NAME, "change capture")),
            }
        }
        for addition in TableAdditions::collect(changes)? {
            let position = self.position(addition.table())?;
            let Some(old) = self.tables.get_mut(position) else { continue };
            let rebuild = addition.rebuild(&old.stored.schema)?;
            let mut new = Table::new(Arc::clone(&rebuild.schema))?;
            new.largest_key = old.largest_key;
            for row in old.rows.values() {
                let row = EncodedRow::new(row);
                let row = encode_row(&rebuild.schema, |column| rebuild.value(row, column))?;
                let row = EncodedRow::new(&row);
                Arc::clone(&new.stored).check_new(&new, row)?;
                new.replace(None, Some(row))?;
            }
            *old = Arc::new(new);
        }
        Ok(())
    }
}

const NAME: &str = "btree";

impl BTreeEngine {
    /// An empty engine, whose writers wait for each other at most this long.
    #[must_use]
    pub fn new(busy_timeout: Duration) -> Self {
        Self { published: RwLock::default(), writer: WriteLock::new(busy_timeout) }
    }

    fn published(&self) -> RwLockReadGuard<'_, Arc<TableSet>> {
        self.published.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self) -> RwLockWriteGuard<'_, Arc<TableSet>> {
        self.published.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine for BTreeEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let (transaction, in_transaction) = (RefCell::new(None), Cell::new(false));
        Ok(Box::new(BTreeSession { engine: self, transaction, in_transaction }))
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::NONE;
        capabilities.concurrent_readers = true;
        capabilities.sequential_keys = true;
        capabilities.nul_in_text = true;
        capabilities.untyped_columns = true;
        capabilities.unreused_keys = true;
        capabilities
    }
}

struct BTreeSession<'e> {
    engine: &'e BTreeEngine,
    /// Borrowed while a call runs, so that a call from inside a row's callback is rejected.
    transaction: RefCell<Option<Transaction<'e>>>,
    in_transaction: Cell<bool>,
}

/// A transaction changes a state of its own; its commit publishes that.
struct Transaction<'e> {
    state: Arc<TableSet>,
    savepoints: Vec<(String, Arc<TableSet>)>,
    _lock: HeldWriteLock<'e>,
}

impl Transaction<'_> {
    fn savepoint(&self, name: &str) -> Result<usize> {
        let place = self.savepoints.iter().rposition(|(other, _)| other == name);
        place.ok_or_else(|| Error::new(ErrorKind::Misuse, format!("no savepoint is '{name}'")))
    }

    fn step(&mut self, step: TransactionControl<'_>) -> Result<()> {
        match step {
            TransactionControl::Savepoint(name) => {
                self.savepoints.push((name.to_owned(), Arc::clone(&self.state)));
            }
            TransactionControl::Release(name) => {
                self.savepoints.truncate(self.savepoint(name)?);
            }
            TransactionControl::RollbackTo(name) => {
                self.savepoints.truncate(self.savepoint(name)? + 1);
                if let Some((_, state)) = self.savepoints.last() {
                    self.state = Arc::clone(state);
                }
            }
            _ => return Err(Error::new(ErrorKind::Misuse, "a transaction is already open")),
        }
        Ok(())
    }
}

impl<'e> BTreeSession<'e> {
    fn enter(&self) -> Result<RefMut<'_, Option<Transaction<'e>>>> {
        let message = "the session is in a row callback";
        self.transaction.try_borrow_mut().map_err(|_| Error::new(ErrorKind::Misuse, message))
    }

    /// The open transaction's state, or the published one.
    fn state(&self, open: &Option<Transaction<'e>>) -> TableSet {
        match open {
            Some(transaction) => TableSet::clone(&transaction.state),
            None => TableSet::clone(&self.engine.published()),
        }
    }

    /// Changes the open transaction's state, or the published one. `work` changes nothing if it fails.
    fn change<R>(&self, work: impl FnOnce(&mut TableSet) -> Result<R>) -> Result<R> {
        if let Some(transaction) = &mut *self.enter()? {
            return work(Arc::make_mut(&mut transaction.state));
        }
        let _lock = self.engine.writer.hold()?;
        work(Arc::make_mut(&mut self.engine.publish()))
    }
}

impl Session for BTreeSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let mut open = self.enter()?;
        match (step, open.take()) {
            (TransactionControl::Begin, None) => {
                let lock = self.engine.writer.hold()?;
                let (state, savepoints) = (Arc::clone(&self.engine.published()), Vec::new());
                *open = Some(Transaction { state, savepoints, _lock: lock });
                self.in_transaction.set(true);
                Ok(())
            }
            (_, None) => Err(Error::new(ErrorKind::Misuse, "no transaction is open")),
            (TransactionControl::Commit, Some(transaction)) => {
                self.in_transaction.set(false);
                *self.engine.publish() = Arc::clone(&transaction.state);
                Ok(())
            }
            (TransactionControl::Rollback, Some(_)) => {
                self.in_transaction.set(false);
                Ok(())
            }
            (step, Some(transaction)) => open.insert(transaction).step(step),
        }
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let map = self.state(&*self.enter()?).find(write.table)?.1;
        if let Some(map) = map {
            return map.write(self, write);
        }
        self.change(|state| {
            let table = Arc::make_mut(state.find(write.table)?.0);
            let stored = Arc::clone(&table.stored);
            write_row(table, &stored, write)
        })
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let select = source.as_select(NAME)?;
        select.check_lock(self.in_transaction())?;
        let open = self.enter()?;
        let mut state = self.state(&open);
        let (table, map) = state.find(&select.table)?;
        let mapped = map.map(|map| map.select(select));
        let select = mapped.as_ref().unwrap_or(select);
        let scan = |each: &mut EachRow<'_>| {
            for row in table.rows.values() {
                if !each(EncodedRow::new(row))? {
                    break;
                }
            }
            Ok(())
        };
        run_select(&table.stored.schema, select, scan, row)
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        let state = self.state(&*self.enter()?);
        Ok(state.tables.iter().map(|table| TableSchema::clone(&table.stored.schema)).collect())
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.change(|state| {
            let mut altered = state.clone();
            altered.alter(changes)?;
            *state = altered;
            Ok(())
        })
    }
}

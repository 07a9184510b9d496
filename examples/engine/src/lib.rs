//! A complete engine over `BTreeMap`s, in one file: the example of `docs/adding-an-engine.md`.
//!
//! It has the eight required methods and its capabilities; the contract's defaults do the rest.

use bobak_core::codec::EncodedRow;
use bobak_core::engine::fallback;
use bobak_core::{
    Capabilities, Engine, Outcome, Result, Row, SchemaChange, Session, Source, TableSchema,
    TransactionControl, Write,
};
use bobak_engine_common::{
    AlterTables, EachRow, HeldWriteLock, ListedTable, LocalTransaction, RowStore, SavepointStack,
    StoredTable, TableList, TableRebuild, TransactionSlot, WriteLock, add_rebuilt, alter_tables,
    reject_references, reject_searches, run_select, write_row,
};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// An engine that keeps its tables in memory.
pub struct BTreeEngine {
    published: RwLock<Arc<TableList<Table>>>,
    writer: WriteLock,
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

impl ListedTable for Table {
    fn schema(&self) -> &Arc<TableSchema> {
        &self.stored.schema
    }
}

/// The tables while they are changed.
struct AlteredTables(TableList<Table>);

impl AlterTables for AlteredTables {
    type Table = Table;

    fn tables(&mut self) -> &mut TableList<Table> {
        &mut self.0
    }

    fn create(&mut self, table: &Arc<TableSchema>) -> Result<Table> {
        Table::new(Arc::clone(table))
    }

    fn rebuild(&mut self, old: &Table, rebuild: &TableRebuild) -> Result<Table> {
        let mut new = Table::new(Arc::clone(&rebuild.schema))?;
        new.largest_key = old.largest_key;
        let stored = Arc::clone(&new.stored);
        for row in old.rows.values() {
            add_rebuilt(&mut new, &stored, rebuild, EncodedRow::new(row))?;
        }
        Ok(new)
    }

    fn remove(&mut self, _old: &Table) -> Result<()> {
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

    fn published(&self) -> RwLockReadGuard<'_, Arc<TableList<Table>>> {
        self.published.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self) -> RwLockWriteGuard<'_, Arc<TableList<Table>>> {
        self.published.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine for BTreeEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(BTreeSession { engine: self, transaction: TransactionSlot::default() }))
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::NONE;
        capabilities.vectors = true;
        capabilities.concurrent_readers = true;
        capabilities.sequential_keys = true;
        capabilities.nul_in_text = true;
        capabilities.untyped_columns = true;
        capabilities.alter_table = true;
        capabilities.unreused_keys = true;
        capabilities.generated_columns = true;
        capabilities
    }
}

struct BTreeSession<'e> {
    engine: &'e BTreeEngine,
    transaction: TransactionSlot<Transaction<'e>>,
}

/// The open transaction, if there is one.
type Open<'e> = Option<SavepointStack<Transaction<'e>>>;

/// A transaction changes a state of its own; its commit publishes that. A savepoint is one more state.
struct Transaction<'e> {
    engine: &'e BTreeEngine,
    state: Arc<TableList<Table>>,
    _lock: HeldWriteLock<'e>,
}

impl LocalTransaction for Transaction<'_> {
    type Mark = Arc<TableList<Table>>;

    fn mark(&mut self) -> Arc<TableList<Table>> {
        Arc::clone(&self.state)
    }

    fn return_to(&mut self, mark: &Arc<TableList<Table>>) -> Result<()> {
        self.state = Arc::clone(mark);
        Ok(())
    }

    fn commit(self) -> Result<()> {
        *self.engine.publish() = self.state;
        Ok(())
    }
}

impl<'e> BTreeSession<'e> {
    /// The open transaction's state, or the published one.
    fn state(&self, open: &Open<'e>) -> TableList<Table> {
        match open {
            Some(transaction) => TableList::clone(&transaction.state),
            None => TableList::clone(&self.engine.published()),
        }
    }

    /// Changes the open transaction's state, or the published one. `work` changes nothing if it fails.
    fn change<R>(&self, work: impl FnOnce(&mut TableList<Table>) -> Result<R>) -> Result<R> {
        if let Some(transaction) = &mut *self.transaction.enter()? {
            return work(Arc::make_mut(&mut transaction.state));
        }
        let _lock = self.engine.writer.hold()?;
        work(Arc::make_mut(&mut self.engine.publish()))
    }
}

impl Session for BTreeSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let engine = self.engine;
        self.transaction.control(step, || {
            let lock = engine.writer.hold()?;
            let state = Arc::clone(&engine.published());
            Ok(Transaction { engine, state, _lock: lock })
        })
    }

    fn in_transaction(&self) -> bool {
        self.transaction.is_open()
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let map = self.state(&*self.transaction.enter()?).map(write.table);
        if let Some(map) = map {
            return map.write(self, write);
        }
        self.change(|state| {
            let table = state.find_mut(write.table)?;
            let stored = Arc::clone(&table.stored);
            write_row(table, &stored, write)
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
        select.check_search(NAME, false)?;
        select.check_lock(self.in_transaction())?;
        let open = self.transaction.enter()?;
        let state = self.state(&open);
        let mapped = state.map(&select.table).map(|map| map.select(select));
        let select = mapped.as_ref().unwrap_or(select);
        let table = state.find(&select.table)?;
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
        Ok(self.state(&*self.transaction.enter()?).schemas())
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.change(|state| {
            let mut altered = AlteredTables(state.clone());
            reject_searches(changes, NAME)?;
            alter_tables(NAME, &mut altered, changes)?;
            *state = altered.0;
            Ok(())
        })
    }
}

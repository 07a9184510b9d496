//! All tables at one moment, and the foreign keys between them.

use crate::rows::RowBytes;
use crate::table::TableState;
use bobak_core::change_log::{COUNTER_TABLE, LOG_PREFIX};
use bobak_core::{Error, ErrorKind, OnDelete, Result, TableSchema, Value, ValueRef};
use bobak_engine_common::{check_columns, missing_table};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Everything that is stored. A clone costs one count for each table.
#[derive(Clone, Default)]
pub(super) struct State {
    pub tables: Vec<Arc<TableState>>,
    /// For each table its foreign keys, both ways, and its log.
    pub links: Arc<Vec<Links>>,
    /// The schemas that were compared with their tables; new after each change of the schema.
    pub known: Arc<Known>,
}

/// Where the tables of some schemas are, which is looked up once for each and not for each
/// operation. Without a lock: an entry is one number, the schema's and its table's place.
#[derive(Default)]
pub(super) struct Known([AtomicU64; 16]);

/// The foreign keys of one table, and its log.
#[derive(Clone, Default)]
pub(super) struct Links {
    /// From its columns.
    pub out: Vec<Outgoing>,
    /// To its columns.
    pub into: Vec<Incoming>,
    /// Where its changes are written down, if they are.
    pub log: Option<LogTables>,
}

/// The indexes of the tables in which a table's changes are recorded.
#[derive(Clone, Copy)]
pub(super) struct LogTables {
    pub log: usize,
    pub counter: usize,
}

/// A foreign key, seen from the table that has it.
#[derive(Clone)]
pub(super) struct Outgoing {
    pub column: usize,
    /// The table referred to.
    pub parent: usize,
    /// The number of its unique index with the column referred to.
    pub index: usize,
}

/// A foreign key, seen from the table referred to.
#[derive(Clone)]
pub(super) struct Incoming {
    /// The column referred to.
    pub column: usize,
    /// The number of its unique index.
    pub index: usize,
    /// The table that has the foreign key.
    pub child: usize,
    pub child_column: usize,
    pub on_delete: OnDelete,
}

/// Places are found by name in the same state, and tables are never dropped.
const PLACE: &str = "a table's place is in its state";

impl State {
    /// The place of the table with this name; names are compared without regard to ASCII case.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.schema.name().eq_ignore_ascii_case(name))
    }

    /// The place of the schema's table.
    ///
    /// # Errors
    /// `Schema` where it is missing, or has other columns.
    #[inline]
    pub fn find(&self, schema: &TableSchema) -> Result<usize> {
        match self.known.get(schema.id()) {
            Some(place) => Ok(place),
            None => self.look_up(schema),
        }
    }

    #[cold]
    fn look_up(&self, schema: &TableSchema) -> Result<usize> {
        let place = self.place(schema.name()).ok_or_else(|| missing_table(schema))?;
        check_columns(schema, &self.table(place).schema)?;
        self.known.put(schema.id(), place);
        Ok(place)
    }

    /// The row of the schema's table with this key.
    ///
    /// # Errors
    /// As [`find`](State::find).
    #[inline]
    pub fn get(&self, schema: &TableSchema, key: &[Value<'_>]) -> Result<Option<RowBytes>> {
        let table = self.table(self.find(schema)?);
        let part = |at: usize| key.get(at).map_or(ValueRef::Null, Value::as_ref);
        let slot = table.find(table.key(), part);
        Ok(slot.and_then(|slot| table.bytes(slot)).map(Arc::clone))
    }

    /// The table at a place.
    #[inline]
    pub fn table(&self, place: usize) -> &TableState {
        self.tables.get(place).expect(PLACE)
    }

    /// The table at a place, to be changed: what others share of it is copied as it is changed.
    #[inline]
    pub fn table_mut(&mut self, place: usize) -> &mut TableState {
        Arc::make_mut(self.tables.get_mut(place).expect(PLACE))
    }

    /// The foreign keys of the table at a place.
    #[inline]
    pub fn links(&self, place: usize) -> &Links {
        self.links.get(place).expect(PLACE)
    }

    /// The tables in which a table's changes are recorded; `None` if it is not tracked.
    fn log_tables(&self, table: &str) -> Option<LogTables> {
        let log = self.place(&format!("{LOG_PREFIX}{table}"))?;
        Some(LogTables { log, counter: self.place(COUNTER_TABLE)? })
    }

    /// Finds the two ends of each foreign key, and the logs, after a change of the schema.
    ///
    /// # Errors
    /// `Schema` for a table or a column that is missing, or a column that is not unique.
    pub fn link(&mut self) -> Result<()> {
        let mut links = vec![Links::default(); self.tables.len()];
        for (child, table) in self.tables.iter().enumerate() {
            let schema = &table.schema;
            for (child_column, column) in schema.columns().iter().enumerate() {
                let Some(reference) = &column.reference else {
                    continue;
                };
                let refuse = |message: String| {
                    Error::new(ErrorKind::Schema, message)
                        .in_table(schema.name())
                        .in_column(column.name.clone())
                };
                let parent = self.place(&reference.table).ok_or_else(|| {
                    let name = &reference.table;
                    refuse(format!("the table '{name}' that it refers to is not there"))
                })?;
                let parent_table = self.table(parent);
                let column = parent_table.schema.column(&reference.column);
                let column = column.map_err(|error| refuse(error.to_string()))?;
                let unique =
                    |index: &crate::table::Index| index.unique && index.columns == [column];
                let index = parent_table.indexes().iter().position(unique);
                let index = index.ok_or_else(|| {
                    let (table, name) = (&reference.table, &reference.column);
                    refuse(format!("it refers to {table}.{name}, which is not unique"))
                })?;
                let on_delete = reference.on_delete;
                if let Some(links) = links.get_mut(child) {
                    links.out.push(Outgoing { column: child_column, parent, index });
                }
                if let Some(links) = links.get_mut(parent) {
                    links.into.push(Incoming { column, index, child, child_column, on_delete });
                }
            }
        }
        for (links, table) in links.iter_mut().zip(&self.tables) {
            links.log = self.log_tables(table.schema.name());
        }
        self.links = Arc::new(links);
        Ok(())
    }
}

impl Links {
    /// Whether a change of a row stays alone: nothing is to be written down, nothing refers to it,
    /// and it refers to nothing.
    #[inline]
    pub fn none(&self) -> bool {
        self.out.is_empty() && self.into.is_empty() && self.log.is_none()
    }
}

impl Known {
    /// The places that an entry has room for.
    const PLACES: u64 = 1 << 16;

    fn entry(&self, schema: u64) -> &AtomicU64 {
        &self.0[schema as usize % self.0.len()]
    }

    #[inline]
    fn get(&self, schema: u64) -> Option<usize> {
        // Nothing else is published by it: a place is valid in every state that shares it.
        let entry = self.entry(schema).load(Ordering::Relaxed);
        (entry / Self::PLACES == schema).then_some((entry % Self::PLACES) as usize)
    }

    fn put(&self, schema: u64, place: usize) {
        if (place as u64) < Self::PLACES && schema < u64::MAX / Self::PLACES {
            self.entry(schema).store(schema * Self::PLACES + place as u64, Ordering::Relaxed);
        }
    }
}

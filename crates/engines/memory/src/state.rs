//! All tables at one moment, and the foreign keys between them.

use crate::rows::RowBytes;
use crate::table::TableState;
use bobak_core::change_log::{COUNTER_TABLE, LOG_PREFIX};
use bobak_core::{Error, ErrorKind, ForeignKey, OnDelete, Result, TableSchema, Value, ValueRef};
use bobak_engine_common::{ColumnMap, ColumnMaps, missing_table};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// All stored data. A clone increments one count per table.
#[derive(Clone, Default)]
pub(super) struct DatabaseState {
    pub tables: Vec<Arc<TableState>>,
    /// For each table, its foreign keys in both directions and its change log.
    pub links: Arc<Vec<Links>>,
    /// The schemas that were compared with their tables; replaced after each schema change.
    pub known: Arc<TablePositions>,
    /// As `known`, for the schemas whose columns are elsewhere in their tables.
    pub maps: Arc<ColumnMaps>,
}

/// The table positions of some schemas, so that each is looked up once instead of in each operation. Lock-free: an entry
/// is one number, made of the schema's id and its table's position.
#[derive(Default)]
pub(super) struct TablePositions([AtomicU64; 16]);

/// The foreign keys of one table, and its log.
#[derive(Clone, Default)]
pub(super) struct Links {
    /// The foreign keys of its own columns.
    pub out: Vec<ParentReference>,
    /// To its columns.
    pub into: Vec<ChildReference>,
    /// Where its changes are captured, if it is tracked.
    pub log: Option<LogTables>,
}

/// The indexes of the tables in which a table's changes are recorded.
#[derive(Clone, Copy)]
pub(super) struct LogTables {
    pub log: usize,
    pub counter: usize,
}

/// A foreign key, seen from the child table.
#[derive(Clone)]
pub(super) struct ParentReference {
    /// Its columns, in the order of the index.
    pub columns: Vec<usize>,
    /// The position of the parent table.
    pub parent: usize,
    /// The number of the parent's unique index with the referenced columns.
    pub index: usize,
}

/// A foreign key, seen from the parent table.
#[derive(Clone)]
pub(super) struct ChildReference {
    /// The columns referred to, in the order of their index.
    pub columns: Vec<usize>,
    /// The number of their unique index.
    pub index: usize,
    /// The position of the child table.
    pub child: usize,
    /// In the order of `columns`.
    pub child_columns: Vec<usize>,
    pub on_delete: OnDelete,
}

/// Positions are looked up by name in the same state.
const POSITION: &str = "a table's position is valid in its state";

impl DatabaseState {
    /// The place of the table with this name; names are compared without regard to ASCII case.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.schema.name().eq_ignore_ascii_case(name))
    }

    /// The position of the schema's table, whose columns are those of the schema in its order.
    ///
    /// # Errors
    /// `Schema` if it is missing, lacks columns, or needs a [map](Self::map).
    #[inline]
    pub fn find(&self, schema: &TableSchema) -> Result<usize> {
        match self.known.get(schema.id()) {
            Some(position) => Ok(position),
            None => self.look_up(schema),
        }
    }

    #[cold]
    fn look_up(&self, schema: &TableSchema) -> Result<usize> {
        let position = self.position(schema.name()).ok_or_else(|| missing_table(schema))?;
        if self.map(schema)?.is_some() {
            let message = "the stored table has its columns in other places";
            return Err(Error::new(ErrorKind::Schema, message).in_table(schema.name()));
        }
        self.known.put(schema.id(), position);
        Ok(position)
    }

    /// Where the schema's columns are in its table, if not in the same places.
    ///
    /// # Errors
    /// `Schema` if the table is missing or lacks columns.
    pub fn map(&self, schema: &TableSchema) -> Result<Option<Arc<ColumnMap>>> {
        if self.known.get(schema.id()).is_some() {
            return Ok(None);
        }
        let position = self.position(schema.name()).ok_or_else(|| missing_table(schema))?;
        self.maps.get(schema, &self.table(position).schema)
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

    /// The table at a position.
    #[inline]
    pub fn table(&self, position: usize) -> &TableState {
        self.tables.get(position).expect(POSITION)
    }

    /// The table at a position, to be changed. Parts that other states share are copied when they change.
    #[inline]
    pub fn table_mut(&mut self, position: usize) -> &mut TableState {
        Arc::make_mut(self.tables.get_mut(position).expect(POSITION))
    }

    /// The foreign keys of the table at a position.
    #[inline]
    pub fn links(&self, position: usize) -> &Links {
        self.links.get(position).expect(POSITION)
    }

    /// The tables in which a table's changes are recorded; `None` if it is not tracked.
    fn log_tables(&self, table: &str) -> Option<LogTables> {
        let log = self.position(&format!("{LOG_PREFIX}{table}"))?;
        Some(LogTables { log, counter: self.position(COUNTER_TABLE)? })
    }

    /// Resolves both ends of each foreign key, and the change logs, after a schema change.
    ///
    /// # Errors
    /// `Schema` if a table or column is missing, or a referenced column is not unique.
    pub fn link(&mut self) -> Result<()> {
        let mut links = vec![Links::default(); self.tables.len()];
        for (child, table) in self.tables.iter().enumerate() {
            for key in table.schema.all_foreign_keys() {
                let (into, out) = self.resolve(child, &key).map_err(|error| {
                    let error = error.in_table(table.schema.name());
                    error.in_column(table.schema.column_names(&key.columns))
                })?;
                if let Some(links) = links.get_mut(out.parent) {
                    links.into.push(into);
                }
                if let Some(links) = links.get_mut(child) {
                    links.out.push(out);
                }
            }
        }
        for (links, table) in links.iter_mut().zip(&self.tables) {
            links.log = self.log_tables(table.schema.name());
        }
        self.links = Arc::new(links);
        Ok(())
    }

    /// Both sides of a foreign key of the table at a position.
    ///
    /// # Errors
    /// As [`link`](Self::link).
    fn resolve(&self, child: usize, key: &ForeignKey) -> Result<(ChildReference, ParentReference)> {
        if key.deferred || key.on_update.changes_rows() {
            let message = "the memory engine checks foreign keys after each statement, and \
                           does not change rows when a referenced value changes";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let reject = |message: String| Error::new(ErrorKind::Schema, message);
        let parent = self.position(&key.table).ok_or_else(|| {
            reject(format!("the referenced table '{}' does not exist", key.table))
        })?;
        let table = self.table(parent);
        let referenced = key.referenced.iter().map(|name| table.schema.column(name));
        let referenced = referenced.collect::<Result<Vec<_>>>();
        let referenced = referenced.map_err(|error| reject(error.to_string()))?;
        let is_it = |index: &crate::table::TableIndex| {
            index.unique
                && index.columns.len() == referenced.len()
                && index.columns.iter().all(|column| referenced.contains(column))
        };
        let index = table.indexes().iter().position(is_it).ok_or_else(|| {
            let names = key.referenced.join(", ");
            reject(format!("it references {}.{names}, which is not unique", key.table))
        })?;
        let columns = table.indexes().get(index).map_or(Vec::new(), |index| index.columns.clone());
        let own = |column: &usize| {
            let at = referenced.iter().position(|other| other == column)?;
            key.columns.get(at).copied()
        };
        let child_columns: Vec<usize> = columns.iter().filter_map(own).collect();
        let out = ParentReference { columns: child_columns.clone(), parent, index };
        let on_delete = key.on_delete;
        Ok((ChildReference { columns, index, child, child_columns, on_delete }, out))
    }
}

impl Links {
    /// Whether a change of a row affects no other table: it has no change log, and no foreign keys in either direction.
    #[inline]
    pub fn is_isolated(&self) -> bool {
        self.out.is_empty() && self.into.is_empty() && self.log.is_none()
    }
}

impl TablePositions {
    /// The places that an entry has room for.
    const POSITIONS: u64 = 1 << 16;

    fn entry(&self, schema: u64) -> &AtomicU64 {
        &self.0[schema as usize % self.0.len()]
    }

    #[inline]
    fn get(&self, schema: u64) -> Option<usize> {
        // Relaxed is enough: a position is valid in every state that shares these entries.
        let entry = self.entry(schema).load(Ordering::Relaxed);
        (entry / Self::POSITIONS == schema).then_some((entry % Self::POSITIONS) as usize)
    }

    fn put(&self, schema: u64, position: usize) {
        if (position as u64) < Self::POSITIONS && schema < u64::MAX / Self::POSITIONS {
            self.entry(schema).store(schema * Self::POSITIONS + position as u64, Ordering::Relaxed);
        }
    }
}

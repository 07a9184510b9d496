//! The attached engines, and the catalog of their tables.

use crate::sessions::WriteTarget;
use bobak_core::{Engine, Error, ErrorKind, Result, TableSchema};
use bobak_sqlite::Function;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// An engine whose tables appear in the federation.
pub(crate) struct AttachedEngine {
    /// The schema name that qualifies its tables.
    pub name: String,
    /// The engine.
    pub engine: Arc<dyn Engine>,
}

/// The attached engines of a federation. Elsewhere an engine is named by its position here.
pub(crate) struct AttachedEngines {
    all: Vec<AttachedEngine>,
    functions: Vec<Function>,
    is_standalone: bool,
    catalog: Mutex<Option<Arc<AttachedTables>>>,
    /// Incremented whenever the catalog changes.
    version: AtomicU64,
}

/// The tables and views of all attached engines at one moment.
#[derive(Debug, Default)]
pub(crate) struct AttachedTables {
    /// By the engine's position.
    pub tables: Vec<Vec<Arc<TableSchema>>>,
    /// The error of each engine whose tables could not be read.
    pub errors: Vec<Option<Error>>,
}

impl AttachedEngines {
    pub(crate) fn new(
        engines: Vec<(String, Arc<dyn Engine>)>,
        functions: Vec<Function>,
        is_standalone: bool,
    ) -> Self {
        let all = engines.into_iter().map(|(name, engine)| AttachedEngine { name, engine });
        let (catalog, version) = (Mutex::new(None), AtomicU64::new(1));
        Self { all: all.collect(), functions, is_standalone, catalog, version }
    }

    pub(crate) fn all(&self) -> &[AttachedEngine] {
        &self.all
    }

    /// Functions for the federation's connections.
    pub(crate) fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Whether the federation's SQLite database has no tables of its own. Then the first engine's
    /// schema is `main`.
    pub(crate) fn is_standalone(&self) -> bool {
        self.is_standalone
    }

    /// The position of the engine with this name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|engine| engine.name.eq_ignore_ascii_case(name))
    }

    /// A number that changes when the catalog does.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The catalog, read from the engines if it is not known yet.
    pub(crate) fn catalog(&self) -> Arc<AttachedTables> {
        let mut known = self.catalog.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.get_or_insert_with(|| Arc::new(self.read_catalog(None))))
    }

    /// Reads the catalog again; `Ok` if it has changed.
    ///
    /// # Errors
    /// The cause of a statement's `error` if the catalog is the same: a table may be missing since
    /// its engine cannot be reached.
    pub(crate) fn refresh_after(&self, error: Error) -> Result<()> {
        if self.refresh() {
            return Ok(());
        }
        Err(self.catalog().first_error(self).unwrap_or(error))
    }

    fn refresh(&self) -> bool {
        let mut known = self.catalog.lock().unwrap_or_else(PoisonError::into_inner);
        let old = known.take();
        let new = self.read_catalog(old.as_deref());
        let changed = old.as_ref().is_none_or(|old| !old.is_same(&new));
        *known = Some(if changed { Arc::new(new) } else { old.unwrap_or_default() });
        drop(known);
        if changed {
            self.version.fetch_add(1, Ordering::AcqRel);
        }
        changed
    }

    /// Discards the catalog, to be read again by the next statement.
    pub(crate) fn invalidate(&self) {
        *self.catalog.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// A write target's name for messages.
    pub(crate) fn target_name(&self, target: WriteTarget) -> String {
        match target {
            WriteTarget::Main => "'main'".to_owned(),
            WriteTarget::Attached(position) => {
                let engine = self.all.get(position);
                engine.map_or(String::new(), |engine| format!("'{}'", engine.name))
            }
        }
    }

    /// Tables that are as before keep their schema: its id is part of statement caches.
    fn read_catalog(&self, old: Option<&AttachedTables>) -> AttachedTables {
        let mut catalog = AttachedTables::default();
        for (position, attached) in self.all.iter().enumerate() {
            let before = old.and_then(|old| old.tables.get(position));
            let keep = |table: TableSchema| {
                let same = before.and_then(|old| old.iter().find(|old| old.same_as(&table)));
                same.map_or_else(|| Arc::new(table), Arc::clone)
            };
            let read = attached.engine.session().and_then(|session| session.tables_and_views());
            let (tables, error) = match read {
                Ok(tables) => (tables.into_iter().map(keep).collect(), None),
                Err(error) => (Vec::new(), Some(error)),
            };
            catalog.tables.push(tables);
            catalog.errors.push(error);
        }
        catalog
    }

    /// The table that the arguments of `CREATE VIRTUAL TABLE` name: the engine's position, the
    /// table's position in the catalog, and the table.
    pub(crate) fn table_of(
        &self,
        name: &str,
        arguments: &[String],
    ) -> Result<(usize, usize, Arc<TableSchema>)> {
        let engine = arguments.first().and_then(|number| number.trim().parse().ok());
        let found = engine.and_then(|engine: usize| {
            let catalog = self.catalog();
            let mut tables = catalog.tables.get(engine)?.iter().enumerate();
            let (at, table) = tables.find(|(_, table)| table.name().eq_ignore_ascii_case(name))?;
            Some((engine, at, Arc::clone(table)))
        });
        found.ok_or_else(|| Error::new(ErrorKind::Schema, "there is no such table").in_table(name))
    }
}

impl AttachedTables {
    /// The table of an attached engine.
    pub(crate) fn table(&self, engine: usize, name: &str) -> Option<&Arc<TableSchema>> {
        let tables = self.tables.get(engine)?;
        tables.iter().find(|table| table.name().eq_ignore_ascii_case(name))
    }

    /// The first error of reading an engine's tables.
    fn first_error(&self, attached: &AttachedEngines) -> Option<Error> {
        let (engine, error) = attached
            .all()
            .iter()
            .zip(&self.errors)
            .find_map(|(engine, error)| Some((engine, error.as_ref()?)))?;
        let message = format!("could not read the tables of '{}': {error}", engine.name);
        Some(Error::new(error.kind(), message))
    }

    fn is_same(&self, other: &Self) -> bool {
        let same = |a: &Vec<Arc<TableSchema>>, b: &Vec<Arc<TableSchema>>| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_as(b))
        };
        self.tables.len() == other.tables.len()
            && self.tables.iter().zip(&other.tables).all(|(a, b)| same(a, b))
            && self.errors.iter().map(Option::is_some).eq(other.errors.iter().map(Option::is_some))
    }
}

impl std::fmt::Debug for AttachedEngines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.all.iter().map(|engine| engine.name.as_str()).collect();
        f.debug_struct("AttachedEngines").field("names", &names).finish()
    }
}

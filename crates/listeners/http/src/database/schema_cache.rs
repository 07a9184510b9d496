//! The tables of a database, cached for a short time.
//!
//! Reading the schema costs the engine far more than a small request. The cache serves a schema for
//! up to [`MAX_AGE`], because another program may change tables at any time, and refreshes it in the
//! background from [`REFRESH_AGE`] on, so that requests on a busy server never wait for it.

use crate::database::relations::{self, TableRelation, TableRelations};
use crate::database::table::CachedTable;
use crate::problem::Problem;
use crate::workers::blocking;
use bobak_core::{Engine, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The age from which a cached schema is no longer used.
const MAX_AGE: Duration = Duration::from_secs(1);
/// The age from which a request that uses the cached schema also starts a background refresh.
const REFRESH_AGE: Duration = Duration::from_millis(500);

/// All tables of a database at one moment.
#[derive(Default)]
pub(crate) struct VisibleTables {
    /// Keyed by lower-case name, because engines compare table names without case.
    tables: HashMap<String, Arc<CachedTable>>,
    /// Found when a request first needs them.
    relations: OnceLock<TableRelations>,
}

/// The cached tables of one database, as one client may see them.
pub(crate) struct SchemaCache {
    engine: Arc<dyn Engine>,
    cached: RwLock<CachedCatalog>,
    /// Held during a refresh, so that concurrent requests share its result.
    refresh_lock: tokio::sync::Mutex<()>,
    /// Whether a background refresh is running.
    is_refreshing: AtomicBool,
    /// Counts schema changes made through this server by any client of the database.
    generation: Arc<AtomicU64>,
}

struct CachedCatalog {
    catalog: Arc<VisibleTables>,
    /// When its refresh began; `None` before the first one.
    read_at: Option<Instant>,
    /// The schema generation at that time.
    generation: u64,
}

impl SchemaCache {
    /// An empty cache. Caches of one database share `generation`.
    pub fn new(engine: Arc<dyn Engine>, generation: Arc<AtomicU64>) -> Self {
        let cached = CachedCatalog { catalog: Arc::default(), read_at: None, generation: 0 };
        Self {
            engine,
            cached: RwLock::new(cached),
            refresh_lock: tokio::sync::Mutex::default(),
            is_refreshing: AtomicBool::new(false),
            generation,
        }
    }

    /// The counter to share with further caches of the same database.
    pub fn generation(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.generation)
    }

    /// The table with this name.
    ///
    /// # Errors
    /// 404 if it does not exist or the client may not see it; the engine's errors.
    pub async fn table(self: &Arc<Self>, name: &str) -> Result<Arc<CachedTable>, Problem> {
        match self.cached_table(name) {
            (Some(table), Some(age)) if age < REFRESH_AGE => return Ok(table),
            (Some(table), Some(age)) if age < MAX_AGE => {
                self.refresh_in_background();
                return Ok(table);
            }
            // An unknown table may have been created since the last refresh.
            _ => {}
        }
        let catalog = self.catalog().await?;
        catalog.table(name).cloned().ok_or_else(|| Problem::no_table(name))
    }

    /// All tables, at most as old as those of [`table`](Self::table).
    ///
    /// # Errors
    /// The engine's.
    pub async fn tables(self: &Arc<Self>) -> Result<Arc<VisibleTables>, Problem> {
        {
            let cached = self.cached.read().unwrap_or_else(PoisonError::into_inner);
            if self.age(&cached).is_some_and(|age| age < MAX_AGE) {
                return Ok(Arc::clone(&cached.catalog));
            }
        }
        self.catalog().await
    }

    /// All tables, read after this call.
    ///
    /// # Errors
    /// The engine's.
    pub async fn catalog(self: &Arc<Self>) -> Result<Arc<VisibleTables>, Problem> {
        let requested = Instant::now();
        let _refresh = self.refresh_lock.lock().await;
        {
            let cached = self.cached.read().unwrap_or_else(PoisonError::into_inner);
            // A refresh that began while this request waited for the lock is recent enough.
            if self.age(&cached).is_some() && cached.read_at.is_some_and(|at| at >= requested) {
                return Ok(Arc::clone(&cached.catalog));
            }
        }
        let cache = Arc::clone(self);
        // Without a worker permit: requests that hold permits may be waiting for this refresh.
        blocking::run_unlimited(move || Ok(cache.refresh()?)).await
    }

    /// Discards the cached schema for all clients of the database.
    pub fn invalidate(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// A table as it is cached, and the cache's age.
    fn cached_table(&self, name: &str) -> (Option<Arc<CachedTable>>, Option<Duration>) {
        let cached = self.cached.read().unwrap_or_else(PoisonError::into_inner);
        (cached.catalog.table(name).cloned(), self.age(&cached))
    }

    /// The cache's age; `None` if it is empty or was invalidated.
    fn age(&self, cached: &CachedCatalog) -> Option<Duration> {
        let is_valid = cached.generation == self.generation.load(Ordering::Acquire);
        cached.read_at.filter(|_| is_valid).map(|at| at.elapsed())
    }

    /// Starts a refresh on another thread unless one is running.
    fn refresh_in_background(self: &Arc<Self>) {
        if self.is_refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let cache = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            // An error surfaces in the request that needs the refreshed schema.
            let _ = cache.refresh();
            cache.is_refreshing.store(false, Ordering::Release);
        });
    }

    /// Reads the schema from the engine. Unchanged tables keep their identity, so that engines still
    /// find the statements they have prepared for them.
    ///
    /// # Errors
    /// The engine's.
    pub fn refresh(&self) -> Result<Arc<VisibleTables>> {
        let generation = self.generation.load(Ordering::Acquire);
        let read_at = Some(Instant::now());
        let schemas = self.engine.session()?.tables_and_views()?;
        let before = {
            let cached = self.cached.read().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(&cached.catalog)
        };
        let mut tables = HashMap::with_capacity(schemas.len());
        for schema in schemas {
            let table = match before.table(schema.name()) {
                Some(same) if same.schema.same_as(&schema) => Arc::clone(same),
                _ => Arc::new(CachedTable::new(Arc::new(schema))),
            };
            tables.insert(table.schema.name().to_ascii_lowercase(), table);
        }
        let catalog = Arc::new(VisibleTables { tables, relations: OnceLock::new() });
        let mut cached = self.cached.write().unwrap_or_else(PoisonError::into_inner);
        // Of two concurrent refreshes, the one that began later wins.
        if cached.read_at < read_at {
            *cached = CachedCatalog { catalog: Arc::clone(&catalog), read_at, generation };
        }
        Ok(catalog)
    }
}

impl VisibleTables {
    /// The table with this name, in any case.
    pub fn table(&self, name: &str) -> Option<&Arc<CachedTable>> {
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return self.tables.get(&name.to_ascii_lowercase());
        }
        self.tables.get(name)
    }

    /// The relations of a table.
    pub fn relations_of(&self, table: &CachedTable) -> &[TableRelation] {
        let all = self.relations.get_or_init(|| relations::all(self));
        all.get(&table.schema.name().to_ascii_lowercase()).map_or(&[], Vec::as_slice)
    }

    /// All tables, by name.
    pub fn sorted(&self) -> Vec<&Arc<CachedTable>> {
        let mut tables: Vec<_> = self.tables.values().collect();
        tables.sort_by(|a, b| a.schema.name().cmp(b.schema.name()));
        tables
    }
}

//! The description of a [`Db`].

use super::Db;
use super::hooks::Hook;
use crate::catalog::{Catalog, RegisteredRecord};
use crate::changes::{TrackOptions, TrackedRecord};
use crate::router::RouterOptions;
use crate::url;
use bobak_core::statements::{MonitorOptions, StatementMonitor};
use bobak_core::{Engine, Error, ErrorKind, MonitoredEngine, Record, Result};
use std::any::TypeId;
use std::sync::Arc;

/// The engines, record types and options of a database. See [`Db::builder`].
///
/// ```
/// use bobak::prelude::*;
/// #[derive(Record)]
/// struct Order { id: i64, total: Currency }
/// #[derive(Record)]
/// struct Visit { id: i64, page: String }
///
/// let db = Db::builder()
///     .record::<Order>()
///     .attach("cache", "memory:")
///     .record_on::<Visit>("cache")
///     .open("sqlite::memory:")?;
/// db.create_missing_tables()?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Default)]
pub struct DbBuilder {
    attached: Vec<(String, AttachedEngine)>,
    records: Vec<RegisteredRecord>,
    /// Those that are tracked or cached, on the main engine unless `records` has them too.
    pub(super) named: Vec<RegisteredRecord>,
    retries: Option<u32>,
    #[cfg(feature = "cache")]
    caches: Vec<crate::cache::CachedRecord>,
    tracked: Vec<TrackedRecord>,
    pub(super) hooks: Vec<Hook>,
    #[cfg(feature = "field-encryption")]
    field_keys: Option<Arc<crate::field_encryption::FieldKeys>>,
    monitor: Option<MonitorOptions>,
    options: RouterOptions,
}

/// An attached engine before the database is opened.
enum AttachedEngine {
    Url(String),
    Engine(Arc<dyn Engine>),
}

impl DbBuilder {
    /// Adds a record type, kept on the main engine.
    #[must_use]
    pub fn record<T: Record>(mut self) -> Self {
        self.records.push(RegisteredRecord::new::<T>(None));
        self
    }

    /// Adds a record type, kept on an attached engine.
    #[must_use]
    pub fn record_on<T: Record>(mut self, engine: &str) -> Self {
        self.records.push(RegisteredRecord::new::<T>(Some(engine)));
        self
    }

    /// Caches records of a type in memory by their keys, and adds the type if it is not there: `get` asks the engine only for records that are not cached.
    /// `get` fills the cache, and so do queries for whole records (the first 1,000 of each), but not iterators and
    /// streams. Default: no cache.
    ///
    /// Every write through this database removes the record first and allows it back when the write is done: a `get`
    /// never returns the state before a write that has returned. Inside a transaction `get` asks the engine. Writes of
    /// other processes, and of triggers to other tables, are noticed if the table is [tracked](Self::track), within
    /// [`CacheOptions::watch`](crate::cache::CacheOptions::watch); otherwise only after
    /// [`CacheOptions::time_to_live`](crate::cache::CacheOptions::time_to_live).
    ///
    /// ```
    /// use bobak::cache::CacheOptions;
    /// use bobak::prelude::*;
    /// #[derive(Record)]
    /// struct City { id: i64, name: String }
    ///
    /// let builder = Db::builder().cache::<City>(CacheOptions::new());
    /// let db = builder.open("sqlite::memory:")?;
    /// db.create_missing_tables()?;
    /// let cities = db.table::<City>()?;
    /// let id = cities.insert(&City { id: 0, name: "Bern".into() })?;
    /// cities.get(id)?;
    /// cities.get(id)?;
    /// let stats = db.cache_stats::<City>().unwrap_or_default();
    /// assert_eq!((stats.hits, stats.misses, stats.entries), (1, 1, 1));
    /// # Ok::<(), Error>(())
    /// ```
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn cache<T: Record>(mut self, options: crate::cache::CacheOptions) -> Self {
        let id = TypeId::of::<T>();
        self.caches.retain(|other| other.id != id);
        self.named.push(RegisteredRecord::new::<T>(None));
        self.caches.push(crate::cache::CachedRecord { id, table: T::schema(), options });
        self
    }

    /// Records all changes of a record type, on the engine that keeps it, from the next
    /// [`create_missing_tables`](Db::create_missing_tables) on. See [`changes`](crate::changes).
    #[must_use]
    pub fn track<T: Record>(mut self, options: TrackOptions) -> Self {
        let id = TypeId::of::<T>();
        self.tracked.retain(|other| other.id != id);
        self.named.push(RegisteredRecord::new::<T>(None));
        self.tracked.push(TrackedRecord { id, table: T::schema(), options });
        self
    }

    /// Attaches another engine by a URL, under a name.
    #[must_use]
    pub fn attach(mut self, name: &str, url: &str) -> Self {
        self.attached.push((name.to_owned(), AttachedEngine::Url(url.to_owned())));
        self
    }

    /// Attaches another engine that is already open, for example one built with its typed builder or one of your own.
    #[must_use]
    pub fn attach_engine(mut self, name: &str, engine: impl Engine) -> Self {
        self.attached.push((name.to_owned(), AttachedEngine::Engine(Arc::new(engine))));
        self
    }

    /// Monitors the statements of all engines: counts them by their shape and place in the program, reports slow ones, and
    /// ends those that run too long. Default: off, which costs nothing. See [`statements`](crate::statements) and
    /// [`Db::statements`].
    ///
    /// ```
    /// use bobak::prelude::*;
    /// use bobak::statements::MonitorOptions;
    /// use std::time::Duration;
    ///
    /// let options = MonitorOptions::new().timeout(Duration::from_secs(30));
    /// let options = options.slow(Duration::from_millis(500), |statement| eprintln!("{statement}"));
    /// let db = Db::builder().monitor(options).open("sqlite::memory:")?;
    /// db.sql::<i64>("SELECT 1 + ?", (1,))?;
    /// let statistics = db.statements().map(|monitor| monitor.statistics()).unwrap_or_default();
    /// let first = statistics.first().unwrap();
    /// assert_eq!((&*first.text, first.count, first.rows), ("SELECT ? + ?", 1, 1));
    /// println!("{} took {:?}", first.last_origin.as_ref().unwrap(), first.mean());
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn monitor(mut self, options: MonitorOptions) -> Self {
        self.monitor = Some(options);
        self
    }

    /// Whether an SQL statement on the tables of one engine runs on that engine if it can. Default: yes. If off, every
    /// statement goes through SQLite and its virtual tables: the result is the same, but slower.
    #[must_use]
    pub const fn direct(mut self, direct: bool) -> Self {
        self.options.direct = direct;
        self
    }

    /// Whether amounts, dates, times and UUIDs in SQL text mean what they mean on database servers, if SQLite runs it
    /// over tables of other engines: see `docs/sql.md`. If off, such SQL text and its results are in stored units.
    /// Default: yes.
    ///
    /// A main engine that is SQLite has this setting itself: `sqlite:app.db?typed_sql=off`.
    #[must_use]
    pub const fn typed_sql(mut self, typed: bool) -> Self {
        self.options.typed_sql = typed;
        self
    }

    /// How often [`Db::transaction`] repeats a transaction that conflicts with another one. Default: 5; 0 for never.
    #[must_use]
    pub const fn retries(mut self, times: u32) -> Self {
        self.retries = Some(times);
        self
    }

    /// Sets the keys of encrypted fields: see [`field_encryption`](crate::field_encryption). A record with encrypted fields
    /// needs them.
    #[cfg(feature = "field-encryption")]
    #[must_use]
    pub fn field_keys(mut self, keys: crate::field_encryption::FieldKeys) -> Self {
        self.field_keys = Some(Arc::new(keys));
        self
    }

    /// Adds a function written in Rust that SQL may call. See
    /// [`Function`](crate::engine::sqlite::Function).
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn function(mut self, function: bobak_sqlite::Function) -> Self {
        self.options.functions.push(function);
        self
    }

    /// Opens the database with its main engine by a URL. See [`Db::open`].
    ///
    /// # Errors
    /// As [`Db::open`]; `Config` for two engines of one name or an unknown one; `Schema` for two
    /// record types with different columns in one table.
    pub fn open(self, url: &str) -> Result<Db> {
        let main = url::open(url)?;
        self.build(main)
    }

    /// Opens the database with a main engine that is already open, for example one built with its typed builder:
    ///
    /// ```
    /// use bobak::engine::sqlite::{Sqlite, Synchronous};
    /// use bobak::prelude::*;
    /// let engine = Sqlite::builder().synchronous(Synchronous::Normal).open_memory()?;
    /// let db = Db::builder().open_engine(engine)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](DbBuilder::open).
    pub fn open_engine(self, engine: impl Engine) -> Result<Db> {
        self.build(Arc::new(engine))
    }

    /// Adds the types that are tracked or cached, and that no call has added, to the main engine.
    ///
    /// # Errors
    /// `Unsupported` for a view, whose changes are not known.
    fn add_named_records(&mut self) -> Result<()> {
        for record in std::mem::take(&mut self.named) {
            record.table.check_writable()?;
            if self.records.iter().all(|other| other.id != record.id) {
                self.records.push(record);
            }
        }
        Ok(())
    }

    fn build(mut self, main: Arc<dyn Engine>) -> Result<Db> {
        self.add_named_records()?;
        let monitor = self.monitor.take().map(StatementMonitor::new);
        let mut engines = vec![("main".to_owned(), main)];
        for (name, source) in self.attached {
            if engines.iter().any(|(other, _)| *other == name) {
                let message = format!("two engines are named '{name}'; the first is 'main'");
                return Err(Error::new(ErrorKind::Config, message));
            }
            let engine = match source {
                AttachedEngine::Url(url) => url::open(&url)?,
                AttachedEngine::Engine(engine) => engine,
            };
            engines.push((name, monitored(engine, monitor.as_ref())));
        }
        let mut catalog = Catalog::new(engines, &self.records, self.options)?;
        catalog.retries = self.retries.unwrap_or(catalog.retries);
        catalog.tracked = self.tracked;
        catalog.add_monitor(monitor);
        #[cfg(feature = "cache")]
        {
            for cache in &self.caches {
                let record = self.records.iter().find(|record| record.id == cache.id);
                if record.is_some_and(|record| !record.rules.encrypted.is_empty()) {
                    let message = "a record with encrypted fields is not cached";
                    let error = Error::new(ErrorKind::Unsupported, message);
                    return Err(error.in_table(cache.table.name()));
                }
            }
            catalog.add_caches(self.caches);
        }
        let catalog = Arc::new(catalog);
        let mut hooks = Vec::new();
        for hook in &self.hooks {
            let record = self.records.iter().find(|record| record.id == hook.id);
            let engine = record.map_or(Ok(0), |record| catalog.engine_of(record))?;
            hooks.push((hook.id, hook.bind(&catalog, engine)));
        }
        Ok(Db::new(catalog.with_rules_of(
            &self.records,
            &hooks,
            #[cfg(feature = "field-encryption")]
            self.field_keys.as_ref(),
        )?))
    }
}

/// The engine, seen by the monitor if there is one.
fn monitored(engine: Arc<dyn Engine>, monitor: Option<&Arc<StatementMonitor>>) -> Arc<dyn Engine> {
    match monitor {
        Some(monitor) => Arc::new(MonitoredEngine::new(engine, Arc::clone(monitor))),
        None => engine,
    }
}

//! The steps that make a [`Db`].

use crate::db::Inner;
use crate::{Db, url};
use bobak_core::{Engine, Error, ErrorKind, Record, Result, TableSchema};
use std::any::TypeId;
use std::sync::Arc;

/// Collects the engines and record types of a database. See [`Db::builder`].
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
    attached: Vec<(String, Source)>,
    records: Vec<(TypeId, Option<String>, &'static Arc<TableSchema>)>,
    always_through_host: bool,
    retries: Option<u32>,
    #[cfg(feature = "cache")]
    caches: Vec<crate::cache::Wanted>,
    tracked: Vec<crate::changes::Wanted>,
    functions: Functions,
}

/// Functions that SQL may call.
#[cfg(feature = "sqlite")]
pub(crate) type Functions = Vec<bobak_sqlite::Function>;
#[cfg(not(feature = "sqlite"))]
pub(crate) type Functions = ();

enum Source {
    Url(String),
    Engine(Arc<dyn Engine>),
}

impl DbBuilder {
    /// Adds a record type, kept on the main engine.
    #[must_use]
    pub fn record<T: Record>(mut self) -> Self {
        self.records.push((TypeId::of::<T>(), None, T::schema()));
        self
    }

    /// Adds a record type, kept on an attached engine.
    #[must_use]
    pub fn record_on<T: Record>(mut self, engine: &str) -> Self {
        self.records.push((TypeId::of::<T>(), Some(engine.to_owned()), T::schema()));
        self
    }

    /// Keeps records of a type in memory, by their keys: `get` then asks the engine only for those
    /// that are not there. They come there by `get`, and by queries that give whole records (the
    /// first 1,000 of each; iterators and streams leave nothing). Off unless asked for.
    ///
    /// A record is forgotten before anything of this database writes it, and kept again when the
    /// write is over: a `get` never gives what was there before a write that has returned. Inside
    /// a transaction `get` asks the engine. What others write, and what a trigger of the database does
    /// to other tables, is noticed where the table is [tracked](Self::track), within
    /// [`CacheOptions::watch`](crate::cache::CacheOptions::watch); else only
    /// [`CacheOptions::time_to_live`](crate::cache::CacheOptions::time_to_live) helps.
    ///
    /// ```
    /// use bobak::cache::CacheOptions;
    /// use bobak::prelude::*;
    /// #[derive(Record)]
    /// struct City { id: i64, name: String }
    ///
    /// let builder = Db::builder().record::<City>().cache::<City>(CacheOptions::new());
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
        self.caches.push(crate::cache::Wanted { id, table: T::schema(), options });
        self
    }

    /// Has all changes of a record type written down, on the engine that keeps it, from the next
    /// [`create_missing_tables`](Db::create_missing_tables) on. See [`feed`](crate::changes).
    #[must_use]
    pub fn track<T: Record>(mut self, options: crate::changes::TrackOptions) -> Self {
        let id = TypeId::of::<T>();
        if self.records.iter().all(|(other, ..)| *other != id) {
            self = self.record::<T>();
        }
        self.tracked.retain(|other| other.id != id);
        self.tracked.push(crate::changes::Wanted { id, table: T::schema(), options });
        self
    }

    /// Attaches another engine by a URL, under a name of its own.
    #[must_use]
    pub fn attach(mut self, name: &str, url: &str) -> Self {
        self.attached.push((name.to_owned(), Source::Url(url.to_owned())));
        self
    }

    /// Attaches another engine that is open already, one of your own perhaps.
    #[must_use]
    pub fn attach_engine(mut self, name: &str, engine: impl Engine) -> Self {
        self.attached.push((name.to_owned(), Source::Engine(Arc::new(engine))));
        self
    }

    /// Whether an SQL statement on the tables of one engine goes straight to it, where that engine
    /// can run it. Default yes. With no every statement goes through SQLite and its virtual tables:
    /// the rows are the same, later.
    #[must_use]
    pub const fn direct(mut self, direct: bool) -> Self {
        self.always_through_host = !direct;
        self
    }

    /// How often [`Db::transaction`] runs a transaction again that clashed with another one. Default
    /// 5; 0 for never.
    #[must_use]
    pub const fn retries(mut self, times: u32) -> Self {
        self.retries = Some(times);
        self
    }

    /// Adds a function written in Rust that SQL may call. See
    /// [`Function`](crate::engine::sqlite::Function).
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn function(mut self, function: bobak_sqlite::Function) -> Self {
        self.functions.push(function);
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

    /// Opens the database with a main engine that is open already.
    ///
    /// # Errors
    /// As [`open`](DbBuilder::open).
    pub fn open_engine(self, engine: impl Engine) -> Result<Db> {
        self.build(Arc::new(engine))
    }

    fn build(self, main: Arc<dyn Engine>) -> Result<Db> {
        let mut engines = vec![("main".to_owned(), main)];
        for (name, source) in self.attached {
            if engines.iter().any(|(other, _)| *other == name) {
                let message = format!("two engines are named '{name}'; the first is 'main'");
                return Err(Error::new(ErrorKind::Config, message));
            }
            let engine = match source {
                Source::Url(url) => url::open(&url)?,
                Source::Engine(engine) => engine,
            };
            engines.push((name, engine));
        }
        let mut inner =
            Inner::new(engines, self.records, !self.always_through_host, self.functions)?;
        inner.retries = self.retries.unwrap_or(inner.retries);
        inner.tracked = self.tracked;
        #[cfg(feature = "cache")]
        let inner = {
            let mut inner = inner;
            inner.add_caches(self.caches);
            inner
        };
        Ok(Db::of(Arc::new(inner)))
    }
}

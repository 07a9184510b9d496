//! The database: a model, and for each record type the engine that keeps it.

use crate::access::Handle;
use crate::builder::Functions;
use crate::pipeline::{Pipeline, PipelineOptions};
use crate::route::Routes;
use crate::schema::{self, Difference};
use crate::{Batch, BatchOptions, DbBuilder, DynTable, Parameters, Table, Transaction};
use bobak_core::{Engine, Error, ErrorKind, FromRow, Record, Result, SchemaChange, TableSchema};
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// A database. Cheap to clone, and used from any thread.
///
/// ```no_run
/// use bobak::prelude::*;
/// #[derive(Record)]
/// struct Person {
///     id: i64,
///     name: String,
/// }
/// let db = Db::builder().record::<Person>().open("sqlite:people.db")?;
/// db.create_missing_tables()?;
/// db.table::<Person>()?.insert(&Person { id: 0, name: "Ada".into() })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Db(Arc<Inner>);

pub(crate) struct Inner {
    engines: Vec<(String, Arc<dyn Engine>)>,
    model: RwLock<Model>,
    pub(crate) routes: Routes,
    /// How often a transaction that clashed is run again.
    pub(crate) retries: u32,
    /// The record types that are to be tracked.
    pub(crate) tracked: Vec<crate::changes::Wanted>,
    #[cfg(feature = "cache")]
    pub(crate) caches: crate::cache::All,
}

/// The record types that the database knows.
#[derive(Clone, Default)]
struct Model {
    tables: Vec<Entry>,
    types: HashMap<TypeId, usize>,
    /// Tables read from engines for dynamic use, by engine and name in lower case.
    stored: HashMap<(usize, String), Arc<TableSchema>>,
}

#[derive(Clone)]
struct Entry {
    engine: usize,
    schema: Arc<TableSchema>,
    /// Whether the table was seen to be there, with the record's columns.
    checked: bool,
}

impl Db {
    /// Opens a database by a URL. Its record types bind to it when they are first used.
    ///
    /// | URL | engine |
    /// |---|---|
    /// | `sqlite:app.db`, `sqlite:/var/lib/app.db` | an SQLite file, made where it is not there |
    /// | `sqlite::memory:` | SQLite in memory |
    /// | `memory:` | the memory engine, empty |
    /// | `memory:store.bobak` | the memory engine with a snapshot file; `?format=json` for JSON |
    /// | `bobak://host:port/name?token=…` | a database on a Bobak server (feature `remote`); `tls=on` with the feature `remote-tls` |
    /// | `bobak+unix:/path/to/socket?db=name` | the same over a Unix socket |
    /// | `bobak+stdio:PROGRAM ARGUMENTS` | the same through the pipes of a program that is started |
    ///
    /// Settings follow as `?name=value&…`; a `%` or `?` in a path is written `%25`, `%3F`, a space in a
    /// program's word `%20`: no shell reads it, and a word that begins with a quote is refused. For
    /// SQLite: `synchronous=full|normal|off`, `journal=wal|delete|truncate|persist|memory|off`,
    /// `locking=normal|exclusive`, `page_size`, `cache_size`, `mmap_size`, `max_value` and `max_ahead` in bytes,
    /// `busy_timeout` in milliseconds, `readers`, `mode=rwc|rw|ro`, `recover=on|off` (with
    /// `mode=ro`: what a killed program left is undone first); with the feature `encryption` one of
    /// `key_file`, `password_file` and `password_env`, which say where the key is. For servers: `token`, or `user`
    /// and `password`; `timeout` and `connect_timeout` in milliseconds, `connections`, `ca`, a file
    /// with the certificates to trust. The default of SQLite, WAL with full
    /// synchronisation, loses nothing that was acknowledged.
    ///
    /// # Errors
    /// `Config` for a malformed URL or an unknown setting; `Corrupt` for a file that is not a
    /// database; `Io`, `ReadOnly`.
    pub fn open(url: &str) -> Result<Self> {
        Self::builder().open(url)
    }

    /// Begins the description of a database.
    #[must_use]
    pub fn builder() -> DbBuilder {
        DbBuilder::default()
    }

    pub(crate) const fn of(inner: Arc<Inner>) -> Self {
        Self(inner)
    }

    /// What the cache of a record type holds, and what it was worth so far; `None` where it has
    /// none. See [`DbBuilder::cache`].
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn cache_stats<T: Record>(&self) -> Option<crate::cache::CacheStats> {
        self.0.caches.stats(TypeId::of::<T>())
    }

    /// The records of one type.
    ///
    /// A type that the builder was not told of is taken to be on the main engine. At its first use
    /// the table is compared with the record.
    ///
    /// # Errors
    /// `Schema` where the table is missing, or a column is missing or of another type, or another
    /// type with other columns has the same table.
    pub fn table<T: Record>(&self) -> Result<Table<'static, T>> {
        let engine = self.0.bind::<T>()?;
        Ok(Table::new(Handle::Engine(Arc::clone(self.0.engine(engine)?))))
    }

    /// A table that no struct describes, of the main engine.
    ///
    /// # Errors
    /// `Schema` where there is none of this name.
    pub fn dynamic(&self, name: &str) -> Result<DynTable<'static>> {
        let schema = self.0.stored(0, name)?;
        Ok(DynTable::new(Handle::Engine(Arc::clone(self.0.engine(0)?)), schema))
    }

    /// The tables that are in the main engine, whatever the model says, by name.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn tables(&self) -> Result<Vec<TableSchema>> {
        let mut tables = self.0.engine(0)?.tables()?;
        tables.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(tables)
    }

    /// Creates a table of the main engine from a description made at run time.
    ///
    /// # Errors
    /// `Schema` where there is one of this name; `Unsupported` for a rule that the engine cannot
    /// keep.
    pub fn create_table(&self, schema: TableSchema) -> Result<DynTable<'static>> {
        let schema = Arc::new(schema);
        self.0.engine(0)?.alter(&[SchemaChange::CreateTable(Arc::clone(&schema))])?;
        self.0.forget_stored();
        self.dynamic(schema.name())
    }

    /// Adds the tables, columns and indexes of the model that are not there; gives a line for each
    /// thing done. Never drops or changes anything: a second call does nothing.
    ///
    /// # Errors
    /// `Unsupported` for a rule that an engine cannot keep; `Duplicate` for a unique index over
    /// rows that break it; what one engine was to get it then gets nothing of.
    pub fn create_missing_tables(&self) -> Result<Vec<String>> {
        let mut done = Vec::new();
        for (place, (_, engine)) in self.0.engines.iter().enumerate() {
            let wanted = self.0.model_of(place);
            let (changes, words) = schema::missing(&wanted, &engine.tables()?)?;
            if !changes.is_empty() {
                engine.alter(&changes)?;
            }
            done.extend(words);
            let wanted = self.0.tracked_on(place);
            let tracked = crate::changes::track_missing(&**engine, &wanted)?;
            done.extend(tracked.into_iter().map(|name| format!("track the changes of {name}")));
        }
        self.0.forget_stored();
        Ok(done)
    }

    /// What differs between the model and the databases, in words by their `Display`.
    ///
    /// # Errors
    /// Those of the engines.
    pub fn schema_diff(&self) -> Result<Vec<Difference>> {
        let mut differences = Vec::new();
        for (place, (_, engine)) in self.0.engines.iter().enumerate() {
            let stored = engine.tables()?;
            for wanted in self.0.model_of(place) {
                let found = stored.iter().find(|t| t.name().eq_ignore_ascii_case(wanted.name()));
                differences.extend(schema::diff(&wanted, found));
            }
        }
        Ok(differences)
    }

    /// Begins a batch. See [`Batch`].
    pub fn batch(&self, options: BatchOptions) -> Batch<'_> {
        Batch::new(&self.0, options)
    }

    /// Begins to take single writes that are not waited for one by one. See [`Pipeline`].
    #[must_use]
    pub fn pipeline(&self, options: PipelineOptions) -> Pipeline {
        Pipeline::new(self.clone(), options)
    }

    /// Begins a transaction on the main engine. See [`Transaction`].
    ///
    /// # Errors
    /// `Busy` where another writer did not end within the busy time-out, or where this thread has
    /// a transaction open already.
    pub fn begin(&self) -> Result<Transaction<'_>> {
        Transaction::begin(&self.0, 0)
    }

    /// Begins a transaction on an attached engine.
    ///
    /// # Errors
    /// `Config` where there is no engine of this name; as [`begin`](Db::begin).
    pub fn begin_on(&self, engine: &str) -> Result<Transaction<'_>> {
        Transaction::begin(&self.0, self.0.engine_named(engine)?)
    }

    /// Runs `work` in a transaction: committed where it gives `Ok`, undone where it fails.
    ///
    /// Where the transaction clashes with another one, which servers report as
    /// [`Serialization`](ErrorKind::Serialization), or can't be begun since the server is not to be
    /// reached, it is run again from its beginning, after a pause that doubles each time: 5 times
    /// at most, or as many as [`DbBuilder::retries`](crate::DbBuilder::retries) says. What `work`
    /// does outside of the transaction it then does again. Nothing else is ever tried again: not
    /// where the line broke inside, and not where nobody knows what a commit did.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct Item { id: i64, #[record(unique)] name: String }
    /// # let db = Db::builder().record::<Item>().open("memory:")?;
    /// # db.create_missing_tables()?;
    /// let result = db.transaction(|transaction| {
    ///     let items = transaction.table::<Item>()?;
    ///     items.insert(&Item { id: 0, name: "spade".into() })?;
    ///     items.insert(&Item { id: 0, name: "spade".into() })
    /// });
    /// assert_eq!(result.unwrap_err().kind(), ErrorKind::Duplicate);
    /// assert_eq!(db.table::<Item>()?.count(Query::all())?, 0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `work`, of [`begin`](Db::begin) and of the commit.
    pub fn transaction<R>(&self, work: impl FnMut(&Transaction<'_>) -> Result<R>) -> Result<R> {
        crate::retry::run(&self.0, self.0.retries, work)
    }

    /// Runs SQL, and reads its rows: as tuples by place, as structs that derive
    /// [`FromRow`](derive@crate::FromRow) or [`Record`](derive@crate::Record) by column name, as single values,
    /// or as [`DynRow`](crate::DynRow)s. Each `?` is a parameter.
    ///
    /// One statement reads and joins the tables of all engines of the database, and writes to those
    /// of one. A name means a table of the main engine, else of the first attached one that has it;
    /// `engine.table` says which. SQLite runs it, and lets the engines do what they can: see
    /// [`explain`](Db::explain). A statement on one engine's tables goes straight to that engine
    /// where it understands it.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// let db = Db::open("sqlite::memory:")?;
    /// let rows = db.sql::<(i64, String)>("SELECT ? + 1, ?", (41, "answer"))?;
    /// assert_eq!(rows, [(42, "answer".to_owned())]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` for a statement that would write to two engines; `Syntax`; `Schema` for an
    /// unknown table or column; `Mismatch` for a wrong number of parameters, or a column that is not of its field's
    /// type.
    pub fn sql<R: FromRow>(&self, text: &str, parameters: impl Parameters) -> Result<Vec<R>> {
        crate::sql::list(&*self.0, text, parameters)
    }

    /// As [`sql`](Db::sql), handing out rows one by one until `each` says `false`: constant memory.
    ///
    /// # Errors
    /// As [`sql`](Db::sql), and those of `each`.
    pub fn sql_for_each<R: FromRow>(
        &self,
        text: &str,
        parameters: impl Parameters,
        each: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        crate::sql::for_each(&*self.0, text, parameters, each)
    }

    /// Runs SQL that gives no rows; gives the number of rows changed.
    ///
    /// # Errors
    /// As [`sql`](Db::sql).
    pub fn execute(&self, text: &str, parameters: impl Parameters) -> Result<u64> {
        self.0.execute_text(text, &parameters.into_values()?)
    }

    /// How a statement would be run, in words, a line for each table: which engine it is on, what
    /// that engine is asked for, and what SQLite does itself.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct Visit { id: i64, page: String }
    /// # let db = Db::builder().attach("cache", "memory:").record_on::<Visit>("cache").open("sqlite::memory:")?;
    /// # db.create_missing_tables()?;
    /// let lines = db.explain("SELECT upper(page) FROM visit WHERE id > ?", (7,))?;
    /// assert_eq!(lines, ["cache.visit: where id > ?, columns *"]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sql`](Db::sql).
    pub fn explain(&self, text: &str, parameters: impl Parameters) -> Result<Vec<String>> {
        self.0.explain_text(text, &parameters.into_values()?)
    }

    /// Makes everything that was committed durable: the memory engine writes its snapshot file,
    /// SQLite moves its log into the database file.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`; `Busy` where readers hold the log.
    pub fn flush(&self) -> Result<()> {
        self.0.engines.iter().try_for_each(|(_, engine)| engine.flush())
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// The same database with something before its engines.
    pub(crate) fn with_engines(
        &self,
        mut wrap: impl FnMut(&Arc<dyn Engine>) -> Result<Arc<dyn Engine>>,
    ) -> Result<Self> {
        let inner = &*self.0;
        let wrapped = inner.engines.iter().map(|(name, engine)| Ok((name.clone(), wrap(engine)?)));
        let engines: Vec<_> = wrapped.collect::<Result<_>>()?;
        let routes = inner.routes.with_engines(&engines)?;
        let model = inner.model.read().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Self(Arc::new(Inner {
            engines,
            model: RwLock::new(model),
            routes,
            retries: inner.retries,
            tracked: inner.tracked.clone(),
            #[cfg(feature = "cache")]
            caches: inner.caches.clone(),
        })))
    }

    /// The engine of tables that the model does not know.
    pub(crate) fn main_engine(&self) -> Result<Arc<dyn Engine>> {
        self.0.engine(0).map(Arc::clone)
    }

    /// An engine by its name.
    pub(crate) fn engine_of(&self, name: &str) -> Result<Arc<dyn Engine>> {
        self.0.engine(self.0.engine_named(name)?).map(Arc::clone)
    }
}

impl Inner {
    pub(crate) fn new(
        engines: Vec<(String, Arc<dyn Engine>)>,
        records: Vec<(TypeId, Option<String>, &'static Arc<TableSchema>)>,
        direct: bool,
        functions: Functions,
    ) -> Result<Self> {
        let routes = Routes::new(&engines, direct, functions)?;
        let inner = Self {
            engines,
            model: RwLock::default(),
            routes,
            retries: crate::retry::DEFAULT,
            tracked: Vec::new(),
            #[cfg(feature = "cache")]
            caches: crate::cache::All::default(),
        };
        for (id, name, schema) in records {
            let engine = name.map_or(Ok(0), |name| inner.engine_named(&name))?;
            inner.register(id, engine, schema)?;
        }
        Ok(inner)
    }

    /// Puts caches before the engines that keep their record types.
    #[cfg(feature = "cache")]
    pub(crate) fn add_caches(&mut self, wanted: Vec<crate::cache::Wanted>) {
        use crate::cache::{Cached, Caches, Store};
        let mut stores: Vec<Vec<Arc<Store>>> = self.engines.iter().map(|_| Vec::new()).collect();
        for crate::cache::Wanted { id, table, options } in wanted {
            let store = Arc::new(Store::new(table, &options));
            let model = self.model.get_mut().unwrap_or_else(PoisonError::into_inner);
            let entry = model.types.get(&id).and_then(|place| model.tables.get(*place));
            // A type that the builder was not told of is taken to be on the main engine.
            let engine = entry.map_or(0, |entry| entry.engine);
            if let Some(stores) = stores.get_mut(engine) {
                stores.push(Arc::clone(&store));
            }
            self.caches.add(id, store);
        }
        for ((_, engine), stores) in self.engines.iter_mut().zip(stores) {
            if !stores.is_empty() {
                let caches = Caches::new(stores);
                self.caches.add_watch(&caches);
                *engine = Arc::new(Cached::new(Arc::clone(engine), caches));
            }
        }
    }

    pub(crate) fn engine(&self, place: usize) -> Result<&Arc<dyn Engine>> {
        self.engines.get(place).map(|(_, engine)| engine).ok_or_else(|| {
            Error::new(ErrorKind::Config, "the database has no engine: name one in the builder")
        })
    }

    /// The engine that keeps a record type, whether or not its table is there: no I/O.
    #[cfg(feature = "async")]
    pub(crate) fn engine_keeping<T: Record>(&self) -> Result<usize> {
        let place = self.register(TypeId::of::<T>(), usize::MAX, T::schema())?;
        self.entry(place).map(|(engine, _)| engine)
    }

    /// The engines with their names, the main one first.
    #[cfg(any(feature = "sqlite", feature = "async"))]
    pub(crate) fn named_engines(&self) -> &[(String, Arc<dyn Engine>)] {
        &self.engines
    }

    /// The name of an engine.
    pub(crate) fn engine_name(&self, place: usize) -> &str {
        self.engines.get(place).map_or("", |(name, _)| name)
    }

    fn engine_named(&self, name: &str) -> Result<usize> {
        self.engines.iter().position(|(other, _)| other == name).ok_or_else(|| {
            let names = self.engines.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
            let message = format!("there is no engine '{name}', but {}", names.join(", "));
            Error::new(ErrorKind::Config, message)
        })
    }

    /// The engine of a record type, whose table was compared with it.
    pub(crate) fn bind<T: Record>(&self) -> Result<usize> {
        let id = TypeId::of::<T>();
        {
            let model = self.model.read().unwrap_or_else(PoisonError::into_inner);
            let entry = model.types.get(&id).and_then(|&place| model.tables.get(place));
            if let Some(Entry { engine, checked: true, .. }) = entry {
                return Ok(*engine);
            }
        }
        let place = self.register(id, usize::MAX, T::schema())?;
        let (engine, schema) = self.entry(place)?;
        check_table(&schema, &self.engine(engine)?.tables()?)?;
        self.note_checked(place);
        Ok(engine)
    }

    /// As [`bind`](Self::bind), inside a transaction of an engine, whose tables `stored` gives: it
    /// may see one that it made itself.
    pub(crate) fn bind_inside<T: Record>(
        &self,
        transaction: usize,
        stored: impl FnOnce() -> Result<Vec<TableSchema>>,
    ) -> Result<()> {
        let place = self.register(TypeId::of::<T>(), usize::MAX, T::schema())?;
        let (engine, schema) = self.entry(place)?;
        if engine != transaction {
            let message = "a transaction belongs to one engine, and this table is kept on another";
            return Err(Error::new(ErrorKind::Unsupported, message).in_table(T::TABLE));
        }
        let model = self.model.read().unwrap_or_else(PoisonError::into_inner);
        let checked = model.tables.get(place).is_some_and(|entry| entry.checked);
        drop(model);
        if !checked {
            check_table(&schema, &stored()?)?;
            self.note_checked(place);
        }
        Ok(())
    }

    fn note_checked(&self, place: usize) {
        let mut model = self.model.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = model.tables.get_mut(place) {
            entry.checked = true;
        }
    }

    /// A record type of the model: its engine and table.
    fn entry(&self, place: usize) -> Result<(usize, Arc<TableSchema>)> {
        let model = self.model.read().unwrap_or_else(PoisonError::into_inner);
        let entry = model.tables.get(place);
        entry
            .map(|entry| (entry.engine, Arc::clone(&entry.schema)))
            .ok_or_else(|| Error::new(ErrorKind::Schema, "the record type is not registered"))
    }

    /// Adds a record type to the model; `usize::MAX` stands for where it is already, or the main
    /// engine.
    fn register(&self, id: TypeId, engine: usize, schema: &Arc<TableSchema>) -> Result<usize> {
        let mut model = self.model.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(&place) = model.types.get(&id) {
            return Ok(place);
        }
        let engine = if engine == usize::MAX { 0 } else { engine };
        let same_name = |entry: &Entry| {
            entry.engine == engine && entry.schema.name().eq_ignore_ascii_case(schema.name())
        };
        if let Some(other) = model.tables.iter().find(|entry| same_name(entry))
            && !other.schema.same_as(schema)
        {
            let message = "two record types with different columns have this table: \
                           give one of them another by #[record(table = \"…\")]";
            return Err(Error::new(ErrorKind::Schema, message).in_table(schema.name()));
        }
        let place = model.tables.len();
        model.tables.push(Entry { engine, schema: Arc::clone(schema), checked: false });
        model.types.insert(id, place);
        Ok(place)
    }

    /// The record types that are to be tracked on an engine.
    fn tracked_on(&self, engine: usize) -> Vec<&crate::changes::Wanted> {
        let model = self.model.read().unwrap_or_else(PoisonError::into_inner);
        let is_on = |wanted: &&crate::changes::Wanted| {
            let place = model.types.get(&wanted.id);
            let entry = place.and_then(|place| model.tables.get(*place));
            entry.map_or(engine == 0, |entry| entry.engine == engine)
        };
        self.tracked.iter().filter(is_on).collect()
    }

    /// The tables of the model that an engine keeps, each name once.
    fn model_of(&self, engine: usize) -> Vec<Arc<TableSchema>> {
        let model = self.model.read().unwrap_or_else(PoisonError::into_inner);
        let mut tables: Vec<Arc<TableSchema>> = Vec::new();
        for entry in model.tables.iter().filter(|entry| entry.engine == engine) {
            if tables.iter().all(|other| other.name() != entry.schema.name()) {
                tables.push(Arc::clone(&entry.schema));
            }
        }
        tables
    }

    /// A table as the engine describes it.
    pub(crate) fn stored(&self, engine: usize, name: &str) -> Result<Arc<TableSchema>> {
        let place = (engine, name.to_ascii_lowercase());
        {
            let model = self.model.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(schema) = model.stored.get(&place) {
                return Ok(Arc::clone(schema));
            }
        }
        let found = TableSchema::find_in(self.engine(engine)?.tables()?, name)?;
        let mut model = self.model.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(model.stored.entry(place).or_insert_with(|| Arc::new(found))))
    }

    /// The place of an engine among those of this database.
    pub(crate) fn place_of(&self, engine: &Arc<dyn Engine>) -> Result<usize> {
        self.engines
            .iter()
            .position(|(_, other)| Arc::ptr_eq(other, engine))
            .ok_or_else(|| Error::new(ErrorKind::Misuse, "the table belongs to another database"))
    }

    fn forget_stored(&self) {
        let mut model = self.model.write().unwrap_or_else(PoisonError::into_inner);
        model.stored.clear();
        drop(model);
        self.routes.forget();
    }
}

/// Compares a record's table with those that are there.
fn check_table(schema: &TableSchema, stored: &[TableSchema]) -> Result<()> {
    let found = stored.iter().find(|table| table.name().eq_ignore_ascii_case(schema.name()));
    schema::check_usable(schema, found)
}

//! The database: the entry point of the API.

mod builder;
mod changes;
mod hooks;
mod migrations;
mod operations;
#[cfg(feature = "field-encryption")]
mod reencrypt;

pub use builder::DbBuilder;

use crate::batch::{Batch, BatchOptions};
use crate::catalog::Catalog;
use crate::dynamic::DynTable;
use crate::handle::{EngineHandle, SessionSource};
use crate::parameters::Parameters;
use crate::pipeline::{Pipeline, PipelineOptions};
use crate::retry;
use crate::schema::{self, Difference};
use crate::sql;
use crate::table::Table;
use crate::transaction::Transaction;
use bobak_core::statements::{CallSite, StatementMonitor};
use bobak_core::{Engine, FromRow, Record, Result, SchemaChange, SchemaDetails, TableSchema};
use std::sync::Arc;

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
pub struct Db(Arc<Catalog>);

impl Db {
    /// Opens a database by a URL. Its record types bind to it when they are first used.
    ///
    /// | URL | engine | feature |
    /// |---|---|---|
    /// | `sqlite:app.db`, `sqlite:/var/lib/app.db` | an SQLite file, created if it does not exist | `sqlite` (default) |
    /// | `app.db`, without a colon | the same | `sqlite` |
    /// | `sqlite::memory:` | SQLite in memory | `sqlite` |
    /// | `memory:` | the memory engine, empty | |
    /// | `memory:store.bobak` | the memory engine with a snapshot file; `?format=json` for JSON | |
    /// | `kv:app.kv` | a key-value file | `kv` |
    /// | `postgres://user:password@host:port/name` | PostgreSQL (also `postgresql:`) | `postgres` |
    /// | `mysql://user:password@host:port/name` | MySQL and MariaDB (also `mariadb:`) | `mysql`; TLS needs `mysql-tls` |
    /// | `firebird://user:password@host:port/path-or-alias` | Firebird | `firebird` |
    /// | `mssql://user:password@host:port/database` | SQL Server | `mssql` |
    /// | `oracle://user:password@host:port/service` | Oracle | `oracle` |
    /// | `access:orders.accdb` | an Access file | `access` |
    /// | `odbc:NAME`, `odbc:Driver={PostgreSQL Unicode};Server=…` | a data source, or a connection string, of ODBC | `odbc` |
    /// | `bobak://host:port/name?token=…` | a database on a Bobak server | `remote`; `tls=on` needs `remote-tls` |
    /// | `bobak+unix:/path/to/socket?db=name` | the same over a Unix socket | `remote` |
    /// | `bobak+stdio:PROGRAM ARGUMENTS` | the same through the pipes of a program that Bobak starts | `remote` |
    ///
    /// A file is named without `//`: `sqlite://app.db` is an error, since libraries differ in what it means.
    ///
    /// Settings follow as `?name=value&…`. Write `%` and `?` in a path as `%25` and `%3F`, and a space in a program's
    /// argument as `%20`; no shell interprets the arguments, so quotes are rejected.
    ///
    /// SQLite's default, WAL with full synchronization, loses no committed transaction.
    ///
    /// Every setting is a method of the engine's builder, under the same name except `db` (`database`) of Bobak servers and
    /// `host` (`socket`) of PostgreSQL: see [`engine`](crate::engine). `bobak settings` lists them.
    ///
    /// # Errors
    /// `Config` for a malformed URL, an unknown setting, or an engine whose feature is disabled; `Corrupt` for a file that
    /// is not a database; `Io`, `ReadOnly`.
    pub fn open(url: &str) -> Result<Self> {
        Self::builder().open(url)
    }

    /// Describes a database: its engines, record types and options.
    #[must_use]
    pub fn builder() -> DbBuilder {
        DbBuilder::default()
    }

    pub(crate) const fn new(catalog: Arc<Catalog>) -> Self {
        Self(catalog)
    }

    fn handle(&self, engine: usize) -> Result<EngineHandle> {
        EngineHandle::new(Arc::clone(&self.0) as Arc<_>, engine)
    }

    /// The statistics of a record type's cache; `None` if it has no cache. See [`DbBuilder::cache`].
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn cache_stats<T: Record>(&self) -> Option<crate::cache::CacheStats> {
        self.0.caches.stats(std::any::TypeId::of::<T>())
    }

    /// The records of one type.
    ///
    /// A type that the builder does not know is kept on the main engine. On first use, the table is compared with the
    /// record.
    ///
    /// # Errors
    /// `Schema` if the table or a column is missing, a column has another type, or another record type with other
    /// columns has the same table.
    pub fn table<T: Record>(&self) -> Result<Table<'static, T>> {
        let engine = self.0.bind::<T>()?;
        Ok(Table::new(SessionSource::Engine(self.handle(engine)?)))
    }

    /// A table that no struct describes, of the main engine; or a view, whose rows can be read and not written.
    ///
    /// # Errors
    /// `Schema` if there is no table or view with this name.
    pub fn dynamic(&self, name: &str) -> Result<DynTable<'static>> {
        self.dynamic_on("main", name)
    }

    /// As [`dynamic`](Db::dynamic), of the engine with this name: an attached one, or `main`.
    ///
    /// # Errors
    /// `Config` if no engine has this name; as [`dynamic`](Db::dynamic).
    pub fn dynamic_on(&self, engine: &str, name: &str) -> Result<DynTable<'static>> {
        let index = self.0.engine_index(engine)?;
        let schema = self.0.stored(index, name)?;
        Ok(DynTable::new(SessionSource::Engine(self.handle(index)?), schema))
    }

    /// The tables in the main engine, whether the model knows them or not, ordered by name.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn tables(&self) -> Result<Vec<TableSchema>> {
        let mut tables = self.0.engine(0)?.tables()?;
        tables.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(tables)
    }

    /// The views in the main engine, ordered by name: [`dynamic`](Db::dynamic) reads them, and so do records with
    /// `#[record(view)]`.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn views(&self) -> Result<Vec<TableSchema>> {
        let mut views = self.0.engine(0)?.session()?.views()?;
        views.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(views)
    }

    /// What the main engine has that the schemas of [`tables`](Db::tables) do not express: rules of the tables, virtual
    /// tables and tables that no schema describes, views, triggers.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn schema_details(&self) -> Result<SchemaDetails> {
        self.0.engine(0)?.session()?.schema_details()
    }

    /// Creates a table on the main engine from a schema built at run time.
    ///
    /// # Errors
    /// `Schema` if a table has this name; `Unsupported` for a constraint that the engine cannot enforce.
    pub fn create_table(&self, schema: TableSchema) -> Result<DynTable<'static>> {
        self.create_table_on("main", schema)
    }

    /// As [`create_table`](Db::create_table), on the engine with this name.
    ///
    /// # Errors
    /// `Config` if no engine has this name; as [`create_table`](Db::create_table).
    pub fn create_table_on(&self, engine: &str, schema: TableSchema) -> Result<DynTable<'static>> {
        schema.check_writable()?;
        let schema = Arc::new(schema);
        let index = self.0.engine_index(engine)?;
        self.0.engine(index)?.alter(&[SchemaChange::CreateTable(Arc::clone(&schema))])?;
        self.0.forget_stored();
        self.dynamic_on(engine, schema.name())
    }

    /// Creates the tables, columns and indexes of the model that are missing; returns a line for each change. Never drops
    /// or changes anything: a second call does nothing.
    ///
    /// A column that is added to a table with rows is an `Option`, or has a default: Bobak invents no values. Only a
    /// version begins at 0.
    ///
    /// # Errors
    /// `Schema`, before anything is changed, for a required column without a default if the table has rows, and for a
    /// table that could not store the record even with the added columns, such as one with a column that is required
    /// and that the record does not have (after a field was renamed, for example).
    ///
    /// `Unsupported` for a constraint that an engine cannot enforce; `Duplicate` for a unique index over rows that violate
    /// it. An engine makes all of its changes or none.
    pub fn create_missing_tables(&self) -> Result<Vec<String>> {
        let mut done = Vec::new();
        let engines = self.0.engines().iter().enumerate();
        let plan = |(index, (_, engine)): (usize, &(String, Arc<dyn Engine>))| {
            let elsewhere = |table: &str| self.0.other_engine_of(index, table);
            schema::missing(&self.0.model_of(index), &engine.tables()?, &**engine, &elsewhere)
        };
        let plans = engines.map(plan).collect::<Result<Vec<_>>>()?;
        for ((index, (_, engine)), (changes, lines)) in
            self.0.engines().iter().enumerate().zip(plans)
        {
            if !changes.is_empty() {
                engine.alter(&changes)?;
            }
            done.extend(lines);
            let wanted = self.0.tracked_on(index);
            let tracked = crate::changes::track_missing(&**engine, &wanted)?;
            done.extend(tracked.into_iter().map(|name| format!("track the changes of {name}")));
        }
        self.0.forget_stored();
        Ok(done)
    }

    /// The differences between the model and the databases. Each `Display`s as a sentence.
    ///
    /// # Errors
    /// Those of the engines.
    pub fn schema_diff(&self) -> Result<Vec<Difference>> {
        let mut differences = Vec::new();
        for (index, (_, engine)) in self.0.engines().iter().enumerate() {
            let stored = engine.session()?.tables_and_views()?;
            for wanted in self.0.model_of(index) {
                let found = stored.iter().find(|t| t.name().eq_ignore_ascii_case(wanted.name()));
                differences.extend(schema::diff(&wanted, found));
            }
        }
        Ok(differences)
    }

    /// Starts a batch. See [`Batch`].
    #[track_caller]
    pub fn batch(&self, options: BatchOptions) -> Batch<'_> {
        Batch::new(&self.0, options)
    }

    /// Starts a pipeline: single writes whose results are fetched later. See [`Pipeline`].
    #[must_use]
    #[track_caller]
    pub fn pipeline(&self, options: PipelineOptions) -> Pipeline {
        Pipeline::new(Arc::clone(&self.0), options)
    }

    /// Begins a transaction on the main engine. See [`Transaction`].
    ///
    /// # Errors
    /// `Busy` if another writer did not finish within the busy timeout, or this thread already has an open transaction.
    #[track_caller]
    pub fn begin(&self) -> Result<Transaction<'_>> {
        Transaction::begin(&self.0, 0)
    }

    /// Begins a transaction on an attached engine.
    ///
    /// # Errors
    /// `Config` if there is no engine with this name; as [`begin`](Db::begin).
    #[track_caller]
    pub fn begin_on(&self, engine: &str) -> Result<Transaction<'_>> {
        Transaction::begin(&self.0, self.0.engine_index(engine)?)
    }

    /// Runs `work` in a transaction: commits it if `work` returns `Ok`, rolls it back if `work` fails.
    ///
    /// If the transaction conflicts with another one, which servers report as
    /// [`Serialization`](crate::ErrorKind::Serialization), or cannot begin because the server is unreachable, it is
    /// repeated from its beginning, after a pause that doubles each time: at most 5 times, or as often as
    /// [`DbBuilder::retries`] says. `work` then also repeats what it does outside of the transaction. No other failure is
    /// retried: neither a connection lost inside the transaction nor a commit whose result is unknown.
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
    #[track_caller]
    pub fn transaction<R>(&self, work: impl FnMut(&Transaction<'_>) -> Result<R>) -> Result<R> {
        retry::run(&self.0, 0, self.0.retries, work)
    }

    /// As [`transaction`](Db::transaction), on the engine with this name, for a closure with an error type of its own.
    /// The main engine is named `main`.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct Account { #[record(key = "given")] id: i64, balance: Currency }
    /// # let db = Db::builder().record::<Account>().open("memory:")?;
    /// # db.create_missing_tables()?;
    /// #[derive(Debug)]
    /// enum WithdrawalError {
    ///     TooLittle,
    ///     Database(Error),
    /// }
    ///
    /// impl From<Error> for WithdrawalError {
    ///     fn from(error: Error) -> Self {
    ///         Self::Database(error)
    ///     }
    /// }
    ///
    /// let result = db.transaction_on("main", |transaction| {
    ///     let accounts = transaction.table::<Account>()?;
    ///     match accounts.get(1)? {
    ///         Some(account) if account.balance > Currency::ZERO => Ok(account.balance),
    ///         _ => Err(WithdrawalError::TooLittle),
    ///     }
    /// });
    /// assert!(matches!(result, Err(WithdrawalError::TooLittle)));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `work`; as [`begin_on`](Db::begin_on) and for the commit, converted.
    #[track_caller]
    pub fn transaction_on<R, E: From<bobak_core::Error>>(
        &self,
        engine: &str,
        work: impl FnMut(&Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        retry::run(&self.0, self.0.engine_index(engine)?, self.0.retries, work)
    }

    /// Runs SQL and reads its rows: as tuples by position, as structs that derive [`FromRow`](derive@crate::FromRow) or
    /// [`Record`](derive@crate::Record) by column name, as single values, or as [`DynRow`](crate::DynRow)s. Each `?` is a
    /// parameter.
    ///
    /// A statement can read and join the tables of all engines of the database, and write to the tables of one. A name
    /// refers to a table of the main engine, else of the first attached engine that has it; `engine.table` names one
    /// explicitly. SQLite runs the statement and pushes down what the engines can do themselves: see
    /// [`explain`](Db::explain). A statement on the tables of one engine runs on that engine if it understands SQL.
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
    /// `Unsupported` for a statement that writes to two engines; `Syntax`; `Schema` for an unknown table or column;
    /// `Mismatch` for a wrong number of parameters, or a column that does not have its field's type.
    #[track_caller]
    pub fn sql<R: FromRow>(&self, text: &str, parameters: impl Parameters) -> Result<Vec<R>> {
        sql::list(&*self.0, text, parameters)
    }

    /// As [`sql`](Db::sql), calling `each` with one row at a time until it returns `false`, in constant memory.
    ///
    /// # Errors
    /// As [`sql`](Db::sql), and those of `each`.
    #[track_caller]
    pub fn sql_for_each<R: FromRow>(
        &self,
        text: &str,
        parameters: impl Parameters,
        each: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        sql::for_each(&*self.0, text, parameters, each)
    }

    /// Runs SQL that returns no rows; returns the number of changed rows.
    ///
    /// # Errors
    /// As [`sql`](Db::sql).
    #[track_caller]
    pub fn execute(&self, text: &str, parameters: impl Parameters) -> Result<u64> {
        let _at = CallSite::enter();
        let (text, parameters) = parameters.into_arguments()?.bind(text)?;
        self.0.execute_text(&text, &parameters)
    }

    /// Makes all committed changes durable: the memory engine writes its snapshot file, SQLite moves its write-ahead log
    /// into the database file.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`; `Busy` if readers use the log.
    pub fn flush(&self) -> Result<()> {
        self.0.engines().iter().try_for_each(|(_, engine)| engine.flush())
    }

    /// The main engine with the rules of the records in front of it, for servers and other users of the
    /// [engine contract](crate::engine): what clients write is normalized and validated as what this program writes.
    ///
    /// ```no_run
    /// use bobak::prelude::*;
    ///
    /// # #[derive(Record)]
    /// # struct City { id: i64, #[record(trim, length = 1..=80)] name: String }
    /// let db = Db::builder().record::<City>().open("sqlite:cities.db")?;
    /// let server = bobak_server::Server::builder()
    ///     .shared_database("main", db.engine()?)
    ///     .token("a token of the program")
    ///     .tcp("127.0.0.1:7333")
    ///     .start()?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Config` if the database has no engine.
    pub fn engine(&self) -> Result<Arc<dyn Engine>> {
        self.0.engine(0).map(Arc::clone)
    }

    /// As [`engine`](Db::engine), the engine with this name: an attached one, or `main`.
    ///
    /// # Errors
    /// `Config` if no engine has this name.
    pub fn engine_on(&self, name: &str) -> Result<Arc<dyn Engine>> {
        self.0.engine(self.0.engine_index(name)?).map(Arc::clone)
    }

    /// The monitor that [`DbBuilder::monitor`] has turned on: which statements ran, how often, how long they took, and
    /// where they came from.
    #[must_use]
    pub fn statements(&self) -> Option<&Arc<StatementMonitor>> {
        self.0.monitor.as_ref()
    }

    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.0
    }

    /// The main engine, for operations on whole databases: rows pass without the rules of records.
    fn main_engine(&self) -> Result<Arc<dyn Engine>> {
        self.base_engine(0)
    }

    fn engine_named(&self, name: &str) -> Result<Arc<dyn Engine>> {
        self.base_engine(self.0.engine_index(name)?)
    }

    fn base_engine(&self, index: usize) -> Result<Arc<dyn Engine>> {
        let engine = self.0.base_engines().get(index).map(|(_, engine)| Arc::clone(engine));
        engine.map_or_else(|| self.0.engine(index).map(Arc::clone), Ok)
    }
}

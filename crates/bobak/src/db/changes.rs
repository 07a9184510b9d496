//! Tracking tables of a [`Db`], and reading their changes.

use super::Db;
use crate::changes::{Changes, Keep, TrackOptions};
use bobak_changes::{
    ActorEngine, Consumer, consumers, is_tracked_as_now, remove_consumer, tracked,
};
use bobak_core::{Error, ErrorKind, Record, Result, SchemaChange, TableSchema};
use bobak_operations::retention;
use bobak_sql::changes_rows;
use std::sync::Arc;

impl Db {
    /// The changes of the main engine's tracked tables.
    ///
    /// ```
    /// use bobak::prelude::*;
    /// use bobak::changes::TrackOptions;
    /// use std::time::Duration;
    /// #[derive(Record)]
    /// struct City { id: i64, name: String }
    ///
    /// let db = Db::builder().track::<City>(TrackOptions::new()).open("sqlite::memory:")?;
    /// db.create_missing_tables()?;
    /// db.table()?.insert(&City { id: 0, name: "Bern".into() })?;
    /// db.execute("UPDATE city SET name = 'Thun'", ())?;
    ///
    /// let mut names = Vec::new();
    /// for change in db.changes()?.table::<City>().iter() {
    ///     names.push(change?.after_as::<City>()?.unwrap().name);
    /// }
    /// assert_eq!(names, ["Bern", "Thun"]);
    ///
    /// // A reader remembers where the page ended, and waits for more from there.
    /// let page = db.changes()?.since(1).wait(Duration::from_secs(60))?;
    /// assert_eq!((page.changes.len(), page.next), (1, 2));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Denied` of a scoped database; those of the engine.
    pub fn changes(&self) -> Result<Changes> {
        self.reject_scoped_changes()?;
        Ok(Changes::of(self.main_engine()?))
    }

    /// As [`changes`](Self::changes), of an attached engine. Each engine numbers its own.
    ///
    /// # Errors
    /// `Config` if there is no engine with this name; `Denied` of a scoped database.
    pub fn changes_on(&self, engine: &str) -> Result<Changes> {
        self.reject_scoped_changes()?;
        Ok(Changes::of(self.engine_named(engine)?))
    }

    /// A named reader of the committed changes of a record type, whose position is stored in the database of its table: each
    /// change is delivered at least once, also if the program is killed. See [`Consumer`].
    ///
    /// ```
    /// use bobak::prelude::*;
    /// use bobak::changes::TrackOptions;
    /// use std::time::Duration;
    /// #[derive(Record)]
    /// struct Order { id: i64, mail: String }
    ///
    /// let db = Db::builder().track::<Order>(TrackOptions::new()).open("sqlite::memory:")?;
    /// db.create_missing_tables()?;
    /// db.table()?.insert(&Order { id: 0, mail: "ada@example.org".into() })?;
    ///
    /// let mut sent = Vec::new();
    /// let mut mailer = db.consumer::<Order>("mailer")?;
    /// mailer.run(Duration::ZERO, |change| {
    ///     if let Some(order) = change.after_as::<Order>()? {
    ///         sent.push(order.mail); // after `Ok` the change is acknowledged
    ///     }
    ///     Ok::<_, Error>(())
    /// })?;
    /// assert_eq!(sent, ["ada@example.org"]);
    /// assert_eq!(db.consumers()?, [("mailer".to_owned(), 1)]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Schema` if the record is not registered, or its table is not tracked; `TooLong` for a name of more than 100
    /// characters; `Denied` of a scoped database; those of the engine.
    pub fn consumer<T: Record>(&self, name: &str) -> Result<Consumer> {
        self.reject_scoped_changes()?;
        let engine = self.catalog().bind::<T>()?;
        Consumer::open(Arc::clone(self.catalog().engine(engine)?), name, &[T::TABLE])
    }

    /// The consumers of the main engine's changes with their positions, by name: changes up to the smallest one may be
    /// [pruned](Self::prune_changes).
    ///
    /// # Errors
    /// Those of the engine.
    pub fn consumers(&self) -> Result<Vec<(String, u64)>> {
        consumers(&*self.main_engine()?)
    }

    /// Removes a consumer of the main engine's changes; returns whether there was one. Under the same name, a new one
    /// begins with the first change.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn remove_consumer(&self, name: &str) -> Result<bool> {
        remove_consumer(&*self.main_engine()?, name)
    }

    /// Tracks a table of the main engine from now on. If it is tracked already, its change log is adapted to the table,
    /// which is needed after SQL altered it. If SQL altered or recreated the table, changes made in between are
    /// unknown: readers positioned before the gap get `NotFound` when they continue. See [`changes`](crate::changes).
    ///
    /// # Errors
    /// `Schema` if the table does not exist; `Unsupported` for a table of more than 126 columns, and if the engine cannot
    /// capture every change: MariaDB and MySQL cannot for a table with cascading foreign keys.
    pub fn track_table(&self, name: &str, options: TrackOptions) -> Result<()> {
        let engine = self.main_engine()?;
        let table = Arc::new(TableSchema::find_in(engine.tables()?, name)?);
        let history = options.history;
        engine.alter(&[SchemaChange::Track { table, history }])
    }

    /// Tracks every table of the main engine that is not tracked yet, those that SQL altered or recreated, and those whose triggers
    /// an earlier version of Bobak created; returns their names. To also track tables that are created later, call it again.
    ///
    /// # Errors
    /// As [`track_table`](Self::track_table), for the first table that cannot be tracked.
    pub fn track_all_tables(&self, options: TrackOptions) -> Result<Vec<String>> {
        let engine = self.main_engine()?;
        let mut names = Vec::new();
        for table in engine.tables()? {
            if !is_tracked_as_now(&*engine.session()?, table.name())? {
                names.push(table.name().to_owned());
                let (table, history) = (Arc::new(table), options.history);
                engine.alter(&[SchemaChange::Track { table, history }])?;
            }
        }
        Ok(names)
    }

    /// Whether a table of the main engine is tracked, and its change log fits the table: not after SQL that altered it, or
    /// dropped and recreated it, nor if an earlier version of Bobak created its triggers. Tracking it again makes it so.
    ///
    /// # Errors
    /// `Schema` if a tracked table does not exist; those of the engine.
    pub fn is_tracked(&self, name: &str) -> Result<bool> {
        is_tracked_as_now(&*self.main_engine()?.session()?, name)
    }

    /// Stops tracking a table of the main engine, and deletes its recorded changes.
    ///
    /// # Errors
    /// `Schema` if the table does not exist.
    pub fn untrack_table(&self, name: &str) -> Result<()> {
        let engine = self.main_engine()?;
        let table = TableSchema::find_in(engine.tables()?, name).or_else(|error| {
            let is_known = self.tracked_tables()?.iter().any(|t| t.eq_ignore_ascii_case(name));
            let key = bobak_core::ColumnSchema::new("id", bobak_core::Type::I64);
            match is_known {
                // SQL dropped it, and left its log.
                true => TableSchema::builder(name.to_owned()).column(key).key(["id"]).build(),
                false => Err(error),
            }
        })?;
        engine.alter(&[SchemaChange::Untrack(Arc::new(table))])
    }

    /// The names of the main engine's tracked tables, in order.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn tracked_tables(&self) -> Result<Vec<String>> {
        let tracked = tracked(&*self.main_engine()?.session()?)?;
        let mut names: Vec<_> = tracked.into_iter().map(|tracked| tracked.name).collect();
        names.sort();
        Ok(names)
    }

    /// The same database, with an actor: every change is recorded together with this name. See
    /// [`changes`](crate::changes).
    ///
    /// A single write becomes a transaction, so it does not share a sync with the writes of other threads.
    ///
    /// # Errors
    /// `Schema` if no table of any engine is tracked, so that the name would not be recorded.
    pub fn with_actor(&self, actor: &str) -> Result<Self> {
        self.0
            .reject_scope("records its name as the actor: give another one a scope of its own")?;
        let mut any_tracked = false;
        let catalog = self.0.with_engines(|(_, engine)| {
            let is_tracked = !tracked(&*engine.session()?)?.is_empty();
            any_tracked |= is_tracked;
            // Engines without tracked tables are wrapped too: a federation host must not be wrapped alone, since it
            // would show the tables of the others twice.
            Ok(Arc::new(ActorEngine::new(Arc::clone(engine), actor, changes_rows, move |_| {
                is_tracked
            })))
        })?;
        if any_tracked {
            return Ok(Self::new(Arc::new(catalog)));
        }
        let message = "no table is tracked, so the actor would not be recorded: track one first";
        Err(Error::new(ErrorKind::Schema, message))
    }

    /// Removes changes from the main engine's change log, and so from the history of its records; returns their number.
    /// Readers that have not read them yet get `NotFound` when they continue.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # use bobak::changes::{Keep, TrackOptions};
    /// # #[derive(Record)] struct City { id: i64, name: String }
    /// # let db = Db::builder().track::<City>(TrackOptions::new()).open("memory:")?;
    /// # db.create_missing_tables()?;
    /// # for name in ["Bern", "Thun"] { db.table()?.insert(&City { id: 0, name: name.into() })?; }
    /// assert_eq!(db.prune_changes(Keep::Last(1))?, 1);
    /// assert_eq!(db.changes()?.page().unwrap_err().kind(), ErrorKind::NotFound);
    /// assert_eq!(db.changes()?.since(1).page()?.changes.len(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Denied` of a scoped database, whose change log is that of all rows; those of the engine. Nothing is removed then.
    pub fn prune_changes(&self, keep: Keep) -> Result<u64> {
        self.0.reject_scope("prunes no change log: use the database itself")?;
        retention::prune(&*self.main_engine()?, keep)
    }

    fn reject_scoped_changes(&self) -> Result<()> {
        self.0.reject_scope("has no change log, which is that of all rows: use the database itself")
    }
}

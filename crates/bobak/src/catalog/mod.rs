//! The engines of a database and the record types that they keep: what `Db`, transactions, batches and pipelines share.

mod model;
mod statements;

pub(crate) use model::RegisteredRecord;
pub(crate) use statements::CacheInvalidation;

use crate::changes::TrackedRecord;
use crate::handle::{EngineSet, check_same_engine};
use crate::router::{NamedEngine, Router, RouterOptions};
use crate::rules::{EngineRules, RecordRules, RowHook, RuleEngine};
use crate::schema;
use bobak_core::statements::StatementMonitor;
use bobak_core::{Engine, Error, ErrorKind, MonitoredEngine, Record, Result, TableSchema, Value};
use model::{Model, RecordTable};
use std::any::TypeId;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How often a transaction is repeated after a serialization failure, unless the builder says otherwise.
const RETRIES: u32 = 5;

/// The engines of a database, the record types of its model, and the routes of SQL statements.
pub(crate) struct Catalog {
    /// The main engine first.
    engines: Vec<NamedEngine>,
    /// The same database without the layers of rules; `None` if no record has rules.
    base: Option<Arc<Self>>,
    /// The rules in front of each engine; none if no record has rules.
    rules: Vec<Arc<EngineRules>>,
    model: Arc<RwLock<Model>>,
    router: Arc<Router>,
    /// Whether the engines are confined to some rows: then no SQL text runs.
    scoped: bool,
    /// Sees the statements of all engines.
    pub(crate) monitor: Option<Arc<StatementMonitor>>,
    /// How often a transaction is repeated after a serialization failure.
    pub(crate) retries: u32,
    /// The record types whose changes will be recorded.
    pub(crate) tracked: Vec<TrackedRecord>,
    #[cfg(feature = "cache")]
    pub(crate) caches: crate::cache::RecordCaches,
}

impl Catalog {
    pub(crate) fn new(
        engines: Vec<NamedEngine>,
        records: &[RegisteredRecord],
        options: RouterOptions,
    ) -> Result<Self> {
        let router = Arc::new(Router::new(&engines, options)?);
        let catalog = Self {
            engines,
            base: None,
            rules: Vec::new(),
            model: Arc::default(),
            router,
            scoped: false,
            monitor: None,
            retries: RETRIES,
            tracked: Vec::new(),
            #[cfg(feature = "cache")]
            caches: crate::cache::RecordCaches::default(),
        };
        for record in records {
            let engine = catalog.engine_of(record)?;
            catalog.write_model().register(record.id, Some(engine), record.table)?;
        }
        Ok(catalog)
    }

    pub(crate) fn engine_of(&self, record: &RegisteredRecord) -> Result<usize> {
        record.engine.as_ref().map_or(Ok(0), |name| self.engine_index(name))
    }

    /// The same catalog with the rules and hooks of the records in front of the engines that keep them.
    ///
    /// # Errors
    /// Those of [`EngineRules::add`].
    pub(crate) fn with_rules_of(
        self: &Arc<Self>,
        records: &[RegisteredRecord],
        hooks: &[(TypeId, Arc<dyn RowHook>)],
        #[cfg(feature = "field-encryption")] keys: Option<&Arc<crate::field_encryption::FieldKeys>>,
    ) -> Result<Arc<Self>> {
        let mut rules: Vec<_> = self.engines.iter().map(|_| EngineRules::default()).collect();
        for record in records {
            let hooks = hooks.iter().filter(|(id, _)| *id == record.id);
            let hooks: Vec<_> = hooks.map(|(_, hook)| Arc::clone(hook)).collect();
            if (!record.rules.is_empty() || !hooks.is_empty())
                && let Some(rules) = rules.get_mut(self.engine_of(record)?)
            {
                rules.add(RecordRules { schema: record.table, rules: record.rules, hooks })?;
            }
        }
        #[cfg(feature = "field-encryption")]
        self.add_ciphers(&mut rules, records, keys)?;
        if rules.iter().all(EngineRules::is_empty) {
            return Ok(Arc::clone(self));
        }
        Ok(Arc::new(self.with_rules(rules.into_iter().map(Arc::new).collect())))
    }

    /// Adds the encrypted fields of the records to the rules of their engines.
    ///
    /// # Errors
    /// `Config` without keys.
    #[cfg(feature = "field-encryption")]
    fn add_ciphers(
        &self,
        rules: &mut [EngineRules],
        records: &[RegisteredRecord],
        keys: Option<&Arc<crate::field_encryption::FieldKeys>>,
    ) -> Result<()> {
        use crate::field_encryption::EngineCiphers;
        for (index, rules) in rules.iter_mut().enumerate() {
            let mut ciphers: Option<EngineCiphers> = None;
            for record in records.iter().filter(|record| !record.rules.encrypted.is_empty()) {
                if self.engine_of(record)? != index {
                    continue;
                }
                let keys = keys.ok_or_else(|| {
                    let message = "the record has encrypted fields: give their keys with `DbBuilder::field_keys`";
                    Error::new(ErrorKind::Config, message).in_table(record.table.name())
                })?;
                let ciphers = ciphers.get_or_insert_with(|| EngineCiphers::new(keys));
                ciphers.add(record.table, record.rules.encrypted);
            }
            rules.ciphers = ciphers.map(Arc::new);
        }
        Ok(())
    }

    fn with_rules(self: &Arc<Self>, rules: Vec<Arc<EngineRules>>) -> Self {
        let wrap = |((name, engine), rules): (&NamedEngine, &Arc<EngineRules>)| {
            let engine = Arc::clone(engine);
            let engine: Arc<dyn Engine> = match rules.is_empty() {
                true => engine,
                false => Arc::new(RuleEngine::new(encrypting(engine, rules), Arc::clone(rules))),
            };
            (name.clone(), engine)
        };
        Self {
            engines: self.engines.iter().zip(&rules).map(wrap).collect(),
            rules,
            model: Arc::clone(&self.model),
            router: Arc::clone(&self.router),
            scoped: self.scoped,
            monitor: self.monitor.clone(),
            retries: self.retries,
            tracked: self.tracked.clone(),
            #[cfg(feature = "cache")]
            caches: self.caches.clone(),
            base: Some(Arc::clone(self)),
        }
    }

    /// The same catalog without the layers of rules.
    #[cfg(feature = "field-encryption")]
    pub(crate) fn base(&self) -> &Self {
        self.base.as_deref().unwrap_or(self)
    }

    /// The encrypted fields on the engine at an index.
    #[cfg(feature = "field-encryption")]
    pub(crate) fn ciphers(
        &self,
        engine: usize,
    ) -> Option<&Arc<crate::field_encryption::EngineCiphers>> {
        self.rules.get(engine)?.ciphers.as_ref()
    }

    /// The tables of the model on the engine at an index as the engine stores them: encrypted columns are bytes.
    pub(crate) fn stored_model_of(&self, engine: usize) -> Result<Vec<Arc<TableSchema>>> {
        let model = self.model_of(engine);
        #[cfg(feature = "field-encryption")]
        if let Some(ciphers) = self.ciphers(engine) {
            return model.iter().map(|table| ciphers.stored(table)).collect();
        }
        Ok(model)
    }

    /// The engines as SQL text and operations on whole databases see them: without the layers of rules.
    pub(crate) fn base_engines(&self) -> &[NamedEngine] {
        self.base.as_ref().map_or(&self.engines, |base| &base.engines)
    }

    /// The same catalog with other engines in front of its engines.
    pub(crate) fn with_engines(
        &self,
        mut wrap: impl FnMut(&NamedEngine) -> Result<Arc<dyn Engine>>,
    ) -> Result<Self> {
        if let Some(base) = &self.base {
            return Ok(Arc::new(base.with_engines(wrap)?).with_rules(self.rules.clone()));
        }
        let wrapped = self.engines.iter().map(|engine| Ok((engine.0.clone(), wrap(engine)?)));
        let engines: Vec<_> = wrapped.collect::<Result<_>>()?;
        let router = Arc::new(self.router.with_engines(&engines)?);
        let model = self.read_model().clone();
        Ok(Self {
            engines,
            base: None,
            rules: Vec::new(),
            model: Arc::new(RwLock::new(model)),
            router,
            scoped: self.scoped,
            monitor: self.monitor.clone(),
            retries: self.retries,
            tracked: self.tracked.clone(),
            #[cfg(feature = "cache")]
            caches: self.caches.clone(),
        })
    }

    /// As [`with_engines`](Self::with_engines), with engines that confine what can be done: SQL text is rejected.
    #[cfg(feature = "scopes")]
    pub(crate) fn scoped(
        &self,
        wrap: impl FnMut(&NamedEngine) -> Result<Arc<dyn Engine>>,
    ) -> Result<Self> {
        let mut scoped = self.base.as_deref().unwrap_or(self).with_engines(wrap)?;
        scoped.scoped = true;
        Ok(match self.base {
            Some(_) => {
                let rules = self.rules.iter().map(|rules| Arc::new(rules.for_scope())).collect();
                Arc::new(scoped).with_rules(rules)
            }
            None => scoped,
        })
    }

    /// The same catalog for hooks of a scope, whose session is confined: SQL text is rejected.
    pub(crate) fn without_sql(&self) -> Result<Self> {
        let same = self.with_engines(|(_, engine)| Ok(Arc::clone(engine)))?;
        Ok(Self { scoped: true, model: Arc::clone(&self.model), ..same })
    }

    /// Puts the monitor in front of the main engine; attached engines have one from the start.
    pub(crate) fn add_monitor(&mut self, monitor: Option<Arc<StatementMonitor>>) {
        if let (Some(monitor), Some((_, main))) = (&monitor, self.engines.first_mut()) {
            *main = Arc::new(MonitoredEngine::new(Arc::clone(main), Arc::clone(monitor)));
        }
        self.monitor = monitor;
    }

    /// Puts caches in front of the engines that keep their record types.
    #[cfg(feature = "cache")]
    pub(crate) fn add_caches(&mut self, settings: Vec<crate::cache::CachedRecord>) {
        use crate::cache::{CachedEngine, EngineCaches, RecordCache};
        let mut caches: Vec<Vec<Arc<RecordCache>>> =
            self.engines.iter().map(|_| Vec::new()).collect();
        for crate::cache::CachedRecord { id, table, options } in settings {
            let cache = Arc::new(RecordCache::new(table, &options));
            // A type that the builder does not know is kept on the main engine.
            let engine = self.read_model().engine_of(id).unwrap_or(0);
            if let Some(caches) = caches.get_mut(engine) {
                caches.push(Arc::clone(&cache));
            }
            self.caches.add(id, cache);
        }
        for ((_, engine), caches) in self.engines.iter_mut().zip(caches) {
            if !caches.is_empty() {
                let caches = EngineCaches::new(caches);
                self.caches.add_watcher(&caches);
                *engine = Arc::new(CachedEngine::new(Arc::clone(engine), caches));
            }
        }
    }

    /// The engine at an index; 0 is the main engine.
    pub(crate) fn engine(&self, index: usize) -> Result<&Arc<dyn Engine>> {
        self.engines.get(index).map(|(_, engine)| engine).ok_or_else(|| {
            Error::new(ErrorKind::Config, "the database has no engine: name one in the builder")
        })
    }

    /// The engines with their names, the main one first.
    pub(crate) fn engines(&self) -> &[NamedEngine] {
        &self.engines
    }

    fn engine_name(&self, index: usize) -> &str {
        self.engines.get(index).map_or("", |(name, _)| name)
    }

    /// The index of the engine with this name.
    pub(crate) fn engine_index(&self, name: &str) -> Result<usize> {
        self.engines.iter().position(|(other, _)| other == name).ok_or_else(|| {
            let names = self.engines.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
            let message = format!("there is no engine '{name}'; there are: {}", names.join(", "));
            Error::new(ErrorKind::Config, message)
        })
    }

    /// The index of an engine of this database.
    pub(crate) fn index_of(&self, engine: &Arc<dyn Engine>) -> Result<usize> {
        self.engines
            .iter()
            .position(|(_, other)| Arc::ptr_eq(other, engine))
            .ok_or_else(|| Error::new(ErrorKind::Misuse, "the table belongs to another database"))
    }

    /// The index of the engine that keeps a record type, without checking that its table exists: no I/O.
    #[cfg(feature = "async")]
    pub(crate) fn engine_keeping<T: Record>(&self) -> Result<usize> {
        let table = self.write_model().bind::<T>()?;
        self.record_table(table).map(|table| table.engine)
    }

    /// The index of the engine that keeps a record type, if its table was compared with the record.
    #[cfg(feature = "async")]
    pub(crate) fn checked_engine<T: Record>(&self) -> Option<usize> {
        self.read_model().checked_engine(TypeId::of::<T>())
    }

    /// The index of the engine that keeps a record type. Compares the table with the record on first use.
    pub(crate) fn bind<T: Record>(&self) -> Result<usize> {
        let id = TypeId::of::<T>();
        if let Some(engine) = self.read_model().checked_engine(id) {
            return Ok(engine);
        }
        let table = self.write_model().bind::<T>()?;
        let RecordTable { engine, schema, .. } = self.record_table(table)?;
        let checked_by = self.engine(engine)?;
        let stored = checked_by.session()?.tables_and_views()?;
        self.check_against(&schema, &stored, checked_by.capabilities().weak_types)?;
        self.write_model().set_checked(table);
        Ok(engine)
    }

    /// As [`bind`](Self::bind), inside a transaction of the engine at an index. `stored` returns the tables and views
    /// that the transaction sees, which include those that it created.
    pub(crate) fn bind_inside<T: Record>(
        &self,
        transaction: usize,
        stored: impl FnOnce() -> Result<Vec<TableSchema>>,
    ) -> Result<()> {
        let table = self.write_model().bind::<T>()?;
        check_same_engine(transaction, self.record_table(table)?.engine, T::schema())?;
        self.check_stored(table, stored)
    }

    /// Compares the table at an index of the model with those of its engine, unless it was compared before.
    fn check_stored(
        &self,
        table: usize,
        stored: impl FnOnce() -> Result<Vec<TableSchema>>,
    ) -> Result<()> {
        let RecordTable { engine, schema, checked } = self.record_table(table)?;
        if !checked {
            let weak_types = self.engine(engine)?.capabilities().weak_types;
            self.check_against(&schema, &stored()?, weak_types)?;
            self.write_model().set_checked(table);
        }
        Ok(())
    }

    /// Compares a record's table with the existing tables.
    fn check_against(
        &self,
        schema: &TableSchema,
        stored: &[TableSchema],
        weak_types: bool,
    ) -> Result<()> {
        let found = stored.iter().find(|table| table.name().eq_ignore_ascii_case(schema.name()));
        if found.is_none() && self.scoped {
            let message = "the table does not exist, or the scope has no grant on it";
            return Err(Error::new(ErrorKind::Schema, message).in_table(schema.name()));
        }
        schema::check_usable(schema, found, weak_types)
    }

    fn record_table(&self, table: usize) -> Result<RecordTable> {
        let found = self.read_model().table(table).cloned();
        found.ok_or_else(|| Error::new(ErrorKind::Schema, "the record type is not registered"))
    }

    /// The record types to be tracked on the engine at an index.
    pub(crate) fn tracked_on(&self, engine: usize) -> Vec<&TrackedRecord> {
        let model = self.read_model();
        let is_on = |record: &&TrackedRecord| model.engine_of(record.id).unwrap_or(0) == engine;
        self.tracked.iter().filter(is_on).collect()
    }

    /// The tables of the model on the engine at an index, each name once.
    pub(crate) fn model_of(&self, engine: usize) -> Vec<Arc<TableSchema>> {
        self.read_model().tables_of(engine)
    }

    /// The name of another engine that keeps a table of the model.
    pub(crate) fn other_engine_of(&self, engine: usize, table: &str) -> Option<String> {
        let mut others = self.engines.iter().enumerate().filter(|(index, _)| *index != engine);
        let keeps = |index: usize| {
            self.model_of(index).iter().any(|other| other.name().eq_ignore_ascii_case(table))
        };
        others.find(|(index, _)| keeps(*index)).map(|(_, (name, _))| name.clone())
    }

    /// A table or view as the engine at an index describes it.
    pub(crate) fn stored(&self, engine: usize, name: &str) -> Result<Arc<TableSchema>> {
        if let Some(schema) = self.read_model().stored(engine, name) {
            return Ok(schema);
        }
        let found =
            TableSchema::find_in(self.engine(engine)?.session()?.tables_and_views()?, name)?;
        Ok(self.write_model().store(engine, name, found))
    }

    /// Discards what is known of the tables in the engines, after a schema change.
    pub(crate) fn forget_stored(&self) {
        self.write_model().forget_stored();
        self.router.forget();
    }

    fn read_model(&self) -> RwLockReadGuard<'_, Model> {
        self.model.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_model(&self) -> RwLockWriteGuard<'_, Model> {
        self.model.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EngineSet for Catalog {
    fn normalize(
        &self,
        engine: usize,
        table: &TableSchema,
        values: &mut [Value<'_>],
    ) -> Result<()> {
        let rules = self.rules.get(engine).and_then(|rules| rules.of(table));
        let all = (0..table.columns().len()).collect();
        rules.map_or(Ok(()), |rules| rules.normalize(table, all, values))
    }

    #[inline]
    fn engine(&self, index: usize) -> Result<&Arc<dyn Engine>> {
        Self::engine(self, index)
    }

    fn engine_with(&self, table: &Arc<TableSchema>, otherwise: usize) -> usize {
        // A single engine keeps all tables.
        if self.engines.len() == 1 {
            return 0;
        }
        self.read_model().engine_with(table).unwrap_or(otherwise)
    }

    fn check_table(
        &self,
        engine: usize,
        table: &Arc<TableSchema>,
        stored: &mut dyn FnMut() -> Result<Vec<TableSchema>>,
    ) -> Result<()> {
        let known = self.read_model().index_of(engine, table);
        let known = known.ok_or_else(|| {
            // Its rules would not be applied.
            let message = "the related record is not registered: name it with `DbBuilder::record`";
            Error::new(ErrorKind::Misuse, message).in_table(table.name())
        })?;
        self.check_stored(known, stored)
    }
}

/// The engine, with the encrypted fields of the records in front of it.
fn encrypting(engine: Arc<dyn Engine>, rules: &EngineRules) -> Arc<dyn Engine> {
    #[cfg(feature = "field-encryption")]
    if let Some(ciphers) = &rules.ciphers {
        return Arc::new(crate::field_encryption::EncryptingEngine::new(
            engine,
            Arc::clone(ciphers),
        ));
    }
    let _ = rules;
    engine
}

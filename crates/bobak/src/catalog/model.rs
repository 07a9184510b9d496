//! The record types of a database, and the tables read from its engines.

use bobak_core::rules::Rules;
use bobak_core::{Error, ErrorKind, Record, Result, TableSchema};
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;

/// A record type that the builder knows.
pub(crate) struct RegisteredRecord {
    pub id: TypeId,
    /// The name of its engine; `None` for the main engine.
    pub engine: Option<String>,
    pub table: &'static Arc<TableSchema>,
    pub rules: &'static Rules,
}

impl RegisteredRecord {
    pub fn new<T: Record>(engine: Option<&str>) -> Self {
        let engine = engine.map(str::to_owned);
        Self { id: TypeId::of::<T>(), engine, table: T::schema(), rules: T::rules() }
    }
}

#[derive(Clone, Default)]
pub(super) struct Model {
    tables: Vec<RecordTable>,
    /// Indexes into `tables`.
    types: HashMap<TypeId, usize>,
    /// Tables read from engines for dynamic use, by engine index and lower-case name.
    stored: HashMap<(usize, String), Arc<TableSchema>>,
}

/// The table of a record type.
#[derive(Clone)]
pub(super) struct RecordTable {
    /// The index of its engine.
    pub engine: usize,
    pub schema: Arc<TableSchema>,
    /// Whether the table was found in the engine, with the record's columns.
    pub checked: bool,
}

impl Model {
    /// Adds a record type, and returns the index of its table. A type that is known keeps its engine; a new one without
    /// an engine goes to the main engine.
    pub fn register(
        &mut self,
        id: TypeId,
        engine: Option<usize>,
        schema: &Arc<TableSchema>,
    ) -> Result<usize> {
        if let Some(&table) = self.types.get(&id) {
            return Ok(table);
        }
        let engine = engine.unwrap_or(0);
        let same_name = |table: &&RecordTable| {
            table.engine == engine && table.schema.name().eq_ignore_ascii_case(schema.name())
        };
        if let Some(other) = self.tables.iter().find(same_name)
            && !other.schema.same_as(schema)
        {
            let message = "two record types with different columns have this table: \
                           give one of them another by #[record(table = \"…\")]";
            return Err(Error::new(ErrorKind::Schema, message).in_table(schema.name()));
        }
        let table = self.tables.len();
        self.tables.push(RecordTable { engine, schema: Arc::clone(schema), checked: false });
        self.types.insert(id, table);
        Ok(table)
    }

    /// Adds a record type that a program uses without registering it, and returns the index of its table.
    ///
    /// # Errors
    /// `Misuse` for one with rules, which must be known when the database is opened.
    pub fn bind<T: Record>(&mut self) -> Result<usize> {
        let id = TypeId::of::<T>();
        if !T::rules().is_empty() && !self.types.contains_key(&id) {
            let message = "the record has rules, so the database must know it when it is opened: \
                           register it with `DbBuilder::record`";
            return Err(Error::new(ErrorKind::Misuse, message).in_table(T::TABLE));
        }
        self.register(id, None, T::schema())
    }

    pub fn table(&self, index: usize) -> Option<&RecordTable> {
        self.tables.get(index)
    }

    /// The engine of a record type, if it is registered.
    pub fn engine_of(&self, id: TypeId) -> Option<usize> {
        self.types.get(&id).and_then(|&table| self.tables.get(table)).map(|table| table.engine)
    }

    /// The engine of the record type with this schema, if it is registered.
    pub fn engine_with(&self, schema: &Arc<TableSchema>) -> Option<usize> {
        self.tables
            .iter()
            .find(|table| Arc::ptr_eq(&table.schema, schema))
            .map(|table| table.engine)
    }

    /// The index of the table of the record type with this schema, if the engine at an index keeps it.
    pub fn index_of(&self, engine: usize, schema: &Arc<TableSchema>) -> Option<usize> {
        let is_same =
            |table: &RecordTable| table.engine == engine && Arc::ptr_eq(&table.schema, schema);
        self.tables.iter().position(is_same)
    }

    /// The engine of a record type, if its table was compared with it.
    #[inline]
    pub fn checked_engine(&self, id: TypeId) -> Option<usize> {
        let table = self.types.get(&id).and_then(|&table| self.tables.get(table))?;
        table.checked.then_some(table.engine)
    }

    pub fn set_checked(&mut self, index: usize) {
        if let Some(table) = self.tables.get_mut(index) {
            table.checked = true;
        }
    }

    /// The tables on an engine, each name once.
    pub fn tables_of(&self, engine: usize) -> Vec<Arc<TableSchema>> {
        let mut tables: Vec<Arc<TableSchema>> = Vec::new();
        for table in self.tables.iter().filter(|table| table.engine == engine) {
            if tables.iter().all(|other| other.name() != table.schema.name()) {
                tables.push(Arc::clone(&table.schema));
            }
        }
        tables
    }

    /// A table that was read from an engine before.
    pub fn stored(&self, engine: usize, name: &str) -> Option<Arc<TableSchema>> {
        self.stored.get(&(engine, name.to_ascii_lowercase())).cloned()
    }

    pub fn store(&mut self, engine: usize, name: &str, schema: TableSchema) -> Arc<TableSchema> {
        let entry = self.stored.entry((engine, name.to_ascii_lowercase()));
        Arc::clone(entry.or_insert_with(|| Arc::new(schema)))
    }

    pub fn forget_stored(&mut self) {
        self.stored.clear();
    }
}

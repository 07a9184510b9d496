//! The rules of all records that an engine keeps.

use super::hooks::RowHook;
use super::table_rules::TableRules;
use bobak_core::rules::Rules;
use bobak_core::{Error, ErrorKind, QueryTemplate, Result, TableSchema, TemplateQuery};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The most described tables whose rules are cached. Clients describe tables in their own way.
const MAX_CACHED_TABLES: usize = 1_024;

/// The rules and hooks of one record type.
pub(crate) struct RecordRules {
    pub schema: &'static Arc<TableSchema>,
    pub rules: &'static Rules,
    pub hooks: Vec<Arc<dyn RowHook>>,
}

/// The rules of the records that one engine keeps.
#[derive(Default)]
pub(crate) struct EngineRules {
    records: Vec<Arc<RecordRules>>,
    /// By the id of the schema with which a caller describes a table.
    tables: RwLock<HashMap<u64, Option<Arc<TableRules>>>>,
    /// Whether the engine is confined to the rows of a scope: then hooks run no SQL text either.
    pub confined: bool,
    /// The encrypted fields of the records.
    #[cfg(feature = "field-encryption")]
    pub ciphers: Option<Arc<crate::field_encryption::EngineCiphers>>,
}

impl EngineRules {
    /// Adds the rules of a record type.
    ///
    /// # Errors
    /// `Schema` if another record type has rules for the same table; `Config` for a wrong rule.
    pub fn add(&mut self, record: RecordRules) -> Result<()> {
        record.rules.check(record.schema)?;
        let name = record.schema.name();
        if self.records.iter().any(|other| other.schema.name().eq_ignore_ascii_case(name)) {
            let message = "two record types have rules or hooks for this table: declare all on one";
            return Err(Error::new(ErrorKind::Schema, message).in_table(name));
        }
        self.records.push(Arc::new(record));
        Ok(())
    }

    /// The same rules for the engine of a scope.
    #[cfg(feature = "scopes")]
    pub fn for_scope(&self) -> Self {
        Self {
            records: self.records.clone(),
            tables: RwLock::default(),
            confined: true,
            #[cfg(feature = "field-encryption")]
            ciphers: self.ciphers.clone(),
        }
    }

    /// Whether no record has rules.
    pub const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Whether rows of a record stay when they are deleted.
    pub fn hides_rows(&self) -> bool {
        self.records.iter().any(|record| record.rules.deleted_at.is_some())
    }

    /// Whether a prepared query does something else without the rules: it reads a table that hides rows, or updates one with
    /// rules.
    pub fn concern(&self, template: &QueryTemplate) -> bool {
        let updates = matches!(template.query(), TemplateQuery::Update { .. });
        template.tables().iter().any(|table| {
            let hides = |rules: Arc<TableRules>| !matches!(rules.deleted_at(table), Ok(None));
            self.of(table).is_some_and(|rules| updates || hides(rules))
        })
    }

    /// The rules of a table, by its name, as the caller describes it.
    pub fn of(&self, table: &TableSchema) -> Option<Arc<TableRules>> {
        if let Some(known) =
            self.tables.read().unwrap_or_else(PoisonError::into_inner).get(&table.id())
        {
            return known.clone();
        }
        let has_name =
            |record: &&Arc<RecordRules>| record.schema.name().eq_ignore_ascii_case(table.name());
        let record = self.records.iter().find(has_name);
        let found = record.map(|record| Arc::new(TableRules::new(record, table)));
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        if tables.len() >= MAX_CACHED_TABLES {
            tables.clear();
        }
        tables.insert(table.id(), found.clone());
        found
    }
}

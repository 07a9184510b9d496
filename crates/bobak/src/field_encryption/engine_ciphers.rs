//! The encrypted tables of an engine.

use super::keys::FieldKeys;
use super::table_cipher::{TableCipher, described};
use bobak_core::rules::EncryptedField;
use bobak_core::{Result, TableSchema};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The most described tables whose ciphers are cached. Clients describe tables in their own way.
const MAX_CACHED_TABLES: usize = 1_024;

/// The records with encrypted fields that one engine keeps.
pub(crate) struct EngineCiphers {
    keys: Arc<FieldKeys>,
    records: Vec<(&'static TableSchema, &'static [EncryptedField])>,
    /// By the id of the schema with which a caller describes a table.
    tables: RwLock<HashMap<u64, Option<Arc<TableCipher>>>>,
}

impl EngineCiphers {
    pub fn new(keys: &Arc<FieldKeys>) -> Self {
        Self { keys: Arc::clone(keys), records: Vec::new(), tables: RwLock::default() }
    }

    pub fn add(&mut self, record: &'static TableSchema, fields: &'static [EncryptedField]) {
        self.records.push((record, fields));
    }

    /// The cipher of a table, found by its name, as a caller describes it.
    ///
    /// # Errors
    /// As [`TableCipher::new`].
    pub fn of(&self, table: &TableSchema) -> Result<Option<Arc<TableCipher>>> {
        if let Some(known) =
            self.tables.read().unwrap_or_else(PoisonError::into_inner).get(&table.id())
        {
            return Ok(known.clone());
        }
        let record = self.record(table);
        let cipher =
            record.map(|(record, fields)| TableCipher::new(&self.keys, record, fields, table));
        let cipher = cipher.transpose()?.map(Arc::new);
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        if tables.len() >= MAX_CACHED_TABLES {
            tables.clear();
        }
        tables.insert(table.id(), cipher.clone());
        Ok(cipher)
    }

    /// A table of the engine as callers see it.
    ///
    /// # Errors
    /// `Schema` for an encrypted column that does not store bytes.
    pub fn describe(&self, stored: TableSchema) -> Result<TableSchema> {
        match self.record(&stored) {
            Some((record, fields)) => described(stored, record, fields),
            None => Ok(stored),
        }
    }

    /// A described table as the engine stores it.
    ///
    /// # Errors
    /// As [`TableCipher::new`].
    pub fn stored(&self, table: &Arc<TableSchema>) -> Result<Arc<TableSchema>> {
        Ok(self.of(table)?.map_or_else(|| Arc::clone(table), |cipher| Arc::clone(&cipher.stored)))
    }

    fn record(
        &self,
        table: &TableSchema,
    ) -> Option<(&'static TableSchema, &'static [EncryptedField])> {
        let is_named = |(record, _): &&(&'static TableSchema, _)| {
            record.name().eq_ignore_ascii_case(table.name())
        };
        self.records.iter().find(is_named).copied()
    }
}

//! An engine with encrypted fields in front of it.

use super::encrypting_session::EncryptingSession;
use super::engine_ciphers::EngineCiphers;
use bobak_core::{
    Engine, EngineLayer, Outcome, Result, Row, Session, TableSchema, Value, Verb, Write,
};
use std::sync::Arc;

/// An engine that gets encrypted values, and whose rows are decrypted.
pub(crate) struct EncryptingEngine {
    engine: Arc<dyn Engine>,
    ciphers: Arc<EngineCiphers>,
}

impl EncryptingEngine {
    pub(crate) const fn new(engine: Arc<dyn Engine>, ciphers: Arc<EngineCiphers>) -> Self {
        Self { engine, ciphers }
    }
}

impl EngineLayer for EncryptingEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.engine
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(EncryptingSession::new(self.engine.session()?, &self.ciphers)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        match self.ciphers.of(write.table)? {
            None => self.engine.write(write),
            Some(_) if matches!(write.verb, Verb::UpsertOn(_)) => {
                EngineLayer::session(self)?.write(write)
            }
            // Without a transaction, so that the engine may commit it together with other writes.
            Some(cipher) => {
                let values = cipher.seal_values(write)?;
                self.engine.write(&Write { table: &cipher.stored, values: &values, ..*write })
            }
        }
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        match self.ciphers.of(table)? {
            None => self.engine.get(table, key, row),
            Some(cipher) => self
                .engine
                .get(&cipher.stored, key, &mut |stored| row(&cipher.open_row(stored)?.as_slice())),
        }
    }
}

//! An engine with caches in front of it.

use super::session::CachedSession;
use super::store::Key;
use super::touch::Caches;
use super::watch::Asked;
use bobak_core::codec::{EncodedRow, FRAME, encode};
use bobak_core::{Engine, Outcome, Result, Row, SchemaChange, Session, TableSchema, Value, Write};
use std::sync::Arc;

/// An engine whose lookups by key are answered from memory where they can be.
pub(crate) struct Cached {
    engine: Arc<dyn Engine>,
    caches: Caches,
}

impl Cached {
    pub(crate) fn new(engine: Arc<dyn Engine>, caches: Caches) -> Self {
        Self { engine, caches }
    }
}

impl Engine for Cached {
    bobak_core::forward!(engine: name, capabilities, tables, estimate, flush, backup);

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(CachedSession::new(self.engine.session()?, &self.caches)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let mut touched = Vec::new();
        self.caches.by_write(write, &mut touched);
        self.engine.write(write)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        get(&self.caches, Asked::Engine(&*self.engine), table, key, row)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let touched = self.caches.all();
        let done = self.engine.alter(changes);
        drop(touched);
        self.caches.look_anew();
        done
    }
}

/// A lookup: answered from the cache, or by whom is asked, whose row is then kept.
pub(super) fn get(
    caches: &Caches,
    asked: Asked<'_>,
    table: &Arc<TableSchema>,
    key: &[Value<'_>],
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<bool> {
    let (Some(store), Some(own)) = (caches.of(table), Key::of(key)) else {
        return asked.get(table, key, row);
    };
    if !caches.is_fresh(asked) {
        return asked.get(table, key, row);
    }
    if let Some(kept) = store.get(&own) {
        return row(&EncodedRow::new(&kept)).map(|()| true);
    }
    let Some(note) = store.note(&own) else {
        return asked.get(table, key, row);
    };
    let mut bytes = Vec::new();
    let found = asked.get(table, key, &mut |found| {
        encode(&mut bytes, found)?;
        row(found)
    })?;
    if let Some(bytes) = bytes.get(FRAME..).filter(|_| found) {
        store.keep(own, bytes, note);
    }
    Ok(found)
}

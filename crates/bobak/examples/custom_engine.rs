//! An own engine: a layer in front of another engine, which counts and limits writes.
//!
//! A layer overrides only the methods that it changes. `docs/adding-an-engine.md` shows an engine with its own storage.
//!
//! `cargo run -p bobak --example custom_engine`

use bobak::batch::Outcome;
use bobak::engine::memory::Memory;
use bobak::engine::{Engine, EngineLayer, Session, SessionLayer, Verb, Write};
use bobak::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rejects deletes, and counts the other single writes.
struct AppendOnly<E> {
    inner: E,
    writes: AtomicU64,
}

struct AppendOnlySession<'e> {
    inner: Box<dyn Session + 'e>,
    writes: &'e AtomicU64,
}

impl<E: Engine> EngineLayer for AppendOnly<E> {
    fn inner(&self) -> &dyn Engine {
        &self.inner
    }

    fn session(&self) -> bobak::Result<Box<dyn Session + '_>> {
        Ok(Box::new(AppendOnlySession { inner: self.inner.session()?, writes: &self.writes }))
    }
}

impl SessionLayer for AppendOnlySession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn write(&self, write: &Write<'_>) -> bobak::Result<Outcome> {
        if write.verb == Verb::Delete {
            return Err(Error::new(ErrorKind::Denied, "records can't be deleted"));
        }
        let count = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        println!("write {count} to {}", write.table.name());
        self.inner.write(write)
    }
}

#[derive(Record)]
struct Entry {
    id: i64,
    text: String,
}

fn main() -> bobak::Result<()> {
    let engine = AppendOnly { inner: Memory::new(), writes: AtomicU64::new(0) };
    let db = Db::builder().record::<Entry>().open_engine(engine)?;
    db.create_missing_tables()?;
    let entries = db.table::<Entry>()?;
    let id = entries.insert(&Entry { id: 0, text: "kept".into() })?;
    let error = entries.delete(id).err();
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Denied));
    Ok(())
}

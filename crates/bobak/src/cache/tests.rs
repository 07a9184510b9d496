//! The suite of all engines, with a cache for every table of it in front of two of them.

use super::{CacheOptions, CachedEngine, EngineCaches, RecordCache};
use bobak_core::{Engine, OnDelete, Result, TableSchema};
use bobak_memory::Memory;
use bobak_sqlite::Sqlite;
use bobak_testkit::{Fixture, tables};
use std::sync::Arc;
use std::time::Duration;

type Tables = Vec<Arc<TableSchema>>;

fn cached(engine: impl Engine + 'static) -> Result<Fixture> {
    let simple = [
        tables::person,
        tables::document,
        tables::tag,
        tables::device,
        tables::seat,
        tables::mark,
        tables::word,
        tables::slot,
        tables::bill,
        tables::team,
        tables::node,
    ];
    let mut tables = simple.iter().map(|table| table()).collect::<Result<Tables>>()?;
    for on_delete in [OnDelete::Restrict, OnDelete::Cascade, OnDelete::SetNull] {
        tables.push(tables::player(on_delete)?);
    }
    tables.push(tables::every_type(engine.capabilities())?);
    let options = CacheOptions::new();
    let stores = tables.iter().map(|table| Arc::new(RecordCache::new(table, &options))).collect();
    let engine = CachedEngine::new(Arc::new(engine), EngineCaches::new(stores));
    Ok(Fixture::volatile(engine))
}

const BUSY: Duration = Duration::from_millis(100);

mod memory {
    use super::*;

    fn fresh() -> Result<Fixture> {
        cached(Memory::builder().busy_timeout(BUSY).open()?)
    }
    bobak_testkit::conformance!(fresh);
}

mod sqlite {
    use super::*;

    fn fresh() -> Result<Fixture> {
        cached(Sqlite::builder().busy_timeout(BUSY).open_memory()?)
    }
    bobak_testkit::conformance!(fresh);

    #[test]
    fn random_programs() {
        let plain = || Ok(Fixture::volatile(Sqlite::open_memory()?));
        for seed in 0..60 {
            if let Err(difference) = bobak_testkit::model::compare(seed, 60, &plain, &fresh) {
                panic!("{difference}");
            }
        }
    }
}

//! The suite of all engines, with a cache for every table of it in front of two of them.

use super::{CacheOptions, CachedEngine, EngineCaches, RecordCache};
use bobak_core::{
    Engine, EngineLayer, OnDelete, Outcome, Result, Row, SchemaChange, Select, Session,
    SessionLayer, Source, TableSchema, Value, Write,
};
use bobak_memory::Memory;
use bobak_sqlite::Sqlite;
use bobak_testkit::{Fixture, tables};
use std::sync::Arc;
use std::time::Duration;

type Tables = Vec<Arc<TableSchema>>;

/// Asks for rows by the schemas that have caches. The suite builds new schemas in each case,
/// where a program has one for each record type.
struct FixedSchemas {
    engine: CachedEngine,
    tables: Tables,
}

struct FixedSchemasSession<'e> {
    session: Box<dyn Session + 'e>,
    tables: &'e Tables,
}

fn known<'a>(tables: &'a Tables, table: &'a Arc<TableSchema>) -> &'a Arc<TableSchema> {
    let same = |known: &&Arc<TableSchema>| {
        known.name() == table.name()
            && known.columns() == table.columns()
            && known.key() == table.key()
    };
    tables.iter().find(same).unwrap_or(table)
}

impl EngineLayer for FixedSchemas {
    fn inner(&self) -> &dyn Engine {
        &self.engine
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let session = self.inner().session()?;
        Ok(Box::new(FixedSchemasSession { session, tables: &self.tables }))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.inner().write(write)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.inner().alter(changes)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.inner().get(known(&self.tables, table), key, row)
    }
}

impl SessionLayer for FixedSchemasSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.session
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.session.get(known(self.tables, table), key, row)
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let Source::Select(select) = source else {
            return self.session.query(source, row);
        };
        let table = Arc::clone(known(self.tables, &select.table));
        let select = Select { table, ..(*select).clone() };
        self.session.query(&Source::Select(&select), row)
    }
}

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
    Ok(Fixture::volatile(FixedSchemas { engine, tables }))
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

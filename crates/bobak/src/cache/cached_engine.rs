//! An engine with caches in front of it.

use super::CacheOptions;
use super::cached_session::CachedSession;
use super::record_cache::{CacheKey, RecordCache};
use super::staleness::EngineCaches;
use super::watcher::UncachedSource;
use bobak_core::codec::{EncodedRow, FRAME, encode};
use bobak_core::{
    Engine, EngineLayer, Error, ErrorKind, Outcome, Result, Row, SchemaChange, Session,
    TableSchema, Value, Write,
};
use std::sync::Arc;

/// An engine whose lookups by key are answered from caches if possible.
pub(crate) struct CachedEngine {
    engine: Arc<dyn Engine>,
    caches: EngineCaches,
}

impl CachedEngine {
    pub(crate) fn new(engine: Arc<dyn Engine>, caches: EngineCaches) -> Self {
        Self { engine, caches }
    }
}

impl EngineLayer for CachedEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.engine
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.engine.tables()
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(CachedSession::new(self.engine.session()?, &self.caches)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.caches.writing(
            |stale, pending| stale.by_write(write, pending),
            || {
                let done = self.engine.write(write);
                self.caches.inserted(write, &done);
                done
            },
        )
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        get(&self.caches, UncachedSource::Engine(&*self.engine), table, key, row)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let pending = self.caches.all();
        let done = self.engine.alter(changes);
        self.caches.watch().forget();
        drop(pending);
        done
    }
}

/// The engine with a cache in front of each of these tables, for a server: lookups by key, by any client and with any schema of the
/// table, are answered from memory. A layer that checks permissions belongs in front of it.
///
/// A cache is one as for a record type (see [`DbBuilder::cache`](crate::DbBuilder::cache)): writes through the engine that is
/// returned are visible at once, those of others as [`CacheOptions`] says.
///
/// ```
/// use bobak::cache::{CacheOptions, cache_tables};
/// use std::{sync::Arc, time::Duration};
/// # use bobak::engine::SchemaChange;
/// # use bobak::{Record, prelude::*};
/// # #[derive(Record)] struct City { id: i64, name: String }
/// # let engine = bobak::engine::open("sqlite::memory:")?;
/// # engine.alter(&[SchemaChange::CreateTable(Arc::clone(City::schema()))])?;
/// let mut cached = Vec::new();
/// for table in engine.tables()? {
///     cached.push((Arc::new(table), CacheOptions::new().time_to_live(Duration::from_secs(10))));
/// }
/// let engine = cache_tables(engine, cached)?;
/// # let _ = engine;
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// `Unsupported` for a view, whose rows change with those of other tables.
pub fn cache_tables(
    engine: Arc<dyn Engine>,
    tables: impl IntoIterator<Item = (Arc<TableSchema>, CacheOptions)>,
) -> Result<Arc<dyn Engine>> {
    let cache = |(table, options): (Arc<TableSchema>, CacheOptions)| {
        if table.is_view() {
            let message = "a view is not cached: its rows change with those of other tables";
            return Err(
                Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned())
            );
        }
        Ok(Arc::new(RecordCache::new(&table, &options)))
    };
    let caches = tables.into_iter().map(cache).collect::<Result<Vec<_>>>()?;
    if caches.is_empty() {
        return Ok(engine);
    }
    Ok(Arc::new(CachedEngine::new(engine, EngineCaches::new(caches))))
}

/// Looks a row up in the cache, or else in `source`, whose row is then cached.
pub(super) fn get(
    caches: &EngineCaches,
    source: UncachedSource<'_>,
    table: &Arc<TableSchema>,
    key: &[Value<'_>],
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<bool> {
    let (Some((store, layout)), Some(own)) = (caches.of(table), CacheKey::of(key)) else {
        return source.get(table, key, row);
    };
    if !caches.watch().is_fresh(source) {
        return source.get(table, key, row);
    }
    if let Some(kept) = store.get(&own, layout) {
        return row(&EncodedRow::new(&kept)).map(|()| true);
    }
    let Some(version) = store.version(&own) else {
        return source.get(table, key, row);
    };
    let found = get_encoded(source, table, key, row)?;
    if let Some(bytes) = &found
        && store.is_key_of(&own, table, bytes)
    {
        store.keep(own, bytes, layout, version);
    }
    Ok(found.is_some())
}

/// Reads a row from `session`, and forgets the cached one if they differ: if a write failed because of the cached row, the caller
/// then reads the current one.
pub(super) fn get_current(
    caches: &EngineCaches,
    session: &dyn Session,
    table: &Arc<TableSchema>,
    key: &[Value<'_>],
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<bool> {
    let (Some((store, _)), Some(own)) = (caches.of(table), CacheKey::of(key)) else {
        return session.get(table, key, row);
    };
    let found = get_encoded(UncachedSource::Session(session), table, key, row)?;
    store.forget_outdated(&own, found.as_deref());
    Ok(found.is_some())
}

/// Reads a row; returns it encoded.
fn get_encoded(
    source: UncachedSource<'_>,
    table: &Arc<TableSchema>,
    key: &[Value<'_>],
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let found = source.get(table, key, &mut |found| {
        encode(&mut bytes, found)?;
        row(found)
    })?;
    Ok(found.then(|| bytes.split_off(FRAME)))
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use super::*;
    use bobak_core::{ColumnSchema, FieldSet, Source, Verb};
    use bobak_permissions::{Access, Caller, ProtectedDatabase, new_token};
    use bobak_sqlite::Sqlite;
    use bobak_wire::Credentials;

    fn caller(name: &str, grants: &str) -> Result<Caller> {
        let (token, hash) = new_token()?;
        let text = format!("role tester\n{grants}\ntoken {name} {hash} roles tester");
        Access::from_text(&text)?.authenticate(&Credentials::Token(token), false)
    }

    /// How often order 1 is found: by the engine, and in a session.
    fn found(engine: &dyn Engine, table: &Arc<TableSchema>) -> Result<u32> {
        let (key, mut times) = ([Value::Int(1)], 0);
        let mut count = |_: &dyn Row| {
            times += 1;
            Ok(())
        };
        engine.get(table, &key, &mut count)?;
        engine.session()?.get(table, &key, &mut count)?;
        Ok(times)
    }

    #[test]
    fn permissions_are_checked_before_the_cache() {
        let text = |name: &'static str| ColumnSchema::of::<String>(name);
        let table = TableSchema::builder("orders").column(ColumnSchema::of::<i64>("id"));
        let table = Arc::new(table.column(text("owner")).key(["id"]).build().unwrap());
        let store = Arc::new(RecordCache::new(&table, &CacheOptions::new()));
        let sqlite = Arc::new(Sqlite::builder().open_memory().unwrap());
        let caches = EngineCaches::new(vec![Arc::clone(&store)]);
        let cached: Arc<dyn Engine> = Arc::new(CachedEngine::new(sqlite, caches));
        cached.alter(&[SchemaChange::CreateTable(Arc::clone(&table))]).unwrap();
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        let values = [Value::Int(1), Value::from("ada")];
        cached.write(&Write { table: &table, verb, fields, values: &values }).unwrap();
        let database = ProtectedDatabase::new("shop", cached);
        let theirs = |name: &str, grants: &str| database.engine_for(&caller(name, grants).unwrap());

        let own = "read on orders where owner = :user";
        let (ada, bob) = (theirs("ada", own), theirs("bob", own));
        // A row that one client's lookup cached is hidden from the other, and a lookup that finds nothing caches nothing.
        for _ in 0..2 {
            assert_eq!(found(&*ada, &table).ok(), Some(2));
            assert_eq!(found(&*bob, &table).ok(), Some(0));
        }
        assert!(store.stats().hits > 0, "the cache was used");
        assert!(found(&*theirs("eve", "read on others"), &table).is_err());

        // The permission layer also checks SQL, which bypasses the cache.
        let sql = |grants: &str, text: &str| {
            let engine = theirs("ada", grants);
            let session = engine.session()?;
            session.query(&Source::Sql { text, parameters: &[] }, &mut |_| Ok(true))
        };
        assert!(sql("read, sql on orders", "SELECT * FROM orders").is_ok());
        let rejected =
            sql("read, sql on orders", "DELETE FROM orders").map_err(|error| error.kind());
        assert_eq!(rejected, Err(ErrorKind::Denied));
        let rejected = sql("read, sql on others", "SELECT * FROM orders");
        assert!(rejected.is_err());
        assert_eq!(found(&*ada, &table).ok(), Some(2), "it is there still");
    }
}

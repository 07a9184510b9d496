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

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use super::*;
    use crate::CacheOptions;
    use crate::cache::Store;
    use bobak_core::{ColumnSchema, ErrorKind, FieldSet, Source, Verb};
    use bobak_rights::{Access, Caller, Protected, new_token};
    use bobak_sqlite::Sqlite;
    use bobak_wire::Credentials;

    fn caller(name: &str, grants: &str) -> Caller {
        let (token, hash) = new_token().unwrap();
        let text = format!("role tester\n{grants}\ntoken {name} {hash} roles tester");
        Access::from_text(&text).unwrap().check(&Credentials::Token(token), false).unwrap()
    }

    /// The owner of order 1, by each way in that there is.
    fn owner(engine: &dyn Engine, table: &Arc<TableSchema>) -> Option<String> {
        let mut owners = [None, None];
        let [alone, inside] = owners.each_mut();
        let key = [Value::Int(1)];
        engine.get(table, &key, &mut |row| Ok(*alone = Some(format!("{:?}", row.get(1))))).unwrap();
        let session = engine.session().unwrap();
        let read = &mut |row: &dyn Row| Ok(*inside = Some(format!("{:?}", row.get(1))));
        session.get(table, &key, read).unwrap();
        let [alone, inside] = owners;
        assert_eq!(alone, inside);
        alone
    }

    #[test]
    fn rights_hold_before_a_cache() {
        let text = |name: &'static str| ColumnSchema::of::<String>(name);
        let table = TableSchema::builder("orders").column(ColumnSchema::of::<i64>("id"));
        let table = Arc::new(table.column(text("owner")).key(["id"]).build().unwrap());
        let store = Arc::new(Store::new(&table, &CacheOptions::new()));
        let sqlite = Arc::new(Sqlite::builder().open_memory().unwrap());
        let cached = Cached::new(sqlite, Caches::new(vec![Arc::clone(&store)]));
        cached.alter(&[SchemaChange::CreateTable(Arc::clone(&table))]).unwrap();
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        let values = [Value::Int(1), Value::from("ada")];
        cached.write(&Write { table: &table, verb, fields, values: &values }).unwrap();
        let database = Protected::new("shop", Arc::new(cached));
        let theirs = |caller: &Caller| database.engine_for(caller);

        let own = "read on orders where owner = :user";
        let (ada, bob) = (theirs(&caller("ada", own)), theirs(&caller("bob", own)));
        // What one's lookup has filled is not the other's, and a lookup that finds nothing fills nothing.
        for _ in 0..2 {
            assert!(owner(&*ada, &table).is_some());
            assert_eq!(owner(&*bob, &table), None);
        }
        assert!(store.stats().hits > 0, "the cache was asked");
        let stranger = theirs(&caller("eve", "read on others"));
        let refused = stranger.get(&table, &[Value::Int(1)], &mut |_| Ok(()));
        assert_ne!(refused.map_err(|error| error.kind()).ok(), Some(true));

        // SQL is asked about behind the cache.
        let sql = |grants: &str, text: &str| {
            let engine = theirs(&caller("ada", grants));
            let session = engine.session()?;
            session.query(&Source::Sql { text, parameters: &[] }, &mut |_| Ok(true))
        };
        assert!(sql("read, sql on orders", "SELECT * FROM orders").is_ok());
        let refused =
            sql("read, sql on orders", "DELETE FROM orders").map_err(|error| error.kind());
        assert_eq!(refused, Err(ErrorKind::Denied));
        let refused = sql("read, sql on others", "SELECT * FROM orders");
        assert!(refused.is_err());
        assert!(owner(&*ada, &table).is_some(), "it is there still");
    }
}

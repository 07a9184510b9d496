//! Migrations that build indexes while others write.

use crate::on_each;
use bobak::migration::{MigrationState, Migrations};
use bobak::prelude::*;
use std::time::Duration;

const TABLE: &str = r#"bobak migration 1
first
up
create table {"name":"visit","key":["id"],"indexes":[],"columns":[
    {"name":"id","type":"i64","nullable":false},
    {"name":"page","type":"text","nullable":false,"max_chars":40}]}
"#;

const INDEXES: &str = r#"bobak migration 1
after a
up
add index visit {"name":"visit_page","columns":["page"],"unique":true}
add index visit {"name":"visit_page_id","columns":["page","id"],"unique":false}
down
drop index visit.visit_page_id
drop index visit.visit_page
"#;

fn migrations() -> (Migrations, Migrations) {
    let one = Migrations::new([("a", TABLE)]).unwrap();
    (one, Migrations::new([("a", TABLE), ("b", INDEXES)]).unwrap())
}

fn insert(db: &Db, page: &str) -> bobak::Result<()> {
    let mut row = DynRow::new();
    row.set("page", page)?;
    db.dynamic("visit")?.insert(&row).map(drop)
}

fn indexes(db: &Db) -> Vec<String> {
    let tables = db.tables().unwrap();
    let visit = tables.iter().find(|table| table.name() == "visit").unwrap();
    let mut names: Vec<_> = visit.indexes().iter().map(|index| index.name.to_string()).collect();
    names.sort();
    names
}

#[test]
fn indexes_are_built_on_every_engine() {
    on_each(|url| {
        let (one, all) = migrations();
        let db = Db::open(url).unwrap();
        db.migrate(&one).unwrap();
        for page in ["/a", "/b", "/b"] {
            insert(&db, page).unwrap();
        }
        // Rows that break a unique index: nothing is left of it.
        let error = db.migrate(&all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Duplicate, "{url}: {error}");
        assert!(error.to_string().contains("migration b, step 1"), "{error}");
        assert!(indexes(&db).is_empty(), "{url}: {:?}", indexes(&db));
        db.dynamic("visit").unwrap().delete((3_i64,)).unwrap();
        assert_eq!(db.migrate(&all).unwrap(), ["b"], "{url}");
        assert_eq!(indexes(&db), ["visit_page", "visit_page_id"], "{url}");
        assert_eq!(insert(&db, "/a").unwrap_err().kind(), ErrorKind::Duplicate);
        assert_eq!(db.undo_migrations(&all, 1, false).unwrap(), ["b"]);
        assert!(indexes(&db).is_empty());
    });
}

/// Waits until a build, or the drop of an unfinished index before it, waits for an older transaction; returns its
/// process.
fn waiting_build<T>(db: &Db, build: &std::thread::ScopedJoinHandle<'_, T>) -> i64 {
    const BUILDS: &str = "SELECT pid::int8 FROM pg_stat_activity \
        WHERE query LIKE '% INDEX CONCURRENTLY %' AND wait_event_type = 'Lock'";
    loop {
        if let Some(process) = db.sql::<i64>(BUILDS, ()).unwrap().first() {
            return *process;
        }
        assert!(!build.is_finished(), "the build does not wait");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn postgres_builds_an_index_while_others_write_and_a_killed_build_is_repeated() {
    on_each(|url| {
        if !url.starts_with("postgres") {
            return;
        }
        let (one, all) = migrations();
        let db = Db::open(url).unwrap();
        db.migrate(&one).unwrap();
        insert(&db, "/a").unwrap();
        let older = db.begin().unwrap();
        older.execute("INSERT INTO visit (page) VALUES ('/older')", ()).unwrap();
        // The build is killed while it waits for the older transaction.
        std::thread::scope(|scope| {
            let build = scope.spawn(|| Db::open(url).unwrap().migrate(&all));
            let process = waiting_build(&db, &build);
            db.sql::<bool>("SELECT pg_terminate_backend(?::int)", (process,)).unwrap();
            build.join().unwrap().unwrap_err();
        });
        assert!(indexes(&db).is_empty(), "an unfinished index is not seen");
        let left = "SELECT count(*) FROM pg_index WHERE NOT indisvalid";
        assert_eq!(db.sql::<i64>(left, ()).unwrap(), [1]);
        // Its start is noted if the migration could not take it back.
        let state = db.migration_status(&all).unwrap()[1].state;
        assert!(matches!(state, MigrationState::Pending | MigrationState::Interrupted(0)));
        // The next one waits too, and others write meanwhile.
        std::thread::scope(|scope| {
            let build = scope.spawn(|| Db::open(url).unwrap().migrate(&all));
            waiting_build(&db, &build);
            insert(&Db::open(url).unwrap(), "/newer").unwrap();
            older.commit().unwrap();
            assert_eq!(build.join().unwrap().unwrap(), ["b"]);
        });
        assert_eq!(indexes(&db), ["visit_page", "visit_page_id"]);
        assert_eq!(db.sql::<i64>(left, ()).unwrap(), [0]);
        assert_eq!(db.sql::<i64>("SELECT count(*) FROM visit", ()).unwrap(), [3]);
    });
}

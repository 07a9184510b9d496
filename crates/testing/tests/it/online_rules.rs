//! Migrations that add rules while others write.

use crate::on_each;
use bobak::engine::{Engine, EngineLayer, Session};
use bobak::migration::{MigrationState, Migrations};
use bobak::prelude::*;
use bobak_testkit::FaultyEngine;
use std::process::Command;
use std::sync::Arc;

const TABLES: &str = r#"bobak migration 1
first
up
create table {"name":"shelf","key":["id"],"indexes":[],"columns":[
    {"name":"id","type":"i64","nullable":false}]}
create table {"name":"book","key":["id"],"indexes":[],"columns":[
    {"name":"id","type":"i64","nullable":false},
    {"name":"title","type":"text","nullable":true,"max_chars":40},
    {"name":"pages","type":"i32","nullable":false,"check":"pages > 0"},
    {"name":"shelf","type":"i64","nullable":true}]}
"#;

const RULES: &str = r#"bobak migration 1
after a
up
change column book {"name":"title","type":"text","nullable":false,"max_chars":40,"default":"none"}
change column book {"name":"pages","type":"i32","nullable":false,"check":"pages BETWEEN 1 AND 5000"}
change column book {"name":"shelf","type":"i64","nullable":true,"references":{"table":"shelf","column":"id","on_delete":"restrict"}}
down
change column book {"name":"shelf","type":"i64","nullable":true}
change column book {"name":"pages","type":"i32","nullable":false,"check":"pages > 0"}
change column book {"name":"title","type":"text","nullable":true,"max_chars":40}
"#;

fn migrations() -> (Migrations, Migrations) {
    let one = Migrations::new([("a", TABLES)]).unwrap();
    (one, Migrations::new([("a", TABLES), ("b", RULES)]).unwrap())
}

fn insert(db: &Db, title: Option<&str>, pages: i32, shelf: Option<i64>) -> bobak::Result<()> {
    let mut row = DynRow::new();
    row.set("title", title.map(str::to_owned))?;
    row.set("pages", pages)?;
    row.set("shelf", shelf)?;
    db.dynamic("book")?.insert(&row).map(drop)
}

fn book(db: &Db) -> bobak::schema::TableSchema {
    db.tables().unwrap().into_iter().find(|table| table.name() == "book").unwrap()
}

/// The rules reject these rows, and nothing else.
fn check_rules(db: &Db) {
    assert_eq!(insert(db, None, 1, None).unwrap_err().kind(), ErrorKind::Constraint);
    let error = insert(db, Some("long"), 9_000, None).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Constraint, Some("pages")), "{error}");
    let error = insert(db, Some("lost"), 1, Some(99)).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Constraint, Some("shelf")), "{error}");
    insert(db, Some("fine"), 5_000, Some(1)).unwrap();
}

#[test]
fn rules_are_added_on_every_engine() {
    on_each(|url| {
        if url.starts_with("kv") {
            return;
        }
        let (one, all) = migrations();
        let db = Db::open(url).unwrap();
        db.migrate(&one).unwrap();
        db.dynamic("shelf").unwrap().insert(&DynRow::new()).unwrap();
        insert(&db, Some("first"), 1, Some(1)).unwrap();
        insert(&db, Some("second"), 9_000, Some(7)).unwrap();
        insert(&db, None, 1, None).unwrap();
        let before = book(&db).columns().to_vec();
        let is_atomic = url.starts_with("sqlite") || url.starts_with("memory");
        // Each rule meets a row that breaks it: the others and the table are as before.
        for step in [1, 2, 3] {
            let error = db.migrate(&all).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Constraint, "{url}: {error}");
            let wanted = format!("migration b, step {step}");
            assert!(error.to_string().contains(&wanted), "{url}: {error}");
            if is_atomic {
                assert_eq!(book(&db).columns(), before, "{url}");
            }
            let books = db.dynamic("book").unwrap();
            match step {
                1 => books.delete((3_i64,)).map(drop).unwrap(),
                2 => {
                    let mut row = books.get((2_i64,)).unwrap().unwrap();
                    row.set("pages", 10).unwrap();
                    books.update(&row).map(drop).unwrap();
                }
                _ => books.delete((2_i64,)).map(drop).unwrap(),
            }
        }
        assert_eq!(db.migrate(&all).unwrap(), ["b"], "{url}");
        check_rules(&db);
        db.undo_migrations(&all, 1, false).unwrap();
        insert(&db, None, 9_000, Some(99)).unwrap();
    });
}

/// Makes the server wait, at the end of each statement like this one, for a lock that the caller has. For superusers.
const WAIT: &str = "CREATE FUNCTION wait_in_tests() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN \
    IF current_query() LIKE '%VALIDATE CONSTRAINT%' THEN PERFORM pg_advisory_lock(4711); \
    PERFORM pg_advisory_unlock(4711); END IF; END $$;\
    CREATE EVENT TRIGGER wait_in_tests ON ddl_command_end EXECUTE FUNCTION wait_in_tests()";

#[test]
fn postgres_validates_rules_while_others_write_and_a_killed_one_is_repeated() {
    on_each(|url| {
        if !url.starts_with("postgres") {
            return;
        }
        let (one, all) = migrations();
        let db = Db::open(url).unwrap();
        db.migrate(&one).unwrap();
        db.dynamic("shelf").unwrap().insert(&DynRow::new()).unwrap();
        insert(&db, Some("first"), 1, Some(1)).unwrap();
        for text in WAIT.split(";CREATE EVENT").zip(["", "CREATE EVENT"]) {
            db.execute(&format!("{}{}", text.1, text.0), ()).unwrap();
        }
        let waiting = "SELECT pid::int8 FROM pg_stat_activity \
            WHERE wait_event_type = 'Lock' AND wait_event = 'advisory'";
        for killed in [true, false] {
            let holder = db.begin().unwrap();
            holder.sql::<bool>("SELECT pg_advisory_lock(4711) IS NOT NULL", ()).unwrap();
            std::thread::scope(|scope| {
                let migrates = scope.spawn(|| Db::open(url).unwrap().migrate(&all));
                let process = loop {
                    if let Some(process) = db.sql::<i64>(waiting, ()).unwrap().first() {
                        break *process;
                    }
                    assert!(!migrates.is_finished(), "{:?}", migrates.join());
                    std::thread::sleep(std::time::Duration::from_millis(10));
                };
                // New rows obey already, and others write meanwhile.
                insert(&db, Some("meanwhile"), 2, Some(1)).unwrap();
                assert!(insert(&db, None, 2, None).is_err());
                let state = db.migration_status(&all).unwrap()[1].state;
                assert_eq!(state, MigrationState::Interrupted(0));
                if killed {
                    db.sql::<bool>("SELECT pg_terminate_backend(?::int)", (process,)).unwrap();
                    migrates.join().unwrap().unwrap_err();
                } else {
                    holder.sql::<bool>("SELECT pg_advisory_unlock(4711)", ()).unwrap();
                    assert_eq!(migrates.join().unwrap().unwrap(), ["b"]);
                }
            });
            if killed {
                holder.sql::<bool>("SELECT pg_advisory_unlock(4711)", ()).unwrap();
                assert!(book(&db).columns()[1].nullable, "the old form");
            }
            holder.commit().unwrap();
        }
        db.execute("DROP EVENT TRIGGER wait_in_tests", ()).unwrap();
        db.execute("DROP FUNCTION wait_in_tests", ()).unwrap();
        check_rules(&Db::open(url).unwrap());
        let constraints = "SELECT conname::text FROM pg_constraint k JOIN pg_class t ON t.oid = k.conrelid \
            WHERE t.relname = 'book' AND contype IN ('c', 'f') ORDER BY conname";
        let names = db.sql::<String>(constraints, ()).unwrap();
        assert_eq!(names, ["book_pages_check", "book_shelf_fkey"]);
        let invalid = "SELECT count(*) FROM pg_constraint WHERE NOT convalidated";
        assert_eq!(db.sql::<i64>(invalid, ()).unwrap(), [0]);
    });
}

/// An engine that is shared with a layer.
struct Shared(Arc<dyn Engine>);

impl EngineLayer for Shared {
    fn inner(&self) -> &dyn Engine {
        &*self.0
    }

    fn session(&self) -> bobak::Result<Box<dyn Session + '_>> {
        self.0.session()
    }
}

/// The engine of a URL, which can end the process at an operation.
pub fn faulty(url: &str) -> FaultyEngine {
    FaultyEngine::new(Box::new(Shared(bobak::engine::open(url).unwrap())))
}

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn adds_rules_until_an_operation_ends_the_process() {
    let url = std::env::var("BOBAK_TEST_RULES_URL").unwrap();
    let operation = std::env::var("BOBAK_TEST_OPERATION").unwrap().parse().unwrap();
    let engine = faulty(&url);
    engine.faults().end_process_at(operation);
    bobak::migration::up(&engine, &migrations().1).unwrap();
}

/// Whether a process that migrates came to its end before this operation.
fn migrates(url: &str, operation: u64) -> bool {
    let name = "online_rules::adds_rules_until_an_operation_ends_the_process";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored"])
        .env("BOBAK_TEST_RULES_URL", url)
        .env("BOBAK_TEST_OPERATION", operation.to_string())
        .output()
        .unwrap();
    let is_killed = child.status.code().is_none();
    assert!(is_killed || child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    !is_killed
}

#[test]
#[cfg(unix)]
fn a_step_that_is_done_is_not_edited_after_a_kill_between_rules() {
    on_each(|url| {
        if url.starts_with("kv") || url.starts_with("memory") {
            return;
        }
        let (one, all) = migrations();
        let edited = RULES.replace("BETWEEN 1 AND 5000", "BETWEEN 1 AND 6000");
        let edited = Migrations::new([("a", TABLES), ("b", edited.as_str())]).unwrap();
        let db = Db::open(url).unwrap();
        db.migrate(&one).unwrap();
        db.dynamic("shelf").unwrap().insert(&DynRow::new()).unwrap();
        insert(&db, Some("first"), 1, Some(1)).unwrap();
        let before = book(&db).columns().to_vec();
        db.migrate(&all).unwrap();
        let after = book(&db).columns().to_vec();
        db.undo_migrations(&all, 1, false).unwrap();
        let (mut interrupted, mut went_on) = (0, 0);
        let mut operation = 1;
        while !migrates(url, operation) {
            let at = format!("{url}, operation {operation}");
            if matches!(db.migration_status(&all).unwrap()[1].state, MigrationState::Interrupted(_))
            {
                interrupted += 1;
                match db.migrate(&edited) {
                    // The edited step was not done yet.
                    Ok(done) => {
                        assert_eq!(done, ["b"], "{at}");
                        went_on += 1;
                        db.undo_migrations(&edited, 1, false).unwrap();
                        assert_eq!(book(&db).columns(), before, "{at}");
                        operation += 1;
                        continue;
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Conflict, "{at}: {error}");
                        assert!(error.to_string().contains("edited"), "{at}: {error}");
                    }
                }
            }
            db.migrate(&all).unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_eq!(book(&db).columns(), after, "{at}");
            db.undo_migrations(&all, 1, false).unwrap();
            assert_eq!(book(&db).columns(), before, "{at}");
            operation += 1;
        }
        assert!(operation > 10, "{url}: {operation} operations");
        // On SQLite the whole migration is one transaction.
        assert_eq!(interrupted == 0, url.starts_with("sqlite"), "{url}: {interrupted}");
        // Where each step is committed by itself, a step that is not done may be corrected; a step that is done may not.
        assert_eq!(went_on > 0, url.starts_with("mysql"), "{url}: {went_on}");
        assert!(went_on < interrupted || interrupted == 0, "{url}: {went_on} of {interrupted}");
    });
}

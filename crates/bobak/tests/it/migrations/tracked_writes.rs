//! Writes of a tracked table while migrations change it: the change log has each one that succeeded.

use super::on_each_url;
use bobak::changes::TrackOptions;
use bobak::migration::NextMigration;
use bobak::prelude::*;
use bobak::schema::{ColumnSchema, TableSchema};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const STEPS: [&str; 5] = [
    "rename column busy.other to renamed",
    "add column busy {\"name\":\"added\",\"type\":\"i64\",\"nullable\":true}",
    "change column busy {\"name\":\"renamed\",\"type\":\"text\",\"nullable\":true}",
    "drop column busy.added",
    "rename column busy.renamed to other\nchange column busy {\"name\":\"other\",\"type\":\"i64\",\"nullable\":true}",
];

fn busy() -> TableSchema {
    TableSchema::builder("busy")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<i64>>("n"))
        .column(ColumnSchema::of::<Option<i64>>("other"))
        .key(["id"])
        .build()
        .unwrap()
}

/// Inserts rows until the migrations are done; returns the number of those that succeeded.
fn write(db: &Db, is_done: &AtomicBool) -> u64 {
    let mut count = 0;
    while !is_done.load(Ordering::Relaxed) {
        // It fails while the table and its log have different columns, and if the server gives another statement the lock.
        match db.execute("INSERT INTO busy (n) VALUES (1)", ()) {
            Ok(_) => count += 1,
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
    count
}

#[test]
fn the_log_has_each_write_during_a_migration() {
    on_each_url(|_, url, _| {
        let db = Db::open(url).unwrap();
        let engine = db.engine().unwrap();
        // Memory and key-value engines change tables and logs as one, and have no SQL.
        if !engine.capabilities().sql {
            return;
        }
        db.create_table(busy()).unwrap();
        match db.track_table("busy", TrackOptions::new()) {
            Err(error) if error.kind() == ErrorKind::Unsupported => return,
            tracked => tracked.unwrap(),
        }
        let is_done = AtomicBool::new(false);
        let count = thread::scope(|scope| {
            let writers: Vec<_> = (0..2).map(|_| scope.spawn(|| write(&db, &is_done))).collect();
            for step in STEPS {
                let next = NextMigration::prepare(&*engine, engine.tables().unwrap(), "busy", step);
                let done = next.and_then(|next| next.run(&*engine));
                is_done.store(done.is_err(), Ordering::Relaxed);
                done.unwrap_or_else(|error| panic!("{step}: {error}"));
                thread::sleep(Duration::from_millis(20));
            }
            is_done.store(true, Ordering::Relaxed);
            writers.into_iter().map(|writer| writer.join().unwrap()).sum::<u64>()
        });
        let rows = db.dynamic("busy").unwrap().count(Query::all()).unwrap();
        assert_eq!(rows, count, "{url}");
        let sql = "SELECT count(*) FROM bobak_log_busy WHERE verb = 1";
        let logged: Vec<(i64,)> = db.sql(sql, ()).unwrap();
        assert_eq!(logged, [(i64::try_from(count).unwrap(),)], "{url}");
        assert!(count > 10, "{count} writes");
        db.untrack_table("busy").unwrap();
        for name in ["busy", bobak::migration::LEDGER] {
            let table = TableSchema::find_in(engine.tables().unwrap(), name).unwrap();
            engine.alter(&[bobak::engine::SchemaChange::DropTable(table.into())]).unwrap();
        }
    });
}

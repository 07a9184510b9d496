//! Tables that SQL dropped and recreated, and triggers that are not Bobak's.

use crate::archive::ship;
use crate::engines::{Person, person};
use crate::hidden_tables::track_hidden;
use bobak::changes::TrackOptions;
use bobak::prelude::*;
use std::time::Duration;

/// SQLite's documented procedure for changes that `ALTER TABLE` cannot make, with an added column.
const REBUILD: [&str; 4] = [
    "CREATE TABLE new_t (id INTEGER PRIMARY KEY, n TEXT, m INTEGER)",
    "INSERT INTO new_t (id, n) SELECT id, n FROM t",
    "DROP TABLE t",
    "ALTER TABLE new_t RENAME TO t",
];

#[derive(Record, Debug, PartialEq)]
#[record(table = "t")]
struct T {
    id: i64,
    n: Option<String>,
    m: Option<i64>,
}

#[test]
fn a_recreated_table_is_no_longer_tracked_and_reading_its_changes_fails() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("app.db").display());
    let db = Db::open(&url).unwrap();
    let run = |text: &str| db.execute(text, ()).unwrap();
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT)");
    db.track_table("t", TrackOptions::new()).unwrap();
    run("INSERT INTO t (n) VALUES ('one')");
    let changes = folder.path().join("changes");
    ship(&mut db.archive_to(&changes).unwrap());
    let target = Db::open("memory:").unwrap();
    let mut replica = db.replicate_to(&target, &[]).unwrap();
    replica.begin(|_| {}).unwrap();
    assert!(db.is_tracked("t").unwrap());
    for text in REBUILD {
        run(text);
    }
    run("INSERT INTO t (n, m) VALUES ('unseen', 1)");
    assert!(!db.is_tracked("t").unwrap());
    let errors = [
        db.archive_to(&changes).unwrap_err(),
        replica.step(Duration::ZERO).unwrap_err(),
        db.replicate_to(&target, &[]).unwrap_err(),
        db.changes().unwrap().page().unwrap_err(),
        db.table::<T>().unwrap().history(1).unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("t")), "{error}");
        assert!(error.message().contains("rack it again"), "{error}");
    }
    // The builder tracks it, too.
    drop(db);
    let db = Db::builder().track::<T>(TrackOptions::new()).open(&url).unwrap();
    db.create_missing_tables().unwrap();
    assert!(db.is_tracked("t").unwrap());
    db.execute("INSERT INTO t (n, m) VALUES ('seen', 2)", ()).unwrap();
    // A replica positioned before the gap cannot continue.
    assert!(db.replicate_to(&target, &[]).and_then(|mut f| f.step(Duration::ZERO)).is_err());
    // The folder ended when it was opened.
    let error = db.archive_to(&changes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
    assert!(error.message().contains("begin another folder"), "{error}");
    let error = db.changes().unwrap().since(1).page().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let page = db.changes().unwrap().since(2).page().unwrap();
    let seen = page.changes[0].after_as::<T>().unwrap().unwrap();
    assert_eq!((page.changes.len(), seen.m), (1, Some(2)));
    let history = db.table::<T>().unwrap().history(1).unwrap();
    assert_eq!(history[0].after.as_ref().unwrap().n.as_deref(), Some("one"));
    // A new replica has everything.
    let target = Db::open("memory:").unwrap();
    let mut again = db.replicate_to(&target, &[]).unwrap();
    again.begin(|_| {}).unwrap();
    assert_eq!(again.check().unwrap().tables[0].rows, 3);
}

#[test]
fn a_target_with_triggers_is_rejected() {
    let source =
        Db::builder().track::<Person>(TrackOptions::new()).open("sqlite::memory:").unwrap();
    source.create_missing_tables().unwrap();
    let target =
        Db::builder().track::<Person>(TrackOptions::new()).open("sqlite::memory:").unwrap();
    target.create_missing_tables().unwrap();
    target.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, w TEXT)", ()).unwrap();
    let trigger = "CREATE TRIGGER noise AFTER INSERT ON person \
                   BEGIN INSERT INTO log (w) VALUES (new.name); END";
    target.execute(trigger, ()).unwrap();
    let error = source.replicate_to(&target, &[]).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Unsupported, Some("person")), "{error}");
    assert!(error.message().contains("'noise'"), "{error}");
    // Triggers that track the target itself are allowed.
    target.execute("DROP TRIGGER noise", ()).unwrap();
    source.table().unwrap().insert(&person("ada", 1)).unwrap();
    source.replicate_to(&target, &[]).unwrap().begin(|_| {}).unwrap();
    assert_eq!(target.changes().unwrap().iter().count(), 1);
}

#[test]
fn a_table_without_a_key_cannot_be_tracked() {
    let folder = tempfile::tempdir().unwrap();
    let rejected = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        let message = error.to_string();
        assert!(
            message.contains("loose") && message.contains("id INTEGER PRIMARY KEY"),
            "{message}"
        );
    };
    let db = Db::open("sqlite::memory:").unwrap();
    db.execute("CREATE TABLE loose (n INTEGER)", ()).unwrap();
    rejected(db.track_table("loose", TrackOptions::new()).unwrap_err());
    assert!(db.tracked_tables().unwrap().is_empty());
    // A declared key is enough, whatever its name.
    for table in [
        "a (rowid INTEGER PRIMARY KEY)",
        "b (n TEXT PRIMARY KEY)",
        "c (a INTEGER NOT NULL, b INTEGER NOT NULL, PRIMARY KEY (a, b))",
    ] {
        db.execute(&format!("CREATE TABLE {table}"), ()).unwrap();
        db.track_table(&table[..1], TrackOptions::new()).unwrap();
    }

    let db = Db::open("sqlite::memory:").unwrap();
    track_hidden(&db);
    rejected(db.changes().unwrap().page().unwrap_err());
    rejected(db.archive_to(folder.path()).unwrap_err());
    rejected(db.replicate_to(&Db::open("memory:").unwrap(), &[]).err().unwrap());
    rejected(db.track_table("loose", TrackOptions::new()).unwrap_err());
    db.untrack_table("loose").unwrap();
    db.execute("INSERT INTO keyed DEFAULT VALUES", ()).unwrap();
    assert_eq!(db.changes().unwrap().page().unwrap().changes.len(), 1);
}

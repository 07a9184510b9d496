//! Migrations of tracked tables: their logs, replicas and archives follow.

use crate::on_each;
use bobak::archive::Archive;
use bobak::backup::BackupOptions;
use bobak::changes::TrackOptions;
use bobak::migration::Migrations;
use bobak::prelude::*;
use bobak::replication::Replica;
use bobak::restore::{RecoveryTarget, RestoreOptions};
use bobak_core::{FieldSet, Select, Source, TableSchema, Type, Verb, Write};
use bobak_testkit::crash::kill_interval;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const START: &str = "bobak migration 1\nfirst\nup\n\
    create table {\"name\":\"person\",\"key\":[\"id\"],\"indexes\":[],\"columns\":[\
    {\"name\":\"id\",\"type\":\"i64\"},\
    {\"name\":\"name\",\"type\":\"text\",\"nullable\":true,\"max_chars\":40},\
    {\"name\":\"age\",\"type\":\"i32\",\"nullable\":true}]}\n";

/// Another table, which stays.
const OTHER: &str = "create table {\"name\":\"other\",\"key\":[\"id\"],\"indexes\":[],\"columns\":[\
    {\"name\":\"id\",\"type\":\"i64\"},{\"name\":\"name\",\"type\":\"text\",\"nullable\":true}]}";

/// The column `age` with a type.
macro_rules! age {
    ($type:literal) => {
        concat!(r#"change column person {"name":"age","nullable":true,"type":""#, $type, r#""}"#)
    };
}

/// The column `name`, with rules.
macro_rules! name {
    ($rules:literal) => {
        concat!(r#"change column person {"name":"name","type":"text","#, $rules, "}")
    };
}

/// Steps, with those that undo them.
const STEPS: [(&str, &str); 12] = [
    (name!(r#""nullable":false,"max_chars":40"#), name!(r#""nullable":true,"max_chars":40"#)),
    (name!(r#""nullable":true,"max_chars":60"#), name!(r#""nullable":true,"max_chars":40"#)),
    (
        "change column person {\"name\":\"age\",\"type\":\"i32\",\"nullable\":true,\"check\":\"age >= 0\",\"default\":1}",
        age!("i32"),
    ),
    (
        "add index person {\"name\":\"person_name\",\"columns\":[\"name\"],\"unique\":false}",
        "drop index person.person_name",
    ),
    ("add column person {\"name\":\"rank\",\"type\":\"i64\",\"nullable\":true}", ""),
    ("rename column person.name to title", "rename column person.title to name"),
    ("rename table person to member", "rename table member to person"),
    ("add column person {\"name\":\"points\",\"type\":\"i64\",\"nullable\":false} fill 7", ""),
    (
        "add column person {\"name\":\"level\",\"type\":\"i64\",\"nullable\":false,\"default\":3}",
        "",
    ),
    (age!("text"), age!("i32")),
    (age!("i64"), ""),
    ("drop column person.rank", ""),
];

/// Two tracked tables, their migrations so far, and a replica.
struct Place {
    db: Db,
    texts: Vec<String>,
    replica: Replica,
    copy: Db,
    rows: i64,
}

fn migrations(texts: &[String]) -> Migrations {
    let names: Vec<_> = (0..texts.len()).map(|number| format!("m{number}")).collect();
    let texts = texts.iter().map(String::as_str);
    Migrations::new(names.iter().map(String::as_str).zip(texts)).unwrap()
}

/// Creates and tracks the tables.
fn start(db: &Db) -> Vec<String> {
    let texts = vec![format!("{START}{OTHER}\n")];
    db.migrate(&migrations(&texts)).unwrap();
    for table in ["person", "other"] {
        db.track_table(table, TrackOptions::new()).unwrap();
    }
    texts
}

/// Carries one more step out.
fn step(db: &Db, texts: &mut Vec<String>, step: &str) {
    let after = texts.len() - 1;
    texts.push(format!("bobak migration 1\nafter m{after}\nup\n{step}\n"));
    db.migrate(&migrations(texts)).unwrap_or_else(|error| panic!("{step}: {error}"));
}

/// The tables of the database, by the engine: a database keeps what it knows of a table.
fn tables(db: &Db) -> Vec<Arc<TableSchema>> {
    let mut all = db.engine().unwrap().tables().unwrap();
    all.retain(|table| table.name() != bobak::migration::LEDGER);
    all.sort_by(|a, b| a.name().cmp(b.name()));
    all.into_iter().map(Arc::new).collect()
}

/// Writes a row to each table, with a number in each column.
fn write(db: &Db, number: i64) {
    for table in tables(db) {
        let value = |column: &bobak_core::ColumnSchema| match column.ty {
            _ if column.name == "id" => Value::Null,
            Type::Text => Value::from(number.to_string()),
            _ => Value::Int(number),
        };
        let values: Vec<_> = table.columns().iter().map(value).collect();
        let (table, verb, fields) = (&table, Verb::Insert, FieldSet::EMPTY);
        let write = Write { table, verb, fields, values: &values };
        db.engine().unwrap().write(&write).unwrap();
    }
}

/// The rows of all tables, with their columns' names.
fn content(db: &Db) -> Vec<String> {
    let engine = db.engine().unwrap();
    let mut rows = Vec::new();
    for table in tables(db) {
        let select = Select::all(&table);
        let session = engine.session().unwrap();
        let done = session.query(&Source::Select(&select), &mut |row| {
            let columns = table.columns().iter().enumerate();
            let mut row: Vec<_> = columns
                .map(|(place, column)| format!("{} {:?}", column.name, row.get(place)))
                .collect();
            row.sort();
            rows.push(format!("{}: {}", table.name(), row.join(", ")));
            Ok(true)
        });
        done.unwrap();
    }
    rows
}

impl Place {
    fn new(url: &str) -> Self {
        let db = Db::open(url).unwrap();
        let texts = start(&db);
        let copy = Db::open("memory:").unwrap();
        let mut replica = db.replicate_to(&copy, &["person", "other"]).unwrap();
        replica.begin(|_| {}).unwrap();
        Self { db, texts, replica, copy, rows: 0 }
    }

    fn step(&mut self, text: &str) {
        step(&self.db, &mut self.texts, text);
    }

    fn write(&mut self) {
        self.rows += 1;
        write(&self.db, self.rows);
    }

    /// Compares the replica, which may be many steps behind.
    fn compare(&mut self, what: &str) {
        let mut next = || self.replica.step(Duration::ZERO);
        while next().unwrap_or_else(|error| panic!("{what}: {error}")).changes > 0 {}
        assert_eq!(content(&self.copy), content(&self.db), "{what}");
    }

    /// The values of a column in the history of the first row of `person`, by its names since.
    fn history(&self, table: &str, column: &str) -> Vec<Value<'static>> {
        let changes = self.db.changes().unwrap().table_named(table);
        let changes = changes.iter().map(Result::unwrap);
        let of_first = changes.filter(|change| change.key() == [Value::Int(1)]);
        let value = |change: bobak::changes::Change| {
            change.after.and_then(|row| row.value(column).cloned()).unwrap_or(Value::Null)
        };
        of_first.map(value).collect()
    }
}

#[test]
fn logs_and_replicas_follow_every_step() {
    // The replica follows after each step, or after all of them.
    for is_behind in [false, true] {
        on_each(|url| {
            // The key-value engine has no change capture.
            if url.starts_with("kv") {
                return;
            }
            let mut place = Place::new(url);
            place.write();
            place.compare("before");
            let undone = STEPS.iter().flat_map(|(step, undo)| [*step, *undo]);
            for step in undone.filter(|step| !step.is_empty()) {
                place.step(step);
                place.write();
                if !is_behind {
                    place.compare(step);
                }
            }
            place.compare("after all steps");
            assert_eq!(place.history("person", "name").first(), Some(&Value::from("1")), "{url}");
            assert_eq!(place.history("person", "age").first(), Some(&Value::Int(1)), "{url}");
            assert!(place.history("person", "rank").iter().all(|value| *value == Value::Null));
            place.step("rename table person to member");
            place.step("rename column member.name to title");
            assert_eq!(place.history("member", "title").first(), Some(&Value::from("1")), "{url}");
            place.compare("another name");
            place.step("drop table member");
            place.write();
            place.compare("without the table");
            assert_eq!(place.replica.tables(), ["other"]);
            place.replica.check().unwrap();
            place.db.untrack_table("other").unwrap();
        });
    }
}

#[test]
fn steps_after_a_new_name_in_the_same_migration_are_captured() {
    on_each(|url| {
        if url.starts_with("kv") {
            return;
        }
        let mut place = Place::new(url);
        place.write();
        place.compare("before");
        place.write();
        place.step(
            "rename table person to member\n\
             change column member {\"name\":\"age\",\"nullable\":true,\"type\":\"text\"}\n\
             add column member {\"name\":\"points\",\"type\":\"i64\",\"nullable\":false} fill 7",
        );
        place.write();
        place.compare("after the migration");
        assert_eq!(place.history("member", "age").first(), Some(&Value::from("1")), "{url}");
        for table in ["member", "other"] {
            place.db.untrack_table(table).unwrap();
        }
    });
}

#[test]
fn a_replica_that_is_opened_again_follows() {
    on_each(|url| {
        if url.starts_with("kv") {
            return;
        }
        let mut place = Place::new(url);
        place.write();
        place.compare("before");
        for step in ["rename table person to member", "rename column member.name to title"] {
            place.step(step);
        }
        place.write();
        place.replica = place.db.replicate_to(&place.copy, &[]).unwrap();
        place.compare("opened again");
        for table in ["member", "other"] {
            place.db.untrack_table(table).unwrap();
        }
    });
}

/// What a restore has with a backup from before the step, and with one from after it.
fn restores(folder: &Path, scheme: &str, text: &str, is_behind: bool) {
    let what = format!("{scheme}, {text}, behind: {is_behind}");
    let path = |name: &str| folder.join(name);
    let url = |name: &str| format!("{scheme}:{}", path(name).display());
    let db = Db::open(&url("app")).unwrap();
    let mut texts = start(&db);
    let ship = |archive: &mut Archive| while archive.step(Duration::ZERO).unwrap().changes > 0 {};
    let backup = |name: &str| {
        db.backup(path(name), &BackupOptions::new(), |_| Ok(())).unwrap();
    };
    let mut archive = db.archive_to(path("changes")).unwrap();
    write(&db, 1);
    ship(&mut archive);
    backup("old");
    write(&db, 2);
    if !is_behind {
        ship(&mut archive);
    }
    let (before, position) = (content(&db), db.changes().unwrap().last_id().unwrap());
    step(&db, &mut texts, text);
    if !is_behind {
        ship(&mut archive);
    }
    backup("new");
    write(&db, 3);
    ship(&mut archive);
    drop(archive);
    ship(&mut db.archive_to(path("changes")).unwrap());
    let restore = |backup: &str, until: RecoveryTarget| {
        let options = RestoreOptions::new().overwrite(true).changes(path("changes"), until);
        Db::restore(path(backup), &url("restored"), &options)?;
        Ok::<_, Error>(content(&Db::open(&url("restored"))?))
    };
    let error = restore("old", RecoveryTarget::End).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema, "{what}: {error}");
    match restore("old", RecoveryTarget::Change(position)) {
        Ok(restored) => assert_eq!(restored, before, "{what}"),
        // The changes before the step were archived with the columns after it.
        Err(error) if is_behind => assert_eq!(error.kind(), ErrorKind::Schema, "{what}: {error}"),
        Err(error) => panic!("{what}: {error}"),
    }
    assert_eq!(restore("new", RecoveryTarget::End).unwrap(), content(&db), "{what}");
}

#[test]
fn restores_to_before_and_after_a_step_are_complete() {
    let steps = [
        "rename table person to member",
        "rename column person.name to title",
        age!("text"),
        "drop column person.age",
        "drop table person",
        "change column person {\"name\":\"name\",\"type\":\"text\",\"nullable\":true,\"max_chars\":60}",
    ];
    for scheme in ["sqlite", "memory"] {
        for text in steps {
            for is_behind in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                restores(folder.path(), scheme, text, is_behind);
            }
        }
    }
}

/// Every kind of change of the tracked table, in one migration.
const ALL_STEPS: [&str; 5] = [
    "rename column person.name to title",
    age!("text"),
    "add column person {\"name\":\"points\",\"type\":\"i64\",\"nullable\":false} fill 7",
    "rename table person to member",
    "drop column member.points",
];

fn all_steps(texts: &[String]) -> Migrations {
    let mut texts = texts.to_vec();
    texts.push(format!("bobak migration 1\nafter m0\nup\n{}\n", ALL_STEPS.join("\n")));
    migrations(&texts)
}

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn migrates_a_tracked_table_until_an_operation_ends_the_process() {
    let url = std::env::var("BOBAK_TEST_TRACKED_URL").unwrap();
    let operation = std::env::var("BOBAK_TEST_OPERATION").unwrap().parse().unwrap();
    let engine = crate::online_rules::faulty(&url);
    engine.faults().end_process_at(operation);
    let all = all_steps(&[format!("{START}{OTHER}\n")]);
    bobak::migration::up(&engine, &all).unwrap();
}

#[test]
#[cfg(unix)]
fn a_migration_of_a_tracked_table_goes_on_after_a_kill() {
    on_each(|url| {
        if url.starts_with("kv") || url.starts_with("memory") {
            return;
        }
        // A change of a table in steps is interrupted in each; one in a transaction is kept or not.
        let resumes = Db::open(url).unwrap().engine().unwrap().capabilities().implicit_ddl_commit;
        let interval = kill_interval(if resumes { 3 } else { 8 });
        let mut operation = 1;
        loop {
            let mut place = Place::new(url);
            place.write();
            place.compare("before");
            place.write();
            let name =
                "tracked_migrations::migrates_a_tracked_table_until_an_operation_ends_the_process";
            let child = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name, "--ignored"])
                .env("BOBAK_TEST_TRACKED_URL", url)
                .env("BOBAK_TEST_OPERATION", operation.to_string())
                .output()
                .unwrap();
            let is_killed = child.status.code().is_none();
            let shown = String::from_utf8_lossy(&child.stdout);
            assert!(is_killed || child.status.success(), "{shown}");
            let what = format!("{url}, operation {operation}");
            place.db = Db::open(url).unwrap();
            place.db.migrate(&all_steps(&place.texts)).unwrap_or_else(|e| panic!("{what}: {e}"));
            place.write();
            // Nothing is missing in the log, and the replica has all of it.
            place.compare(&what);
            assert_eq!(place.history("member", "title")[0], Value::from("1"), "{what}");
            assert_eq!(place.history("member", "age")[0], Value::from("1"), "{what}");
            for table in ["member", "other"] {
                place.db.untrack_table(table).unwrap();
            }
            crate::drop_tables(&*place.db.engine().unwrap());
            if !is_killed {
                break;
            }
            operation += interval;
        }
        assert!(operation > 20, "{operation} operations");
    });
}

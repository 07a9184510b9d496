//! Migrations of tracked tables: what their logs and replicas follow, and what is rejected.

use crate::on_each;
use bobak::changes::TrackOptions;
use bobak::migration::Migrations;
use bobak::prelude::*;
use bobak::replication::Replica;
use bobak_core::{Select, Source, TableSchema};
use std::sync::Arc;
use std::time::Duration;

const START: &str = "bobak migration 1\nfirst\nup\n\
    create table {\"name\":\"person\",\"key\":[\"id\"],\"indexes\":[],\"columns\":[\
    {\"name\":\"id\",\"type\":\"i64\"},\
    {\"name\":\"name\",\"type\":\"text\",\"nullable\":true,\"max_chars\":40},\
    {\"name\":\"age\",\"type\":\"i32\",\"nullable\":true}]}\n";

/// Steps that a log follows, with those that undo them.
const FOLLOWED: [(&str, &str); 6] = [
    (
        "change column person {\"name\":\"name\",\"type\":\"text\",\"nullable\":false,\"max_chars\":40}",
        "change column person {\"name\":\"name\",\"type\":\"text\",\"nullable\":true,\"max_chars\":40}",
    ),
    (
        "change column person {\"name\":\"age\",\"type\":\"i32\",\"nullable\":true,\"check\":\"age >= 0\",\"default\":1}",
        "change column person {\"name\":\"age\",\"type\":\"i32\",\"nullable\":true}",
    ),
    (
        "add index person {\"name\":\"person_name\",\"columns\":[\"name\"],\"unique\":false}",
        "drop index person.person_name",
    ),
    ("add column person {\"name\":\"rank\",\"type\":\"i64\",\"nullable\":true}", ""),
    ("add column person {\"name\":\"points\",\"type\":\"i64\",\"nullable\":false} fill 7", ""),
    (
        "add column person {\"name\":\"level\",\"type\":\"i64\",\"nullable\":false,\"default\":3}",
        "",
    ),
];

/// Steps that no log follows.
const REJECTED: [&str; 6] = [
    "rename column person.name to title",
    "rename table person to member",
    "drop column person.age",
    "drop table person",
    "change column person {\"name\":\"age\",\"type\":\"text\",\"nullable\":true}",
    "change column person {\"name\":\"age\",\"type\":\"i64\",\"nullable\":true}",
];

/// A tracked table, its migrations so far, and a replica.
struct Place {
    db: Db,
    texts: Vec<String>,
    replica: Replica,
    copy: Db,
    rows: i64,
}

impl Place {
    fn new(url: &str) -> Self {
        let db = Db::open(url).unwrap();
        db.migrate(&Migrations::new([("m0", START)]).unwrap()).unwrap();
        db.track_table("person", TrackOptions::new()).unwrap();
        let copy = Db::open("memory:").unwrap();
        let mut replica = db.replicate_to(&copy, &["person"]).unwrap();
        replica.begin(|_| {}).unwrap();
        Self { db, texts: vec![START.to_owned()], replica, copy, rows: 0 }
    }

    /// Carries one more step out, and keeps it if it succeeds.
    fn step(&mut self, step: &str) -> bobak::Result<()> {
        let after = self.texts.len() - 1;
        self.texts.push(format!("bobak migration 1\nafter m{after}\nup\n{step}\n"));
        let names: Vec<_> = (0..self.texts.len()).map(|number| format!("m{number}")).collect();
        let texts = self.texts.iter().map(String::as_str);
        let all = Migrations::new(names.iter().map(String::as_str).zip(texts)).unwrap();
        let done = self.db.migrate(&all);
        if done.is_err() {
            self.texts.pop();
        }
        done.map(drop)
    }

    /// Writes a row, and compares the log and the replica.
    fn write_and_compare(&mut self, what: &str) {
        let mut row = DynRow::new();
        row.set("name", format!("n{}", self.rows)).unwrap();
        row.set("age", 30_i32).unwrap();
        if self.texts.iter().any(|text| text.contains("points")) {
            row.set("points", 5_i64).unwrap();
        }
        self.db.dynamic("person").unwrap().insert(&row).unwrap();
        self.rows += 1;
        // By the engine: a database keeps what it knows of a table.
        let read = |db: &Db| -> Vec<String> {
            let engine = db.engine().unwrap();
            let table = TableSchema::find_in(engine.tables().unwrap(), "person").unwrap();
            let (select, mut rows) = (Select::all(&Arc::new(table)), Vec::new());
            let session = engine.session().unwrap();
            let done = session.query(&Source::Select(&select), &mut |row| {
                let columns = select.table.columns().iter().enumerate();
                let mut row: Vec<_> = columns
                    .map(|(place, column)| format!("{} {:?}", column.name, row.get(place)))
                    .collect();
                row.sort();
                rows.push(row.join(", "));
                Ok(true)
            });
            done.unwrap();
            rows
        };
        while self.replica.step(Duration::ZERO).unwrap_or_else(|e| panic!("{what}: {e}")).changes
            > 0
        {}
        assert_eq!(read(&self.copy), read(&self.db), "{what}");
        let changes: Result<Vec<_>, _> = self.db.changes().unwrap().iter().collect();
        let changes = changes.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(changes.len() as i64 >= self.rows, "{what}: {} changes", changes.len());
    }
}

#[test]
fn a_tracked_table_is_followed_or_stays_as_it_was() {
    on_each(|url| {
        // The key-value engine has no change capture.
        if url.starts_with("kv") {
            return;
        }
        let mut place = Place::new(url);
        place.write_and_compare("before");
        for (step, undo) in FOLLOWED {
            place.step(step).unwrap_or_else(|error| panic!("{step}: {error}"));
            place.write_and_compare(step);
            if !undo.is_empty() {
                place.step(undo).unwrap_or_else(|error| panic!("{undo}: {error}"));
                place.write_and_compare(undo);
            }
        }
        let columns =
            |db: &Db| db.tables().unwrap().iter().map(|t| t.columns().to_vec()).collect::<Vec<_>>();
        let before = columns(&place.db);
        for step in REJECTED {
            let error = place.step(step).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{step}: {error}");
            assert!(error.to_string().contains("stop tracking it first"), "{step}: {error}");
            assert_eq!(columns(&place.db), before, "{step}");
            place.write_and_compare(step);
        }
        place.db.untrack_table("person").unwrap();
    });
}

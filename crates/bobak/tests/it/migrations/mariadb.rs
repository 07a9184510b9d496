//! Migrations of tables on MariaDB that another program made.

#![cfg(feature = "mysql")]

use bobak::migration::{MigrationState, Migrations};
use bobak::prelude::*;

const TABLE: &str = "CREATE TABLE p (
    id INT UNSIGNED PRIMARY KEY AUTO_INCREMENT,
    n VARCHAR(30) CHARACTER SET latin1 COLLATE latin1_german2_ci NOT NULL UNIQUE COMMENT 'the name',
    amount DECIMAL(20,6) NOT NULL DEFAULT 1.250000 CHECK (amount > 0),
    f FLOAT,
    e ENUM('a','b') DEFAULT 'a',
    ts TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    later DATETIME(3) DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(3),
    t MEDIUMTEXT,
    twice DECIMAL(20,6) AS (amount * 2) VIRTUAL)";

const START: &str = "bobak migration 1\nfirst\nup\nsql\nSELECT 1;\nend\n";

fn on_new_table(test: impl Fn(&Db)) {
    crate::engines::on_mariadb(|url| {
        let db = Db::open(url).unwrap();
        db.execute(TABLE, ()).unwrap();
        test(&db);
    });
}

fn migrations(texts: &[&str]) -> Migrations {
    Migrations::new(["a", "b"].into_iter().zip(texts.iter().copied())).unwrap()
}

fn definition(db: &Db) -> String {
    let found: Vec<(String, String)> = db.sql("SHOW CREATE TABLE p", ()).unwrap();
    found[0].1.clone()
}

#[test]
fn a_new_name_of_a_column_keeps_its_definition() {
    on_new_table(|db| {
        let mut wanted = definition(db);
        let names = ["n", "amount", "f", "e", "ts", "t"];
        let steps: Vec<_> =
            names.iter().map(|name| format!("rename column p.{name} to new_{name}\n")).collect();
        let text = format!("bobak migration 1\nfirst\nup\n{}", steps.join(""));
        db.migrate(&migrations(&[&text])).unwrap();
        for name in names {
            wanted = wanted.replace(&format!("`{name}`"), &format!("`new_{name}`"));
        }
        // The index keeps its name.
        let wanted = wanted.replace("KEY `new_n` (", "KEY `n` (");
        assert_eq!(definition(db), wanted);
    });
}

#[test]
fn a_conversion_leaves_time_stamps_of_the_server_as_they_are() {
    on_new_table(|db| {
        let row = "INSERT INTO p (n, t, ts, later) VALUES ('x', '5', '2001-02-03 04:05:06', '2002-02-03 04:05:06.789')";
        db.execute(row, ()).unwrap();
        let times = "SELECT concat(ts, ' ', later) FROM p";
        let before: Vec<String> = db.sql(times, ()).unwrap();
        let text = "bobak migration 1\nfirst\nup\nchange column p {\"name\":\"t\",\"type\":\"i64\",\"nullable\":true}\n";
        db.migrate(&migrations(&[text])).unwrap();
        assert_eq!(db.sql::<String>(times, ()).unwrap(), before);
        assert_eq!(db.sql::<i64>("SELECT t FROM p", ()).unwrap(), [5]);
    });
}

#[test]
fn what_comes_after_a_failed_step_may_be_edited() {
    on_new_table(|db| {
        db.migrate(&migrations(&[START])).unwrap();
        let text = "bobak migration 1\nafter a\nup\nrename column p.t to tt\nsql\nUPDAT p SET tt = 2;\nend\n";
        db.migrate(&migrations(&[START, text])).unwrap_err();
        let states = db.migration_status(&migrations(&[START, text])).unwrap();
        assert_eq!(states[1].state, MigrationState::Interrupted(1));
        // The step that is done may not change.
        let other = text.replace("to tt", "to text");
        let error = db.migrate(&migrations(&[START, &other])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().contains("the steps that are done were edited"), "{error}");
        let right = text.replace("UPDAT ", "UPDATE ") + "down\nrename column p.tt to t\n";
        assert_eq!(db.migrate(&migrations(&[START, &right])).unwrap(), ["b"]);
        // And now nothing of it.
        let error = db.migrate(&migrations(&[START, text])).unwrap_err();
        assert!(error.to_string().contains("edited after it ran"), "{error}");
        assert_eq!(db.undo_migrations(&migrations(&[START, &right]), 1, true).unwrap(), ["b"]);
        // The rest of an interrupted one can be noted as done.
        db.migrate(&migrations(&[START, text])).unwrap_err();
        let all = migrations(&[START, text]);
        assert_eq!(db.baseline_migrations(&all, "b").unwrap(), ["b"]);
        db.verify_migrations(&all).unwrap();
    });
}

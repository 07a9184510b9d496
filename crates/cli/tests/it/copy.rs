//! `bobak copy`: all tables, named tables, and after a kill.

use crate::program::{Program, data};
use std::fmt::Write;
use std::process::{Command, Stdio};

const TABLES: [&str; 3] = ["airlines", "airports", "planes"];

fn import(program: &Program) {
    for (table, key) in TABLES.iter().zip(["carrier", "faa", "tailnum"]) {
        let file = data(&format!("{table}.csv"));
        let import = ["import", "sqlite:from.db", &file, "--table", table, "--key", key];
        program.ok(&[&import[..], &["--null", "NA"]].concat());
    }
}

#[test]
fn copy_to_memory_and_back_is_identical() {
    let program = Program::new();
    import(&program);
    let run = program.run(&["copy", "sqlite:from.db", "memory:middle.bobak", "--checksum"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("airlines: 16 rows, checksum "), "{}", run.err);
    program.ok(&["copy", "memory:middle.bobak", "sqlite:to.db", "--checksum"]);
    for table in TABLES {
        let export = |file: &str| program.ok(&["export", file, "--table", table]);
        assert_eq!(export("sqlite:from.db"), export("sqlite:to.db"));
    }
    let schema = |file: &str| program.ok(&["schema", file]);
    assert_eq!(schema("sqlite:from.db"), schema("sqlite:to.db"));
}

#[test]
fn only_named_tables_are_copied_once() {
    let program = Program::new();
    import(&program);
    program.ok(&["copy", "sqlite:from.db", "sqlite:to.db", "--table", "planes,airlines"]);
    program.fails(1, "airports", &["export", "sqlite:to.db", "--table", "airports"]);
    for target in ["memory:", "sqlite::memory:"] {
        program.fails(2, "would be gone at once", &["copy", "sqlite:from.db", target]);
    }
    let twice = ["copy", "sqlite:from.db", "sqlite:to.db"];
    program.fails(1, "already has 16 rows", &twice);
    program.fails(1, "pass --resume to continue", &twice);
    program.ok(&[&twice[..], &["--resume"]].concat());
    program.ok(&["export", "sqlite:to.db", "--table", "airports"]);
}

#[test]
fn wrong_usage_creates_nothing() {
    let program = Program::new();
    import(&program);
    program.fails(
        1,
        "file nothing.db does not exist",
        &["copy", "sqlite:nothing.db", "sqlite:to.db"],
    );
    program.fails(1, "'trains'", &["copy", "sqlite:from.db", "sqlite:to.db", "--table", "trains"]);
    program.fails(2, "are the same", &["copy", "sqlite:from.db", "sqlite:from.db"]);
    program.fails(2, "--batch", &["copy", "sqlite:from.db", "sqlite:to.db", "--batch", "0"]);
    assert!(!program.path("to.db").exists());
}

#[test]
fn losses_are_listed_before_anything_is_created() {
    let program = Program::new();
    let from = format!("sqlite:{}", program.path("from.db").display());
    let from = bobak::Db::open(&from).expect("opens");
    let sql = |sql: &str| from.execute(sql, ()).expect("runs");
    sql("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)");
    sql("CREATE INDEX named ON item (name DESC) WHERE name <> ''");
    sql("CREATE VIEW names AS SELECT name FROM item");
    sql("INSERT INTO item VALUES (1, 'a')");
    let copy = ["copy", "sqlite:from.db", "sqlite:to.db"];
    let list = "  item: partial index named\n  names: view\npass --allow-loss";
    program.fails(1, list, &copy);
    assert!(!program.path("to.db").exists());
    let run = program.run(&[&copy[..], &["--allow-loss"]].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.err.contains("not copied:\n  item: partial index named\n  names: view\n"),
        "{}",
        run.err
    );
    assert!(run.err.contains("item: 1 row\n"), "{}", run.err);
    let rows = ["query", "sqlite:to.db", "SELECT name FROM item", "--format", "csv"];
    assert_eq!(program.ok(&rows), "name\na\n");
}

#[test]
fn killed_copy_can_be_resumed() {
    let program = Program::new();
    let mut csv = "id,text\n".to_owned();
    for id in 1..=40_000 {
        writeln!(csv, "{id},row {id}").expect("writes");
    }
    program.file("rows.csv", csv);
    program.ok(&["import", "sqlite:from.db", "rows.csv", "--table", "rows", "--key", "id"]);
    let to = "sqlite:to.db?synchronous=off";
    let arguments = ["copy", "sqlite:from.db", to, "--batch", "100"];
    let mut copy = Command::new(env!("CARGO_BIN_EXE_bobak"))
        .args(arguments)
        .current_dir(program.path(""))
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    // Kill it as soon as the target has a row. If it has finished by then, there is nothing to resume.
    while copy.try_wait().expect("is there").is_none() {
        let seen = program.run(&[
            "query",
            "sqlite:to.db",
            "SELECT 1 FROM rows LIMIT 1",
            "--format",
            "csv",
        ]);
        if seen.code == 0 && seen.out.contains('1') {
            break;
        }
    }
    copy.kill().expect("is killed");
    copy.wait().expect("ends");
    program.ok(&[&arguments[..], &["--resume", "--checksum"]].concat());
    let sum = ["query", "sqlite:to.db", "SELECT count(*), sum(id) FROM rows", "--format", "csv"];
    assert!(program.ok(&sum).contains("40000,800020000"));
}

#[test]
fn foreign_keys_are_listed_if_the_target_has_none() {
    let program = Program::new();
    let db =
        bobak::Db::open(&format!("sqlite:{}", program.path("from.db").display())).expect("opens");
    for sql in [
        "CREATE TABLE team (id INTEGER PRIMARY KEY, boss INT REFERENCES player DEFERRABLE INITIALLY DEFERRED)",
        "CREATE TABLE player (id INTEGER PRIMARY KEY, team INT NOT NULL REFERENCES team ON UPDATE CASCADE)",
        "CREATE TABLE pair (a INT, b INT, PRIMARY KEY (a, b))",
        "CREATE TABLE child (id INTEGER PRIMARY KEY, a INT, b INT, FOREIGN KEY (a, b) REFERENCES pair)",
        "INSERT INTO team VALUES (1, NULL)",
        "INSERT INTO player VALUES (1, 1)",
        "INSERT INTO pair VALUES (1, 2)",
        "INSERT INTO child VALUES (1, 1, 2)",
    ] {
        db.execute(sql, ()).expect(sql);
    }
    let copy = ["copy", "from.db", "kv:to.kv"];
    let failed = program.run(&copy);
    assert_eq!(failed.code, 1, "{}", failed.err);
    for line in [
        "team: foreign key boss to player: the target has no foreign keys",
        "player: foreign key team to team: the target has no foreign keys",
        "child: foreign key a, b to pair: the target has no foreign keys",
    ] {
        assert!(failed.err.contains(line), "{}", failed.err);
    }
    assert!(!failed.err.contains("DEFERR"), "{}", failed.err);
    assert_eq!(program.ok(&["schema", "kv:to.kv"]), "");
    program.ok(&[&copy[..], &["--allow-loss", "--checksum"]].concat());
    assert_eq!(program.ok(&["export", "kv:to.kv", "--table", "child"]), "id,a,b\n1,1,2\n");
}

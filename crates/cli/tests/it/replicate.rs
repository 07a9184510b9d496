//! `bobak replicate`, and `bobak archive` with point-in-time restore.

use crate::program::{Program, data};

#[test]
fn replica_is_copied_updated_and_checked() {
    let program = Program::new();
    let file = data("airlines.csv");
    let import = ["import", "sqlite:from.db", &file, "--table", "airlines", "--key", "carrier"];
    program.ok(&import);
    let replicate = ["replicate", "sqlite:from.db", "memory:to.bobak", "--once"];
    program.fails(1, "no table of the source is tracked", &replicate);
    let run = program.run(&[&replicate[..], &["--track"]].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("airlines is now tracked"), "{}", run.err);
    assert!(run.err.contains("airlines copied, up to change 0"), "{}", run.err);
    let update = "UPDATE airlines SET name = upper(name) WHERE carrier < 'B'";
    program.ok(&["query", "sqlite:from.db", update]);
    let run = program.run(&replicate);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("resuming after change 0"), "{}", run.err);
    assert!(run.err.contains("3 changes, up to 3"), "{}", run.err);
    let run = program.run(&["replicate", "sqlite:from.db", "memory:to.bobak", "--check"]);
    assert!(run.err.contains("airlines: 16 rows, equal, checksum "), "{}", run.err);
    let export = |file: &str| program.ok(&["export", file, "--table", "airlines"]);
    assert_eq!(export("sqlite:from.db"), export("memory:to.bobak"));
    program.fails(2, "source and replica are the same database", &["replicate", "a", "a"]);
}

#[test]
fn archive_restores_to_point_in_time() {
    let program = Program::new();
    let file = data("airlines.csv");
    program.ok(&["import", "sqlite:app.db", &file, "--table", "airlines", "--key", "carrier"]);
    let archive = ["archive", "sqlite:app.db", "changes", "--once"];
    program.fails(1, "--track TABLE", &archive);
    program.fails(1, "airline", &[&archive[..], &["--track", "airline"]].concat());
    let run = program.run(&[&archive[..], &["--track", "airlines"]].concat());
    assert!(run.code == 0 && run.err.contains("airlines is now tracked"), "{}", run.err);
    let run = program.run(&["backup", "sqlite:app.db", "backup.db"]);
    assert!(run.err.contains("16 rows of airlines: "), "its own tables are left out: {}", run.err);
    program.ok(&["query", "sqlite:app.db", "UPDATE airlines SET name = 'first'"]);
    program.ok(&["query", "sqlite:app.db", "DELETE FROM airlines"]);
    let run = program.run(&archive);
    assert!(run.code == 0 && run.err.contains("32 changes, up to 32"), "{}", run.err);
    let run = program.run(&["archive", "--check", "changes"]);
    assert!(run.err.contains("valid: 32 changes, after 0 up to 32"), "{}", run.err);
    let restore = ["restore", "backup.db", "sqlite:restored.db", "--archive", "changes"];
    // Both statements were committed while no archive ran, so the transaction boundary between them is unknown.
    let middle = "name 0 before it, or 32 after it";
    program.fails(1, middle, &[&restore[..], &["--until", "16"]].concat());
    let run = program.run(&[&restore[..], &["--until", "16", "--partial"]].concat());
    assert!(run.code == 0 && run.err.contains("replayed 16 changes, up to 16"), "{}", run.err);
    let count = "SELECT count(*) FROM airlines WHERE name = 'first'";
    let count = |file: &str| program.ok(&["query", file, count, "--format", "csv"]);
    assert!(count("sqlite:restored.db").contains("16"));
    program.ok(&[&restore[..], &["--overwrite"]].concat());
    assert!(!count("sqlite:restored.db").contains("16"));
    for wrong in ["noon", ""] {
        program.fails(2, "expected a time such as", &[&restore[..], &["--until", wrong]].concat());
    }
    program.fails(
        1,
        "ends with change 32",
        &[&restore[..], &["--overwrite", "--until", "33"]].concat(),
    );
    let late = ["--overwrite", "--until", "2999-01-01T00:00:00Z"];
    let run = program.run(&[&restore[..], &late].concat());
    assert!(run.code == 0, "{}", run.err);
    let said = "the archive ends before 2999-01-01T00:00:00Z, with change 32, at ";
    assert!(run.err.contains(said), "{}", run.err);
    let history = "SELECT at FROM bobak_log_airlines WHERE seq = 16";
    let at = program.ok(&["query", "sqlite:app.db", history, "--format", "csv"]);
    let micros: i64 = at.lines().last().and_then(|line| line.trim().parse().ok()).expect("a time");
    let at = bobak::types::Timestamp::from_microsecond(micros).expect("a moment").to_string();
    let run = program.run(&[&restore[..], &["--overwrite", "--until", &at]].concat());
    let said = "left out the next 16 changes made by ";
    assert!(run.code == 0 && run.err.contains(said), "{}", run.err);
    let file = ["archive", "sqlite:app.db", "backup.db", "--once"];
    program.fails(1, "backup.db is a file: name a folder", &file);
    let nowhere = ["restore", "backup.db", "sqlite:x.db", "--archive", "nowhere"];
    program.fails(1, "nowhere", &nowhere);
    // A recovery target that can't be reached leaves the existing database unchanged.
    let over = ["restore", "backup.db", "sqlite:app.db", "--overwrite", "--archive", "changes"];
    program.ok(&["query", "sqlite:app.db", "INSERT INTO airlines VALUES ('XX', 'here')"]);
    program.ok(&["query", "sqlite:app.db", "DELETE FROM airlines WHERE carrier <> 'XX'"]);
    program.ok(&["query", "sqlite:backup.db", "UPDATE airlines SET name = 'first'"]);
    let moment = ["--until", "2020-01-01T00:00:00Z"];
    program.fails(1, "restore an older one", &[&over[..], &moment].concat());
    let there = program.ok(&["export", "sqlite:app.db", "--table", "airlines"]);
    assert!(there.contains("XX") && there.lines().count() == 2, "{there}");
}

#[test]
fn tracking_persists_and_is_repaired() {
    let program = Program::new();
    let file = data("airlines.csv");
    for database in ["memory:app.bobak", "sqlite:app.db"] {
        let import = ["import", database, &file, "--table", "airlines", "--key", "carrier"];
        program.ok(&import);
        let folder = format!("{}.changes", &database[..6]);
        let archive = ["archive", database, &folder, "--once"];
        let run = program.run(&[&archive[..], &["--track", "airlines"]].concat());
        assert!(run.err.contains("airlines is now tracked"), "{}", run.err);
        let run = program.run(&archive);
        assert!(run.code == 0 && run.err.contains("resuming after change 0"), "{}", run.err);
    }
    for text in [
        "CREATE TABLE other AS SELECT * FROM airlines",
        "DROP TABLE airlines",
        "CREATE TABLE airlines (carrier TEXT PRIMARY KEY, name TEXT)",
        "INSERT INTO airlines SELECT * FROM other",
    ] {
        program.ok(&["query", "sqlite:app.db", text]);
    }
    program.fails(1, "rack it again", &["archive", "sqlite:app.db", "sqlite.changes", "--once"]);
    let archive = ["archive", "sqlite:app.db", "new", "--once", "--track", "airlines"];
    let run = program.run(&archive);
    assert!(run.err.contains("airlines is now again tracked"), "{}", run.err);
    program.ok(&["query", "sqlite:app.db", "DELETE FROM airlines"]);
    let run = program.run(&archive[..4]);
    assert!(run.code == 0 && run.err.contains("16 changes"), "{}", run.err);
    let replicate =
        ["replicate", "sqlite:app.db", "sqlite:to.db", "--once", "--table", "airlines,,x"];
    program.fails(2, "a name in --table is empty", &replicate);
}

#[test]
fn what_is_not_captured_is_said() {
    let program = Program::new();
    program.file("app.db", "");
    for text in [
        "CREATE TABLE g (id INTEGER PRIMARY KEY, a INT, b TEXT AS (a || 'x') STORED)",
        "CREATE VIEW v AS SELECT * FROM g",
        "CREATE TABLE bobak_log_x (id INTEGER PRIMARY KEY)",
        "CREATE TABLE x (id INTEGER PRIMARY KEY)",
    ] {
        program.ok(&["query", "sqlite:app.db", text]);
    }
    let archive = |table: &str| {
        ["archive", "sqlite:app.db", "changes", "--once", "--track", table].map(str::to_owned)
    };
    let fails = |sentence: &str, table: &str| {
        program.fails(1, sentence, &archive(table).each_ref().map(String::as_str));
    };
    fails("v is a view or a virtual table", "v");
    fails("'bobak_log_x' is no change log", "x");
    let replicate = ["replicate", "sqlite:app.db", "sqlite:to.db", "--once"];
    let run = program.run(&[&replicate[..], &["--track", "--table", "g"]].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    for said in ["not captured: g: generated column b", "not in the replica: g: generated column b"]
    {
        assert!(run.err.contains(said), "{}", run.err);
    }
}

/// Reads what a command says until it says this.
#[cfg(unix)]
fn until(lines: &mut impl Iterator<Item = String>, said: &str) {
    let mut all = Vec::new();
    for line in lines {
        if line.contains(said) {
            return;
        }
        all.push(line);
    }
    panic!("it ended without '{said}': {all:?}");
}

#[cfg(unix)]
#[test]
fn commands_that_run_until_they_are_stopped_survive_a_restart_of_the_server() {
    use crate::serve::Server;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let program = Program::new();
    program.file("app.db", "");
    let query = |text: &str| program.ok(&["query", "sqlite:app.db", text]);
    query("CREATE TABLE t (id INTEGER PRIMARY KEY)");
    program.ok(&["archive", "sqlite:app.db", "other", "--once", "--track", "t"]);
    let url = format!("bobak+unix:{}", program.path("socket").display());
    let (replicate, archive) = (["replicate", &url, "sqlite:to.db"], ["archive", &url, "changes"]);
    for (arguments, last) in [(replicate, 2), (archive, 4)] {
        let serve = || Server::start(&program, &["app.db", "--unix", "socket"]);
        let server = serve();
        let mut child = Command::new(env!("CARGO_BIN_EXE_bobak"))
            .args(arguments)
            .current_dir(program.path(""))
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let errors = BufReader::new(child.stderr.take().expect("is piped"));
        let mut lines = errors.lines().map_while(Result::ok);
        let begun = if arguments[0] == "archive" { "resuming after" } else { "copied" };
        until(&mut lines, begun);
        query("INSERT INTO t (id) VALUES (NULL)");
        until(&mut lines, &format!("changes, up to {}", last - 1));
        drop(server);
        until(&mut lines, "retrying until it succeeds");
        query("INSERT INTO t (id) VALUES (NULL)");
        let server = serve();
        until(&mut lines, "retried with success");
        until(&mut lines, &format!("changes, up to {last}"));
        let _ = child.kill();
        let _ = child.wait();
        drop(server);
    }
    let rows = program.ok(&["query", "sqlite:to.db", "SELECT count(*) FROM t", "--format", "csv"]);
    assert!(rows.contains('2'), "{rows}");
}

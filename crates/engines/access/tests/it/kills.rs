//! Commits that are interrupted: the file is the old one or the new one, and the next program opens it.

use crate::writing::{create, insert, rows, table};
use bobak_access::MsAccess;
use bobak_core::durable::{DurableStep, watch_durable};
use bobak_core::{ColumnSchema, ErrorKind, TableSchema, Type, Value};
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

const CHILD: &str = "BOBAK_ACCESS_TEST_FILE";

fn log_table() -> Arc<TableSchema> {
    let builder =
        TableSchema::builder("log").column(ColumnSchema::new("id", Type::I64)).key(["id"]);
    let builder = builder.column(ColumnSchema::new("text", Type::Text));
    Arc::new(builder.build().unwrap())
}

/// What the process does that is killed: it writes rows, and says so after each.
#[test]
fn child_writes() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let access = MsAccess::open(path).unwrap();
    let log = table(&access, "log");
    let first = rows(&access, &log).len() as i64 + 1;
    for id in first.. {
        insert(&access, &log, &[Value::Int(id), Value::from("x".repeat(2_000))]).unwrap();
        writeln!(std::io::stdout(), "row {id}").unwrap();
    }
}

#[test]
fn killed_writers_leave_whole_commits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.accdb");
    create(&MsAccess::open(&path).unwrap(), &[log_table()]).unwrap();
    for round in 0..6 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kills::child_writes", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines.map(|line| line.unwrap()).filter_map(|line| {
            line.strip_prefix("row ").map(|number| number.parse::<usize>().unwrap())
        });
        let acknowledged = said.take(3 + round * 2).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(path.with_extension("laccdb").exists());
        let access = MsAccess::open(&path).unwrap();
        let found = rows(&access, &table(&access, "log"));
        assert!(found.len() >= acknowledged, "{} < {acknowledged}", found.len());
        for (id, row) in (1..).zip(&found) {
            assert_eq!(row[0], Value::Int(id));
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_disk_that_fails_in_a_step_leaves_the_old_or_the_new_file() {
    for failing in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mdb");
        create(&MsAccess::open(&path).unwrap(), &[log_table()]).unwrap();
        let access = MsAccess::open(&path).unwrap();
        let log = table(&access, "log");
        insert(&access, &log, &[Value::Int(1), Value::from("a")]).unwrap();
        let mut step = 0;
        let watch = move |_: DurableStep<'_>, run: &mut dyn FnMut() -> std::io::Result<()>| {
            step += 1;
            if step == failing + 1 { Err(std::io::Error::other("the disk fails")) } else { run() }
        };
        let written = watch_durable(Box::new(watch), || {
            insert(&access, &log, &[Value::Int(2), Value::from("b")])
        });
        let error = written.unwrap_err();
        // A failed sync of the folder comes after the rename.
        let kind = if failing == 2 { ErrorKind::Unknown } else { ErrorKind::Io };
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(rows(&access, &log).len(), 1);
        if failing < 2 {
            insert(&access, &log, &[Value::Int(2), Value::from("c")]).unwrap();
        }
        drop(access);
        assert_eq!(names(folder.path()), ["a.mdb"]);
        let access = MsAccess::open(&path).unwrap();
        assert_eq!(rows(&access, &table(&access, "log")).len(), 2);
    }
}

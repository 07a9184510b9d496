//! SQL functions written in Rust.

use crate::raw::Raw;
use crate::support::query;
use bobak_core::{Engine, Error, ErrorKind, Interrupt, Result, Value, ValueRef};
use bobak_sqlite::{Aggregate, Function, Sqlite};
use std::time::Duration;

#[derive(Default)]
struct Longest(String);

impl Aggregate for Longest {
    fn step(&mut self, arguments: &[ValueRef<'_>]) -> Result<()> {
        match arguments {
            [ValueRef::Text("boom")] => panic!("no such word"),
            [ValueRef::Text("bad")] => Err(Error::new(ErrorKind::OutOfRange, "a bad word")),
            [ValueRef::Text(text)] if text.len() > self.0.len() => {
                (*text).clone_into(&mut self.0);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(self) -> Result<Value<'static>> {
        Ok(self.0.into())
    }
}

#[test]
fn functions_written_in_rust_are_callable_from_sql() {
    let engine = Sqlite::builder()
        .function(Function::aggregate("longest", Some(1), Longest::default))
        .function(Function::scalar("how_many", None, |arguments| {
            assert!(arguments.len() < 4, "too many");
            Ok((arguments.len() as i64).into())
        }))
        .function(Function::table("range", ["a", "b"], ["n", "text"], |arguments| {
            let [ValueRef::Int(a), ValueRef::Int(b)] = *arguments else {
                return Err(Error::new(ErrorKind::Mismatch, "range takes two numbers"));
            };
            Ok(Box::new((a..b).map(|n| {
                assert!(n < 100, "too far");
                Ok(vec![n.into(), Value::from(n.to_string())])
            })))
        }))
        .open_memory()
        .unwrap();
    let first = |sql: &str| Ok(query(&*engine.session()?, sql, &[])?[0][0].clone());
    let fails = |sql: &str, kind: ErrorKind, words: &str| {
        let error: Error = first(sql).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(words), "{error:?}");
    };
    let check = |sql: &str, value: Value<'static>| assert_eq!(first(sql).unwrap(), value, "{sql}");
    check("SELECT how_many(1, 'b', NULL)", 3.into());
    fails("SELECT how_many(1, 2, 3, 4)", ErrorKind::Engine, "too many");
    check("SELECT longest(text) FROM range(8, 12)", "10".into());
    check("SELECT longest(text) FROM range(8, 8)", "".into());
    check("SELECT count(*) FROM range(1, 4) AS a, range(0, a.n) AS b WHERE b.n > 0", 3.into());
    fails("SELECT longest('bad')", ErrorKind::OutOfRange, "a bad word");
    fails("SELECT longest('boom')", ErrorKind::Engine, "no such word");
    fails("SELECT * FROM range(1)", ErrorKind::Mismatch, "two numbers");
    fails("SELECT sum(n) FROM range(1, 101)", ErrorKind::Engine, "too far");
}

/// SQLite computes every function of every pair of these first; then the engine computes the same.
#[test]
fn text_functions_compute_what_sqlites_compute() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("expected.db");
    let raw = Raw::open(path.to_str().unwrap(), "");
    raw.exec(
        "CREATE TABLE word (valid, t);
        INSERT INTO word VALUES (1, NULL), (1, ''), (1, 'a'), (1, 'A'), (1, 'aab'), (1, 'abcabc'), (1, '%b%'), (1, 'a_'),
            (1, '_!%'), (1, '[a-c]*'), (1, '*[^x]'), (1, '[]a]'), (1, '[a'), (1, '?é'), (1, 'éé'), (1, 'aé'), (1, 'bca'),
            (1, 12), (1, 1.5), (1, '1'), (1, '.5'), (0, x''), (0, x'6162'), (0, x'ff61'), (0, x'c3'),
            (0, CAST(x'c3a961ff' AS TEXT)), (0, CAST(x'a961' AS TEXT)), (0, CAST(x'c3a9a961' AS TEXT));
        CREATE TABLE expected AS SELECT a.t AS a, b.t AS b, a.valid AND b.valid AS valid,
            instr(a.t, b.t) AS i, trim(a.t, b.t) AS t, ltrim(a.t, b.t) AS l, rtrim(a.t, b.t) AS r,
            replace(a.t, b.t, 'éx') AS p, replace(a.t, b.t, a.t) AS q,
            a.t LIKE b.t AS k, a.t LIKE b.t ESCAPE '!' AS e, a.t GLOB b.t AS g
            FROM word AS a, word AS b;",
    );
    drop(raw);
    let engine = Sqlite::builder().open(&path).unwrap();
    let sql =
        "SELECT hex(a), hex(b) FROM expected WHERE instr(a, b) IS NOT i OR trim(a, b) IS NOT t
        OR ltrim(a, b) IS NOT l OR rtrim(a, b) IS NOT r OR replace(a, b, 'éx') IS NOT p
        OR replace(a, b, a) IS NOT q OR typeof(replace(a, b, a)) <> typeof(q)
        OR valid AND (a LIKE b IS NOT k OR a LIKE b ESCAPE '!' IS NOT e OR a GLOB b IS NOT g)";
    let session = engine.session().unwrap();
    assert_eq!(query(&*session, sql, &[]).unwrap(), Vec::<Vec<Value<'_>>>::new());
    let count = query(&*session, "SELECT count(*), sum(k), sum(g), sum(i > 0) FROM expected", &[]);
    assert_eq!(count.unwrap()[0][0], Value::Int(28 * 28));
    let error = query(&*session, "SELECT 'a' LIKE 'b' ESCAPE '!!'", &[]).unwrap_err();
    assert!(error.to_string().contains("single character"), "{error}");
}

#[test]
fn searches_in_long_texts_end_when_they_are_interrupted() {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    for condition in ["x LIKE '%' || y", "x LIKE '%' || y ESCAPE '!'", "x GLOB '*' || y"] {
        let sql = format!(
            "WITH t(x, y) AS (SELECT replace(hex(zeroblob(250000)), '0', 'a'),
                replace(hex(zeroblob(24000)), '0', 'a') || 'b') SELECT count(*) FROM t WHERE {condition}"
        );
        let interrupt = Interrupt::new();
        let theirs = interrupt.clone();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            theirs.interrupt();
        });
        let found = interrupt.run(|| query(&*session, &sql, &[]));
        other.join().unwrap();
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Interrupted, "{condition}");
    }
    // These take linear time.
    let sql = "WITH t(x, y) AS (SELECT replace(hex(zeroblob(250000)), '0', 'a'),
            replace(hex(zeroblob(100000)), '0', 'a') || 'b')
        SELECT instr(x, y), length(replace(x, y, '')), length(trim(x, y)) FROM t";
    let expected = vec![vec![Value::Int(0), Value::Int(500_000), Value::Int(0)]];
    assert_eq!(query(&*session, sql, &[]).unwrap(), expected);
}

#[test]
fn long_patterns_are_rejected() {
    let engine = Sqlite::builder().open_memory().unwrap();
    let session = engine.session().unwrap();
    for operator in ["LIKE", "GLOB"] {
        let run = |bytes: usize| {
            let pattern = Value::from("a".repeat(bytes));
            query(&*session, &format!("SELECT 'b' {operator} ?"), &[pattern])
        };
        assert_eq!(run(bobak_core::MAX_PATTERN_BYTES).unwrap()[0][0], 0.into());
        let error = run(bobak_core::MAX_PATTERN_BYTES + 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        assert!(
            error.to_string().contains("a pattern is too long: it may have 50000 bytes"),
            "{error}"
        );
    }
}

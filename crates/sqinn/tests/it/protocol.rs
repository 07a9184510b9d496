//! Requests and values, byte by byte.

use crate::support::*;

/// The replies to requests that end with QUIT.
fn replies(requests: &[Vec<u8>]) -> Vec<u8> {
    let (replies, ended) = run_session(&[requests.concat(), quit()].concat());
    ended.unwrap();
    replies.strip_suffix(&[0, 0, 0, 1, 1]).expect("QUIT is confirmed").to_vec()
}

/// The only row of a query.
fn row(sql: &str, parameters: &[V], columns: &[u8]) -> Vec<V> {
    let bytes = replies(&[query(sql, parameters, columns)]);
    let mut reply = Replies::new(bytes.as_slice()).query(columns.len()).unwrap();
    assert_eq!(reply.error, None, "{sql}");
    assert_eq!(reply.rows.len(), 1);
    reply.rows.remove(0)
}

fn exec_error(requests: &[Vec<u8>]) -> String {
    let bytes = replies(requests);
    let mut replies = Replies::new(bytes.as_slice());
    let all: Vec<_> = requests.iter().map(|_| replies.exec().unwrap().error).collect();
    all.last().unwrap().clone().unwrap_or_default()
}

#[test]
fn replies_are_exact() {
    let bytes = replies(&[
        run("CREATE TABLE t(a, b)"),
        exec(
            "INSERT INTO t VALUES(?, ?)",
            &[vec![V::Int32(-2), text("ABC")], vec![V::Null, V::Null]],
        ),
        query("SELECT a, a, a, b, b FROM t ORDER BY a DESC", &[], &[1, 2, 3, 4, 5]),
        run("nonsense"),
    ]);
    let expected = [
        frame(&[1]),
        frame(&[1]),
        frame(&[
            1, 1, 0xff, 0xff, 0xff, 0xfe, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 3,
            0xc0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 4, 65, 66, 67, 0, 5, 0, 0, 0, 3, 65, 66,
            67, //
            1, 0, 0, 0, 0, 0, //
            0, 1,
        ]),
        frame(&[&[0], string(b"near \"nonsense\": syntax error").as_slice()].concat()),
    ];
    assert_eq!(bytes, expected.concat());
}

#[test]
fn all_values_round_trip() {
    let values = [
        (V::Int32(i32::MIN), 1),
        (V::Int64(i64::MAX), 2),
        (V::Double(1e-300), 3),
        (V::Double(f64::NEG_INFINITY), 3),
        (text(""), 4),
        (text("a\0b\0"), 4),
        (V::Text(vec![0xff, 0xfe]), 4),
        (V::Blob(vec![]), 5),
        (V::Blob(vec![0, 1, 0]), 5),
        (V::Null, 4),
    ];
    for (value, tag) in values {
        assert_eq!(row("SELECT ?", std::slice::from_ref(&value), &[tag]), [value]);
    }
    // SQLite stores NaN as NULL.
    assert_eq!(row("SELECT ?", &[V::Double(f64::NAN)], &[3]), [V::Null]);
}

#[test]
fn values_are_converted_to_requested_types() {
    let sql = "SELECT '12 monkeys', '12 monkeys', 7, 7, 2.9, x'31', 1 << 40";
    let expected = [
        V::Int32(12),
        V::Double(12.0),
        text("7"),
        V::Blob(b"7".into()),
        V::Int64(2),
        text("1"),
        V::Int32(0),
    ];
    assert_eq!(row(sql, &[], &[1, 3, 4, 5, 2, 4, 1]), expected);
    assert_eq!(
        row("SELECT zeroblob(3), zeroblob(0)", &[], &[5, 5]),
        [V::Blob(vec![0; 3]), V::Blob(vec![])]
    );
    assert_eq!(row("SELECT 1", &[], &[1, 1]), [V::Int32(1), V::Null], "a column that is not there");
    assert_eq!(row("SELECT 1, 2", &[], &[1]), [V::Int32(1)], "a column that is not wanted");
    assert_eq!(row("SELECT 1", &[], &[]), []);
    assert_eq!(
        row("SELECT ?, ?", &[V::Int32(1)], &[1, 1]),
        [V::Int32(1), V::Null],
        "no value given"
    );
}

#[test]
fn errors_have_messages() {
    let table = run("CREATE TABLE t(a UNIQUE)");
    let insert =
        exec("INSERT INTO t VALUES(?)", &[vec![V::Int32(1)], vec![V::Int32(1)], vec![V::Int32(2)]]);
    assert_eq!(exec_error(&[table, insert]), "UNIQUE constraint failed: t.a");
    assert_eq!(exec_error(&[run("SELECT * FROM nowhere")]), "no such table: nowhere");
    assert_eq!(
        exec_error(&[exec("SELECT ?", &[vec![V::Null, V::Null]])]),
        "column index out of range"
    );
    let many = vec![V::Null; 40_000];
    assert!(exec_error(&[exec("SELECT 1", &[many])]).starts_with("40000 parameters, more than"));
    assert_eq!(exec_error(&[run(" -- nothing")]), "the SQL text has no statement");
    assert!(exec_error(&[run("SELECT 1\0")]).contains("a NUL"));
    assert_eq!(
        exec_error(&[run("SELECT 1; nonsense")]),
        "",
        "only the first statement is looked at"
    );
}

#[test]
fn runs_before_error_are_kept() {
    let bytes = replies(&[
        run("CREATE TABLE t(a UNIQUE)"),
        exec("INSERT INTO t VALUES(?)", &[vec![V::Int32(1)], vec![V::Int32(1)], vec![V::Int32(2)]]),
        query("SELECT a FROM t", &[], &[1]),
        query("SELECT abs(column1) FROM (VALUES(1), (-9223372036854775808))", &[], &[1]),
        query("SELECT 1", &[], &[0]),
    ]);
    let mut replies = Replies::new(bytes.as_slice());
    replies.exec().unwrap();
    replies.exec().unwrap();
    assert_eq!(replies.query(1).unwrap().rows, [[V::Int32(1)]]);
    let failed = replies.query(1).unwrap();
    assert_eq!(failed.rows, [[V::Int32(1)]]);
    assert_eq!(failed.error.unwrap(), "integer overflow");
    let rejected = replies.query(1).unwrap();
    assert_eq!(rejected.error.unwrap(), "invalid type 0 for column 0");
}

#[test]
fn cached_statements_follow_schema_and_settings() {
    let select = || query("SELECT * FROM t", &[], &[1, 1]);
    let orphan = || exec("INSERT INTO child VALUES(?)", &[vec![V::Int32(9)]]);
    let bytes = replies(&[
        run("CREATE TABLE t(a)"),
        run("INSERT INTO t VALUES(1)"),
        select(),
        run("ALTER TABLE t ADD COLUMN b DEFAULT 2"),
        select(),
        run("CREATE TEMP TABLE t(a)"),
        select(),
        run("CREATE TABLE child(a REFERENCES t(a))"),
        orphan(),
        run("PRAGMA foreign_keys = 1"),
        orphan(),
        run("PRAGMA foreign_keys = 0"),
        orphan(),
        run("PRAGMA foreign_keys = 1"),
        orphan(),
    ]);
    let mut replies = Replies::new(bytes.as_slice());
    let mut fine = |count: usize| (0..count).all(|_| replies.exec().unwrap().error.is_none());
    assert!(fine(2));
    assert_eq!(replies.query(2).unwrap().rows, [[V::Int32(1), V::Null]]);
    let mut fine = |count: usize| (0..count).all(|_| replies.exec().unwrap().error.is_none());
    assert!(fine(1));
    assert_eq!(replies.query(2).unwrap().rows, [[V::Int32(1), V::Int32(2)]]);
    let mut fine = |count: usize| (0..count).all(|_| replies.exec().unwrap().error.is_none());
    assert!(fine(1));
    assert_eq!(replies.query(2).unwrap().rows, Vec::<Vec<V>>::new(), "the temporary table's");
    let mut fine = |count: usize| (0..count).all(|_| replies.exec().unwrap().error.is_none());
    assert!(fine(3), "foreign keys are off as in Sqinn");
    assert!(replies.exec().unwrap().error.is_some());
    let mut fine = |count: usize| (0..count).all(|_| replies.exec().unwrap().error.is_none());
    assert!(fine(3));
    assert!(replies.exec().unwrap().error.is_some());
}

#[test]
fn statement_cache_is_bounded() {
    let requests: Vec<_> = (0..1000).map(|n| query(&format!("SELECT {n}"), &[], &[1])).collect();
    let twice = [requests.clone(), requests].concat();
    let bytes = replies(&twice);
    let mut replies = Replies::new(bytes.as_slice());
    for n in 0..2000 {
        assert_eq!(replies.query(1).unwrap().rows, [[V::Int32(n % 1000)]]);
    }
}

//! Each request and each value, byte by byte.

use crate::support::*;

/// The answers to the requests, which end with QUIT.
fn answers(requests: &[Vec<u8>]) -> Vec<u8> {
    let (answers, ended) = converse(&[requests.concat(), quit()].concat());
    ended.unwrap();
    answers.strip_suffix(&[0, 0, 0, 1, 1]).expect("QUIT is confirmed").to_vec()
}

/// The one row of a query.
fn row(sql: &str, parameters: &[V], columns: &[u8]) -> Vec<V> {
    let bytes = answers(&[query(sql, parameters, columns)]);
    let mut answer = Answers::new(bytes.as_slice()).query(columns.len()).unwrap();
    assert_eq!(answer.error, None, "{sql}");
    assert_eq!(answer.rows.len(), 1);
    answer.rows.remove(0)
}

fn exec_error(requests: &[Vec<u8>]) -> String {
    let bytes = answers(requests);
    let mut answers = Answers::new(bytes.as_slice());
    let all: Vec<_> = requests.iter().map(|_| answers.exec().unwrap().error).collect();
    all.last().unwrap().clone().unwrap_or_default()
}

#[test]
fn answers_are_exact_to_the_byte() {
    let bytes = answers(&[
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
fn every_value_comes_back_as_it_went() {
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
    // A NaN is NULL to SQLite.
    assert_eq!(row("SELECT ?", &[V::Double(f64::NAN)], &[3]), [V::Null]);
}

#[test]
fn values_are_converted_as_asked() {
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
fn errors_are_texts() {
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
    assert!(exec_error(&[exec("SELECT 1", &[many])]).starts_with("40000 parameters where"));
    assert_eq!(exec_error(&[run(" -- nothing")]), "the SQL text has no statement");
    assert!(exec_error(&[run("SELECT 1\0")]).contains("a NUL"));
    assert_eq!(
        exec_error(&[run("SELECT 1; nonsense")]),
        "",
        "only the first statement is looked at"
    );
}

#[test]
fn what_came_before_an_error_stays() {
    let bytes = answers(&[
        run("CREATE TABLE t(a UNIQUE)"),
        exec("INSERT INTO t VALUES(?)", &[vec![V::Int32(1)], vec![V::Int32(1)], vec![V::Int32(2)]]),
        query("SELECT a FROM t", &[], &[1]),
        query("SELECT abs(column1) FROM (VALUES(1), (-9223372036854775808))", &[], &[1]),
        query("SELECT 1", &[], &[0]),
    ]);
    let mut answers = Answers::new(bytes.as_slice());
    answers.exec().unwrap();
    answers.exec().unwrap();
    assert_eq!(answers.query(1).unwrap().rows, [[V::Int32(1)]]);
    let failed = answers.query(1).unwrap();
    assert_eq!(failed.rows, [[V::Int32(1)]]);
    assert_eq!(failed.error.unwrap(), "integer overflow");
    let refused = answers.query(1).unwrap();
    assert_eq!(refused.error.unwrap(), "column 0 is asked for as the type 0");
}

#[test]
fn kept_statements_follow_the_schema_and_the_settings() {
    let select = || query("SELECT * FROM t", &[], &[1, 1]);
    let orphan = || exec("INSERT INTO child VALUES(?)", &[vec![V::Int32(9)]]);
    let bytes = answers(&[
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
    let mut answers = Answers::new(bytes.as_slice());
    let mut fine = |count: usize| (0..count).all(|_| answers.exec().unwrap().error.is_none());
    assert!(fine(2));
    assert_eq!(answers.query(2).unwrap().rows, [[V::Int32(1), V::Null]]);
    let mut fine = |count: usize| (0..count).all(|_| answers.exec().unwrap().error.is_none());
    assert!(fine(1));
    assert_eq!(answers.query(2).unwrap().rows, [[V::Int32(1), V::Int32(2)]]);
    let mut fine = |count: usize| (0..count).all(|_| answers.exec().unwrap().error.is_none());
    assert!(fine(1));
    assert_eq!(answers.query(2).unwrap().rows, Vec::<Vec<V>>::new(), "the temporary table's");
    let mut fine = |count: usize| (0..count).all(|_| answers.exec().unwrap().error.is_none());
    assert!(fine(3), "foreign keys are off as in Sqinn");
    assert!(answers.exec().unwrap().error.is_some());
    let mut fine = |count: usize| (0..count).all(|_| answers.exec().unwrap().error.is_none());
    assert!(fine(3));
    assert!(answers.exec().unwrap().error.is_some());
}

#[test]
fn many_texts_do_not_fill_the_memory_for_statements() {
    let requests: Vec<_> = (0..1000).map(|n| query(&format!("SELECT {n}"), &[], &[1])).collect();
    let twice = [requests.clone(), requests].concat();
    let bytes = answers(&twice);
    let mut answers = Answers::new(bytes.as_slice());
    for n in 0..2000 {
        assert_eq!(answers.query(1).unwrap().rows, [[V::Int32(n % 1000)]]);
    }
}

use super::*;

fn check(dialect: Dialect, cases: &[(&str, &str)]) {
    for (sql, wanted) in cases {
        assert_eq!(translate(dialect, sql).unwrap(), *wanted, "{sql}");
    }
}

#[test]
fn postgres_gets_its_own_words() {
    check(
        Dialect::Postgres,
        &[
            ("select now()", "select now()"),
            (
                "select date_part('month', a.placed) from a",
                "select CAST(floor(date_part('month', a.placed)) AS bigint) from a",
            ),
            ("select Date_Trunc('DAY', t)", "select date_trunc('day', t)"),
            (
                "select date_trunc('day', ?), strftime('%Y', '2013-01-31 10:00+02:00')",
                "select date_trunc('day', CAST(? AS timestamptz)), \
                 (to_char(TIMESTAMPTZ'2013-01-31 08:00:00+00', 'YYYY') COLLATE \"C\")",
            ),
            (
                "select strftime('%d%d%% o''clock', t)",
                "select (to_char(t, 'DD\"\"DD\"% o''clock\"') COLLATE \"C\")",
            ),
            ("select cast(t as timestamp)", "select CAST(t AS timestamptz)"),
            (
                "select cast(t as timestamp without time zone)",
                "select cast(t as timestamp without time zone)",
            ),
            ("select cast(a as text)", "select cast(a as text)"),
            (
                "select json_value(note, '$.a[0].\"b c\"')",
                "select ((SELECT CASE json_typeof(j.v) WHEN 'object' THEN NULL WHEN 'array' THEN NULL \
                 WHEN 'boolean' THEN CASE j.v #>> '{}' WHEN 'true' THEN '1' ELSE '0' END \
                 ELSE j.v #>> '{}' END FROM (SELECT CAST(note AS json) #> '{\"a\",\"0\",\"b c\"}' AS v) AS j) COLLATE \"C\")",
            ),
            ("select date_part('century', t)", "select date_part('century', t)"),
        ],
    );
}

#[test]
fn mariadb_gets_its_own_words() {
    check(
        Dialect::MariaDb,
        &[
            ("select NOW()", "select now(6)"),
            ("select now(3)", "select now(3)"),
            ("select date_part('isodow', t)", "select (WEEKDAY(t) + 1)"),
            (
                "select strftime('%H:%M', strftime('%f', x))",
                "select DATE_FORMAT(DATE_FORMAT(x, '%s.%f'), '%H:%i')",
            ),
            (
                "select date_trunc('month', now())",
                "select (TIMESTAMP'0001-01-01 00:00:00' + INTERVAL \
                 TIMESTAMPDIFF(MONTH, TIMESTAMP'0001-01-01 00:00:00', now(6)) MONTH)",
            ),
            ("select cast(t as timestamp)", "select CAST(t AS DATETIME(6))"),
            (
                "select cast('2013-01-31T10:00:00.5+02:00' as timestamp)",
                "select TIMESTAMP'2013-01-31 08:00:00.5'",
            ),
            (
                "select cast(cast(a as text) as double precision)",
                "select CAST(CAST(a AS CHAR) AS DOUBLE)",
            ),
            (
                "select cast('00000000-0000-0000-0000-0000000000ff' as uuid)",
                "select CAST(x'000000000000000000000000000000ff' AS BINARY(16))",
            ),
            ("select json_value(note, '$.a')", "select json_value(note, '$.a')"),
            ("create view v as select now()", "create view v as select now(6)"),
        ],
    );
}

#[test]
fn everything_else_stays_as_it_is() {
    for dialect in [Dialect::Postgres, Dialect::MariaDb, Dialect::Sqlite] {
        for sql in [
            "select 'now()', \"now\" /* now() */ -- cast(a as timestamp)\n from t",
            "select my.strftime('%Y', t), my . now()",
            "select date_part(a, b), strftime(f, t), json_value(a, b)",
            "insert into now (a) values (1)",
            "with now(a) as (select 1) select now.a from now",
            "create function now() returns int return 1",
            "create table t (a datetime default now())",
            "select now(",
            "select now from t where cast = 1",
            "",
        ] {
            let same = translate(dialect, sql).unwrap();
            assert_eq!(same, sql, "{dialect:?}");
        }
    }
}

#[test]
fn what_a_server_cannot_say_is_rejected() {
    for (sql, kind) in [
        ("select strftime('%w', t)", ErrorKind::Unsupported),
        ("select strftime('100%', t)", ErrorKind::Unsupported),
        ("select strftime('%Y', t, '+1 day')", ErrorKind::Unsupported),
        ("select date_part('century', t)", ErrorKind::Unsupported),
        ("select date_trunc('decade', t)", ErrorKind::Unsupported),
        ("select cast('soon' as timestamp)", ErrorKind::Mismatch),
        ("select cast('2013-02-30' as date)", ErrorKind::Mismatch),
        ("select cast('short' as uuid)", ErrorKind::Mismatch),
        ("select date_trunc('day', 'soon')", ErrorKind::Mismatch),
    ] {
        let error = translate(Dialect::MariaDb, sql).unwrap_err();
        assert_eq!(error.kind(), kind, "{sql}: {error}");
    }
    let deep = format!("select {}t{}", "date_trunc('day', ".repeat(100), ")".repeat(100));
    assert!(translate(Dialect::MariaDb, &deep).is_err());
    assert!(translate(Dialect::Postgres, "select json_value(a, '$[#-1]')").is_err());
    let long = format!("select {}t{}", "cast(".repeat(50_000), " as integer)".repeat(50_000));
    assert!(translate(Dialect::Postgres, &long).is_ok());
}

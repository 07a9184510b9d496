//! Dates and moments that drivers lose a part of.

use crate::stores::{Place, is_without_servers};
use bobak_core::{Engine, ErrorKind, Expr, Order, Select, Source, TableSchema};
use bobak_odbc::Odbc;
use bobak_testkit::{NULL, Probe, row};
use std::sync::Arc;

const DAY: i64 = 86_400_000_000;
/// 0001-01-01 and 9999-12-31.
const FIRST: i64 = -719_162;
const LAST: i64 = 2_932_896;

/// A new database, for as long as its place is there; none without servers.
fn opened(place: fn() -> Place) -> Option<(Place, Odbc)> {
    (!is_without_servers()).then(|| {
        let place = place();
        let engine = place.open().unwrap();
        (place, engine)
    })
}

fn run(engine: &Odbc, statements: &[&str]) {
    let session = engine.session().unwrap();
    for sql in statements {
        session.execute(sql, &[]).unwrap();
    }
}

fn table(engine: &Odbc) -> Arc<TableSchema> {
    let found = engine.tables().unwrap().into_iter().find(|table| table.name() == "moments");
    Arc::new(found.unwrap())
}

#[test]
fn postgres_dates_are_exact() {
    let Some((_place, engine)) = opened(Place::postgres) else { return };
    run(
        &engine,
        &[
            "CREATE TABLE moments (id int8 PRIMARY KEY, day date, at timestamp, instant timestamptz, hour time)",
            "INSERT INTO moments VALUES \
             (1, '0001-01-01', '0001-01-01', '0001-01-01 00:00:00+00', '00:00'), \
             (2, '9999-12-31', '9999-12-31 23:59:59', '9999-12-31 23:59:59+00', '23:59:59.999999'), \
             (3, 'infinity', 'infinity', 'infinity', NULL), \
             (4, '-infinity', '-infinity', '-infinity', NULL), \
             (5, '0044-03-15 BC', '0044-03-15 12:00 BC', '0044-03-15 12:00:00.000001+00 BC', NULL), \
             (6, '10000-01-01', '10000-01-01', '10000-01-01 00:00:00+00', NULL), \
             (7, NULL, NULL, NULL, NULL), \
             (8, '1970-01-01', '1969-12-31 23:59:59.999999', '1970-01-01 00:00:00.5+00', '00:00:00.000001')",
        ],
    );
    let (probe, table) = (Probe::new(&engine).unwrap(), table(&engine));
    let second = (LAST + 1) * DAY - 1_000_000;
    let ides = -735_160;
    assert_eq!(
        probe.all(&table).unwrap(),
        [
            row![1, FIRST, FIRST * DAY, FIRST * DAY, 0],
            row![2, LAST, second, second, DAY - 1],
            row![3, i64::MAX, i64::MAX, i64::MAX, NULL],
            row![4, i64::MIN, i64::MIN, i64::MIN, NULL],
            row![5, ides, ides * DAY + DAY / 2, ides * DAY + DAY / 2 + 1, NULL],
            row![6, LAST + 1, (LAST + 1) * DAY, (LAST + 1) * DAY, NULL],
            row![7, NULL, NULL, NULL, NULL],
            row![8, 0, -1, 500_000, 1],
        ]
    );
}

#[test]
fn zero_dates_of_mariadb_are_errors_and_null_is_null() {
    let Some((_place, engine)) = opened(Place::mariadb) else { return };
    run(
        &engine,
        &[
            "CREATE TABLE moments (id bigint PRIMARY KEY, day date, at datetime(6), hour time(6))",
            "INSERT INTO moments VALUES \
             (1, '0001-01-01', '0001-01-01 00:00:00', '00:00:00.000001'), \
             (2, '9999-12-31', '9999-12-31 23:59:59.999999', '23:59:59.999999'), \
             (3, NULL, NULL, NULL), \
             (4, '1970-01-01', '1969-12-31 23:59:59.999999', NULL)",
        ],
    );
    let (probe, described) = (Probe::new(&engine).unwrap(), table(&engine));
    let expected = [
        row![1, FIRST, FIRST * DAY, 1],
        row![2, LAST, (LAST + 1) * DAY - 1, DAY - 1],
        row![3, NULL, NULL, NULL],
        row![4, 0, -1, NULL],
    ];
    assert_eq!(probe.all(&described).unwrap(), expected);
    // In a table with a long text, the driver gives rows one by one.
    run(&engine, &["ALTER TABLE moments ADD COLUMN note longtext"]);
    let single = probe.all(&table(&engine)).unwrap();
    assert_eq!(single.iter().map(|row| row[..4].to_vec()).collect::<Vec<_>>(), expected);
    for (column, zero) in [("day", "0000-00-00"), ("at", "0000-00-00 00:00:00")] {
        run(
            &engine,
            &[
                "DELETE FROM moments",
                &format!("INSERT IGNORE INTO moments (id, {column}) VALUES (1, '{zero}')"),
            ],
        );
        for table in [&described, &table(&engine)] {
            let error = probe.all(table).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
            assert_eq!((error.table(), error.column()), (Some("moments"), Some(column)));
        }
    }
}

#[test]
fn dates_are_exact_in_groups() {
    let Some((_place, engine)) = opened(Place::postgres) else { return };
    run(
        &engine,
        &[
            "CREATE TABLE moments (id int8 PRIMARY KEY, day date, name text)",
            "COMMENT ON COLUMN moments.name IS 'bobak: text unicode-nocase'",
            "INSERT INTO moments VALUES (1, '0044-03-15 BC', 'Caesar'), (2, 'infinity', 'b'), \
             (3, '10000-01-01', 'B'), (4, '2026-11-29', 'b')",
        ],
    );
    let (probe, table) = (Probe::new(&engine).unwrap(), table(&engine));
    let order =
        vec![Order { column: 1, descending: false }, Order { column: 0, descending: false }];
    let sorted = Select { columns: vec![Expr::Column(1)], order, ..Select::all(&table) };
    let days = [row![-735_160], row![20_786], row![LAST + 1], row![i64::MAX]];
    assert_eq!(probe.select(&sorted).unwrap(), days);
    let grouped = Select {
        columns: vec![Expr::Column(2), Expr::Min(1), Expr::Max(1)],
        group: vec![2],
        order: vec![Order { column: 2, descending: true }],
        ..Select::all(&table)
    };
    let expected = [row!["Caesar", -735_160, -735_160], row!["b", 20_786, i64::MAX]];
    assert_eq!(probe.select(&grouped).unwrap(), expected);
    let by_day = Select {
        columns: vec![Expr::Column(1), Expr::Column(2)],
        group: vec![1, 2],
        order: vec![Order { column: 1, descending: true }, Order { column: 2, descending: false }],
        ..Select::all(&table)
    };
    let first = probe.select(&by_day).unwrap();
    assert_eq!(first.first(), Some(&row![i64::MAX, "b"]));
    assert_eq!(first.last(), Some(&row![-735_160, "Caesar"]));
}

/// In SQL text psqlodbc makes a moment of an infinity, and drops the BC of dates: a cast keeps them.
#[test]
fn sql_text_casts_what_psqlodbc_loses() {
    let Some((_place, engine)) = opened(Place::postgres) else { return };
    let probe = Probe::new(&engine).unwrap();
    let ask = |value: &str| {
        let text = format!("SELECT {value}");
        probe.query(&Source::Sql { text: &text, parameters: &[] })
    };
    let last = (LAST + 1) * DAY - 1_000_000;
    assert_eq!(ask("timestamp '9999-12-31 23:59:59'").unwrap(), [row![last]]);
    assert_eq!(ask("timestamp 'infinity'").unwrap(), [row![last]]);
    assert_eq!(ask("timestamp 'infinity'::text").unwrap(), [row!["infinity"]]);
    assert_eq!(ask("date '0044-03-15 BC'::text").unwrap(), [row!["0044-03-15 BC"]]);
    for value in ["timestamp '-infinity'", "date 'infinity'", "date '10000-01-01'"] {
        assert_eq!(ask(value).unwrap_err().kind(), ErrorKind::Mismatch, "{value}");
    }
}

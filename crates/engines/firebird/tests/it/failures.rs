//! What goes wrong: servers that are not there, wrong passwords, connections that break, values that Firebird does not have;
//! and tables of other programs.

use crate::stores::{has_server, new_url, settings};
use bobak_core::TransactionControl::{Begin, Commit};
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, Interrupt, OnError, Outcome, Parameter, SchemaChange, Source,
    TableSchema, Type,
};
use bobak_firebird::{Firebird, FirebirdBuilder};
use bobak_testkit::{Entry, NULL, Probe, isolation, row, tables};
use std::time::Duration;

fn kind_of(url: &str) -> (ErrorKind, String) {
    let builder = FirebirdBuilder::from_url(url).unwrap().connect_timeout(Duration::from_secs(5));
    let error = builder.create(false).connect().unwrap_err();
    (error.kind(), error.message().to_owned())
}

fn run(engine: &Firebird, sql: &str) -> bobak_core::Result<u64> {
    engine.session()?.execute(sql, &[])
}

#[test]
fn wrong_places_and_passwords_are_explained() {
    let (kind, message) = kind_of("firebird://a:secret@127.0.0.1:1/x");
    assert_eq!(kind, ErrorKind::Unreachable, "{message}");
    assert!(!message.contains("secret"));
    if !has_server() {
        return;
    }
    let url = new_url();
    let (kind, message) = kind_of(&url);
    assert_eq!(kind, ErrorKind::Config, "{message}");
    let (start, place) = url.split_once('@').unwrap();
    let user = start.rsplit_once(':').unwrap().0;
    let (kind, message) = kind_of(&format!("{user}:wrong@{place}"));
    assert_eq!(kind, ErrorKind::Denied, "{message}");
}

#[test]
fn another_server_is_none_of_firebird() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Until the client gives up.
        let _ = std::io::Read::read_to_end(&mut stream, &mut Vec::new());
    });
    let (kind, message) = kind_of(&format!("firebird://a:b@127.0.0.1:{port}/x"));
    assert_eq!(kind, ErrorKind::Config, "{message}");
    thread.join().unwrap();
}

#[test]
fn a_server_that_says_nothing_is_a_timeout() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("firebird://a:b@{}/x", listener.local_addr().unwrap());
    let builder = FirebirdBuilder::from_url(&url).unwrap();
    let error = builder.connect_timeout(Duration::from_millis(200)).connect().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.message().ends_with("did not answer in time (`connect_timeout`)"), "{error}");
}

#[test]
fn names_with_characters_of_four_bytes_are_kept() {
    if !has_server() {
        return;
    }
    let engine = settings().connect().unwrap();
    let table = TableSchema::builder("na\u{ef}ve \u{1f600}")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("\u{1f600}", Type::Text).nullable(true))
        .key(["id"])
        .build()
        .unwrap();
    let table = std::sync::Arc::new(table);
    let probe = Probe::with_tables(&engine, &[&table]).unwrap();
    probe.insert(&table, row![1, "\u{1f600}"]).unwrap();
    assert_eq!(probe.all(&table).unwrap(), [row![1, "\u{1f600}"]]);
    let found = engine.tables().unwrap().remove(0);
    assert_eq!((found.name(), &found.columns()[1].name), (table.name(), &table.columns()[1].name));
}

#[test]
fn what_is_not_supported_is_said_in_a_sentence() {
    if !has_server() {
        return;
    }
    let engine = settings().connect().unwrap();
    let table = tables::tag().unwrap();
    Probe::with_tables(&engine, &[&table]).unwrap();
    let track = SchemaChange::Track { table, history: false };
    let error = engine.session().unwrap().alter(&[track]).unwrap_err();
    assert_eq!(error.message(), "change capture is not supported by Firebird");
}

#[test]
fn a_connection_that_is_ended_leaves_nothing() {
    if !has_server() {
        return;
    }
    let settings = settings();
    let (engine, other) = (settings.clone().connect().unwrap(), settings.connect().unwrap());
    let tag = tables::tag().unwrap();
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    probe.control(Begin).unwrap();
    probe.insert(&tag, row!["before", 1.0]).unwrap();
    run(&other, "DELETE FROM MON$ATTACHMENTS WHERE MON$ATTACHMENT_ID <> CURRENT_CONNECTION")
        .unwrap();
    let many: Vec<_> =
        (0..3_000).map(|n| Entry::insert(&tag, row![format!("t{n}"), 1.0])).collect();
    let sent = probe.batch(&many, OnError::Stop);
    assert_eq!(sent.whole.unwrap_err().kind(), ErrorKind::Unreachable);
    assert!(probe.insert(&tag, row!["after", 1.0]).is_err());
    assert!(probe.control(Commit).is_err());
    assert_eq!(probe.count(&tag).unwrap(), 0);
    probe.insert(&tag, row!["again", 1.0]).unwrap();
    assert_eq!(probe.count(&tag).unwrap(), 1);
}

#[test]
fn values_that_firebird_lacks_are_rejected() {
    if !has_server() {
        return;
    }
    let engine = settings().connect().unwrap();
    let (tag, day) = (tables::tag().unwrap(), tables::of_type(Type::Date).unwrap());
    let probe = Probe::with_tables(&engine, &[&tag, &day]).unwrap();
    let far = probe.insert(&day, row![1, 4_000_000]).unwrap_err();
    assert_eq!(far.kind(), ErrorKind::OutOfRange, "{far}");
    let long = probe.insert(&tag, row!["x".repeat(2_000), 1.0]).unwrap_err();
    assert_eq!((long.kind(), long.column()), (ErrorKind::TooLong, Some("name")), "{long}");
    // No row can have it.
    assert_eq!(probe.get(&tag, row!["x".repeat(2_000)]).unwrap(), None);
    let rows = [row!["a", 1.0], row!["a\0b", 1.0], row!["a ", 1.0], row!["a", 2.0]];
    let entries: Vec<_> = rows.into_iter().map(|row| Entry::insert(&tag, row)).collect();
    let error = probe.batch(&entries, OnError::Stop).whole.unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Unsupported, Some(1)));
    assert_eq!(probe.count(&tag).unwrap(), 0);
    let sent = probe.batch(&entries, OnError::Continue);
    sent.whole.unwrap();
    let kinds: Vec<_> = sent.rows.iter().map(|row| row.as_ref().err().map(|e| e.kind())).collect();
    let expected = [None, Some(ErrorKind::Unsupported), None, Some(ErrorKind::Duplicate)];
    assert_eq!(kinds, expected);
}

#[test]
fn tables_of_other_programs_are_read_and_written() {
    if !has_server() {
        return;
    }
    let engine = settings().connect().unwrap();
    for sql in [
        "CREATE TABLE employee (emp_no INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, name VARCHAR(20) NOT NULL, \
         salary NUMERIC(10, 2), hired TIMESTAMP, at_work TIME, rate NUMERIC(18, 6), \"Mixed Case\" CHAR(3), active BOOLEAN)",
        "CREATE INDEX by_name ON employee (name)",
        "INSERT INTO employee (name, salary, hired, at_work, rate, \"Mixed Case\", active) VALUES \
         ('Ada', -12.34, '2026-01-31 10:00:00.5', '08:30:00', 0.000001, 'x', TRUE)",
    ] {
        run(&engine, sql).unwrap();
    }
    let employee = engine.tables().unwrap().remove(0);
    assert_eq!((employee.name(), employee.indexes().len()), ("employee", 1));
    let types: Vec<Type> = employee.columns().iter().map(|column| column.ty).collect();
    let expected = [
        Type::I64,
        Type::Text,
        Type::Currency,
        Type::DateTime,
        Type::Time,
        Type::Text,
        Type::Text,
        Type::Bool,
    ];
    assert_eq!(types, expected);
    let employee = std::sync::Arc::new(employee);
    let probe = Probe::new(&engine).unwrap();
    let (day, hour) = (86_400_000_000_i64, 3_600_000_000_i64);
    let hired = 20_484 * day + 10 * hour + 500_000;
    let ada = row![1, "Ada", -123_400, hired, 8 * hour + hour / 2, "0.000001", "x", 1];
    assert_eq!(probe.all(&employee).unwrap(), [ada]);
    let made = probe.insert(&employee, row![NULL, "Bob", 5_000, day, 0, "1.5", "yy", 0]).unwrap();
    assert!(matches!(made, Outcome::Inserted(Some(_))), "{made:?}");
    let bob = row![2, "Bob", 5_000, day, 0, "1.5", "yy", 0];
    assert_eq!(probe.get(&employee, row![2]).unwrap(), Some(bob));
    for (place, value) in [(2, 5_001), (3, 1), (4, 50)] {
        let mut wrong = row![NULL, "Eve", NULL, NULL, NULL, NULL, NULL, NULL];
        wrong[place] = value.into();
        let error = probe.insert(&employee, wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
    }
    assert_eq!(probe.count(&employee).unwrap(), 2);
    let sql = Source::Sql {
        text: "select name, salary * 2 from employee where salary < ? and \"Mixed Case\" = 'x'",
        parameters: &[Parameter::from(0)],
    };
    assert_eq!(probe.query(&sql).unwrap(), [row!["Ada", -246_800]]);
}

#[test]
fn what_a_schema_lacks_is_listed() {
    if !has_server() {
        return;
    }
    let engine = settings().connect().unwrap();
    let losses = || -> Vec<String> {
        let details = engine.session().unwrap().schema_details().unwrap();
        details.losses.iter().map(ToString::to_string).collect()
    };
    let [tag, person] = [tables::tag(), tables::person()].map(Result::unwrap);
    Probe::with_tables(&engine, &[&tag, &person]).unwrap();
    assert_eq!(losses(), [""; 0]);
    for sql in [
        "CREATE DOMAIN positive AS INTEGER CHECK (VALUE > 0)",
        "CREATE TABLE keyless (a INTEGER)",
        "CREATE TABLE cased (id INTEGER PRIMARY KEY, \"UPPER\" INTEGER, \"upper\" INTEGER)",
        "CREATE TABLE ruled (id INTEGER PRIMARY KEY, a positive, b INTEGER DEFAULT 7, \
         c COMPUTED BY (b * 2), CONSTRAINT few CHECK (b < 100))",
        "CREATE DESCENDING INDEX last_first ON ruled (b)",
        "CREATE INDEX twice ON ruled COMPUTED BY (b * 2)",
        "CREATE VIEW shown AS SELECT id FROM ruled",
        "CREATE TRIGGER noted FOR ruled BEFORE INSERT AS BEGIN END",
        "CREATE SEQUENCE numbers",
    ] {
        run(&engine, sql).unwrap();
    }
    let expected = [
        "keyless: the table: it has no key",
        "cased: the table: it has columns whose names differ only in case",
        "shown: view",
        "ruled: generated column c",
        "ruled: trigger noted",
        "numbers: sequence",
        "ruled: default of column b",
        "ruled: CHECK of the domain of column a",
        "ruled: constraint few: CHECK",
        "ruled: descending order of index last_first",
        "ruled: index over an expression: twice",
    ];
    assert_eq!(losses(), expected);
}

#[test]
fn a_statement_is_cancelled() {
    if !has_server() {
        return;
    }
    const LONG: &str =
        "select count(*) from rdb$fields a, rdb$fields b, rdb$fields c, rdb$fields d";
    let settings = settings();
    let engine = settings.clone().connect().unwrap();
    let probe = Probe::new(&engine).unwrap();
    let interrupt = Interrupt::new();
    let theirs = interrupt.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        theirs.interrupt();
    });
    let long = Source::Sql { text: LONG, parameters: &[] };
    let ended = interrupt.run(|| probe.query(&long));
    thread.join().unwrap();
    assert_eq!(ended.map_err(|error| error.kind()), Err(ErrorKind::Interrupted));
    let short = Source::Sql { text: "select 1", parameters: &[] };
    assert_eq!(probe.query(&short).unwrap(), [row![1]]);

    let hasty = settings.statement_timeout(Duration::from_millis(300)).connect().unwrap();
    let probe = Probe::new(&hasty).unwrap();
    assert_eq!(probe.query(&long).unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(probe.query(&short).unwrap(), [row![1]]);
}

#[test]
fn the_page_has_the_anomalies() {
    if has_server() {
        let engine = settings().connect().unwrap();
        let document = include_str!("../../../../../docs/isolation.md");
        isolation::agrees_with_document(document, &engine, "Firebird").unwrap();
    }
}

#[test]
fn the_page_has_the_capabilities() {
    if !has_server() {
        return;
    }
    let document = include_str!("../../../../../docs/engines.md");
    let capabilities = settings().connect().unwrap().capabilities();
    bobak_testkit::capability_table::agrees_with_document(document, "Firebird", capabilities)
        .unwrap();
}

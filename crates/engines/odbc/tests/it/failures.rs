//! What goes wrong: data sources that are not there, connections that break, values that the database does not have.

use crate::stores::{Place, is_without_servers};
use bobak_core::TransactionControl::{Begin, Commit, Rollback};
use bobak_core::{Engine, ErrorKind, Interrupt, OnError, Outcome, Source, TableSchema, Type};
use bobak_odbc::Odbc;
use bobak_testkit::{Entry, NULL, Probe, row, tables};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// The engine of a place in which these statements were run.
fn opened(place: &Place, statements: &[&str]) -> Odbc {
    let engine = place.open().unwrap();
    for sql in statements {
        engine.session().unwrap().execute(sql, &[]).unwrap();
    }
    engine
}

/// The table with this name.
fn table(engine: &Odbc, name: &str) -> Arc<TableSchema> {
    let found = engine.tables().unwrap().into_iter().find(|table| table.name() == name);
    Arc::new(found.unwrap())
}

fn kind(connection_string: &str) -> (ErrorKind, String) {
    let opened = Odbc::builder(connection_string).connect_timeout(Duration::from_secs(2)).connect();
    let error = opened.unwrap_err();
    (error.kind(), error.message().to_owned())
}

#[test]
fn data_sources_and_drivers_must_be_installed() {
    let (found, message) = kind("no_such_data_source");
    assert_eq!(found, ErrorKind::Config, "{message}");
    assert!(message.contains("odbc.ini"), "{message}");
    let (found, message) = kind("Driver={No Such Driver};Server=x;PWD=secret");
    assert_eq!(found, ErrorKind::Config, "{message}");
    assert!(message.contains("No Such Driver") && !message.contains("secret"), "{message}");
    let (found, message) = kind("Driver=/nowhere/libdriver.so");
    assert_eq!(found, ErrorKind::Config, "{message}");
}

#[test]
fn servers_that_are_down_are_unreachable() {
    for driver in ["PostgreSQL Unicode", "MariaDB Unicode"] {
        let (found, message) = kind(&format!("Driver={{{driver}}};Server=127.0.0.1;Port=1;UID=x"));
        assert_eq!(found, ErrorKind::Unreachable, "{message}");
    }
}

/// The drivers of MariaDB and of FreeTDS ignore the timeout.
#[test]
fn servers_that_say_nothing_are_a_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    for driver in ["PostgreSQL Unicode", "MariaDB Unicode"] {
        let text = format!("Driver={{{driver}}};Server=127.0.0.1;Port={port};UID=x");
        let (found, message) = kind(&text);
        assert_eq!(found, ErrorKind::Timeout, "{message}");
    }
}

#[test]
fn statements_of_mariadb_have_a_timeout() {
    if is_without_servers() {
        return;
    }
    let place = Place::mariadb();
    let builder = Odbc::builder(place.connection_string.clone());
    let engine = builder.statement_timeout(Duration::from_millis(300)).connect().unwrap();
    let probe = Probe::new(&engine).unwrap();
    let text = "select count(*) from seq_1_to_1000000 a, seq_1_to_1000000 b where a.seq > b.seq";
    let ended = probe.query(&Source::Sql { text, parameters: &[] });
    assert_eq!(ended.map_err(|error| error.kind()), Err(ErrorKind::Timeout));
}

#[test]
fn nan_is_no_value() {
    if is_without_servers() {
        return;
    }
    let place = Place::postgres();
    let engine = opened(
        &place,
        &[
            "CREATE TABLE n (id int8 PRIMARY KEY, wide float8, narrow float4)",
            "INSERT INTO n VALUES (1, 'NaN', 1), (2, 1, 'NaN')",
        ],
    );
    let (probe, n) = (Probe::new(&engine).unwrap(), table(&engine, "n"));
    for (key, column) in [(1, "wide"), (2, "narrow")] {
        let error = probe.get(&n, row![key]).unwrap_err();
        assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some(column)));
    }
    let text = "select wide from n";
    let error = probe.query(&Source::Sql { text, parameters: &[] }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
}

/// psqlodbc gives truth values as texts then, which the catalog's queries do not expect.
#[test]
fn truth_values_are_numbers_whatever_the_connection_string_says() {
    if is_without_servers() {
        return;
    }
    let place = Place::postgres();
    opened(&place, &["CREATE TABLE n (id int8 PRIMARY KEY, is_new bool)"]);
    let text = format!("{};BoolsAsChar=1", place.connection_string);
    let engine = Odbc::builder(text).connect().unwrap();
    let (probe, n) = (Probe::new(&engine).unwrap(), table(&engine, "n"));
    probe.insert(&n, row![1, 1]).unwrap();
    assert_eq!(probe.all(&n).unwrap(), [row![1, 1]]);
}

#[test]
fn amounts_are_not_rounded() {
    if is_without_servers() {
        return;
    }
    for place in [Place::postgres(), Place::mariadb()] {
        let engine = opened(
            &place,
            &["CREATE TABLE n (id bigint PRIMARY KEY, price decimal(10,2), free decimal(19,4))"],
        );
        let (probe, n) = (Probe::new(&engine).unwrap(), table(&engine, "n"));
        probe.insert(&n, row![1, 12_300, 12_345]).unwrap();
        let error = probe.insert(&n, row![2, 12_345, 0]).unwrap_err();
        assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some("price")));
        assert!(probe.update(&n, row![1, 1, 0]).is_err());
        let rows = [row![3, 100, 1], row![4, 101, 1], row![5, NULL, 1]];
        let entries: Vec<_> = rows.into_iter().map(|row| Entry::insert(&n, row)).collect();
        let error = probe.batch(&entries, OnError::Stop).whole.unwrap_err();
        assert_eq!((error.kind(), error.row()), (ErrorKind::OutOfRange, Some(1)));
        assert_eq!(probe.all(&n).unwrap(), [row![1, 12_300, 12_345]]);
    }
}

#[test]
fn long_decimals_have_no_zeros_at_their_end() {
    if is_without_servers() {
        return;
    }
    for place in [Place::postgres(), Place::mariadb()] {
        let engine = opened(
            &place,
            &[
                "CREATE TABLE n (id bigint PRIMARY KEY, d decimal(60,25))",
                "INSERT INTO n VALUES (1, 1), (2, -0.5), (3, 0), (4, 100), (5, NULL)",
            ],
        );
        let (probe, n) = (Probe::new(&engine).unwrap(), table(&engine, "n"));
        let longest = format!("-{}.{}1", "9".repeat(35), "0".repeat(24));
        probe.insert(&n, row![6, longest.clone()]).unwrap();
        let expected = [
            row![1, "1"],
            row![2, "-0.5"],
            row![3, "0"],
            row![4, "100"],
            row![5, NULL],
            row![6, longest],
        ];
        assert_eq!(probe.all(&n).unwrap(), expected);
    }
}

#[test]
fn a_connection_that_breaks_in_an_array_leaves_nothing() {
    if is_without_servers() {
        return;
    }
    let place = Place::postgres();
    let engine = place.open().unwrap();
    let tag = tables::tag().unwrap();
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    let many: Vec<_> =
        (0..5_000).map(|n| Entry::insert(&tag, row![format!("t{n}"), 1.0])).collect();
    probe.control(Begin).unwrap();
    probe.insert(&tag, row!["before", 1.0]).unwrap();
    // The backend ends itself while it works on a row of the second array.
    place
        .admin(
            "CREATE FUNCTION bobak_end() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN IF NEW.name = ''t1500'' THEN PERFORM pg_terminate_backend(pg_backend_pid()); \
             END IF; RETURN NEW; END'",
        )
        .unwrap();
    probe.control(Rollback).unwrap();
    let session = engine.session().unwrap();
    session
        .execute(
            "CREATE TRIGGER bobak_end BEFORE INSERT ON tag FOR EACH ROW EXECUTE FUNCTION \
             public.bobak_end()",
            &[],
        )
        .unwrap();
    let sent = probe.batch(&many, OnError::Stop);
    assert_eq!(sent.whole.unwrap_err().kind(), ErrorKind::Unreachable);
    assert_eq!(probe.count(&tag).unwrap(), 0);
    // The same inside a transaction, which ends with its connection.
    probe.control(Begin).unwrap();
    probe.insert(&tag, row!["before", 1.0]).unwrap();
    let sent = probe.batch(&many, OnError::Stop);
    assert_eq!(sent.whole.unwrap_err().kind(), ErrorKind::Unreachable);
    assert!(probe.insert(&tag, row!["after", 1.0]).is_err());
    assert!(probe.control(Commit).is_err());
    assert_eq!(probe.count(&tag).unwrap(), 0);
    place.admin("DROP FUNCTION public.bobak_end() CASCADE").unwrap();
    probe.insert(&tag, row!["again", 1.0]).unwrap();
    assert_eq!(probe.count(&tag).unwrap(), 1);
}

#[test]
fn values_that_the_database_lacks_are_rejected() {
    if is_without_servers() {
        return;
    }
    for place in [Place::postgres(), Place::mariadb()] {
        let engine = place.open().unwrap();
        let tag = tables::tag().unwrap();
        let day = tables::of_type(bobak_core::Type::Date).unwrap();
        let probe = Probe::with_tables(&engine, &[&tag, &day]).unwrap();
        let nul = probe.insert(&tag, row!["a\0b", 1.0]).unwrap_err();
        assert_eq!((nul.kind(), nul.column()), (ErrorKind::Unsupported, Some("name")), "{nul}");
        let far = probe.insert(&day, row![1, 4_000_000]).unwrap_err();
        assert_eq!(far.kind(), ErrorKind::OutOfRange, "{far}");
        let rows = [row!["a", 1.0], row!["a\0b", 1.0], row!["c", 1.0]];
        let entries: Vec<_> = rows.into_iter().map(|row| Entry::insert(&tag, row)).collect();
        let sent = probe.batch(&entries, OnError::Stop);
        let error = sent.whole.unwrap_err();
        assert_eq!((error.kind(), error.row()), (ErrorKind::Unsupported, Some(1)));
        assert_eq!(probe.count(&tag).unwrap(), 0);
        let sent = probe.batch(&entries, OnError::Continue);
        sent.whole.unwrap();
        assert_eq!(probe.count(&tag).unwrap(), 2);
    }
}

#[test]
fn sqlite_files_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let text = format!("Driver={{SQLite3}};Database={}", file.display());
    let engine = Odbc::builder(text).connect().unwrap();
    let (person, tag) = (tables::person().unwrap(), tables::tag().unwrap());
    let probe = Probe::with_tables(&engine, &[&person, &tag]).unwrap();
    let many: Vec<_> =
        (0..2_500).map(|n| Entry::insert(&tag, row![format!("t{n}"), 0.5])).collect();
    probe.batch(&many, OnError::Stop).outcomes().unwrap();
    assert_eq!(probe.count(&tag).unwrap(), 2_500);
    let key = probe.insert(&person, row![NULL, "Una", "u@x", 37]).unwrap();
    assert!(matches!(key, Outcome::Inserted(Some(_))));
    probe.update(&person, row![1, "Úna", "u@x", 38]).unwrap();
    assert_eq!(probe.get(&person, row![1]).unwrap(), Some(row![1, "Úna", "u@x", 38]));
    let twice = probe.insert(&person, row![1, "x", NULL, 1]).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Duplicate, "{twice}");
    probe.control(Begin).unwrap();
    probe.delete(&person, row![1]).unwrap();
    probe.control(Rollback).unwrap();
    assert_eq!(probe.count(&person).unwrap(), 1);
    let names: Vec<_> = engine.tables().unwrap().iter().map(|t| t.name().to_owned()).collect();
    assert_eq!(names, ["person", "tag"]);
    let sql = Source::Sql {
        text: "select count(*) from tag where name < ?",
        parameters: &[bobak_core::Parameter::from("t1")],
    };
    assert_eq!(probe.query(&sql).unwrap(), [row![1]]);
}

/// libsqliteodbc gives the bytes of all rows of an array the length of the first.
#[test]
fn blobs_of_a_batch_in_sqlite_keep_their_lengths() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("Driver={{SQLite3}};Database={}", folder.path().join("b.db").display());
    let engine = Odbc::builder(text).connect().unwrap();
    let blobs = tables::of_type(Type::Bytes).unwrap();
    let probe = Probe::with_tables(&engine, &[&blobs]).unwrap();
    let rows: Vec<_> = [&b"\x01"[..], b"", b"\xaa\xbb\xcc\xdd", b"12"]
        .into_iter()
        .zip(1..)
        .map(|(bytes, key)| row![key, bytes])
        .collect();
    let entries: Vec<_> = rows.iter().map(|row| Entry::insert(&blobs, row.clone())).collect();
    probe.batch(&entries, OnError::Stop).outcomes().unwrap();
    assert_eq!(probe.all(&blobs).unwrap(), rows);
}

#[test]
fn a_statement_is_cancelled() {
    if is_without_servers() {
        return;
    }
    for (place, text) in
        [(Place::postgres(), "select pg_sleep(60)"), (Place::mariadb(), "select sleep(60)")]
    {
        let engine = place.open().unwrap();
        let probe = Probe::new(&engine).unwrap();
        let interrupt = Interrupt::new();
        let theirs = interrupt.clone();
        let (begun, begins) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            begins.recv().unwrap();
            std::thread::sleep(Duration::from_millis(300));
            theirs.interrupt();
        });
        let ended = interrupt.run(|| {
            begun.send(()).unwrap();
            probe.query(&Source::Sql { text, parameters: &[] })
        });
        thread.join().unwrap();
        assert_eq!(ended.map_err(|error| error.kind()), Err(ErrorKind::Interrupted), "{text}");
        let text = "select 1";
        assert_eq!(probe.query(&Source::Sql { text, parameters: &[] }).unwrap(), [row![1]]);
    }
}

#[test]
fn the_page_has_the_capabilities() {
    let document = include_str!("../../../../../docs/engines.md");
    for (name, database) in [
        ("ODBC: PostgreSQL", "PostgreSQL"),
        ("ODBC: MariaDB, MySQL", "MariaDB"),
        ("ODBC: others", "SQLite"),
    ] {
        let capabilities = Odbc::capabilities_with(database);
        bobak_testkit::capability_table::agrees_with_document(document, name, capabilities)
            .unwrap();
    }
}

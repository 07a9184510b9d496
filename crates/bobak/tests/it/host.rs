//! One SQL over the tables of several engines.

use bobak::DbBuilder;
use bobak::prelude::*;

#[derive(Record, Debug, Clone, PartialEq)]
struct Flight {
    id: i64,
    carrier: String,
    tail: Option<String>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Airline {
    #[record(key)]
    carrier: String,
    name: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Plane {
    #[record(key)]
    tail: String,
    #[record(created_at)]
    seen: Timestamp,
    #[record(version)]
    version: i64,
    seats: i32,
}

/// Flights on the main engine, airlines in memory, planes in another file.
fn open(main: &str, builder: DbBuilder) -> (Db, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let db = builder
        .record::<Flight>()
        .attach("mem", "memory:")
        .record_on::<Airline>("mem")
        .attach("other", &format!("sqlite:{path}/other.db"))
        .record_on::<Plane>("other")
        .open(&main.replace("{}", path))
        .unwrap();
    db.create_missing_tables().unwrap();
    let flights = db.table::<Flight>().unwrap();
    for n in 0..100_i64 {
        let carrier = ["UA", "AA", "B6"][n as usize % 3].into();
        let tail = (n % 7 > 0).then(|| format!("N{}", n % 7));
        flights.insert(&Flight { id: 0, carrier, tail }).unwrap();
    }
    for (carrier, name) in [("UA", "United"), ("AA", "American")] {
        let airline = Airline { carrier: carrier.into(), name: name.into() };
        db.table::<Airline>().unwrap().insert(&airline).unwrap();
    }
    for n in 1..5 {
        let plane =
            Plane { tail: format!("N{n}"), seen: Timestamp::UNIX_EPOCH, version: 1, seats: n * 50 };
        db.table::<Plane>().unwrap().insert(&plane).unwrap();
    }
    (db, folder)
}

const MAINS: [&str; 4] =
    ["sqlite:{}/main.db", "sqlite::memory:", "memory:", "sqlite:{}/main.db?locking=exclusive"];

#[test]
fn engines_join_whatever_the_main_one_is() {
    for main in MAINS {
        for direct in [true, false] {
            let (db, _folder) = open(main, Db::builder().direct(direct));
            let sql = "SELECT a.name, count(*), sum(p.seats) FROM flight f \
                       JOIN airline a ON a.carrier = f.carrier \
                       LEFT JOIN other.plane p ON p.tail = f.tail GROUP BY a.name ORDER BY 1";
            let rows = db.sql::<(String, i64, i64)>(sql, ()).unwrap();
            assert_eq!(rows, [("American".into(), 33, 2_400), ("United".into(), 34, 2_300)]);
            let one = db.sql::<Plane>("SELECT * FROM plane WHERE seats = ?", (100,)).unwrap();
            assert_eq!((one.len(), one[0].tail.as_str()), (1, "N2"), "{main}");
            let names = db.sql::<String>("SELECT name FROM mem.airline ORDER BY 1", ()).unwrap();
            assert_eq!(names, ["American", "United"]);
            let flights = db.sql::<Flight>("SELECT * FROM flight WHERE id = 1", ()).unwrap();
            assert_eq!(flights[0].carrier, "UA");
            let error = db.sql::<i64>("SELECT x FROM nowhere", ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
        }
    }
}

#[test]
fn sql_writes_to_any_engine() {
    for main in MAINS {
        let (db, _folder) = open(main, Db::builder());
        assert_eq!(db.execute("INSERT INTO airline VALUES ('B6', 'JetBlue')", ()).unwrap(), 1);
        assert_eq!(db.execute("UPDATE plane SET seats = seats + ?", (1,)).unwrap(), 4);
        let add = "INSERT INTO airline SELECT DISTINCT 'X' || tail, 'by tail' FROM flight \
                   WHERE tail IS NOT NULL";
        assert_eq!(db.execute(add, ()).unwrap(), 6, "{main}");
        let error = db.execute("INSERT INTO airline VALUES ('B6', 'twice')", ()).unwrap_err();
        assert_eq!((error.kind(), error.table()), (ErrorKind::Duplicate, Some("airline")));
        assert_eq!(db.table::<Airline>().unwrap().count(Query::all()).unwrap(), 9);
        let add = "INSERT INTO plane VALUES ('N9', 0, 1, 9) RETURNING tail";
        assert_eq!(db.sql::<String>(add, ()).unwrap(), ["N9"]);
    }
}

#[test]
fn sql_in_transactions_of_any_engine() {
    for main in MAINS {
        let (db, _folder) = open(main, Db::builder());
        for engine in ["main", "mem", "other"] {
            let (table, add) = match engine {
                "main" => ("flight", "INSERT INTO flight (carrier) VALUES ('ZZ')"),
                "mem" => ("airline", "INSERT INTO airline VALUES ('ZZ', 'z')"),
                _ => ("plane", "INSERT INTO plane VALUES ('ZZ', 0, 1, 1)"),
            };
            let count = format!("SELECT count(*) FROM {table}");
            let before = db.sql::<i64>(&count, ()).unwrap()[0];
            let transaction = db.begin_on(engine).unwrap();
            let savepoint = transaction.savepoint().unwrap();
            transaction.execute(add, ()).unwrap();
            assert_eq!(transaction.sql::<i64>(&count, ()).unwrap()[0], before + 1);
            savepoint.rollback().unwrap();
            assert_eq!(transaction.sql::<i64>(&count, ()).unwrap()[0], before);
            transaction.execute(add, ()).unwrap();
            let joined = "SELECT count(*) FROM flight, airline, plane";
            // Memory with one connection: the reader would wait for this thread's own transaction.
            if !(main.starts_with("sqlite")
                && (main.contains(":memory:") || main.contains("exclusive")))
            {
                assert_eq!(transaction.sql::<i64>(joined, ()).unwrap().len(), 1);
            }
            transaction.rollback().unwrap();
            assert_eq!(db.sql::<i64>(&count, ()).unwrap()[0], before, "{main} {engine}");
        }
    }
}

#[test]
fn a_transaction_of_the_host_may_write_to_a_guest_and_to_nothing_else() {
    let (db, _folder) = open("sqlite::memory:", Db::builder());
    let transaction = db.begin().unwrap();
    transaction.execute("DELETE FROM airline WHERE carrier = 'UA'", ()).unwrap();
    let error = transaction.execute("DELETE FROM flight", ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let error = transaction.table::<Flight>().unwrap().delete(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let error = transaction.execute("DELETE FROM plane", ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    transaction.commit().unwrap();
    assert_eq!(db.table::<Airline>().unwrap().count(Query::all()).unwrap(), 1);
}

#[test]
fn new_tables_are_found() {
    let (db, _folder) = open("sqlite::memory:", Db::builder());
    assert!(db.sql::<i64>("SELECT id FROM late", ()).is_err());
    #[derive(Record)]
    struct Late {
        id: i64,
    }
    let db2 = Db::builder()
        .attach("m", "memory:")
        .record_on::<Late>("m")
        .open("sqlite::memory:")
        .unwrap();
    assert!(db2.sql::<i64>("SELECT id FROM late", ()).is_err());
    db2.create_missing_tables().unwrap();
    assert!(db2.sql::<i64>("SELECT id FROM late", ()).unwrap().is_empty());
}

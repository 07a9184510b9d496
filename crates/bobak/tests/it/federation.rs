//! One SQL over the tables of several engines.

use bobak::DbBuilder;
use bobak::ValueRef;
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
    capacity: i32,
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
        let plane = Plane {
            tail: format!("N{n}"),
            seen: Timestamp::UNIX_EPOCH,
            version: 1,
            capacity: n * 50,
        };
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
            let sql = "SELECT a.name, count(*), sum(p.capacity) FROM flight f \
                       JOIN airline a ON a.carrier = f.carrier \
                       LEFT JOIN other.plane p ON p.tail = f.tail GROUP BY a.name ORDER BY 1";
            let rows = db.sql::<(String, i64, i64)>(sql, ()).unwrap();
            assert_eq!(rows, [("American".into(), 33, 2_400), ("United".into(), 34, 2_300)]);
            let one = db.sql::<Plane>("SELECT * FROM plane WHERE capacity = ?", (100,)).unwrap();
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
        assert_eq!(db.execute("UPDATE plane SET capacity = capacity + ?", (1,)).unwrap(), 4);
        let add = "INSERT INTO airline SELECT DISTINCT 'X' || tail, 'by tail' FROM flight \
                   WHERE tail IS NOT NULL";
        assert_eq!(db.execute(add, ()).unwrap(), 6, "{main}");
        let error = db.execute("INSERT INTO airline VALUES ('B6', 'twice')", ()).unwrap_err();
        assert_eq!((error.kind(), error.table()), (ErrorKind::Duplicate, Some("airline")));
        assert_eq!(db.table::<Airline>().unwrap().count(Query::all()).unwrap(), 9);
        let add = "INSERT INTO plane VALUES ('N9', '1970-01-01', 1, 9) RETURNING tail";
        assert_eq!(db.sql::<String>(add, ()).unwrap(), ["N9"]);
    }
}

/// The memory engine has no SQL of its own, and SQLite does not know what the engine writes.
#[test]
fn returning_of_memory_tables_is_unsupported() {
    let db = Db::builder().record::<Airline>().open("memory:").unwrap();
    db.create_missing_tables().unwrap();
    db.execute("INSERT INTO airline VALUES ('B6', 'JetBlue')", ()).unwrap();
    for text in [
        "UPDATE airline SET name = 'x' RETURNING carrier",
        "DELETE FROM airline RETURNING carrier",
        "INSERT INTO airline VALUES ('ZZ', 'z') RETURNING carrier",
    ] {
        let error = db.sql::<String>(text, ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}: {error}");
        assert!(error.message().starts_with("RETURNING is not available for "), "{error}");
    }
    assert_eq!(db.sql::<String>("SELECT name FROM airline", ()).unwrap(), ["JetBlue"]);
}

#[test]
fn sql_in_transactions_of_any_engine() {
    for main in MAINS {
        let (db, _folder) = open(main, Db::builder());
        for engine in ["main", "mem", "other"] {
            let (table, add) = match engine {
                "main" => ("flight", "INSERT INTO flight (carrier) VALUES ('ZZ')"),
                "mem" => ("airline", "INSERT INTO airline VALUES ('ZZ', 'z')"),
                _ => ("plane", "INSERT INTO plane VALUES ('ZZ', '1970-01-01', 1, 1)"),
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
            if let ("other", Ok(mode)) =
                (engine, transaction.sql::<String>("PRAGMA journal_mode", ()))
            {
                assert_eq!(mode, ["wal"], "a statement on no table is the transaction's engine's");
            }
            let joined = "SELECT count(*) FROM flight, airline, plane";
            // Memory with one connection: the reader would wait for the transaction of this thread.
            if !(main.starts_with("sqlite")
                && (main.contains(":memory:") || main.contains("exclusive")))
            {
                let rows = transaction.sql::<i64>(joined, ());
                assert!(rows.is_ok(), "{main} {engine} {rows:?}");
            }
            transaction.rollback().unwrap();
            assert_eq!(db.sql::<i64>(&count, ()).unwrap()[0], before, "{main} {engine}");
        }
    }
}

#[test]
fn a_transaction_on_the_main_engine_may_write_to_one_attached_engine_only() {
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

#[derive(Record, Debug, Clone, PartialEq)]
pub struct Thing {
    id: i64,
    name: Option<String>,
    #[record(collation = "nocase")]
    label: Option<String>,
    #[record(index)]
    size: Option<i32>,
    weight: Option<f64>,
    price: Currency,
}

/// A random number generator with a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    fn column(&mut self) -> &'static str {
        self.pick(&["id", "name", "label", "size", "weight", "price"])
    }

    fn value(&mut self) -> &'static str {
        self.pick(&[
            "0", "3", "-2", "2.5", "7.0", "'a'", "'B'", "'3'", "' 4 '", "''", "'ab%'", "1e300", "?",
        ])
    }

    fn condition(&mut self, depth: u64) -> String {
        let (column, value) = (self.column(), self.value());
        match self.below(if depth > 2 { 7 } else { 11 }) {
            0..3 => format!("{column} {} {value}", self.pick(&["=", "<", "<=", ">", ">=", "<>"])),
            3 => format!("{value} < {column}"),
            4 => format!("{column} {}IN ({value}, {})", self.pick(&["", "NOT "]), self.value()),
            5 => format!("{column} IS {}NULL", self.pick(&["", "NOT "])),
            6 => format!("{column} {}LIKE {value}", self.pick(&["", "NOT "])),
            7 => format!("{column} BETWEEN {value} AND {}", self.value()),
            8 => format!("NOT ({})", self.condition(depth + 1)),
            _ => {
                let word = self.pick(&["AND", "OR"]);
                format!("({} {word} {})", self.condition(depth + 1), self.condition(depth + 1))
            }
        }
    }

    fn query(&mut self) -> String {
        let grouped = self.below(4) == 0;
        let column = self.column();
        let (items, tail) = if grouped {
            let aggregate = self.pick(&[
                "count(*)",
                "count(name)",
                "max(size)",
                "sum(size)",
                "sum(weight)",
                "avg(size)",
                "sum(price)",
                "min(name)",
                "max(label)",
            ]);
            match self.below(2) {
                0 => (aggregate.to_owned(), String::new()),
                _ => (
                    format!("{column}, {aggregate}"),
                    format!(" GROUP BY {column} ORDER BY {column}"),
                ),
            }
        } else {
            let items = self.pick(&["*", "id, name", "t.label AS x, id", "count(*)"]);
            let order = format!(" ORDER BY {column}{}, id", self.pick(&["", " DESC"]));
            (items.to_owned(), if items == "count(*)" { String::new() } else { order })
        };
        let condition = match self.below(5) {
            0 => String::new(),
            _ => format!(" WHERE {}", self.condition(0)),
        };
        let limit = self.pick(&["", "", " LIMIT 3", " LIMIT 2 OFFSET 2", " LIMIT -1 OFFSET 3"]);
        format!("SELECT {items} FROM thing t{condition}{tail}{limit}")
    }
}

#[test]
fn rows_are_the_same_by_every_route() {
    let mut dbs = Vec::new();
    for (main, direct) in [("sqlite::memory:", true), ("memory:", true), ("memory:", false)] {
        let db = Db::builder().direct(direct).record::<Thing>().open(main).unwrap();
        db.create_missing_tables().unwrap();
        dbs.push(db);
    }
    for (attached, direct) in [
        ("memory:", true),
        ("memory:", false),
        ("sqlite::memory:", true),
        ("sqlite::memory:", false),
    ] {
        let builder =
            Db::builder().direct(direct).attach("far", attached).record_on::<Thing>("far");
        let db = builder.open("sqlite::memory:").unwrap();
        db.create_missing_tables().unwrap();
        dbs.push(db);
    }
    let straight = compare(&dbs, &["a", "A", "ab", "B", "3", "", "b\0c", "é"], 700);
    assert!(straight > 190, "only {straight} went straight");
}

/// Fills databases alike, runs the same random queries on all of them, and returns how many of these the second one
/// pushed down completely.
pub fn compare(dbs: &[Db], texts: &[&str], queries: usize) -> usize {
    let mut random = Random(7);
    for _ in 0..40 {
        let text =
            |random: &mut Random| (random.below(4) > 0).then(|| random.pick(texts).to_owned());
        let thing = Thing {
            id: 0,
            name: text(&mut random),
            label: text(&mut random),
            size: (random.below(4) > 0).then(|| random.below(7) as i32 - 3),
            weight: (random.below(4) > 0).then(|| random.below(9) as f64 / 2.0 - 1.0),
            price: Currency::from_scaled(random.below(50) as i64),
        };
        for db in dbs {
            db.table::<Thing>().unwrap().insert(&thing).unwrap();
        }
    }
    let mut straight = 0;
    for _ in 0..queries {
        let text = random.query();
        let marks = text.matches('?').count();
        let parameters: Vec<Value<'static>> = (0..marks)
            .map(|_| match random.below(5) {
                0 => Value::Null,
                1 => Value::Float(1.5),
                2 => Value::from("a"),
                _ => Value::Int(random.below(6) as i64 - 2),
            })
            .collect();
        let ask = |db: &Db| {
            let rows = db.sql::<DynRow>(&text, parameters.clone());
            rows.map(|rows| {
                let shown = |row: &DynRow| {
                    format!("{:?} {:?}", row.names().collect::<Vec<_>>(), row.values())
                };
                rows.iter().map(shown).collect::<Vec<_>>()
            })
            .map_err(|error| error.kind())
        };
        let wanted = ask(&dbs[0]);
        for (place, db) in dbs.iter().enumerate() {
            assert_eq!(ask(db), wanted, "{place}: {text} {parameters:?}");
        }
        let words = dbs[1].explain(&text, parameters.clone()).unwrap_or_default();
        straight += usize::from(words.to_string().contains("as a query"));
    }
    straight
}

#[test]
fn functions_reach_every_engine() {
    use bobak::engine::sqlite::Function;
    let twice = || {
        Function::scalar("twice", Some(1), |arguments| match arguments {
            [ValueRef::Text(text)] => Ok(format!("{text}{text}").into()),
            _ => Ok(Value::Null),
        })
    };
    for main in MAINS {
        let (db, _folder) = open(main, Db::builder().function(twice()));
        for sql in ["SELECT twice(carrier) FROM flight LIMIT 1", "SELECT twice('UA')"] {
            assert_eq!(db.sql::<String>(sql, ()).unwrap(), ["UAUA"]);
        }
        let tails = db.sql::<String>("SELECT twice(tail) FROM plane ORDER BY 1 LIMIT 1", ());
        assert_eq!(tails.unwrap(), ["N1N1"]);
    }
    let alone = Db::builder().function(twice()).open("sqlite::memory:").unwrap();
    assert_eq!(alone.sql::<String>("SELECT twice('a')", ()).unwrap(), ["aa"]);
}

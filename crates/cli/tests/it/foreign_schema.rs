//! `bobak schema --rust` for tables of other programs: the structs compile, and open their tables.

use crate::program::Program;

/// The structs that the program generates for [`TABLES`].
mod generated {
    include!("foreign_structs.rs");
}

/// A key of every kind, columns without types, and names that Rust cannot have.
const TABLES: &[&str] = &[
    "CREATE TABLE small_key (code SMALLINT PRIMARY KEY, name TEXT)",
    "CREATE TABLE tiny_key (code TINYINT PRIMARY KEY)",
    "CREATE TABLE int_key (id INT PRIMARY KEY, a)",
    "CREATE TABLE numeric_key (code numeric PRIMARY KEY, amount DECIMAL(10,2))",
    "CREATE TABLE text_key (id VARCHAR(20) PRIMARY KEY)",
    "CREATE TABLE uuid_key (id UUID PRIMARY KEY)",
    "CREATE TABLE date_key (day DATE PRIMARY KEY, at DATETIME)",
    "CREATE TABLE real_key (x REAL PRIMARY KEY)",
    "CREATE TABLE blob_key (hash BLOB PRIMARY KEY)",
    "CREATE TABLE untyped_key (k PRIMARY KEY, v)",
    "CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)",
    "CREATE TABLE no_key (a TEXT, b INT)",
    "CREATE TABLE reversed_key (a INT, b TEXT, c REAL, PRIMARY KEY (b, a)) WITHOUT ROWID",
    "CREATE TABLE long_key (a INT, b INT, c INT, d INT, e INT, PRIMARY KEY (a, b, c, d, e))",
    "CREATE TABLE child (id INTEGER PRIMARY KEY, b TEXT NOT NULL, a INT, \
     FOREIGN KEY (b, a) REFERENCES reversed_key (b, a) ON DELETE SET NULL ON UPDATE CASCADE)",
    "CREATE TABLE cascaded (id INTEGER PRIMARY KEY, parent INT NOT NULL REFERENCES counted ON DELETE SET NULL, \
     other SMALLINT REFERENCES small_key ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED)",
    "CREATE TABLE dates (id INTEGER PRIMARY KEY, day DATE, at TIMESTAMP, data JSON, \"type\" TEXT DEFAULT 'x')",
    "CREATE TABLE options (id INTEGER PRIMARY KEY, \"2nd value\" INT, \"Self\" TEXT COLLATE NOCASE UNIQUE)",
    "CREATE TABLE \"Order Details\" (\"Order ID\" INTEGER, \"Product (ID)\" INTEGER, note NVARCHAR(9), \
     price NUMERIC DEFAULT 0 CHECK (price >= 0), PRIMARY KEY (\"Order ID\", \"Product (ID)\"))",
    "CREATE TABLE parts (id INTEGER PRIMARY KEY, product INT REFERENCES \"Order Details\" (\"Product (ID)\"))",
    "CREATE TABLE \"größen\" (\"größe\" INT PRIMARY KEY, \"fn\" TEXT, \"名前\" TEXT, \"m²\" REAL, \"_id\" INT)",
    "CREATE TABLE nameless (id INTEGER PRIMARY KEY, \"\" TEXT)",
    "CREATE TABLE teams (id INTEGER PRIMARY KEY, lead INT REFERENCES members (id), teams INT)",
    "CREATE TABLE members (id INTEGER PRIMARY KEY, team_id INTEGER NOT NULL REFERENCES teams (id) ON DELETE CASCADE, \
     mentor INTEGER REFERENCES members (id), home_team INTEGER UNIQUE REFERENCES teams (id))",
    "CREATE TABLE desks (room TEXT, number INTEGER, PRIMARY KEY (room, number))",
    "CREATE TABLE bookings (id INTEGER PRIMARY KEY, room TEXT NOT NULL, desk INTEGER, other INTEGER, \
     FOREIGN KEY (room, desk) REFERENCES desks, FOREIGN KEY (room, other) REFERENCES desks (room, number))",
    "CREATE TABLE x_y (a INTEGER, b INTEGER, PRIMARY KEY (a, b))",
    "CREATE TABLE points (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, FOREIGN KEY (a, b) REFERENCES x_y)",
    "CREATE VIEW child_counts AS SELECT a, count(*) AS n, max(b) AS \"largest b\" FROM child GROUP BY a",
    "CREATE VIEW broken AS SELECT * FROM nowhere",
    "CREATE VIRTUAL TABLE docs USING fts5(title, body)",
    "CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1)",
    "CREATE UNIQUE INDEX product_of ON \"Order Details\" (\"Product (ID)\")",
];

#[test]
fn structs_of_other_programs_tables_compile_and_open_them() {
    use generated::*;
    let program = Program::new();
    let url = format!("sqlite:{}", program.path("t.db").display());
    let db = bobak::Db::open(&url).expect("opens");
    for sql in TABLES {
        db.execute(sql, ()).expect(sql);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/foreign_structs.rs");
    let rust = program.ok(&["schema", "sqlite:t.db", "--rust"]);
    if std::env::var_os("BOBAK_WRITE_STRUCTS").is_some() {
        std::fs::write(path, &rust).expect("writes");
    }
    assert_eq!(rust, std::fs::read_to_string(path).expect("reads"));
    macro_rules! open {
        ($($record:ident)*) => {
            $(assert_eq!(db.table::<$record>().expect(stringify!($record)).count(bobak::Query::all()).expect("reads"), 0);)*
        };
    }
    open!(SmallKey TinyKey IntKey NumericKey TextKey UuidKey DateKey RealKey BlobKey UntypedKey Counted NoKey ReversedKey);
    open!(LongKey Child Cascaded DateRow OptionRow OrderDetail Part Größen ChildCount Doc);
    open!(Team Member Desk Booking XY Point);
    db.execute("INSERT INTO boxes VALUES (1, 0, 0.5)", ()).expect("inserts");
    let boxes = db.table::<BoxRow>().expect("opens").list(bobak::Query::all()).expect("reads");
    assert_eq!(boxes[0].x1, Some(0.5));
}

/// Columns whose types some of their values do not have, as SQLite lets other programs make them.
const MISFITS: &[&str] = &[
    "CREATE TABLE misfit (id INTEGER PRIMARY KEY, small TINYINT, flag BOOLEAN NOT NULL DEFAULT 0, token uuid, n INTEGER, \
     name TEXT, r REAL, b BLOB, code VARCHAR(3), u SMALLINT CHECK (u > 0), total INT AS (n % 7 + 1))",
    "INSERT INTO misfit VALUES (1, 300, 2, 'abc', 'text', x'00ff', 'real', 'blob', 'longer', 70000)",
    "INSERT INTO misfit VALUES (2, 3, 1, '0190d1a0-0000-7000-8000-00000000000a', 5, 'n', 1.5, x'01', 'abc', 1)",
    "CREATE TABLE fitting (id INTEGER PRIMARY KEY, small TINYINT, flag BOOLEAN, token uuid, r REAL)",
    "INSERT INTO fitting VALUES (1, 3, 1, x'0190d1a0000070008000000000000001', 2)",
    "CREATE TABLE odd_key (id uuid PRIMARY KEY, v INT)",
    "INSERT INTO odd_key VALUES ('x', 1), (NULL, 2)",
    "CREATE TABLE wide_key (id TINYINT PRIMARY KEY, parent TINYINT REFERENCES wide_key)",
    "INSERT INTO wide_key VALUES (300, NULL), (301, 300)",
];

/// The structs that the program generates for [`MISFITS`].
mod misfits {
    include!("misfit_structs.rs");
}

#[test]
fn structs_read_values_of_other_types_than_the_declared_ones() {
    use bobak::{Query, Value};
    use misfits::*;
    let program = Program::new();
    let url = format!("sqlite:{}?typed_sql=off", program.path("t.db").display());
    let db = bobak::Db::open(&url).expect("opens");
    for sql in MISFITS {
        db.execute(sql, ()).expect(sql);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/misfit_structs.rs");
    let rust = program.ok(&["schema", "sqlite:t.db", "--rust"]);
    if std::env::var_os("BOBAK_WRITE_STRUCTS").is_some() {
        std::fs::write(path, &rust).expect("writes");
    }
    assert_eq!(rust, std::fs::read_to_string(path).expect("reads"));
    let table = db.table::<Misfit>().expect("opens");
    let rows = table.list(Query::all()).expect("reads");
    assert_eq!((rows[0].small, rows[0].flag, rows[0].u), (Some(300), 2, Some(70000)));
    assert_eq!(rows[0].token, Value::from("abc"));
    assert_eq!(rows[0].name, Value::from(vec![0_u8, 255]));
    assert_eq!((rows[0].code.as_deref(), &rows[1].n), (Some("longer"), &Value::Int(5)));
    table.update(&rows[1]).expect("writes");
    assert_eq!(table.get(2).expect("reads").as_ref(), Some(&rows[1]));
    let fitting = db.table::<Fitting>().expect("opens").list(Query::all()).expect("reads");
    assert_eq!((fitting[0].small, fitting[0].flag, fitting[0].r), (Some(3), Some(true), Some(2.0)));
    let keys = db.table::<OddKey>().expect("opens").list(Query::all()).expect("reads");
    assert_eq!(
        keys.iter().map(|row| row.id.clone()).collect::<Vec<_>>(),
        [Value::Null, Value::from("x")]
    );
    let wide = db.table::<WideKey>().expect("opens");
    assert_eq!(wide.get(301).expect("reads").and_then(|row| row.parent), Some(300));
}

#[test]
fn computed_columns_that_records_lack_are_listed() {
    let program = Program::new();
    let db = bobak::Db::open(&format!("sqlite:{}", program.path("t.db").display())).expect("opens");
    let sql = "CREATE TABLE p (id INTEGER PRIMARY KEY, a TEXT, b TEXT AS (a || ' ' || a), \
               c TEXT AS (substr(a, 1, 1) || coalesce(a, '?')))";
    db.execute(sql, ()).expect("creates");
    let text = program.ok(&["schema", "sqlite:t.db", "--table", "p"]);
    assert!(text.contains("computed: a || ' ' || a\n"), "{text}");
    let lost = "p: generated column c AS (substr(a, 1, 1) || coalesce(a, '?'))\n";
    assert!(text.ends_with(lost), "{text}");
    let rust = program.ok(&["schema", "sqlite:t.db", "--rust"]);
    assert!(rust.contains(&format!("// In no struct: {lost}")), "{rust}");
}

#[test]
fn keys_of_every_type_find_their_rows() {
    use bobak::Value;
    use generated::*;
    let db = bobak::Db::open("sqlite::memory:").expect("opens");
    for sql in TABLES {
        db.execute(sql, ()).expect(sql);
    }
    let small = db.table::<SmallKey>().expect("opens");
    small.insert(&SmallKey { code: 7, name: None }).expect("inserts");
    assert_eq!(small.get(7_i16).expect("reads").map(|row| row.code), Some(7));
    let untyped = db.table::<UntypedKey>().expect("opens");
    for k in [Value::from("x"), Value::Float(0.5), Value::from(vec![1_u8])] {
        let row = UntypedKey { k: k.clone(), v: Value::Null };
        untyped.insert(&row).expect("inserts");
        assert_eq!(untyped.get(k).expect("reads"), Some(row));
    }
    let reversed = db.table::<ReversedKey>().expect("opens");
    let row = ReversedKey { b: "x".to_owned(), a: 1, c: Some(0.5) };
    reversed.insert(&row).expect("inserts");
    assert_eq!(reversed.get(("x".to_owned(), 1)).expect("reads"), Some(row));
    let real = db.table::<RealKey>().expect("opens");
    real.insert(&RealKey { x: 0.5 }).expect("inserts");
    assert!(real.delete(0.5).expect("deletes"));
}

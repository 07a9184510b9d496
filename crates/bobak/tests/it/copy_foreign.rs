//! Copies of databases that other programs created.

use bobak::copy::CopyOptions;
use bobak::engine::sqlite::Sqlite;
use bobak::engine::{Engine, TransactionControl};
use bobak::prelude::*;
use bobak::schema::Type;

fn options() -> CopyOptions {
    CopyOptions::new().checksum(true)
}

/// Filled as by another program, which knows no types.
fn database(statements: &[&str]) -> Db {
    let db = Db::open("sqlite::memory:?typed_sql=off").unwrap();
    for sql in statements {
        db.execute(sql, ()).unwrap();
    }
    db
}

fn losses(from: &Db, to: &Db) -> Vec<String> {
    from.copy_losses(to, &[]).unwrap().iter().map(ToString::to_string).collect()
}

fn rows(db: &Db, table: &str) -> Vec<Vec<Value<'static>>> {
    let rows = db.dynamic(table).unwrap().list(Query::all()).unwrap();
    rows.iter().map(|row| row.values().to_vec()).collect()
}

#[test]
fn values_of_other_types_are_listed_and_kept() {
    let from = database(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, s TINYINT, u UUID, v VARCHAR(3), f REAL)",
        "INSERT INTO t VALUES (1, 'abc', 300, 'no uuid', 'long', 1), (2, 7, -1, NULL, '', 0.5)",
    ]);
    let to = Db::open("memory:").unwrap();
    let expected = [
        "t: column n: 1 value is not i64, such as 'abc'; it becomes text",
        "t: column u: 1 value is not uuid, such as 'no uuid'; it becomes text",
        "t: limit of 3 characters of column v, which has a text of 4",
    ];
    assert_eq!(losses(&from, &to), expected);
    from.copy_to(&to, &[], &options().allow_loss(true), |_| {}).unwrap();
    let text = |text: &str| Value::from(text.to_owned());
    let first = [
        Value::Int(1),
        text("abc"),
        Value::Int(300),
        text("no uuid"),
        text("long"),
        Value::Float(1.0),
    ];
    assert_eq!(rows(&to, "t")[0], first);
    assert_eq!(rows(&to, "t")[1][1..4], [text("7"), Value::Int(-1), Value::Null]);
    // SQLite keeps such values as they are.
    let same = database(&[]);
    from.copy_to(&same, &[], &options(), |_| {}).unwrap();
    let sql = "SELECT group_concat(typeof(n) || quote(n) || quote(s) || quote(u) || quote(v), ';') FROM t";
    let stored = |db: &Db| db.sql::<(String,)>(sql, ()).unwrap().remove(0).0;
    assert_eq!(stored(&same), stored(&from));
}

#[test]
fn uuids_that_are_texts_become_uuids() {
    let uuid = "0190163d-8694-739b-aea5-966c26f8ad90";
    let from = database(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY, u UUID)",
        &format!("INSERT INTO t VALUES (1, '{uuid}'), (2, NULL)"),
    ]);
    let to = Db::open("memory:").unwrap();
    assert_eq!(losses(&from, &to), [""; 0]);
    from.copy_to(&to, &[], &options(), |_| {}).unwrap();
    let stored = to.dynamic("t").unwrap().get([1_i64]).unwrap().unwrap();
    assert_eq!(stored.get::<Uuid>("u").unwrap().to_string(), uuid);
    let same = database(&[]);
    from.copy_to(&same, &[], &options(), |_| {}).unwrap();
    let stored = "SELECT group_concat(quote(u), ';') FROM t";
    assert_eq!(same.sql::<String>(stored, ()).unwrap(), from.sql::<String>(stored, ()).unwrap());
}

#[cfg(feature = "postgres")]
#[test]
fn defaults_of_retyped_columns_are_kept_or_listed() {
    let from = database(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER DEFAULT '5', d DECIMAL(10,2) DEFAULT '0.0', b BOOL DEFAULT 1, \
         e DECIMAL(10,2) DEFAULT 'free', at DATETIME DEFAULT '2024-01-01 00:00:00')",
        "INSERT INTO t VALUES (1, 2, 1.5, 1, 1.5, '2024-01-01 00:00:00')",
    ]);
    crate::engines::on_postgres(|url| {
        let to = Db::open(url).unwrap();
        assert_eq!(losses(&from, &to), ["t: default 'free' of column e"]);
        from.copy_to(&to, &[], &options().allow_loss(true), |_| {}).unwrap();
        to.execute("INSERT INTO t (id) VALUES (2)", ()).unwrap();
        let row = to.dynamic("t").unwrap().get([2]).unwrap().unwrap();
        assert_eq!(row.get::<i64>("n").unwrap(), 5);
        assert_eq!(row.get::<Currency>("d").unwrap(), Currency::ZERO);
        assert_eq!(row.get::<Option<Currency>>("e").unwrap(), None);
        assert_eq!(row.get::<DateTime>("at").unwrap(), "2024-01-01T00:00:00".parse().unwrap());
    });
}

/// As in a sample database whose keys are `numeric`.
#[cfg(feature = "postgres")]
#[test]
fn keys_of_whole_numbers_are_integers() {
    let from = database(&[
        "CREATE TABLE actor (id numeric NOT NULL PRIMARY KEY, fee numeric)",
        "CREATE TABLE part (actor numeric NOT NULL REFERENCES actor, number INT, PRIMARY KEY (actor, number))",
        "INSERT INTO actor VALUES (1, 5), (2, 7)",
        "INSERT INTO part VALUES (2, 1)",
    ]);
    crate::engines::on_postgres(|url| {
        let to = Db::open(url).unwrap();
        from.copy_to(&to, &[], &options(), |_| {}).unwrap();
        let ty =
            |table: &str, column: usize| to.dynamic(table).unwrap().schema().columns()[column].ty;
        let types = (ty("actor", 0), ty("actor", 1), ty("part", 0));
        assert_eq!(types, (Type::I64, Type::Currency, Type::I64));
    });
}

#[test]
fn null_keys_are_never_renumbered() {
    for declared in ["INT PRIMARY KEY", "TEXT PRIMARY KEY", "BIGINT PRIMARY KEY"] {
        let from = database(&[
            &format!("CREATE TABLE t (id {declared}, a TEXT)"),
            "INSERT INTO t VALUES (NULL, 'x'), (5, 'y'), (NULL, 'z')",
        ]);
        for url in ["memory:", "sqlite::memory:"] {
            let to = Db::open(url).unwrap();
            let expected = "t: PRIMARY KEY (id), which is NULL in 2 rows: the copy has the row number as its key, \
                            and a unique index";
            assert_eq!(losses(&from, &to), [expected]);
            from.copy_to(&to, &[], &options().allow_loss(true), |_| {}).unwrap();
            let ids: Vec<bool> = rows(&to, "t").iter().map(|row| row[1].is_null()).collect();
            assert_eq!(ids, [true, false, true], "{url}");
        }
    }
}

#[test]
fn broken_foreign_keys_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let engine = Sqlite::open(&path).unwrap();
    let session = engine.session().unwrap();
    // As other programs do by default, without foreign keys.
    session.begin_replay(&[]).unwrap();
    for sql in [
        "CREATE TABLE a (id INTEGER PRIMARY KEY)",
        "CREATE TABLE b (id INTEGER PRIMARY KEY, a INT REFERENCES a)",
        "INSERT INTO b VALUES (1, 7), (2, NULL), (3, 8)",
        "CREATE TABLE c (x INT, y INT, PRIMARY KEY (x, y))",
        "CREATE TABLE d (id INTEGER PRIMARY KEY, y INT, x INT, FOREIGN KEY (x, y) REFERENCES c)",
        "INSERT INTO d VALUES (1, 7, 8), (2, NULL, 1)",
    ] {
        session.execute(sql, &[]).unwrap();
    }
    session.control(TransactionControl::Commit).unwrap();
    drop(session);
    drop(engine);
    let from = Db::open(&format!("sqlite:{}", path.display())).unwrap();
    for url in ["memory:", "sqlite::memory:"] {
        let to = Db::open(url).unwrap();
        let expected = [
            "b: foreign key a: 2 rows refer to missing rows of a",
            "d: foreign key y, x: 1 row refers to a missing row of c",
        ];
        assert_eq!(losses(&from, &to), expected);
        from.copy_to(&to, &[], &options().allow_loss(true), |_| {}).unwrap();
        assert_eq!(rows(&to, "b"), rows(&from, "b"));
    }
}

#[test]
fn given_types_must_have_all_values() {
    let from = database(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY, price DECIMAL(10,2), at DATETIME)",
        "INSERT INTO t VALUES (1, 19.99, '2024-02-29 23:59:59'), (2, 5, NULL)",
    ]);
    let to = Db::open("memory:").unwrap();
    let copy =
        |types: &[(&str, Type)]| from.copy_with(&to, &[], &options(), types, |_| true, |_| {});
    assert_eq!(copy(&[("price", Type::I64)]).unwrap_err().kind(), ErrorKind::Mismatch);
    assert_eq!(to.tables().unwrap().len(), 0);
    copy(&[("price", Type::Currency), ("t.at", Type::DateTime)]).unwrap();
    let rows = to.dynamic("t").unwrap().list(Query::all()).unwrap();
    assert_eq!(rows[0].get::<Currency>("price").unwrap(), "19.99".parse().unwrap());
    assert_eq!(rows[1].get::<Currency>("price").unwrap(), "5".parse().unwrap());
    assert_eq!(rows[0].get::<DateTime>("at").unwrap(), "2024-02-29T23:59:59".parse().unwrap());
}

#[test]
fn foreign_keys_of_several_columns_and_autoincrement_are_kept() {
    let from = database(&[
        "CREATE TABLE \"order\" (shop TEXT, number INT, up_shop TEXT, up_number INT, PRIMARY KEY (shop, number), \
         FOREIGN KEY (up_shop, up_number) REFERENCES \"order\" ON DELETE SET NULL)",
        "CREATE TABLE line (id INTEGER PRIMARY KEY AUTOINCREMENT, number INT, shop TEXT, FOREIGN KEY (shop, number) \
         REFERENCES \"order\" (shop, number) ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED)",
        "INSERT INTO \"order\" VALUES ('b', 1, NULL, NULL), ('a', 1, 'b', 1), ('a', 2, 'a', 1)",
        "INSERT INTO line VALUES (1, 1, 'a'), (2, 2, 'a'), (3, 9, NULL), (7, 1, 'b')",
        "DELETE FROM line WHERE id = 7",
    ]);
    let same = Db::open("sqlite::memory:").unwrap();
    assert_eq!(losses(&from, &same), [""; 0]);
    from.copy_to(&same, &[], &options(), |_| {}).unwrap();
    for table in from.tables().unwrap() {
        let copy = same.dynamic(table.name()).unwrap();
        assert!(copy.schema().same_as(&table), "{table:#?}\n{:#?}", copy.schema());
        assert_eq!(rows(&same, table.name()), rows(&from, table.name()));
    }
    // The key 7 was used, and is not used again.
    let sql = "INSERT INTO line (number) VALUES (1) RETURNING id";
    for db in [&from, &same] {
        assert_eq!(db.sql::<(i64,)>(sql, ()).unwrap(), [(8,)]);
    }
    same.execute("DELETE FROM \"order\" WHERE shop = 'b'", ()).unwrap();
    let left = "SELECT count(*) FROM \"order\" WHERE up_shop IS NULL AND up_number IS NULL";
    assert_eq!(same.sql::<(i64,)>(left, ()).unwrap(), [(1,)]);
    let to = Db::open("memory:").unwrap();
    let expected = [
        "line: DEFERRABLE INITIALLY DEFERRED of the foreign key number, shop, which the target checks after \
         each statement",
        "line: ON UPDATE action of the foreign key number, shop",
    ];
    assert_eq!(losses(&from, &to), expected);
    from.copy_to(&to, &[], &options().allow_loss(true), |_| {}).unwrap();
    let line = to.dynamic("line").unwrap();
    assert_eq!(line.schema().foreign_keys()[0].columns, [1, 2]);
    assert!(line.schema().never_reuses_keys());
    let back = losses(&to, &Db::open("sqlite::memory:").unwrap());
    assert!(back.iter().any(|loss| loss.contains("the largest key")), "{back:?}");
    let mut row = DynRow::new();
    row.set("shop", "a").unwrap();
    row.set("number", 3).unwrap();
    assert_eq!(line.insert(&row).unwrap_err().kind(), ErrorKind::Constraint);
}

/// Tables in the forms in which Django, Rails and sample databases declare them, without what servers lack.
#[cfg(all(feature = "mysql", feature = "postgres"))]
const SCHEMA: &[&str] = &[
    "CREATE TABLE [Artist] ([ArtistId] INTEGER NOT NULL PRIMARY KEY, [Name] NVARCHAR(120))",
    "CREATE TABLE [Album] ([AlbumId] INTEGER NOT NULL PRIMARY KEY, [Title] NVARCHAR(160) NOT NULL, \
     [ArtistId] INTEGER NOT NULL, FOREIGN KEY ([ArtistId]) REFERENCES [Artist] ([ArtistId]) \
     ON DELETE NO ACTION ON UPDATE NO ACTION)",
    "CREATE INDEX [IFK_AlbumArtistId] ON [Album] ([ArtistId])",
    "CREATE TABLE [Employee] ([EmployeeId] INTEGER NOT NULL PRIMARY KEY, [ReportsTo] INTEGER, \
     [BirthDate] DATETIME, [Hired] DATE, FOREIGN KEY ([ReportsTo]) REFERENCES [Employee] ([EmployeeId]) \
     ON DELETE SET NULL ON UPDATE CASCADE)",
    "CREATE TABLE [InvoiceLine] ([InvoiceLineId] INTEGER NOT NULL PRIMARY KEY, \
     [UnitPrice] NUMERIC(10,2) NOT NULL, [Quantity] INTEGER NOT NULL CHECK ([Quantity] > 0), \
     [Paid] BOOL, [Notes] JSON, CHECK ([Quantity] < 1000))",
    "CREATE TABLE \"places\" (\"a\" varchar(20) NOT NULL, \"b\" integer NOT NULL, \"c\" integer, \
     UNIQUE (\"b\", \"c\"), CHECK (\"b\" <> \"c\"), PRIMARY KEY (\"a\", \"b\"))",
    "INSERT INTO Artist VALUES (1, 'AC/DC'), (2, ''), (3, NULL)",
    "INSERT INTO Album VALUES (1, 'Für jene', 1), (2, 'B', 1), (3, 'C', 3)",
    "INSERT INTO Employee VALUES (1, 3, '1962-02-18 00:00:00', '2002-08-14'), (2, 1, NULL, NULL), \
     (3, 3, '1973-08-29 13:01:02', '2003-04-01')",
    "INSERT INTO InvoiceLine VALUES (1, 0.99, 1, 1, '{\"a\": [1]}'), (2, 10, 999, 0, NULL)",
    "INSERT INTO places VALUES ('x', 1, 2), ('x', 2, NULL), ('y', 1, NULL)",
];

/// From SQLite to PostgreSQL, on to MariaDB, and back: the rules and values of the last are those of the first.
#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn databases_of_other_programs_go_round() {
    if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"].iter().any(|v| std::env::var_os(v).is_none()) {
        println!("not run: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
        return;
    }
    let postgres = bobak_servers::Postgres::start().unwrap();
    let mariadb = bobak_servers::MariaDb::start().unwrap();
    let first = database(SCHEMA);
    let mut from = first.clone();
    let mut before: Option<Vec<bobak::schema::TableSchema>> = None;
    for url in [postgres.url(), mariadb.url(), "sqlite::memory:".to_owned()] {
        let to = Db::open(&url).unwrap();
        assert_eq!(losses(&from, &to), [""; 0], "{url}");
        from.copy_to(&to, &[], &options(), |_| {}).unwrap();
        let mut tables = to.tables().unwrap();
        tables.sort_by(|a, b| a.name().cmp(b.name()));
        if let Some(before) = &before {
            for (a, b) in before.iter().zip(&tables) {
                assert!(a.same_as(b), "{url}: {a:#?}\n{b:#?}");
            }
        }
        before = Some(tables);
        from = to;
    }
    for table in ["Artist", "Album", "places"] {
        assert_eq!(rows(&from, table), rows(&first, table));
    }
    let employees = from.dynamic("Employee").unwrap();
    let reference = employees.schema().columns()[1].reference.clone().unwrap();
    let actions = (reference.on_delete, reference.on_update);
    assert_eq!(actions, (bobak::schema::OnDelete::SetNull, bobak::schema::OnUpdate::Cascade));
    let employee = employees.list(Query::all()).unwrap().remove(2);
    assert_eq!(
        employee.get::<DateTime>("BirthDate").unwrap(),
        "1973-08-29T13:01:02".parse().unwrap()
    );
    assert_eq!(employee.get::<Date>("Hired").unwrap(), "2003-04-01".parse().unwrap());
    let lines = from.dynamic("InvoiceLine").unwrap();
    let check = lines.schema().columns()[2].check.clone().unwrap();
    assert_eq!(check, "Quantity > 0 AND Quantity < 1000");
    let line = lines.list(Query::all()).unwrap().remove(0);
    assert_eq!(line.get::<Currency>("UnitPrice").unwrap(), "0.99".parse().unwrap());
    assert_eq!(line.get::<Option<bool>>("Paid").unwrap(), Some(true));
}

/// Both sides would round a value, and have equal checksums.
#[test]
fn values_that_the_target_rounds_are_rejected() {
    let column = |ty| bobak::schema::ColumnSchema::new("x", ty).nullable(true);
    let table = |ty| {
        let id = bobak::schema::ColumnSchema::new("id", Type::I64);
        let builder = bobak::schema::TableSchema::builder("t").column(id).key(["id"]);
        builder.column(column(ty)).build().unwrap()
    };
    for (value, is_kept) in
        [(0.1, false), (16_777_217.0, false), (1e300, false), (0.5, true), (-3.0, true)]
    {
        let (from, to) = (Db::open("memory:").unwrap(), Db::open("memory:").unwrap());
        let t = from.create_table(table(Type::F64)).unwrap();
        to.create_table(table(Type::F32)).unwrap();
        let mut row = DynRow::new();
        row.set("x", value).unwrap();
        t.insert(&row).unwrap();
        let copied = from.copy_to(&to, &[], &options(), |_| {});
        let found =
            copied.map(|_| ()).map_err(|error| (error.kind(), error.column().map(str::to_owned)));
        let expected =
            if is_kept { Ok(()) } else { Err((ErrorKind::OutOfRange, Some("x".to_owned()))) };
        assert_eq!(found, expected, "{value}");
        assert_eq!(to.dynamic("t").unwrap().count(Query::all()).unwrap(), u64::from(is_kept));
    }
}

#[test]
fn any_columns_of_strict_tables_keep_their_values() {
    let from = Db::open("sqlite::memory:").unwrap();
    from.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v ANY) STRICT", ()).unwrap();
    from.execute("INSERT INTO t VALUES (1, '5'), (2, 5), (3, '1e3'), (4, x'35')", ()).unwrap();
    let to = Db::open("sqlite::memory:").unwrap();
    let options = CopyOptions::new().allow_loss(true).checksum(true);
    from.copy_to(&to, &[], &options, |_| {}).unwrap();
    let types = to.sql::<(String,)>("SELECT typeof(v) FROM t ORDER BY id", ()).unwrap();
    let types: Vec<&str> = types.iter().map(|(ty,)| ty.as_str()).collect();
    assert_eq!(types, ["text", "integer", "text", "blob"]);
}

#[test]
fn texts_in_a_column_of_bytes_become_bytes() {
    let from = database(&[
        "CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB)",
        "INSERT INTO t VALUES (1, x'00'), (2, 'text')",
    ]);
    let to = Db::open("memory:").unwrap();
    let listed = "t: column b: 1 value is not bytes, such as 'text'; it becomes bytes";
    assert_eq!(losses(&from, &to), [listed]);
    from.copy_to(&to, &[], &options().allow_loss(true).checksum(true), |_| {}).unwrap();
    assert_eq!(rows(&to, "t")[1][1], Value::from(b"text".to_vec()));
}

//! SQLite files: what SQL stores in columns of amounts, dates and times can be read back, or is rejected when it is written.

use bobak::migration::Drops;
use bobak::prelude::*;

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "sale")]
struct Sale {
    id: i64,
    total: Currency,
    day: Option<Date>,
    at: Option<Time>,
    #[record(store = "text")]
    due: Option<Date>,
    note: Option<Json<Vec<i64>>>,
    share: Option<f32>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "sale")]
struct Renamed {
    id: i64,
    #[record(renamed_from = "total")]
    amount: Currency,
    day: Option<Date>,
    at: Option<Time>,
    #[record(store = "text")]
    due: Option<Date>,
    note: Option<Json<Vec<i64>>>,
    share: Option<f32>,
    paid: Option<Timestamp>,
}

/// As other programs write, which know no types.
fn open(folder: &tempfile::TempDir) -> Db {
    Db::open(&format!("sqlite:{}?typed_sql=off", folder.path().join("a.db").display())).unwrap()
}

#[test]
fn sql_cannot_store_what_is_not_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder);
    assert_eq!(db.table::<Sale>().map(drop).unwrap_err().kind(), ErrorKind::Schema);
    let url = format!("sqlite:{}", folder.path().join("a.db").display());
    let made = Db::builder().record::<Sale>().open(&url).unwrap();
    made.create_missing_tables().unwrap();
    for (column, wrong) in [
        ("total", "1.5"),
        ("total", "'1.50'"),
        ("total", "'much'"),
        ("total", "x'01'"),
        ("total", "1e300"),
        ("day", "'2013-01-31'"),
        ("day", "15706.5"),
        ("at", "'12:00:00'"),
        ("note", "'{'"),
        ("note", "'abc'"),
        ("share", "1e300"),
        ("share", "-3.5e38"),
        ("share", "'half'"),
    ] {
        let sql = match column {
            "total" => format!("INSERT INTO sale (total) VALUES ({wrong})"),
            _ => format!("INSERT INTO sale (total, {column}) VALUES (1, {wrong})"),
        };
        let error = db.execute(&sql, ()).expect_err(&sql);
        assert_eq!(error.kind(), ErrorKind::Constraint, "{sql}");
        assert!(error.message().contains(column), "{error}");
    }
    // Numbers that are whole are stored as integers, and NULL is as it was.
    db.execute("INSERT INTO sale (total, due) VALUES (15000.0, '2013-01-31'), ('25000', NULL)", ())
        .unwrap();
    db.execute(
        "INSERT INTO sale (total, note, share) VALUES (1, '[1, 2]', 9e999), (1, NULL, '0.5')",
        (),
    )
    .unwrap();
    let sales = db.table::<Sale>().unwrap().list(Query::all()).unwrap();
    assert_eq!(sales[1].total, "2.5".parse().unwrap());
    assert_eq!(sales[2].note, Some(Json(vec![1, 2])));
    assert_eq!((sales[2].share, sales[3].share), (Some(f32::INFINITY), Some(0.5)));
    // The table is the record's, as it is described and compared.
    assert!(db.dynamic("sale").unwrap().schema().same_as(Sale::schema()));
    assert_eq!(db.dynamic("sale").unwrap().schema().columns()[1].check, None);
}

#[test]
fn the_rule_follows_alterations() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("a.db").display());
    let db = Db::builder().record::<Sale>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    db.table()
        .unwrap()
        .insert(&Sale {
            id: 1,
            total: "1.5".parse().unwrap(),
            day: None,
            at: None,
            due: None,
            note: None,
            share: Some(f32::MAX),
        })
        .unwrap();
    drop(db);
    let db = Db::builder().record::<Renamed>().open(&url).unwrap();
    let plan = db.migration_plan(Drops::Nothing).unwrap();
    let migrations = bobak::migration::Migrations::default();
    migrations.write(folder.path().join("m"), "amount", &plan).unwrap();
    db.migrate(&bobak::migration::Migrations::read(folder.path().join("m")).unwrap()).unwrap();
    assert!(db.dynamic("sale").unwrap().schema().same_as(Renamed::schema()));
    drop(db);
    for wrong in [
        "INSERT INTO sale (amount) VALUES (1.5)",
        "INSERT INTO sale (amount, paid) VALUES (1, '2013-01-31')",
        "INSERT INTO sale (amount, note) VALUES (1, '{')",
        "INSERT INTO sale (amount, share) VALUES (1, 1e300)",
    ] {
        assert_eq!(
            open(&folder).execute(wrong, ()).unwrap_err().kind(),
            ErrorKind::Constraint,
            "{wrong}"
        );
    }
}

/// A table made before, or by another program, is read; the error names the row and the column.
#[test]
fn tables_without_the_rule_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder);
    for sql in [
        "CREATE TABLE sale (id INTEGER PRIMARY KEY, total CURRENCY_E4 NOT NULL, day DATE_DAYS, at TIME_MICROS, due DATE_TEXT,
         note JSON_TEXT, share FLOAT4)",
        "INSERT INTO sale (id, total) VALUES (1, 15000), (7, 1.5)",
    ] {
        db.execute(sql, ()).unwrap();
    }
    let sales = db.table::<Sale>().unwrap();
    assert_eq!(sales.get(1).unwrap().unwrap().total, "1.5".parse().unwrap());
    let error = sales.list(Query::all()).unwrap_err();
    assert_eq!(
        (error.kind(), error.table(), error.column()),
        (ErrorKind::Mismatch, Some("sale"), Some("total"))
    );
    assert!(error.to_string().contains("in the row with id 7"), "{error}");
}

/// Rows of values are written without the CHECKs of storage, and with all others.
#[test]
fn rows_obey_all_other_checks() {
    #[derive(Record, Debug, Clone, PartialEq)]
    struct Line {
        id: i64,
        price: Currency,
    }

    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?typed_sql=off", folder.path().join("a.db").display());
    let db = Db::builder().record::<Line>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let lines = db.table::<Line>().unwrap();
    let line = |id, units| Line { id, price: Currency::from_units(units).unwrap() };
    lines.insert(&line(1, 5)).unwrap();
    lines.update(&line(1, 6)).unwrap();
    let rejects = |what: &str, done: bobak::Result<()>| {
        assert_eq!(done.expect_err(what).kind(), ErrorKind::Constraint, "{what}");
    };
    let writes = |what: &str, price: i64| {
        rejects(what, lines.insert(&line(0, price)).map(drop));
        rejects(what, lines.upsert(&line(1, price)).map(drop));
        rejects(what, lines.update(&line(1, price)).map(drop));
        let mut batch = db.batch(BatchOptions::default());
        batch.insert(&line(0, price)).unwrap();
        rejects(what, batch.finish().map(drop));
    };
    // SQL on the same connection, after rows.
    rejects("sql", db.execute("UPDATE line SET price = 1.5", ()).map(drop));
    // A trigger that others made.
    db.execute("CREATE TABLE log (price CURRENCY_E4 CHECK (price < 100000))", ()).unwrap();
    for event in ["INSERT", "UPDATE"] {
        let sql = format!(
            "CREATE TRIGGER on_{event} AFTER {event} ON line BEGIN INSERT INTO log VALUES (new.price); END"
        );
        db.execute(&sql, ()).unwrap();
    }
    writes("a CHECK of the trigger's table", 10);
    db.execute("DROP TRIGGER on_INSERT", ()).unwrap();
    db.execute("DROP TRIGGER on_UPDATE", ()).unwrap();
    lines.update(&line(1, 10)).unwrap();
    // A rule that the record does not have.
    db.execute("ALTER TABLE line ADD COLUMN least CHECK (price < 110000)", ()).unwrap();
    writes("a CHECK of another program", 11);
    assert_eq!(lines.list(Query::all()).unwrap(), [line(1, 10)]);
}

/// The CHECKs of tables that refer to a row are evaluated if its key changes.
#[test]
fn referring_rows_obey_their_checks() {
    #[derive(Record, Debug, Clone, PartialEq)]
    struct Rate {
        id: i64,
        #[record(unique)]
        percent: Currency,
    }

    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?typed_sql=off", folder.path().join("a.db").display());
    let db = Db::builder().record::<Rate>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let rates = db.table::<Rate>().unwrap();
    rates.insert(&Rate { id: 1, percent: Currency::from_scaled(50_000) }).unwrap();
    db.execute(
        "CREATE TABLE usage (percent CURRENCY_E4 CHECK (percent < 60000) REFERENCES rate (percent) ON UPDATE CASCADE)",
        (),
    )
    .unwrap();
    db.execute("INSERT INTO usage SELECT percent FROM rate", ()).unwrap();
    let error = rates.update(&Rate { id: 1, percent: Currency::from_scaled(70_000) }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
}

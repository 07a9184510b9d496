//! Tables that no struct describes.

use crate::engines::on_each;
use bobak::prelude::*;
use bobak::schema::{Collation, ColumnSchema, OnDelete, TableSchema};
use bobak::{BatchOptions, count};

fn planes() -> TableSchema {
    TableSchema::builder("plane")
        .column(ColumnSchema::of::<String>("tailnum").max_chars(6))
        .column(ColumnSchema::of::<Option<i32>>("year"))
        .column(ColumnSchema::of::<String>("maker").collation(Collation::NoCase).default("unknown"))
        .column(ColumnSchema::of::<Option<Timestamp>>("built").as_text())
        .key(["tailnum"])
        .index("plane_year", ["year"])
        .build()
        .unwrap()
}

fn row(tailnum: &str, year: Option<i32>) -> DynRow {
    let mut row = DynRow::new();
    row.set("tailnum", tailnum).unwrap();
    row.set("year", year).unwrap();
    row
}

#[test]
fn rows_are_written_and_read_by_column_name() {
    on_each(|place| {
        let db = Db::open(&place.url).unwrap();
        let table = db.create_table(planes()).unwrap();
        assert!(table.schema().same_as(&planes()), "{:#?}", table.schema());
        let key = table.insert(&row("N10156", Some(2004))).unwrap();
        assert_eq!(key, [Value::from("N10156")]);
        let mut second = row("N102UW", None);
        second.set("maker", "Airbus").unwrap();
        second.set("built", "2013-01-01T05:00:00Z".parse::<Timestamp>().unwrap()).unwrap();
        table.insert(&second).unwrap();
        let first = table.get(["N10156"]).unwrap().expect("is there");
        assert_eq!(first.get::<String>("MAKER").unwrap(), "unknown", "the default");
        let second = table.get(["N102UW"]).unwrap().expect("is there");
        assert_eq!(second.get::<Option<i32>>("year").unwrap(), None);
        let built: Timestamp = second.get("built").unwrap();
        assert_eq!(built.to_string(), "2013-01-01T05:00:00Z");

        let maker = table.column("maker").unwrap();
        let year = table.column("year").unwrap();
        assert_eq!(table.list(maker.eq("AIRBUS")).unwrap().len(), 1);
        assert_eq!(table.count(year.is_null()).unwrap(), 1);
        let built = table.column("built").unwrap();
        let moment: Timestamp = "2013-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(table.count(built.gt(moment)).unwrap(), 1);
        let groups = table.select(Query::all().group_by(maker), (maker, count())).unwrap();
        assert_eq!(groups[0], (Value::from("Airbus"), 1));

        let mut change = DynRow::new();
        change.set("tailnum", "N10156").unwrap();
        change.set("year", 2005).unwrap();
        table.update(&change).unwrap();
        let first = table.get(["N10156"]).unwrap().expect("is there");
        assert_eq!(first.get::<i32>("year").unwrap(), 2005);
        assert_eq!(first.get::<String>("maker").unwrap(), "unknown", "not named: not changed");
        assert_eq!(table.set_where(year.is_null(), [year.set(1999)]).unwrap(), 1);
        assert_eq!(table.iter(Query::all()).unwrap().count(), 2);
        assert!(table.delete(["N102UW"]).unwrap());
        assert!(table.get(["N102UW"]).unwrap().is_none());
    });
}

#[test]
fn batches_and_transactions_accept_dynamic_rows() {
    on_each(|place| {
        let db = Db::open(&place.url).unwrap();
        let table = db.create_table(planes()).unwrap();
        let mut batch = db.batch(BatchOptions::new());
        for number in 0..100 {
            batch.insert_row(&table, &row(&format!("N{number:05}"), Some(number))).unwrap();
        }
        assert_eq!(
            batch.insert_row(&table, &row("N1234567", None)).unwrap_err().kind(),
            ErrorKind::TooLong
        );
        assert_eq!(batch.finish().unwrap().inserted, 100);
        let transaction = db.begin().unwrap();
        let inside = transaction.dynamic("plane").unwrap();
        inside.delete_where(inside.column("year").unwrap().ge(50)).unwrap();
        let mut batch = transaction.batch(BatchOptions::new());
        batch.insert_row(&inside, &row("X", None)).unwrap();
        batch.finish().unwrap();
        assert_eq!(inside.count(Query::all()).unwrap(), 51);
        transaction.commit().unwrap();
        assert_eq!(table.count(Query::all()).unwrap(), 51);
    });
}

#[test]
fn tables_of_other_programs_are_usable() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("other.db").display());
    let db = Db::open(&url).unwrap();
    for text in [
        "CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        "CREATE TABLE book (isbn VARCHAR(13) PRIMARY KEY NOT NULL, author INTEGER NOT NULL
           REFERENCES author(id) ON DELETE CASCADE, price REAL DEFAULT 9.5, cover BLOB, any)",
        "CREATE INDEX by_author ON book (author)",
        "CREATE VIEW cheap AS SELECT * FROM book WHERE price < 5",
    ] {
        db.execute(text, ()).unwrap();
    }
    let tables = db.tables().unwrap();
    let names: Vec<_> = tables.iter().map(TableSchema::name).collect();
    assert_eq!(names, ["author", "book"]);
    let book = &tables[1];
    assert_eq!(book.columns()[0].max_chars, Some(13));
    let reference = book.columns()[1].reference.as_ref().expect("a foreign key");
    assert_eq!((&*reference.table, reference.on_delete), ("author", OnDelete::Cascade));
    let authors = db.dynamic("author").unwrap();
    let mut ada = DynRow::new();
    ada.set("name", "Ada").unwrap();
    assert_eq!(authors.insert(&ada).unwrap(), [Value::Int(1)]);
    let books = db.dynamic("book").unwrap();
    let mut notes = DynRow::new();
    notes.set("isbn", "1").unwrap();
    notes.set("author", 1).unwrap();
    notes.set("any", "seven").unwrap();
    books.insert(&notes).unwrap();
    let stored = books.get(["1"]).unwrap().expect("is there");
    assert_eq!(stored.get::<f64>("price").unwrap(), 9.5);
    assert_eq!(stored.get::<Value<'static>>("any").unwrap(), Value::from("seven"));
    let sum = books.value(Query::all(), books.column("price").unwrap().sum()).unwrap();
    assert_eq!(sum, Some(Value::Float(9.5)));
}

#[test]
fn missing_columns_get_computed_defaults() {
    let db = Db::open("sqlite::memory:").unwrap();
    let sql = "CREATE TABLE memo (id INTEGER PRIMARY KEY, made TEXT DEFAULT CURRENT_TIMESTAMP,
               kept TEXT NOT NULL DEFAULT CURRENT_DATE)";
    db.execute(sql, ()).unwrap();
    let memos = db.dynamic("memo").unwrap();
    let mut row = DynRow::new();
    memos.insert(&row).unwrap();
    let mut batch = db.batch(BatchOptions::new());
    batch.insert_row(&memos, &row).unwrap();
    row.set("made", None::<String>).unwrap();
    batch.insert_row(&memos, &row).unwrap();
    batch.finish().unwrap();
    memos.upsert(&row).unwrap();
    let rows = memos.list(Query::all()).unwrap();
    let made = rows.iter().map(|row| row.get::<Option<String>>("made").unwrap());
    let lengths: Vec<_> = made.map(|made| made.map_or(0, |made| made.len())).collect();
    assert_eq!(lengths, [19, 19, 0, 0]);
    row.set("kept", None::<String>).unwrap();
    assert_eq!(memos.insert(&row).unwrap_err().kind(), ErrorKind::Constraint);
}

#[test]
fn a_given_key_of_0_is_kept() {
    on_each(|place| {
        let db = Db::open(&place.url).unwrap();
        let schema = TableSchema::builder("port")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<String>("name"))
            .key(["id"]);
        let ports = db.create_table(schema.build().unwrap()).unwrap();
        let mut row = DynRow::new();
        row.set("name", "made").unwrap();
        assert_ne!(ports.insert(&row).unwrap(), [Value::Int(0)]);
        row.set("id", 0).unwrap();
        assert_eq!(ports.insert(&row).unwrap(), [Value::Int(0)]);
        assert_eq!(ports.insert(&row).unwrap_err().kind(), ErrorKind::Duplicate);
        row.set("name", "again").unwrap();
        assert_eq!(ports.upsert(&row).unwrap(), [Value::Int(0)]);
        let mut batch = db.batch(bobak::BatchOptions::default());
        row.set("id", Value::Null).unwrap();
        batch.insert_row(&ports, &row).unwrap();
        batch.finish().unwrap();
        assert_eq!(ports.count(Query::all()).unwrap(), 3);
        assert_eq!(ports.get([0]).unwrap().unwrap().get::<String>("name").unwrap(), "again");
    });
}

#[test]
fn tables_of_attached_engines_have_every_verb_in_batches() {
    for url in ["memory:", "sqlite::memory:"] {
        for main in ["memory:", "sqlite::memory:"] {
            let db = Db::builder().attach("other", url).open(main).unwrap();
            let table = db.create_table_on("other", planes()).unwrap();
            assert_eq!(db.dynamic("plane").err().unwrap().kind(), ErrorKind::Schema);
            let error = db.dynamic_on("nowhere", "plane").err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Config, "{error}");
            table.insert(&row("a", Some(1))).unwrap();
            let table = db.dynamic_on("other", "plane").unwrap();
            let mut batch = db.batch(BatchOptions::new());
            batch.insert_row(&table, &row("b", Some(2))).unwrap();
            batch.insert_row(&table, &row("c", Some(3))).unwrap();
            batch.upsert_row(&table, &row("a", Some(10))).unwrap();
            batch.upsert_row(&table, &row("d", Some(4))).unwrap();
            batch.update_row(&table, &row("b", Some(20))).unwrap();
            batch.delete_row(&table, ["c"]).unwrap();
            batch.delete_row(&table, ["nobody"]).unwrap();
            let report = batch.finish().unwrap();
            assert_eq!(report.rows, 7);
            let all = table.list(Query::all()).unwrap();
            let years: Vec<_> = all
                .iter()
                .map(|row| (row.get::<String>("tailnum").unwrap(), row.get::<i32>("year").unwrap()))
                .collect();
            let expected =
                [("a", 10), ("b", 20), ("d", 4)].map(|(name, year)| (name.to_owned(), year));
            assert_eq!(years, expected);
            let mut batch = db.batch(BatchOptions::new());
            batch.update_row(&table, &row("nobody", None)).unwrap();
            let error = batch.finish().unwrap_err();
            assert_eq!((error.kind(), error.row()), (ErrorKind::NotFound, Some(0)), "{error}");
        }
    }
}

#[test]
fn a_batch_updates_the_columns_of_a_row_and_its_version() {
    on_each(|place| {
        let db = place.people();
        let note = crate::engines::note(1, "a");
        db.table::<crate::engines::Person>()
            .unwrap()
            .insert(&crate::engines::person("ada", 1))
            .unwrap();
        let id = db.table::<crate::engines::Note>().unwrap().insert(&note).unwrap();
        let notes = db.dynamic("note").unwrap();
        let update = |text: &str, version: i64| {
            let mut row = DynRow::new();
            row.set("id", id).unwrap();
            row.set("text", text).unwrap();
            row.set("version", version).unwrap();
            let mut batch = db.batch(BatchOptions::new());
            batch.update_row(&notes, &row).unwrap();
            batch.finish()
        };
        update("b", 0).unwrap();
        assert_eq!(update("c", 0).unwrap_err().kind(), ErrorKind::Conflict);
        let stored = db.table::<crate::engines::Note>().unwrap().require(id).unwrap();
        assert_eq!((stored.text.as_str(), stored.version), ("b", 1));
        assert!(stored.modified > Timestamp::UNIX_EPOCH && stored.created > Timestamp::UNIX_EPOCH);
    });
}

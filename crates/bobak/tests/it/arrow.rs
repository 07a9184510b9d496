//! Results as Arrow record batches, and record batches as rows, on every engine.

#[cfg(feature = "mysql")]
use crate::engines::on_mariadb;
#[cfg(feature = "postgres")]
use crate::engines::on_postgres;
use crate::engines::{on_each, on_firebird};
use bobak::arrow::arrow_array::cast::AsArray;
use bobak::arrow::arrow_array::types::{Date32Type, Decimal128Type, Int64Type};
use bobak::arrow::arrow_array::{
    Array, ArrayRef, Date64Array, Decimal64Array, DictionaryArray, Float64Array, Int32Array,
    LargeStringArray, RecordBatch, StringViewArray, TimestampNanosecondArray, TimestampSecondArray,
    record_batch, types::Int8Type,
};
use bobak::arrow::arrow_schema::{self, DataType, TimeUnit};
use bobak::batch::OnConflict;
use bobak::prelude::*;
use bobak::schema::{ColumnSchema, TableSchema};
use std::sync::Arc;

#[derive(Record, Debug, Clone, PartialEq)]
pub struct Everything {
    id: i64,
    yes: bool,
    tiny: i8,
    small: i16,
    medium: i32,
    utiny: u8,
    usmall: u16,
    umedium: u32,
    ularge: u64,
    single: f32,
    double: f64,
    text: String,
    bytes: Vec<u8>,
    uuid: Uuid,
    money: Currency,
    date: Date,
    time: Time,
    at: DateTime,
    instant: Timestamp,
    tags: Json<Vec<String>>,
    #[record(store = "text")]
    text_date: Date,
    #[record(store = "text")]
    text_uuid: Option<Uuid>,
    maybe_int: Option<i32>,
    maybe_text: Option<String>,
    maybe_money: Option<Currency>,
}

fn everything(id: i64) -> Everything {
    let full = id % 2 == 0;
    Everything {
        id,
        yes: full,
        tiny: i8::MIN,
        small: i16::MAX,
        medium: -70_000,
        utiny: u8::MAX,
        usmall: u16::MAX,
        umedium: u32::MAX,
        ularge: i64::MAX as u64,
        single: 1.5,
        double: -0.1,
        text: format!("Zürich {id}"),
        bytes: vec![0, 255, 7],
        uuid: Uuid::from_u128(0x1234_5678_9abc_def0_1122_3344_5566_7788),
        money: Currency::from_scaled(-12_345),
        date: "1999-12-31".parse().unwrap(),
        time: "23:59:59.000001".parse().unwrap(),
        at: "1850-01-01T00:00:00.5".parse().unwrap(),
        instant: "2024-02-29T12:00:00.123456Z".parse().unwrap(),
        tags: Json(vec!["a".into()]),
        text_date: "2001-02-03".parse().unwrap(),
        text_uuid: full.then(|| Uuid::from_u128(7)),
        maybe_int: full.then_some(-1),
        maybe_text: full.then(String::new),
        maybe_money: full.then_some(Currency::MAX),
    }
}

pub fn open(url: &str) -> Db {
    let db = Db::builder().record::<Everything>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

/// All batches of a table, in both ways, which must agree.
pub fn read<T: Record>(table: &Table<'_, T>, query: Query<T>, rows: usize) -> Vec<RecordBatch> {
    let mut called = Vec::new();
    table
        .for_each_record_batch(query.clone(), rows, |batch| {
            called.push(batch);
            Ok(true)
        })
        .unwrap();
    let iterated: Vec<_> = table.record_batches(query, rows).unwrap().map(Result::unwrap).collect();
    assert_eq!(called, iterated);
    called
}

pub fn of_sql(db: &Db, text: &str, rows: usize) -> bobak::Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    db.for_each_sql_record_batch(text, (), rows, |batch| {
        batches.push(batch);
        Ok(true)
    })?;
    Ok(batches)
}

fn insert(db: &Db, table: &str, rows: &RecordBatch) -> bobak::Result<u64> {
    let table = db.dynamic(table)?;
    let mut batch = db.batch(BatchOptions::new());
    batch.insert_record_batch(&table, rows)?;
    batch.finish().map(|report| report.inserted)
}

/// Rows become batches of the documented types, and these become the same rows.
fn all_types_survive(url: &str) {
    let db = open(url);
    let table = db.table::<Everything>().unwrap();
    let records: Vec<Everything> = (1..=5).map(everything).collect();
    let mut batch = db.batch(BatchOptions::new());
    records.iter().try_for_each(|record| batch.insert(record)).unwrap();
    batch.finish().unwrap();

    let batches = read(&table, Query::all(), 2);
    let sizes: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(sizes, [2, 2, 1]);
    let schema = batches[0].schema();
    for (name, ty) in [
        ("id", DataType::Int64),
        ("yes", DataType::Boolean),
        ("tiny", DataType::Int8),
        ("small", DataType::Int16),
        ("medium", DataType::Int32),
        ("utiny", DataType::UInt8),
        ("usmall", DataType::UInt16),
        ("umedium", DataType::UInt32),
        ("ularge", DataType::UInt64),
        ("single", DataType::Float32),
        ("double", DataType::Float64),
        ("text", DataType::Utf8),
        ("bytes", DataType::Binary),
        ("uuid", DataType::FixedSizeBinary(16)),
        ("money", DataType::Decimal128(19, 4)),
        ("date", DataType::Date32),
        ("time", DataType::Time64(TimeUnit::Microsecond)),
        ("at", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("instant", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        ("tags", DataType::Utf8),
        ("text_date", DataType::Date32),
        ("text_uuid", DataType::FixedSizeBinary(16)),
        ("maybe_int", DataType::Int32),
    ] {
        let field = schema.field_with_name(name).unwrap();
        assert_eq!(
            (field.data_type(), field.is_nullable()),
            (&ty, name.contains("maybe") || name == "text_uuid"),
            "{name}"
        );
    }
    assert_eq!(
        schema.field_with_name("uuid").unwrap().metadata()["ARROW:extension:name"],
        "arrow.uuid"
    );
    assert_eq!(
        schema.field_with_name("tags").unwrap().metadata()["ARROW:extension:name"],
        "arrow.json"
    );
    let column = |name: &str| batches[0].column_by_name(name).unwrap();
    assert_eq!(column("money").as_primitive::<Decimal128Type>().value(0), -12_345);
    assert_eq!(column("text_date").as_primitive::<Date32Type>().value(0), 11_356);
    assert_eq!(column("text").as_string::<i32>().value(1), "Zürich 2");
    assert!(column("maybe_text").is_null(0) && column("maybe_text").is_valid(1));

    table.delete_all().unwrap();
    for batch in &batches {
        assert_eq!(insert(&db, "everything", batch).unwrap(), batch.num_rows() as u64);
    }
    assert_eq!(table.list(Query::all()).unwrap(), records);
    assert_eq!(read(&table, Query::all(), 2), batches);
}

#[test]
fn all_types_survive_on_every_engine() {
    on_each(|place| all_types_survive(&place.url));
    let folder = tempfile::tempdir().unwrap();
    all_types_survive(&format!("kv:{}/app.redb", folder.path().display()));
    #[cfg(feature = "postgres")]
    on_postgres(all_types_survive);
    #[cfg(feature = "mysql")]
    on_mariadb(all_types_survive);
    on_firebird(all_types_survive);
    #[cfg(feature = "remote")]
    crate::engines::on_bobak_server(bobak::engine::memory::Memory::new(), all_types_survive);
}

#[test]
fn a_caller_stops_after_any_batch() {
    let db = open("sqlite::memory:");
    let table = db.table::<Everything>().unwrap();
    (1..=5).try_for_each(|id| table.insert(&everything(id)).map(|_| ())).unwrap();
    let (mut seen, mut of_text) = (0, 0);
    table
        .for_each_record_batch(Query::all(), 2, |_| {
            seen += 1;
            Ok(false)
        })
        .unwrap();
    db.for_each_sql_record_batch("SELECT id FROM everything", (), 2, |_| {
        of_text += 1;
        Ok(of_text < 2)
    })
    .unwrap();
    assert_eq!((seen, of_text), (1, 2));
    let batches = read(&table, Query::all().limit(4), 2);
    assert_eq!(batches.len(), 2);
}

#[test]
fn columns_of_sql_have_the_types_that_the_engine_knows_or_the_values_have() {
    let db = open("sqlite::memory:");
    let table = db.table::<Everything>().unwrap();
    (1..=3).try_for_each(|id| table.insert(&everything(id)).map(|_| ())).unwrap();
    let sql = "SELECT money, sum(money) OVER () AS total, instant, 1 AS one, NULL AS empty, \
               CASE id WHEN 1 THEN NULL WHEN 2 THEN 7 ELSE 0.5 END AS mixed FROM everything ORDER BY id";
    let batches = of_sql(&db, sql, 100).unwrap();
    let types: Vec<_> =
        batches[0].schema().fields().iter().map(|f| f.data_type().clone()).collect();
    let money = DataType::Decimal128(19, 4);
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    assert_eq!(
        types,
        [money.clone(), money, utc, DataType::Int64, DataType::Null, DataType::Float64]
    );
    let mixed: &Float64Array = batches[0].column(5).as_primitive();
    assert_eq!(mixed.iter().collect::<Vec<_>>(), [None, Some(7.0), Some(0.5)]);

    let error = of_sql(&db, "SELECT 1 AS x UNION ALL SELECT 'a'", 100).unwrap_err();
    assert_eq!(
        (error.kind(), error.column(), error.row()),
        (ErrorKind::Mismatch, Some("x"), Some(1))
    );
    // The first batch decides the type of an unknown column.
    let error = of_sql(&db, "SELECT 1 AS x UNION ALL SELECT 0.5", 1).unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Mismatch, Some(1)));
}

#[cfg(feature = "postgres")]
#[test]
fn decimals_of_servers_are_digits() {
    on_postgres(|url| {
        let db = Db::open(url).unwrap();
        let sql = "SELECT 0.123456789012345678901234::numeric AS x UNION ALL SELECT 7 ORDER BY 1";
        let batches = of_sql(&db, sql, 100).unwrap();
        let digits = batches[0].column(0).as_string::<i32>();
        assert_eq!((digits.value(0), digits.value(1)), ("0.123456789012345678901234", "7"));
    });
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Sale {
    id: i64,
    #[record(max = 8)]
    city: String,
    amount: Currency,
    at: Timestamp,
    day: Option<Date>,
    count: Option<i16>,
}

fn sales() -> Db {
    let db = Db::builder().record::<Sale>().open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    db
}

fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter(columns.iter().map(|(name, array)| (*name, Arc::clone(array))))
        .unwrap()
}

#[test]
fn the_forms_of_other_programs_are_taken_if_they_are_exact() {
    let db = sales();
    let cities: DictionaryArray<Int8Type> = ["Bern", "Basel", "Bern"].into_iter().collect();
    let at = TimestampNanosecondArray::from(vec![1_000, 2_000, 3_000]).with_timezone("+01:00");
    let amounts = Decimal64Array::from(vec![1, -250, 0]).with_precision_and_scale(10, 2).unwrap();
    let rows = batch(&[
        ("city", Arc::new(cities)),
        ("at", Arc::new(at)),
        ("amount", Arc::new(amounts)),
        ("day", Arc::new(Date64Array::from(vec![Some(86_400_000), None, Some(0)]))),
        ("count", Arc::new(Int32Array::from(vec![Some(7), None, None]))),
    ]);
    assert_eq!(insert(&db, "sale", &rows).unwrap(), 3);
    let stored = db.table::<Sale>().unwrap().list(Query::all()).unwrap();
    assert_eq!(stored[1].city, "Basel");
    assert_eq!(stored[1].amount, "-2.5".parse().unwrap());
    assert_eq!(stored[0].day, Some(Date::constant(1970, 1, 2)));
    assert_eq!(stored[0].at.as_microsecond(), 1);
    assert_eq!(stored.iter().map(|sale| sale.count).collect::<Vec<_>>(), [Some(7), None, None]);

    for city in [
        Arc::new(LargeStringArray::from(vec!["Chur"])) as ArrayRef,
        Arc::new(StringViewArray::from(vec!["Chur"])),
    ] {
        let at = TimestampSecondArray::from(vec![5]).with_timezone("UTC");
        let whole = Int32Array::from(vec![12]);
        let rows = batch(&[("city", city), ("at", Arc::new(at)), ("amount", Arc::new(whole))]);
        insert(&db, "sale", &rows).unwrap();
    }
    let last = db.table::<Sale>().unwrap().get(5).unwrap().unwrap();
    assert_eq!((last.city.as_str(), last.amount), ("Chur", "12".parse().unwrap()));
    assert_eq!(last.at.as_microsecond(), 5_000_000);
}

#[test]
fn what_a_table_does_not_take_is_an_error_that_names_the_place() {
    let db = sales();
    let good = |with: &[(&str, ArrayRef)]| {
        let at = TimestampSecondArray::from(vec![5, 6]).with_timezone("UTC");
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("city", Arc::new(LargeStringArray::from(vec!["Chur", "Bern"]))),
            ("at", Arc::new(at)),
            ("amount", Arc::new(Int32Array::from(vec![12, 13]))),
        ];
        for (name, array) in with {
            columns.retain(|(other, _)| other != name);
            columns.push((name, Arc::clone(array)));
        }
        batch(&columns)
    };
    let cases: Vec<(&str, ArrayRef, ErrorKind, Option<u64>)> = vec![
        ("count", Arc::new(Float64Array::from(vec![1.0, 2.0])), ErrorKind::Mismatch, None),
        ("at", Arc::new(TimestampSecondArray::from(vec![5, 6])), ErrorKind::Mismatch, None),
        ("day", Arc::new(Int32Array::from(vec![5, 6])), ErrorKind::Mismatch, None),
        ("amount", Arc::new(Float64Array::from(vec![1.0, 2.0])), ErrorKind::Mismatch, None),
        ("city", Arc::new(Int32Array::from(vec![5, 6])), ErrorKind::Mismatch, None),
        ("nothing", Arc::new(Int32Array::from(vec![5, 6])), ErrorKind::Schema, None),
        ("count", Arc::new(Int32Array::from(vec![5, 60_000])), ErrorKind::OutOfRange, Some(1)),
        (
            "city",
            Arc::new(LargeStringArray::from(vec!["a", "too long for it"])),
            ErrorKind::TooLong,
            Some(1),
        ),
        (
            "city",
            Arc::new(LargeStringArray::from(vec![Some("a"), None])),
            ErrorKind::Constraint,
            Some(1),
        ),
        (
            "at",
            Arc::new(TimestampNanosecondArray::from(vec![1_000, 1]).with_timezone("UTC")),
            ErrorKind::OutOfRange,
            Some(1),
        ),
        (
            "amount",
            Arc::new(
                Decimal64Array::from(vec![100_000, 1]).with_precision_and_scale(10, 5).unwrap(),
            ),
            ErrorKind::OutOfRange,
            Some(1),
        ),
    ];
    for (name, array, kind, row) in cases {
        let error = insert(&db, "sale", &good(&[(name, array)])).unwrap_err();
        assert_eq!((error.kind(), error.row()), (kind, row), "{name}: {error}");
        assert!(kind == ErrorKind::Schema || error.column() == Some(name), "{error}");
    }
    let missing = record_batch!(("count", Int16, [1])).unwrap();
    assert_eq!(insert(&db, "sale", &missing).unwrap_err().kind(), ErrorKind::Constraint);
    assert_eq!(db.table::<Sale>().unwrap().count(Query::all()).unwrap(), 0);
    insert(&db, "sale", &good(&[])).unwrap();
}

#[test]
fn record_batches_follow_the_options_of_their_batch() {
    let db = sales();
    let at: ArrayRef = Arc::new(TimestampSecondArray::from(vec![5, 6]).with_timezone("UTC"));
    let rows = |city: &str| {
        batch(&[
            ("id", Arc::new(Int32Array::from(vec![1, 2]))),
            ("city", Arc::new(LargeStringArray::from(vec![city, city]))),
            ("at", Arc::clone(&at)),
            ("amount", Arc::new(Int32Array::from(vec![12, 13]))),
        ])
    };
    insert(&db, "sale", &rows("Bern")).unwrap();
    let error = insert(&db, "sale", &rows("Chur")).unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Duplicate, Some(0)));
    let table = db.dynamic("sale").unwrap();
    let mut ignoring = db.batch(BatchOptions::new().on_conflict(OnConflict::Ignore));
    ignoring.insert_record_batch(&table, &rows("Chur")).unwrap();
    ignoring.finish().unwrap();
    let sale = || db.table::<Sale>().unwrap().get(1).unwrap().unwrap();
    assert_eq!(sale().city, "Bern");
    let mut updating = db.batch(BatchOptions::new());
    updating.upsert_record_batch(&table, &rows("Chur")).unwrap();
    updating.finish().unwrap();
    assert_eq!(sale().city, "Chur");
}

#[test]
fn vectors_become_lists_of_a_fixed_size() {
    let vectors = |url: &str| {
        let db = Db::open(url).unwrap();
        let table = TableSchema::builder("point")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<Option<Vector<3>>>("place"))
            .key(["id"]);
        let table = db.create_table(table.build().unwrap()).unwrap();
        let mut row = DynRow::new();
        row.set("place", Vector::from([1.0, -2.5, 3.0])).unwrap();
        table.insert(&row).unwrap();
        table.insert(&DynRow::new()).unwrap();
        let batches: Vec<_> =
            table.record_batches(Query::all(), 10).unwrap().collect::<bobak::Result<_>>().unwrap();
        let places = batches[0].column(1).as_fixed_size_list();
        assert_eq!((places.value_length(), places.is_null(1)), (3, true));
        let ids = batches[0].column(0).as_primitive::<Int64Type>();
        assert_eq!(ids.values(), &[1, 2]);
        table.delete_where(table.column("id").unwrap().gt(0)).unwrap();
        assert_eq!(insert(&db, "point", &batches[0]).unwrap(), 2);
        let stored = table.list(Query::all()).unwrap();
        assert_eq!(stored[0].get::<Vector<3>>("place").unwrap(), Vector::from([1.0, -2.5, 3.0]));
        let wrong = record_batch!(("id", Int64, [7])).unwrap();
        assert_eq!(insert(&db, "point", &wrong).unwrap(), 1);
    };
    on_each(|place| vectors(&place.url));
}

#[test]
fn files_of_other_programs_may_have_values_of_other_types() {
    let db = Db::open("sqlite::memory:").unwrap();
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, small SMALLINT, free)", ()).unwrap();
    db.execute("INSERT INTO t VALUES (1, 5, 'a'), (2, 70000, 'b'), (3, 6, x'00')", ()).unwrap();
    let table = db.dynamic("t").unwrap();
    let id = table.column("id").unwrap();
    let read = |most: i64| -> bobak::Result<Vec<RecordBatch>> {
        table.record_batches(id.le(most), 10)?.collect()
    };
    assert_eq!(read(1).unwrap()[0].schema().field(2).data_type(), &DataType::Utf8);
    let error = read(2).unwrap_err();
    assert_eq!(
        (error.kind(), error.column(), error.row()),
        (ErrorKind::OutOfRange, Some("small"), Some(1))
    );
    db.execute("UPDATE t SET small = 1", ()).unwrap();
    let error = read(3).unwrap_err();
    assert_eq!(
        (error.kind(), error.column(), error.row()),
        (ErrorKind::Mismatch, Some("free"), Some(2))
    );
}

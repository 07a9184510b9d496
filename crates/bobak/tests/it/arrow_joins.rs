//! Joins and selections as Arrow record batches, on every engine.

#[cfg(feature = "mysql")]
use crate::engines::on_mariadb;
#[cfg(feature = "postgres")]
use crate::engines::on_postgres;
use crate::engines::{on_each, on_firebird};
use bobak::arrow::arrow_array::RecordBatch;
use bobak::arrow::arrow_array::cast::AsArray;
use bobak::arrow::arrow_array::types::{Decimal128Type, Int64Type};
use bobak::prelude::*;
use bobak::query::{JoinQuery, from};

#[derive(Record)]
struct Thing {
    id: i64,
    yes: bool,
    money: Currency,
    instant: Timestamp,
}

#[derive(Record)]
struct Note {
    id: i64,
    #[record(references = Thing)]
    thing_id: i64,
    text: Option<String>,
}

/// The batches of a join, and the names and types of the columns.
fn of_join<L, R>(db: &Db, query: &JoinQuery<L, R>, rows: usize) -> (Vec<RecordBatch>, Vec<String>) {
    let mut batches = Vec::new();
    db.for_each_record_batch(query, rows, |batch| {
        batches.push(batch);
        Ok(true)
    })
    .unwrap();
    let schema = batches[0].schema();
    let columns = schema.fields().iter().map(|f| format!("{} {}", f.name(), f.data_type()));
    (batches, columns.collect())
}

fn joins_have_columns(url: &str) {
    let db = Db::builder().record::<Thing>().record::<Note>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    let (things, notes) = (db.table::<Thing>().unwrap(), db.table::<Note>().unwrap());
    for id in 1..=3 {
        let money = Currency::from_scaled(id * 12_345);
        things.insert(&Thing { id, yes: id == 2, money, instant: Timestamp::UNIX_EPOCH }).unwrap();
    }
    for (thing_id, text) in [(1, Some("a")), (2, None), (2, Some("b"))] {
        notes.insert(&Note { id: 0, thing_id, text: text.map(Into::into) }).unwrap();
    }

    let query = from::<Note>().join(Note::THING).order_by(Note::ID.asc()).select((
        Note::ID,
        Thing::ID,
        Note::TEXT,
        Thing::MONEY,
        Thing::ID * Note::ID,
    ));
    let (batches, columns) = of_join(&db, &query, 2);
    let names =
        ["id Int64", "id_2 Int64", "text Utf8", "money Decimal128(19, 4)", "column_5 Int64"];
    assert_eq!(columns, names);
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [2, 1]);
    let texts = batches[0].column(2).as_string::<i32>().iter().collect::<Vec<_>>();
    assert_eq!(texts, [Some("a"), None]);
    let money = batches[0].column(3).as_primitive::<Decimal128Type>();
    assert_eq!(money.value(0), 12_345);
    assert_eq!(batches[1].column(4).as_primitive::<Int64Type>().value(0), 6);

    let (none, same) = of_join(&db, &query.clone().limit(0), 2);
    assert_eq!((none.len(), none[0].num_rows(), same), (1, 0, columns));

    let sums = Query::<Thing>::all().group_by(Thing::YES).order_by(Thing::YES.asc()).select((
        Thing::YES,
        Thing::MONEY.sum(),
        Thing::INSTANT.max(),
    ));
    let (batches, columns) = of_join(&db, &sums, 10);
    let instant = "column_3 Timestamp(µs, \"UTC\")";
    assert_eq!(columns, ["yes Boolean", "column_2 Decimal128(19, 4)", instant]);
    assert_eq!(batches[0].num_rows(), 2);

    let transaction = db.begin().unwrap();
    transaction.table::<Note>().unwrap().delete(1).unwrap();
    let mut rows = 0;
    let count = |batch: RecordBatch| {
        rows += batch.num_rows();
        Ok(true)
    };
    transaction.for_each_record_batch(&query, 2, count).unwrap();
    assert_eq!(rows, 2);
    transaction.rollback().unwrap();
}

#[test]
fn joins_have_columns_on_every_engine() {
    on_each(|place| joins_have_columns(&place.url));
    #[cfg(feature = "postgres")]
    on_postgres(joins_have_columns);
    #[cfg(feature = "mysql")]
    on_mariadb(joins_have_columns);
    on_firebird(joins_have_columns);
}

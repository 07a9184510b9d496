//! Results without rows as Arrow record batches: their columns, of a statement that runs once.

use crate::arrow::{Everything, of_sql, open, read};
#[cfg(feature = "mysql")]
use crate::engines::on_mariadb;
#[cfg(feature = "postgres")]
use crate::engines::on_postgres;
use crate::engines::{on_each, on_firebird};
use bobak::ValueRef;
use bobak::arrow::RecordBatch;
use bobak::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

#[test]
fn an_empty_result_is_one_batch_with_the_columns() {
    on_each(|place| {
        let db = open(&place.url);
        let table = db.table::<Everything>().unwrap();
        let batches = read(&table, Query::all(), 10);
        assert_eq!((batches.len(), batches[0].num_rows(), batches[0].num_columns()), (1, 0, 25));
        let batches = of_sql(&db, "SELECT id, text FROM everything WHERE id < 0", 10).unwrap();
        let schema = batches[0].schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!((batches.len(), batches[0].num_rows(), names), (1, 0, vec!["id", "text"]));
        let transaction = db.begin().unwrap();
        let mut columns = 0;
        let sql = "SELECT id, text FROM everything WHERE id < 0";
        let each = |batch: RecordBatch| {
            columns = batch.num_columns();
            Ok(true)
        };
        transaction.for_each_sql_record_batch(sql, (), 10, each).unwrap();
        transaction.rollback().unwrap();
        assert_eq!(columns, 2);
    });
}

/// The names of the columns of a statement without rows.
fn empty_columns(db: &Db, sql: &str) -> Vec<String> {
    let batches = of_sql(db, sql, 10).unwrap();
    assert_eq!((batches.len(), batches[0].num_rows()), (1, 0), "{sql}");
    batches[0].schema().fields().iter().map(|field| field.name().to_ascii_lowercase()).collect()
}

#[test]
fn a_statement_without_rows_runs_once() {
    let runs = Arc::new(AtomicI64::new(0));
    let counted = Arc::clone(&runs);
    let count = move |_: &[ValueRef<'_>]| Ok(Value::Int(counted.fetch_add(1, Ordering::Relaxed)));
    let db = Db::builder()
        .function(bobak::engine::sqlite::Function::scalar("counted", Some(0), count))
        .open("sqlite::memory:")
        .unwrap();
    assert_eq!(empty_columns(&db, "SELECT 1 AS one, 2 AS two WHERE counted() < 0"), ["one", "two"]);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let transaction = db.begin().unwrap();
    let sql = "SELECT 1 AS one WHERE counted() < 0";
    transaction.for_each_sql_record_batch(sql, (), 10, |_| Ok(true)).unwrap();
    transaction.rollback().unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 2);

    // A number that a sequence has given is gone.
    let on_server = |url: &str, sql: &str, next: &str| {
        let db = Db::open(url).unwrap();
        db.execute("CREATE SEQUENCE numbers", ()).unwrap();
        assert_eq!(empty_columns(&db, sql), ["one"]);
        assert_eq!(db.sql::<i64>(next, ()).unwrap(), [2]);
    };
    #[cfg(feature = "postgres")]
    on_postgres(|url| {
        let sql = "SELECT 'x' AS one WHERE nextval('numbers') < 0";
        on_server(url, sql, "SELECT nextval('numbers')");
    });
    #[cfg(feature = "mysql")]
    on_mariadb(|url| {
        let sql = "SELECT 'x' AS one FROM dual WHERE nextval(numbers) < 0";
        on_server(url, sql, "SELECT nextval(numbers)");
    });
    on_firebird(|url| {
        let sql = "SELECT 'x' AS one FROM rdb$database WHERE NEXT VALUE FOR numbers < 0";
        on_server(url, sql, "SELECT NEXT VALUE FOR numbers FROM rdb$database");
    });
}

#[test]
fn a_write_that_returns_no_rows_has_columns() {
    let returning = |url: &str| {
        let db = open(url);
        let sql = "DELETE FROM everything WHERE id < 0 RETURNING id, text, money";
        assert_eq!(empty_columns(&db, sql), ["id", "text", "money"]);
        assert_eq!(empty_columns(&db, "CREATE TABLE other (id INTEGER)"), [] as [&str; 0]);
        assert_eq!(empty_columns(&db, "DROP TABLE other"), [] as [&str; 0]);
    };
    returning("sqlite::memory:");
    #[cfg(feature = "postgres")]
    on_postgres(returning);
    #[cfg(feature = "mysql")]
    on_mariadb(returning);
    #[cfg(feature = "remote")]
    {
        let sqlite = bobak::engine::sqlite::Sqlite::builder().open_memory().unwrap();
        crate::engines::on_bobak_server(sqlite, returning);
    }
}

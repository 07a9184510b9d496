//! Two databases that differ only in what a client may not see respond alike.

use crate::shop::{Shop, ada, assert_fails, on_each};
use bobak_core::{
    Assign, BulkChange, ColumnSchema, Condition, Engine, ErrorKind, SchemaChange, Select, Source,
    SubQuery, TableSchema, Value, Verb,
};
use bobak_memory::Memory;
use bobak_permissions::{Caller, ProtectedDatabase};
use bobak_sqlite::Sqlite;
use bobak_testkit::hidden_data;
use std::sync::Arc;

fn compare_each(engine: impl Fn() -> Arc<dyn Engine>) {
    let caller = ada(hidden_data::GRANTS);
    hidden_data::for_each_seed(8, |seed, requests| {
        let pair = [0, 1].map(|variant| {
            let engine = engine();
            hidden_data::fill(&*engine, variant).unwrap();
            ProtectedDatabase::new("main", engine).engine_for(&caller)
        });
        hidden_data::compare([&*pair[0], &*pair[1]], seed, requests).unwrap();
    });
}

#[test]
fn memory_databases_respond_alike() {
    compare_each(|| Arc::new(Memory::new()));
}

#[test]
fn sqlite_databases_respond_alike() {
    compare_each(|| Arc::new(Sqlite::builder().open_memory().unwrap()));
}

/// What describes all tables, or has pages of them, is closed to a client with SQL on every table, too.
#[test]
fn catalogs_are_closed() {
    let shop = Shop::new(Arc::new(Sqlite::builder().open_memory().unwrap()));
    let operator = shop.by(&Caller::operator());
    let track = SchemaChange::Track { table: Arc::clone(&shop.orders), history: false };
    operator.engine.alter(&[track]).unwrap();
    operator.execute("CREATE VIEW tables AS SELECT name FROM sqlite_schema").unwrap();
    operator.execute("CREATE VIRTUAL TABLE words USING fts5(word)").unwrap();
    operator.execute("ANALYZE").unwrap();
    let client = shop.with("read, write, sql on *");
    client.sql("SELECT id FROM orders").unwrap();
    for table in [
        "sqlite_schema",
        "main.sqlite_master",
        "sqlite_stat1",
        "sqlite_sequence",
        "sqlite_dbpage",
        "dbstat",
        "pragma_table_list",
        "pragma_table_info('orders')",
        "bobak_feed",
        "bobak_layout",
        "bobak_log_orders",
        "tables",
    ] {
        for sql in [
            format!("SELECT count(*) FROM {table}"),
            format!("SELECT (SELECT max(rowid) FROM {table}) FROM orders"),
            format!("WITH x AS (SELECT * FROM {table}) SELECT 1 FROM x, orders"),
            format!("EXPLAIN QUERY PLAN SELECT * FROM {table}"),
        ] {
            let error = client.text(&sql).expect_err(&sql);
            let is_closed = matches!(error.kind(), ErrorKind::Denied | ErrorKind::Schema);
            assert!(is_closed, "{sql}: {error}");
        }
    }
    assert_fails(client.text("SELECT rtreecheck('words')"), ErrorKind::Denied);
    // Page numbers of other tables are in the program of a statement.
    assert_fails(client.text("EXPLAIN SELECT id FROM orders"), ErrorKind::Denied);
    client.text("EXPLAIN QUERY PLAN SELECT id FROM orders").unwrap();
}

/// SQLite reports no read of the columns that NATURAL and USING compare.
#[test]
fn joins_by_name_reveal_no_rows() {
    let shop = Shop::new(Arc::new(Sqlite::builder().open_memory().unwrap()));
    let client = shop.with("read, sql on orders");
    for sql in [
        "SELECT orders.id FROM orders JOIN secret USING (id, owner)",
        "SELECT orders.id FROM orders NATURAL JOIN secret",
        "WITH o AS (SELECT id FROM orders) SELECT id FROM o natural JOIN secret",
    ] {
        assert_fails(client.sql(sql), ErrorKind::Denied);
    }
    client.sql("SELECT o.id FROM orders AS o JOIN orders AS p ON o.id = p.id").unwrap();
}

/// Whether a sum overflows, and whether a database accepts a rule, depends on the rows.
#[test]
fn failures_that_depend_on_rows_need_to_read_them() {
    on_each(|shop| {
        let add = [Assign::Add { column: 2, value: Value::Int(1) }];
        let client = shop.with("update, schema on orders");
        assert_fails(client.change(&shop.orders, Some("id = 1"), Some(&add)), ErrorKind::Denied);
        let reader = shop.with("update on orders\nread on orders where owner = :user");
        assert_eq!(reader.change(&shop.orders, None, Some(&add)).unwrap(), 2);
        let unique = TableSchema::clone(&shop.orders).into_builder();
        let unique = Arc::new(unique.unique_index("totals", ["total"]).build().unwrap());
        let add_index = || [SchemaChange::AddIndex { table: Arc::clone(&unique), index: 0 }];
        for grants in ["", "read on orders where id = 1"] {
            let client = shop.with(&format!("schema on orders\nread on secret\n{grants}"));
            assert_fails(client.engine.alter(&add_index()), ErrorKind::Denied);
        }
        let plain = TableSchema::clone(&shop.orders).into_builder();
        let table = Arc::new(plain.index("owners", ["owner"]).build().unwrap());
        let client = shop.with("schema on orders\nread on secret");
        client.engine.alter(&[SchemaChange::AddIndex { table, index: 0 }]).unwrap();
        shop.with("schema on orders\nread on orders, secret").engine.alter(&add_index()).unwrap();
    });
}

/// By another key, a write would find rows by what they hold.
#[test]
fn keys_are_described_as_they_are() {
    on_each(|shop| {
        let by_total = TableSchema::builder("orders")
            .column(ColumnSchema::of::<i64>("total"))
            .column(ColumnSchema::of::<String>("owner"))
            .key(["total"])
            .given_key();
        let by_total = Arc::new(by_total.build().unwrap());
        for grants in ["update on orders", "delete on orders", "write, read on orders where id = 1"]
        {
            let client = shop.with(grants);
            let values = [Value::Int(20), Value::from("ada")];
            let update = client.write(&by_total, Verb::Update, &values.to_vec());
            assert_fails(update, ErrorKind::Denied);
            let delete = client.write(&by_total, Verb::Delete, &values[..1].to_vec());
            assert_fails(delete, ErrorKind::Denied);
        }
    });
}

/// Permissions on the other table of a condition are those of a query of its own.
#[test]
fn conditions_over_other_tables_are_rejected() {
    on_each(|shop| {
        let query = SubQuery {
            table: Arc::clone(&shop.secret),
            column: 0,
            condition: None,
            more: Vec::new(),
        };
        let condition = Condition::InQuery { column: 0, query: Box::new(query) };
        let client = shop.with("read, write on orders");
        let session = client.engine.session().unwrap();
        let mut select = Select::all(&shop.orders);
        select.condition = Some(condition.clone());
        assert_fails(
            session.query(&Source::Select(&select), &mut |_| Ok(true)),
            ErrorKind::Unsupported,
        );
        let condition = Some(&condition);
        let delete = BulkChange { table: &shop.orders, condition, assign: None };
        assert_fails(session.change(&delete), ErrorKind::Unsupported);
    });
}

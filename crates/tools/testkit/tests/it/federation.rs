//! SQL over the tables of an engine that fails, and of one that is far away.

use bobak_core::{
    Collation, ColumnSchema, Engine, ErrorKind, Estimate, Result, Source, TableSchema,
    TransactionControl, Value,
};
use bobak_federation::Federation;
use bobak_memory::Memory;
use bobak_sqlite::Sqlite;
use bobak_testkit::{Entry, Faults, FaultyEngine, Probe, Table, Values, row, tables};
use std::sync::Arc;

/// A federation with an attached engine `g` that injects failures and can be read directly.
struct Setup {
    federation: Federation,
    attached: Arc<FaultyEngine>,
    faults: Arc<Faults>,
}

fn setup(attached: FaultyEngine) -> Setup {
    let faults = attached.faults();
    let attached = Arc::new(attached);
    let main = Sqlite::open_memory().unwrap();
    let engine = Arc::clone(&attached) as Arc<dyn Engine>;
    let federation =
        Federation::embedded(&main, vec![("g".to_owned(), engine)], Vec::new()).unwrap();
    Setup { federation, attached, faults }
}

impl Setup {
    fn rows(&self, table: &Table) -> Vec<Values> {
        Probe::new(&*self.attached).unwrap().all(table).unwrap()
    }

    fn query(&self, text: &str) -> Vec<Values> {
        let probe = Probe::new(self.federation.engine()).unwrap();
        probe.query(&Source::Sql { text, parameters: &[] }).unwrap()
    }

    fn run(&self, text: &str) -> Result<u64> {
        self.federation.engine().session()?.execute(text, &[])
    }
}

#[test]
fn a_failure_in_the_middle_of_a_statement_leaves_nothing_of_it() {
    let tag = tables::tag().unwrap();
    let setup = setup(FaultyEngine::new(Box::new(Memory::new())));
    let probe = Probe::with_tables(&*setup.attached, &[&tag]).unwrap();
    let few = (0..5).map(|n| row![format!("t{n}"), f64::from(n)]);
    probe.insert_all(&tag, few).unwrap();
    drop(probe);
    setup.query("SELECT count(*) FROM tag");
    let before = setup.rows(&tag);
    let statements = [
        "INSERT INTO tag VALUES ('a', 1), ('b', 2), ('c', 3)",
        "INSERT INTO tag SELECT name || 'x', weight FROM tag",
        "UPDATE tag SET weight = weight + 1 WHERE weight >= 1",
        "UPDATE tag SET name = name || 'y'",
        "DELETE FROM tag WHERE weight > 0",
        "INSERT OR REPLACE INTO tag SELECT name, 0 FROM tag",
    ];
    for sql in statements {
        let mut failures = 0;
        loop {
            failures += 1;
            setup.faults.fail_operation(failures, ErrorKind::Io);
            let done = setup.run(sql);
            let came = setup.faults.pending() == 0;
            setup.faults.forget();
            if !came {
                done.unwrap();
                break;
            }
            let error = done.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{sql} at {failures}: {error}");
            assert_eq!(setup.rows(&tag), before, "{sql} at {failures}");
        }
        assert!(failures > 4, "{sql}");
        // It has changed something: back to the beginning.
        let probe = Probe::new(&*setup.attached).unwrap();
        probe.session.change(&all_gone(&tag)).unwrap();
        probe.insert_all(&tag, before.clone()).unwrap();
    }
    for sql in statements {
        setup.faults.fail_commit(1, ErrorKind::Full);
        assert_eq!(setup.run(sql).unwrap_err().kind(), ErrorKind::Full, "{sql}");
        assert_eq!(setup.rows(&tag), before, "{sql}");
    }
}

fn all_gone(table: &Table) -> bobak_core::BulkChange<'_> {
    bobak_core::BulkChange { table, condition: None, assign: None }
}

#[test]
fn a_transaction_goes_on_without_the_statement_that_failed() {
    let tag = tables::tag().unwrap();
    let setup = setup(FaultyEngine::new(Box::new(Memory::new())));
    drop(Probe::with_tables(&*setup.attached, &[&tag]).unwrap());
    setup.query("SELECT count(*) FROM tag");
    let session = setup.federation.engine().session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    session.execute("INSERT INTO tag VALUES ('kept', 1)", &[]).unwrap();
    // A mark, then the rows: the third of them fails.
    setup.faults.fail_operation(4, ErrorKind::Io);
    let failed = session.execute("INSERT INTO tag VALUES ('x', 1), ('y', 2), ('z', 3)", &[]);
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Io);
    session.execute("UPDATE tag SET weight = 2", &[]).unwrap();
    session.control(TransactionControl::Commit).unwrap();
    assert_eq!(setup.rows(&tag), [row!["kept", 2.0]]);
}

/// Orders of customers, who live in cities: customers and cities are far away.
fn shop(rows: u64) -> (Setup, Setup) {
    let customer = TableSchema::builder("customer")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("name").collation(Collation::NoCase))
        .column(ColumnSchema::of::<String>("land"))
        .column(ColumnSchema::of::<i32>("city"))
        .key(["id"])
        .index("customer_name", ["name"])
        .build()
        .unwrap();
    let city = TableSchema::builder("city")
        .column(ColumnSchema::of::<String>("land"))
        .column(ColumnSchema::of::<i32>("number"))
        .column(ColumnSchema::of::<String>("title"))
        .key(["land", "number"])
        .build()
        .unwrap();
    let (customer, city) = (Arc::new(customer), Arc::new(city));
    let make = |far: Option<Estimate>| {
        let attached = FaultyEngine::new(Box::new(Memory::new()));
        let setup = setup(match far {
            Some(estimate) => attached.with_estimate(estimate),
            None => attached,
        });
        let probe = Probe::with_tables(&*setup.attached, &[&customer, &city]).unwrap();
        let customers: Vec<_> = (1..=20_000_i64)
            .map(|id| {
                let (name, land) = (format!("Name{id}"), ["ee", "lv", "lt"][id as usize % 3]);
                Entry::insert(&customer, row![id, name, land, id % 1_500])
            })
            .collect();
        probe.batch(&customers, bobak_core::OnError::Stop).outcomes().unwrap();
        let cities: Vec<_> = ["ee", "lv", "lt"]
            .iter()
            .flat_map(|land| (0..1_000_i64).map(move |n| (*land, n)))
            .map(|(land, n)| Entry::insert(&city, row![land, n, format!("{land}{n}")]))
            .collect();
        probe.batch(&cities, bobak_core::OnError::Stop).outcomes().unwrap();
        drop(probe);
        for sql in [
            "CREATE TABLE main.orders (id INTEGER PRIMARY KEY, customer INTEGER, who TEXT)",
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 6000) \
             INSERT INTO orders SELECT n, n * 7919 % 21000, 'NAME' || (n * 31 % 20500) FROM c",
        ] {
            setup.run(sql).unwrap();
        }
        setup
    };
    let far = Estimate { rows: Some(rows), call: 500, row: 3 };
    (make(Some(far)), make(None))
}

#[test]
fn a_join_with_a_far_engine_asks_for_blocks_of_keys() {
    let (far, near) = shop(10_000_000);
    for (sql, most) in [
        ("SELECT count(*), sum(c.city) FROM orders o JOIN customer c ON c.id = o.customer", 80),
        (
            "SELECT count(*), count(c.id), sum(c.city) FROM orders o \
             LEFT JOIN customer c ON c.id = o.customer AND c.city > 700 WHERE o.id > 100",
            80,
        ),
        // By a text that compares without case.
        ("SELECT count(*), max(c.id) FROM orders o JOIN customer c ON c.name = o.who", 80),
        // A second table that depends on the first, by a key of two columns.
        (
            "SELECT count(*), min(y.title), max(y.title) FROM orders o \
             JOIN customer c ON c.id = o.customer CROSS JOIN city y \
             WHERE y.land = c.land AND y.number = c.city",
            160,
        ),
        // The same table twice.
        (
            "SELECT count(*), sum(c.city), sum(d.city) FROM orders o \
             JOIN customer c ON c.id = o.customer JOIN customer d ON d.id = o.id",
            160,
        ),
    ] {
        let before = far.faults.operations();
        let rows = far.query(sql);
        let calls = far.faults.operations() - before;
        assert_eq!(rows, near.query(sql), "{sql}");
        assert!(calls < most, "{calls} calls: {sql}");
    }
}

#[test]
fn what_can_not_look_ahead_is_right_all_the_same() {
    let (far, near) = shop(10_000_000);
    let both = |sql: &str| {
        let rows = far.query(sql);
        assert_eq!(rows, near.query(sql), "{sql}");
        rows
    };
    // A statement that ends early asks for few keys more.
    let before = far.faults.operations();
    both("SELECT c.name FROM orders o JOIN customer c ON c.id = o.customer ORDER BY o.id LIMIT 40");
    assert!(far.faults.operations() - before < 60);
    // Keys that differ from run to run.
    both("SELECT count(*) FROM orders o JOIN customer c ON c.id = abs(random() % 20000) + 1");
    // A statement that writes is not run twice.
    for setup in [&far, &near] {
        let sql = "UPDATE orders SET who = (SELECT name FROM customer WHERE id = orders.customer) \
                   WHERE id <= 200";
        assert_eq!(setup.run(sql).unwrap(), 200);
    }
    both("SELECT who FROM orders WHERE id <= 250 ORDER BY id");
    // Nor is one of two that are running.
    for setup in [&far, &near] {
        let session = setup.federation.engine().session().unwrap();
        let text = "SELECT o.id, c.name FROM orders o JOIN customer c ON c.id = o.customer";
        let source = Source::Sql { text, parameters: &[] };
        let (mut one, mut two) = (session.open(&source).unwrap(), session.open(&source).unwrap());
        let mut rows = bobak_core::RowBuffer::default();
        session.fetch(&mut one, &mut rows).unwrap();
        session.fetch(&mut two, &mut rows).unwrap();
        assert!(rows.rows() > 0);
    }
}

#[test]
fn a_small_table_far_away_is_read_as_a_whole() {
    let (far, near) = shop(3_000);
    let sql = "SELECT count(*), sum(c.city) FROM orders o JOIN customer c ON c.id = o.customer";
    let before = far.faults.operations();
    let rows = far.query(sql);
    assert!(far.faults.operations() - before < 80);
    assert_eq!(rows, near.query(sql));
    assert!(matches!(rows[0][0], Value::Int(5_000..6_000)));
}

#[test]
fn a_failure_while_looking_ahead_is_the_statements_own() {
    let (far, _) = shop(10_000_000);
    let sql = "SELECT count(*), sum(c.city) FROM orders o JOIN customer c ON c.id = o.customer";
    let whole = far.query(sql);
    let run = |text: &str| {
        let probe = Probe::new(far.federation.engine()).unwrap();
        probe.query(&Source::Sql { text, parameters: &[] })
    };
    for n in [2, 30, 50, 52, 55] {
        far.faults.fail_operation(n, ErrorKind::Unreachable);
        let failed = run(sql);
        far.faults.forget();
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Unreachable, "{n}");
        assert_eq!(run(sql).unwrap(), whole, "{n}");
    }
}

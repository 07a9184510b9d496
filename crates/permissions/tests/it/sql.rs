//! SQL of callers, within and beyond their permissions.

use crate::shop::{Shop, ada, assert_fails, order, shown, text};
use bobak_core::{Engine, ErrorKind, OnError, Select, Source, TransactionControl, Verb};
use bobak_memory::Memory;
use bobak_permissions::{Caller, read_only_policy};
use bobak_sqlite::Sqlite;
use std::sync::Arc;
use std::time::Duration;

fn shop() -> Shop {
    Shop::new(Arc::new(Sqlite::builder().open_memory().unwrap()))
}

#[test]
fn table_permissions_apply_in_sql() {
    let shop = shop();
    let reader = shop.with("read, sql on orders");
    assert_eq!(reader.sql("SELECT id FROM orders ORDER BY id").unwrap(), [1, 2, 3]);
    assert_eq!(reader.sql("SELECT count(*) FROM orders").unwrap(), [3]);
    let with = "WITH o AS (SELECT id FROM orders WHERE total > 10) SELECT max(id) FROM o";
    assert_eq!(reader.sql(with).unwrap(), [3]);
    assert_eq!(reader.sql("SELECT value FROM json_each('[4, 5]')").unwrap(), [4, 5]);
    for sql in [
        "UPDATE orders SET total = 1",
        "DELETE FROM orders",
        "INSERT INTO orders (owner, total) VALUES ('x', 1)",
        "REPLACE INTO orders (id, owner, total) VALUES (1, 'x', 1)",
        "INSERT INTO orders (owner, total) VALUES ('x', 1) RETURNING id",
        "WITH x AS (SELECT 1) DELETE FROM orders WHERE id IN (1, 2)",
    ] {
        assert_fails(reader.execute(sql), ErrorKind::Denied);
        assert_fails(reader.sql(sql), ErrorKind::Denied);
    }
    // The referenced table must be readable, too: SQLite reads it.
    let insert = "INSERT INTO orders (owner, total) VALUES ('x', 1)";
    assert_fails(shop.with("read, write, sql on orders").execute(insert), ErrorKind::Denied);
    let writer = shop.with("read, insert, sql on orders\nupdate on orders\nread, sql on secret");
    writer.execute(insert).unwrap();
    writer.execute("UPDATE orders SET total = total + 1 WHERE id = 4").unwrap();
    assert_fails(writer.execute("DELETE FROM orders"), ErrorKind::Denied);
    // Prepared statements are shared: each caller is checked.
    let operator = shop.by(&Caller::operator());
    operator.execute("DELETE FROM orders WHERE id = 4").unwrap();
    assert_fails(writer.execute("DELETE FROM orders WHERE id = 4"), ErrorKind::Denied);
    assert_fails(shop.with("read on orders").sql("SELECT id FROM orders"), ErrorKind::Denied);
    assert_fails(shop.with("read on orders").sql("SELECT 1"), ErrorKind::Denied);
    assert!(!shop.with("read on orders").engine.capabilities().sql);
}

#[test]
fn sql_length_is_limited() {
    let shop = shop();
    let sql = |length: usize| format!("SELECT id FROM orders -- {}", "x".repeat(length));
    let reader = shop.with("read, sql on orders");
    assert_fails(reader.sql(&sql(1 << 20)), ErrorKind::TooLong);
    assert_eq!(reader.sql(&sql(200_000)).unwrap(), [1, 2, 3]);
    assert_eq!(shop.by(&Caller::operator()).sql(&sql(1 << 20)).unwrap(), [1, 2, 3]);
}

#[test]
fn replacing_rows_needs_delete_permission() {
    let shop = shop();
    let most = "read, insert, update, sql on orders\nread, sql on secret";
    let (writer, all) = (shop.with(most), shop.with(&format!("{most}\ndelete on orders")));
    for sql in [
        "REPLACE INTO orders (id, owner, total) VALUES (1, 'x', 1)",
        "INSERT OR REPLACE INTO orders (id, owner, total) VALUES (1, 'x', 1)",
        "insert or /* really */ replace into orders (id, owner, total) values (1, 'x', 1)",
        "UPDATE OR REPLACE orders SET id = 2 WHERE id = 1",
    ] {
        assert_fails(writer.execute(sql), ErrorKind::Denied);
        assert_fails(writer.sql(sql), ErrorKind::Denied);
    }
    writer.execute("UPDATE orders SET owner = replace(owner, 'ada', 'eve')").unwrap();
    assert_eq!(writer.sql("SELECT id FROM orders WHERE owner <> 'bob'").unwrap(), [1, 3]);
    all.execute("REPLACE INTO orders (id, owner, total) VALUES (1, 'x', 1)").unwrap();
    assert_fails(
        writer.execute("REPLACE INTO orders (id, owner, total) VALUES (2, 'x', 1)"),
        ErrorKind::Denied,
    );
}

#[test]
fn trigger_errors_do_not_reveal_hidden_tables() {
    let shop = shop();
    let operator = shop.by(&Caller::operator());
    for sql in [
        "CREATE TABLE hidden (a INTEGER UNIQUE, b TEXT NOT NULL, CHECK (length(b) < 9))",
        "CREATE TRIGGER audit AFTER INSERT ON orders BEGIN
            INSERT INTO hidden VALUES (new.total, nullif(new.owner, 'nobody')); END",
    ] {
        operator.execute(sql).unwrap();
    }
    let writer = shop.with("read, insert, sql on orders\nread, sql on secret");
    writer.insert_order(10, "ada", 7).unwrap();
    let rows = [(11, "ada", 7), (12, "nobody", 8), (13, "much too long", 9)];
    for (id, owner, total) in rows {
        let (sent, outcomes) = writer
            .batch(&[(&shop.orders, Verb::Insert, order(id, owner, total))], OnError::Continue);
        sent.unwrap();
        let [Err(in_batch)] = &outcomes[..] else { panic!("{outcomes:?}") };
        let single = writer.insert_order(id, owner, total).unwrap_err();
        for error in [in_batch, &single] {
            assert_eq!((error.kind(), error.table()), (ErrorKind::Constraint, Some("orders")));
            assert_eq!(error.column(), None);
            assert!(error.message().contains("a trigger of the table"), "{error}");
        }
        // A caller that can see the table gets the original error.
        let original = operator.insert_order(id, owner, total).unwrap_err();
        assert!(!original.message().contains("a trigger of the table"), "{original}");
    }
    // Errors about the row itself are not redacted.
    let own = writer.insert_order(10, "ada", 20).unwrap_err();
    assert_eq!((own.kind(), own.table()), (ErrorKind::Duplicate, Some("orders")));
}

#[test]
fn restricted_sql_reads_and_writes_rows_only() {
    let shop = shop();
    let caller = shop.with("read, write, sql on *\nschema on orders");
    for sql in [
        "PRAGMA table_info(orders)",
        "PRAGMA query_only = off",
        "ATTACH 'other.db' AS other",
        "DROP TABLE orders",
        "CREATE TABLE mine (id INTEGER)",
        "CREATE TEMP TABLE mine (id INTEGER)",
        "ALTER TABLE orders RENAME TO mine",
        "VACUUM INTO 'copy.db'",
        "ANALYZE",
        "EXPLAIN PRAGMA user_version",
        "/* SELECT */ REINDEX",
        "",
    ] {
        assert_fails(caller.execute(sql), ErrorKind::Denied);
        assert_fails(caller.sql(sql), ErrorKind::Denied);
    }
    for sql in [
        "SELECT rootpage FROM sqlite_schema",
        "SELECT 1 FROM sqlite_master",
        "SELECT cid FROM pragma_table_info('orders')",
        "UPDATE sqlite_schema SET sql = ''",
        "SELECT load_extension('x')",
    ] {
        let error = caller.sql(sql).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Denied | ErrorKind::Schema), "{sql}: {error}");
    }
    assert_eq!(shop.by(&Caller::operator()).ids(&shop.orders).unwrap(), [1, 2, 3]);
}

#[test]
fn sql_does_not_reveal_other_clients_statements() {
    let shop = shop();
    let operator = shop.by(&Caller::operator());
    operator.insert(&shop.secret, vec![700_000.into(), text("bob")]).unwrap();
    operator.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, t)").unwrap();
    let caller = shop.with("read, write, sql on kept");
    for function in ["last_insert_rowid()", "Total_Changes()", "\"changes\"()"] {
        for sql in [
            format!("SELECT {function}"),
            format!("INSERT INTO kept (t) VALUES ({function})"),
            format!("INSERT INTO kept (t) VALUES (1) RETURNING {function}"),
            format!("UPDATE kept SET t = 1 WHERE {function} > 0"),
        ] {
            assert_fails(caller.sql(&sql), ErrorKind::Denied);
            assert_fails(caller.execute(&sql), ErrorKind::Denied);
        }
        assert!(operator.sql(&format!("SELECT {function}")).is_ok());
        assert!(shop.with("all on *").sql(&format!("SELECT {function}")).is_ok());
    }
    let insert = "INSERT INTO kept (t) VALUES (abs(-7)) RETURNING id";
    assert_eq!(caller.sql(insert).unwrap(), [1]);
}

#[test]
fn hidden_table_looks_missing_in_sql() {
    let shop = shop();
    let operator = shop.by(&Caller::operator());
    operator.execute("CREATE VIEW seen AS SELECT id FROM secret").unwrap();
    operator.execute("CREATE VIEW own AS SELECT id FROM orders").unwrap();
    let caller = shop.with("read, write, sql on orders, own, seen");
    for sql in [
        "SELECT id FROM secret",
        "SELECT 1 FROM secret",
        "SELECT count(*) FROM secret",
        "SELECT nosuchcolumn FROM secret",
        "SELECT nosuch(id) FROM main.secret",
        "SELECT o.id FROM orders o, secret s",
        "SELECT id FROM orders WHERE id IN (SELECT id FROM \"secret\")",
        "SELECT id FROM orders WHERE id IN secret",
        "SELECT (SELECT max(id) FROM [secret]) FROM orders",
        "INSERT INTO secret VALUES (1)",
        "INSERT INTO secret (nosuch) VALUES (1)",
        "INSERT OR IGNORE INTO secret (id, owner) VALUES (1, 'x')",
        "UPDATE OR REPLACE `secret` SET owner = 1",
        "UPDATE orders SET owner = secret.owner FROM secret",
        "DELETE FROM secret WHERE nosuch = 1",
        "WITH secret AS (SELECT 1) SELECT count(*) FROM secret",
        "SELECT * FROM (WITH secret AS (SELECT 1) SELECT 1), secret",
        "SELECT secret.id FROM secret JOIN orders ON nosuch",
        "EXPLAIN QUERY PLAN SELECT id FROM secret",
        "SELECT id FROM secret; SELECT 1",
        "SELECT id FROM 'secret'",
    ] {
        let error = caller.sql(sql).unwrap_err();
        let (_, shows, code) = shown(&error);
        assert_eq!(error.kind(), ErrorKind::Schema, "{sql}: {error}");
        let nowhere = sql.replace("secret", "nowhere");
        let (_, nothing, other) = shown(&caller.sql(&nowhere).unwrap_err());
        assert_eq!((shows.replace("secret", "nowhere"), code), (nothing, other), "{sql}");
    }
    assert_eq!(caller.sql("SELECT max(id) FROM own").unwrap(), [3]);
    assert_fails(caller.sql("SELECT id FROM seen"), ErrorKind::Denied);
    // Errors about visible tables are not changed.
    let error = caller.sql("SELECT nosuch FROM orders").unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Schema, Some("nosuch")));
}

#[test]
fn sql_is_denied_on_tables_with_row_rules() {
    let shop = shop();
    let caller = shop.with("read, write on orders where owner = :user\nsql on *\nread on secret");
    assert_fails(caller.sql("SELECT id FROM orders"), ErrorKind::Denied);
    assert_fails(caller.execute("DELETE FROM orders"), ErrorKind::Denied);
    assert_eq!(caller.sql("SELECT id FROM secret").unwrap(), [1]);
    let mixed = shop.with("read, sql on orders\nupdate on orders where owner = :user");
    assert_fails(mixed.sql("SELECT id FROM orders"), ErrorKind::Denied);
}

#[test]
fn engine_without_authorizer_runs_sql_with_all_permissions_only() {
    let shop = Shop::new(Arc::new(Memory::new()));
    for grants in ["read, sql on *", "all on *"] {
        let error = shop.with(grants).sql("SELECT 1").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "the memory engine has no SQL at all");
    }
    let whole = self::shop();
    let everything = whole.with("all on *");
    everything.execute("CREATE TABLE more (id INTEGER PRIMARY KEY)").unwrap();
    assert_eq!(everything.sql("PRAGMA user_version").unwrap(), [0]);
}

#[test]
fn change_capture_triggers_run() {
    let shop = shop();
    let operator = shop.by(&Caller::operator());
    let log = ["bobak_log_orders", "bobak_feed"];
    for table in log {
        operator.execute(&format!("CREATE TABLE {table} (id INTEGER)")).unwrap();
    }
    let trigger = "CREATE TRIGGER logged AFTER INSERT ON orders BEGIN \
                   INSERT INTO bobak_log_orders VALUES (new.id); END";
    operator.execute(trigger).unwrap();
    let caller = shop.with("read, write, sql on *");
    caller.execute("INSERT INTO orders (owner, total) VALUES ('ada', 1)").unwrap();
    caller.insert(&shop.orders, order(9, "ada", 1)).unwrap();
    for table in log {
        assert_fails(caller.sql(&format!("SELECT id FROM {table}")), ErrorKind::Schema);
        assert_fails(caller.execute(&format!("DELETE FROM {table}")), ErrorKind::Schema);
    }
    // Comments, blanks and parameters of SQLite hide no name.
    for sql in [
        "SELECT id /*/ ' */ FROM bobak_log_orders -- '",
        "SELECT id \u{feff}FROM\u{b}bobak_log_orders",
        "SELECT id, $x(') FROM bobak_log_orders -- '",
    ] {
        assert_fails(caller.sql(sql), ErrorKind::Schema);
    }
    assert_eq!(operator.sql("SELECT count(*) FROM bobak_log_orders").unwrap(), [2]);
}

/// Statements that no client may run.
const FORBIDDEN: [&str; 18] = [
    "ATTACH 'other.db' AS other",
    "ATTACH '/etc/passwd' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH other",
    "VACUUM INTO 'copy.db'",
    "VACUUM main INTO 'copy.db'",
    "/* x */ vacuum\n--\n\"main\" inTO 'copy.db'",
    "SELECT load_extension('x')",
    "SELECT Load_Extension('x', 'y') FROM orders",
    "CREATE TEMP TABLE orders (id INTEGER)",
    "CREATE TEMP VIEW orders AS SELECT 1",
    "PRAGMA foreign_keys = off",
    "PRAGMA foreign_keys(0)",
    "EXPLAIN PRAGMA foreign_keys = off",
    "PRAGMA main.journal_mode = delete",
    "PRAGMA temp_store_directory = '/'",
    "PRAGMA writable_schema = on",
    "PRAGMA busy_timeout = 0",
];

/// Statements that need all permissions.
const HARMLESS: [&str; 14] = [
    "PRAGMA user_version = 7",
    "PRAGMA application_id = 7",
    "PRAGMA optimize",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "CREATE TABLE more (id INTEGER PRIMARY KEY)",
    "CREATE INDEX ids ON more (id)",
    "CREATE VIEW seen AS SELECT id FROM more",
    "ALTER TABLE more ADD COLUMN n",
    "INSERT INTO more VALUES (1, 2)",
    "ANALYZE",
    "REINDEX",
    "VACUUM",
    "DROP VIEW seen",
    "DROP TABLE more",
];

const QUESTIONS: [(&str, i64); 5] = [
    ("PRAGMA user_version", 7),
    ("PRAGMA foreign_keys", 1),
    ("PRAGMA table_info(orders)", 0),
    ("PRAGMA page_count", -1),
    ("SELECT cid FROM pragma_table_info('orders')", 0),
];

#[test]
fn no_client_can_change_a_connection_or_access_files() {
    let folder = tempfile::tempdir().unwrap();
    let shop = Shop::new(Arc::new(Sqlite::builder().open(folder.path().join("shop.db")).unwrap()));
    for all in [shop.by(&Caller::operator()), shop.with("all on *")] {
        for sql in FORBIDDEN {
            assert_fails(all.execute(sql), ErrorKind::Denied);
            assert_fails(all.sql(sql), ErrorKind::Denied);
            // Cached statements are rejected as well.
            assert_fails(all.execute(sql), ErrorKind::Denied);
        }
        for sql in HARMLESS {
            all.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        for (sql, first) in QUESTIONS {
            let rows = all.sql(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            assert!(rows[0] == first || first < 0, "{sql}: {rows:?}");
        }
        assert_eq!(all.text("PRAGMA integrity_check").unwrap(), ["Text(\"ok\")"]);
        assert_eq!(all.ids(&shop.orders).unwrap(), [1, 2, 3]);
        let sql = "INSERT INTO orders (owner, total, kept) VALUES ('x', 1, 99)";
        assert_fails(all.execute(sql), ErrorKind::Constraint);
    }
    let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
    assert!(files.into_iter().all(|name| name.to_string_lossy().starts_with("shop.db")));
}

#[test]
fn read_only_policy_rejects_writes() {
    let shop = shop();
    for caller in [Caller::operator(), ada("all on *"), ada("read, write, sql on *")] {
        let whole = shop.by(&caller).execute("ANALYZE").is_ok();
        let engine = shop.by(&caller).engine;
        let session = engine.session().unwrap();
        session.execute("UPDATE orders SET total = total", &[]).unwrap();
        session.set_authorizer(read_only_policy()).unwrap();
        let query = |sql: &str| {
            session.query(&Source::Sql { text: sql, parameters: &[] }, &mut |_| Ok(true))
        };
        query("SELECT id FROM orders").unwrap();
        query("WITH o AS (SELECT id FROM orders) SELECT max(id) FROM o").unwrap();
        query("EXPLAIN QUERY PLAN SELECT id FROM orders").unwrap();
        for sql in ["PRAGMA user_version", "PRAGMA table_info(orders)"] {
            assert_eq!(query(sql).is_ok(), whole, "{sql}");
        }
        let writes = [
            "UPDATE orders SET total = total",
            "INSERT INTO orders (owner, total) VALUES ('x', 1) RETURNING id",
            "WITH x AS (SELECT 1) DELETE FROM orders",
            "PRAGMA user_version = 1",
            "PRAGMA optimize",
            "VACUUM",
        ];
        for sql in FORBIDDEN.into_iter().chain(writes) {
            assert_fails(session.execute(sql, &[]), ErrorKind::Denied);
            assert_fails(query(sql), ErrorKind::Denied);
        }
    }
    assert_eq!(shop.by(&Caller::operator()).ids(&shop.orders).unwrap(), [1, 2, 3]);
}

#[test]
fn read_only_transactions_block_no_writer() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        Sqlite::builder().busy_timeout(Duration::from_millis(100)).open(folder.path().join(name))
    };
    let shop = Shop::new(Arc::new(file("wal.db").unwrap()));
    let operator = shop.by(&Caller::operator());
    let reader = shop.with("read on *");
    let session = reader.engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    let count = || {
        let mut rows = 0;
        let select = Select::all(&shop.orders);
        session.query(&Source::Select(&select), &mut |_| Ok((rows += 1, true).1)).unwrap();
        rows
    };
    // It reads the state at its start while others write.
    operator.insert_order(4, "ada", 40).unwrap();
    assert_eq!(count(), 3);
    assert_fails(session.control(TransactionControl::Begin), ErrorKind::Misuse);
    session.control(TransactionControl::Savepoint("a")).unwrap();
    session.control(TransactionControl::RollbackTo("a")).unwrap();
    session.control(TransactionControl::Commit).unwrap();
    assert_eq!(count(), 4);
    assert_fails(session.control(TransactionControl::Rollback), ErrorKind::Misuse);
    session.control(TransactionControl::Begin).unwrap();
    assert_eq!(count(), 4);
    session.control(TransactionControl::Rollback).unwrap();
    drop(session);
    // If a reader would block writers, it gets no transaction.
    let journal = Sqlite::builder().journal_mode(bobak_sqlite::JournalMode::Truncate);
    let journal = journal.open(folder.path().join("journal.db")).unwrap();
    let alone = Sqlite::builder().open_memory().unwrap();
    for engine in [Arc::new(Memory::new()) as Arc<dyn Engine>, Arc::new(journal), Arc::new(alone)] {
        let shop = Shop::new(engine);
        let session = shop.with("read, sql on *");
        assert_fails(
            session.engine.session().unwrap().control(TransactionControl::Begin),
            ErrorKind::Denied,
        );
        for grants in ["read on orders\ninsert on secret", "schema on orders"] {
            shop.with(grants).engine.session().unwrap().control(TransactionControl::Begin).unwrap();
        }
    }
}

/// Side effects and triggers are reported for visible tables only, whatever SQL ran before.
#[test]
fn side_effects_are_limited_to_visible_tables() {
    let shop = shop();
    let operator = shop.by(&Caller::operator());
    for table in ["orders", "secret"] {
        let text = format!(
            "CREATE TRIGGER on_{table} AFTER INSERT ON {table} BEGIN \
             UPDATE {table} SET owner = owner; END"
        );
        operator.execute(&text).unwrap();
    }
    let visible = |grants: &str| {
        let caller = shop.with(grants);
        let session = caller.engine.session().unwrap();
        if caller.engine.capabilities().sql {
            let source = Source::Sql { text: "SELECT 1", parameters: &[] };
            session.query(&source, &mut |_| Ok(true)).unwrap();
        }
        let (triggers, effects) = (session.triggers().unwrap(), session.side_effects().unwrap());
        ["orders", "secret"].map(|table| {
            let has = triggers.as_ref().unwrap().iter().any(|trigger| trigger.table == table);
            assert_eq!(has, effects.has(table, Verb::Insert), "{table} with {grants}");
            has
        })
    };
    assert_eq!(visible("read on orders"), [true, false]);
    assert_eq!(visible("read, sql on orders"), [true, false]);
    assert_eq!(visible("insert on secret"), [false, true]);
    assert_eq!(visible("read on *"), [true, true]);
}

/// SQLite reads the tables that refer to the one that is inserted into, and the result has nothing of them.
#[test]
fn inserts_return_rows_of_a_table_that_a_hidden_one_refers_to() {
    let shop = shop();
    let operator = shop.by(&Caller::operator());
    operator.execute("CREATE VIEW of_orders AS SELECT total AS id FROM orders").unwrap();
    let writer = shop.with("read, write, sql on secret\nread, sql on of_orders");
    let insert = "INSERT INTO secret (owner) VALUES ('x')";
    writer.execute(insert).unwrap();
    assert_eq!(writer.sql(&format!("{insert} RETURNING id")).unwrap(), [3]);
    writer.execute("INSERT INTO secret (owner) VALUES ('y'), ('z')").unwrap();
    writer.execute("INSERT INTO secret (owner) SELECT owner FROM secret WHERE id = 1").unwrap();
    for sql in [
        "INSERT INTO secret (owner) SELECT owner FROM orders",
        "INSERT INTO secret (owner) SELECT owner FROM \"Orders\" RETURNING id",
        "INSERT INTO secret (owner) VALUES ('x') RETURNING (SELECT max(total) FROM [orders])",
        "INSERT INTO secret (owner) VALUES ((SELECT max(id) FROM of_orders)) RETURNING id",
        "INSERT INTO secret (id, owner) VALUES (1, 'x') ON CONFLICT DO UPDATE SET id = 9 RETURNING id",
        "INSERT OR REPLACE INTO secret (id, owner) VALUES (1, 'x') RETURNING id",
        "DELETE FROM secret WHERE id = 1 RETURNING id",
    ] {
        assert!(writer.sql(sql).is_err(), "{sql}");
        assert!(writer.execute(sql).is_err(), "{sql}");
    }
    // A table to which the inserted row refers is read for what it has.
    let orders = shop.with("read, write, sql on orders");
    let insert = "INSERT INTO orders (owner, total) VALUES ('x', 1) RETURNING id";
    assert_fails(orders.sql(insert), ErrorKind::Denied);
    let trigger = "CREATE TRIGGER copied AFTER INSERT ON secret BEGIN \
                   UPDATE secret SET owner = (SELECT max(total) FROM orders) WHERE id = new.id; END";
    operator.execute(trigger).unwrap();
    assert_fails(
        writer.sql("INSERT INTO secret (owner) VALUES ('x') RETURNING id"),
        ErrorKind::Denied,
    );
}

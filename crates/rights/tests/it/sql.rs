//! SQL, as far as it is granted.

use crate::world::{Shop, order, refused, shown};
use bobak_core::{ErrorKind, memory::Memory};
use bobak_rights::Caller;
use bobak_sqlite::Sqlite;
use std::sync::Arc;

fn shop() -> Shop {
    Shop::new(Arc::new(Sqlite::builder().open_memory().unwrap()))
}

#[test]
fn the_rights_on_a_table_hold_in_sql() {
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
        refused(reader.execute(sql), ErrorKind::Denied);
        refused(reader.sql(sql), ErrorKind::Denied);
    }
    // Where a foreign key leads must be readable, too: SQLite looks there.
    let insert = "INSERT INTO orders (owner, total) VALUES ('x', 1)";
    refused(shop.with("read, write, sql on orders").execute(insert), ErrorKind::Denied);
    let writer = shop.with("read, insert, sql on orders\nupdate on orders\nread, sql on secret");
    writer.execute(insert).unwrap();
    writer.execute("UPDATE orders SET total = total + 1 WHERE id = 4").unwrap();
    refused(writer.execute("DELETE FROM orders"), ErrorKind::Denied);
    // Statements are kept: what another caller may do says nothing of this one.
    let operator = shop.by(&Caller::operator());
    operator.execute("DELETE FROM orders WHERE id = 4").unwrap();
    refused(writer.execute("DELETE FROM orders WHERE id = 4"), ErrorKind::Denied);
    refused(shop.with("read on orders").sql("SELECT id FROM orders"), ErrorKind::Denied);
    refused(shop.with("read on orders").sql("SELECT 1"), ErrorKind::Denied);
    assert!(!shop.with("read on orders").engine.capabilities().sql);
}

#[test]
fn only_rows_are_read_and_written() {
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
        refused(caller.execute(sql), ErrorKind::Denied);
        refused(caller.sql(sql), ErrorKind::Denied);
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
fn a_hidden_table_does_not_show() {
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
        "SELECT secret.id FROM secret JOIN orders USING (nosuch)",
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
    refused(caller.sql("SELECT id FROM seen"), ErrorKind::Denied);
    // A wrong statement about one's own tables is told as it is.
    let error = caller.sql("SELECT nosuch FROM orders").unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Schema, Some("nosuch")));
}

#[test]
fn rules_and_sql_exclude_each_other() {
    let shop = shop();
    let caller = shop.with("read, write on orders where owner = :user\nsql on *\nread on secret");
    refused(caller.sql("SELECT id FROM orders"), ErrorKind::Denied);
    refused(caller.execute("DELETE FROM orders"), ErrorKind::Denied);
    assert_eq!(caller.sql("SELECT id FROM secret").unwrap(), [1]);
    let mixed = shop.with("read, sql on orders\nupdate on orders where owner = :user");
    refused(mixed.sql("SELECT id FROM orders"), ErrorKind::Denied);
}

#[test]
fn an_engine_that_cannot_tell_runs_sql_for_nobody_but_who_may_do_everything() {
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
fn triggers_of_the_log_of_changes_run() {
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
        refused(caller.sql(&format!("SELECT id FROM {table}")), ErrorKind::Schema);
        refused(caller.execute(&format!("DELETE FROM {table}")), ErrorKind::Schema);
    }
    // What SQLite takes for a comment, a blank or a parameter hides no name.
    for sql in [
        "SELECT id /*/ ' */ FROM bobak_log_orders -- '",
        "SELECT id \u{feff}FROM\u{b}bobak_log_orders",
        "SELECT id, $x(') FROM bobak_log_orders -- '",
    ] {
        refused(caller.sql(sql), ErrorKind::Schema);
    }
    assert_eq!(operator.sql("SELECT count(*) FROM bobak_log_orders").unwrap(), [2]);
}

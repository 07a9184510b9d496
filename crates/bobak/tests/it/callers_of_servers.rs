//! Callers with few permissions, on servers with tables that Bobak did not make.

use crate::engines::{on_mariadb, on_postgres, on_servers};
use crate::nested_writes::Counted;
use bobak::ErrorKind;
use bobak::ValueRef;
use bobak::engine::{Engine, Session, Source};
use bobak::prelude::*;
use bobak_permissions::{Access, ProtectedDatabase, new_token};
use std::sync::Arc;

#[derive(Record)]
struct Item {
    id: i64,
    owner: String,
    seen: i32,
}

/// The engine as a caller with these grants uses it.
fn of_caller(engine: &Arc<dyn Engine>, grants: &str) -> Db {
    let (token, hash) = new_token().unwrap();
    let access = format!("role tester\n{grants}\ntoken ada {hash} roles tester");
    let access = Access::from_text(&access).unwrap();
    let caller = access.authenticate(&bobak_wire::Credentials::Token(token), false).unwrap();
    let database = ProtectedDatabase::new("shop", Arc::clone(engine));
    let builder = Db::builder().record::<Item>();
    builder.open_engine(Counted::new(database.engine_for(&caller))).unwrap()
}

/// A row rule compares texts by their bytes, although the table's collation does not: otherwise `ada` would be `ADA`, too.
fn rules_compare_bytes(url: &str, table: &str, equal: &[&str]) {
    let engine = bobak::engine::open(url).unwrap();
    let session = engine.session().unwrap();
    session.execute(table, &[]).unwrap();
    for (id, owner) in (2..).zip(equal) {
        let insert = format!("INSERT INTO item (id, owner, seen) VALUES ({id}, '{owner}', 0)");
        session.execute(&insert, &[]).unwrap();
    }
    session.execute("INSERT INTO item (id, owner, seen) VALUES (1, 'ada', 0)", &[]).unwrap();
    for rule in ["owner = :user", "owner in ('x', :user)", "not owner <> :user"] {
        let grants = format!("read, update, delete on item where {rule}");
        let db = of_caller(&engine, &grants);
        let items = db.table::<Item>().unwrap();
        let owners: Vec<_> = items.list(Query::all()).unwrap();
        let owners: Vec<_> = owners.iter().map(|item| (item.id, &*item.owner)).collect();
        assert_eq!(owners, [(1, "ada")], "{rule}");
        assert_eq!(items.count(Query::all()).unwrap(), 1, "{rule}");
        assert_eq!(items.set_where(Item::ID.gt(0), [Item::SEEN.set(1)]).unwrap(), 1, "{rule}");
        assert!(!items.set(2, [Item::SEEN.set(1)]).unwrap(), "{rule}");
        assert!(!items.delete(2).unwrap(), "{rule}");
    }
    assert_eq!(rows(&*session, "SELECT id FROM item WHERE seen <> 0"), Ok(vec![Some(1)]));
}

#[test]
fn row_rules_compare_bytes_whatever_the_collation() {
    on_mariadb(|url| {
        let table = "CREATE TABLE item (id BIGINT PRIMARY KEY, owner VARCHAR(20), seen INT) \
                     COLLATE utf8mb4_general_ci";
        rules_compare_bytes(url, table, &["ADA", "ada ", "\u{e1}da"]);
    });
    on_postgres(|url| {
        let collation = "CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', \
                         deterministic = false)";
        bobak::engine::open(url).unwrap().session().unwrap().execute(collation, &[]).unwrap();
        let table = "CREATE TABLE item (id BIGINT PRIMARY KEY, owner TEXT COLLATE any_case, \
                     seen INT)";
        rules_compare_bytes(url, table, &["ADA"]);
    });
}

/// Runs a statement in a transaction that only reads.
fn read_only(engine: &dyn Engine, text: &str) -> Result<Vec<Option<i64>>, ErrorKind> {
    let session = engine.session().unwrap();
    session.control(bobak::engine::TransactionControl::Begin).unwrap();
    session.forbid_writes().unwrap();
    rows(&*session, text)
}

fn rows(session: &dyn Session, text: &str) -> Result<Vec<Option<i64>>, ErrorKind> {
    let mut rows = Vec::new();
    let read = session.query(&Source::Sql { text, parameters: &[] }, &mut |row| {
        rows.push(match row.get(0) {
            ValueRef::Int(int) => Some(int),
            _ => None,
        });
        Ok(true)
    });
    read.map(|()| rows).map_err(|error| error.kind())
}

#[test]
fn statements_of_readers_leave_nothing() {
    on_servers(|url| {
        let engine = bobak::engine::open(&format!("{url}{}connections=1", mark(url))).unwrap();
        let run = |sql: &str| engine.session().unwrap().execute(sql, &[]).unwrap();
        run("CREATE TABLE note (id BIGINT PRIMARY KEY)");
        run("CREATE SEQUENCE numbers");
        let is_postgres = url.starts_with("postgres");
        let writes = match is_postgres {
            true => [
                "SELECT nextval('numbers')",
                "SELECT setval('numbers', 100)",
                "WITH a AS (INSERT INTO note VALUES (1) RETURNING id) SELECT id FROM a",
            ],
            false => [
                "SELECT nextval(numbers)",
                "SELECT setval(numbers, 100)",
                "INSERT INTO note VALUES (1) RETURNING id",
            ],
        };
        for text in writes {
            assert_eq!(read_only(&*engine, text), Err(ErrorKind::ReadOnly), "{text}");
        }
        let (lock, is_free) = match is_postgres {
            true => (
                "SELECT pg_advisory_lock(1)::text::int8",
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
            ),
            false => (
                "SELECT get_lock('a', 1) + (@a := 5) * 0",
                "SELECT CAST(coalesce(@a, 0) + release_all_locks() AS SIGNED)",
            ),
        };
        let _ = read_only(&*engine, lock);
        assert_eq!(rows(&*engine.session().unwrap(), is_free), Ok(vec![Some(0)]), "{is_free}");
        assert_eq!(read_only(&*engine, "SELECT count(*) FROM note"), Ok(vec![Some(0)]));
        // The connection writes again.
        run("INSERT INTO note VALUES (7)");
    });
}

#[test]
fn a_colon_next_to_parameters_is_a_syntax_error() {
    on_mariadb(|url| {
        let db = Db::open(url).unwrap();
        let error = db.sql::<i64>("SELECT 5::text, ?", [1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Syntax, "{error}");
        assert_eq!(db.sql::<i64>("SELECT 5", ()).unwrap(), [5]);
    });
}

/// What is before another setting of the URL.
#[test]
fn statements_that_end_no_request_are_rejected_by_all_databases() {
    let check = |url: &str| {
        let db = Db::builder().record::<Item>().open(url).unwrap();
        db.create_missing_tables().unwrap();
        let kind = |text: &str| db.execute(text, ()).unwrap_err().kind();
        for step in ["commit", "BEGIN;", "/* x */ rollback", "savepoint a", "release a"] {
            assert_eq!(kind(step), ErrorKind::Misuse, "{url}: {step}");
            let inside = db.transaction(|inner| inner.execute(step, ())).unwrap_err();
            assert_eq!(inside.kind(), ErrorKind::Misuse, "{url}: {step} in a transaction");
        }
        let two = "delete from item where id = 1; delete from item";
        assert_eq!(kind(two), ErrorKind::Syntax, "{url}");
        let none = "delete from item where id = ?";
        assert_eq!(kind(none), ErrorKind::Mismatch, "{url}");
        assert_eq!(db.execute("delete from item where owner = 'a;b';", ()).unwrap(), 0, "{url}");
        db
    };
    check("sqlite::memory:");
    on_mariadb(|url| drop(check(url)));
    on_postgres(|url| {
        let db = check(url);
        let kind = |text: &str| db.execute(text, ()).unwrap_err().kind();
        for step in ["abort", "end", "start transaction", "lock table item"] {
            assert_eq!(kind(step), ErrorKind::Misuse, "{step}");
        }
        for copy in ["copy item from stdin", "COPY (select 1) TO STDOUT"] {
            assert_eq!(kind(copy), ErrorKind::Unsupported, "{copy}");
        }
    });
}

fn mark(url: &str) -> char {
    if url.contains('?') { '&' } else { '?' }
}

/// Connections are used by one caller after the other.
#[test]
fn no_sql_leaves_anything_in_the_session_of_the_server() {
    on_servers(|url| {
        let db = Db::builder().record::<Item>().open(url).unwrap();
        db.create_missing_tables().unwrap();
        let items = db.table::<Item>().unwrap();
        items.insert(&Item { id: 1, owner: "ada".to_owned(), seen: 0 }).unwrap();
        let is_postgres = url.starts_with("postgres");
        let mut texts = vec!["CREATE TEMPORARY TABLE item (id bigint, owner text, seen int)"];
        texts.extend(match is_postgres {
            true => [
                "SELECT set_config('default_transaction_read_only', 'on', false)",
                "DO $$ BEGIN PERFORM set_config('search_path', 'pg_catalog', false); END $$",
                "SELECT 1 INTO TEMP item",
            ],
            false => [
                "SELECT @left := 5",
                "SELECT get_lock('left', 1)",
                "CREATE TEMPORARY TABLE another (id int)",
            ],
        });
        for text in texts {
            match text.starts_with("SELECT") && !text.contains("INTO") {
                true => drop(db.sql::<DynRow>(text, ()).unwrap()),
                false => drop(db.execute(text, ()).unwrap()),
            }
            assert_eq!(items.count(Query::all()).unwrap(), 1, "{text}");
            items.set(1, [Item::SEEN.add(1)]).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        if is_postgres {
            for text in
                ["SET TimeZone = 'Asia/Tokyo'", "reset all", "DISCARD ALL", "deallocate all"]
            {
                let error = db.execute(text, ()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Misuse, "{text}: {error}");
            }
            // The connection is closed after the transaction.
            let zone = "SELECT current_setting('timezone')";
            let before: Vec<String> = db.sql(zone, ()).unwrap();
            let inside = db.transaction(|transaction| {
                transaction.execute("SET TimeZone = 'Asia/Tokyo'", ())?;
                transaction.sql::<String>(zone, ())
            });
            assert_eq!(inside.unwrap(), ["Asia/Tokyo"]);
            assert_eq!(db.sql::<String>(zone, ()).unwrap(), before);
        } else {
            let left: Vec<Option<i64>> = db.sql("SELECT @left", ()).unwrap();
            assert_eq!(left, [None]);
            assert_eq!(db.sql::<i64>("SELECT is_free_lock('left')", ()).unwrap(), [1]);
            let error = db.sql::<i64>("SET @a = 1", ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
        }
    });
}

#[test]
fn queries_of_callers_that_only_read_run_on_a_server_with_attached_databases() {
    on_servers(|url| {
        let (main, other) =
            (bobak::engine::open(url).unwrap(), bobak::engine::open("memory:").unwrap());
        let session = bobak::engine::Engine::session(&*main).unwrap();
        session.execute("CREATE TABLE counted (id BIGINT)", &[]).unwrap();
        if url.starts_with("postgres") {
            session.execute("CREATE SEQUENCE numbers", &[]).unwrap();
        }
        drop(session);
        let attached = vec![("other".to_owned(), other)];
        let engine = bobak::engine::FederatedEngine::attach(main, attached, 1 << 20).unwrap();
        let session = engine.session().unwrap();
        session.set_authorizer(bobak_permissions::read_only_policy()).unwrap();
        for _ in 0..2 {
            assert_eq!(rows(&*session, "SELECT count(*) FROM counted"), Ok(vec![Some(0)]));
        }
        for text in ["INSERT INTO counted VALUES (1)", "CREATE TABLE another (id BIGINT)"] {
            let error = session.execute(text, &[]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{text}: {error}");
        }
        if url.starts_with("postgres") {
            assert_eq!(rows(&*session, "SELECT nextval('numbers')"), Err(ErrorKind::ReadOnly));
        }
    });
}

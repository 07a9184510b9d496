//! Hooks, on every way to write.

use bobak::Result;
use bobak::batch::OnError;
use bobak::prelude::*;

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "hooked_item")]
struct Item {
    id: i64,
    #[record(trim, length = 1..=20)]
    name: String,
    #[record(unique)]
    code: String,
    amount: i64,
    #[record(version)]
    version: i64,
}

#[derive(Record, Debug)]
#[record(table = "hooked_event")]
struct Event {
    id: i64,
    text: String,
}

fn item(name: &str, code: &str) -> Item {
    Item { id: 0, name: name.into(), code: code.into(), amount: 1, version: 0 }
}

fn log(transaction: &Transaction<'_>, text: String) -> Result<()> {
    transaction.table::<Event>()?.insert(&Event { id: 0, text }).map(drop)
}

/// Amounts below 0 are rejected before, those above 100 after the write; 7 becomes 70, and 13 panics.
fn builder() -> bobak::DbBuilder {
    Db::builder()
        .record::<Item>()
        .record::<Event>()
        .before_insert(|transaction, item: &mut Item| {
            match item.amount {
                13 => panic!("an unlucky amount"),
                7 => item.amount = 70,
                amount if amount < 0 => {
                    return Err(Error::new(ErrorKind::Constraint, "an amount is missing"));
                }
                _ => {}
            }
            if item.name == "padded" {
                item.name = " padded ".into();
            }
            if item.name == "long" {
                item.name = "l".repeat(21);
            }
            log(transaction, format!("inserting {} {}", item.id, item.name))
        })
        .after_insert(|transaction, item: &Item| {
            log(transaction, format!("inserted {} {}", item.id, item.amount))?;
            match item.amount {
                101.. => Err(Error::new(ErrorKind::Constraint, "too many")),
                _ => Ok(()),
            }
        })
        .before_update(|transaction, old: &Item, new: &mut Item| {
            if new.amount < 0 {
                return Err(Error::new(ErrorKind::Constraint, "an amount is missing"));
            }
            if new.amount == 99 {
                new.id += 1;
            }
            new.name = format!("{}!", new.name.trim_end_matches('!'));
            log(transaction, format!("updating {} to {}", old.amount, new.amount))
        })
        .after_update(|transaction, old: &Item, new: &Item| {
            let (from, to) = (old.version, new.version);
            log(transaction, format!("updated {} {} {from}-{to}", old.name, new.name))
        })
        .before_delete(|transaction, item: &Item| match item.amount {
            1_000.. => Err(Error::new(ErrorKind::Constraint, "too valuable")),
            _ => log(transaction, format!("deleting {}", item.name)),
        })
        .after_delete(|transaction, item: &Item| {
            let items = transaction.table::<Item>()?;
            log(transaction, format!("deleted {}, {}", item.name, items.count(Query::all())?))
        })
}

fn run(url: &str) {
    let cases: &[fn(&Db) -> Result<()>] = &[
        hooks_run_in_order_with_the_rows,
        errors_undo_the_write_and_its_hooks,
        upserts_and_replacements_run_the_hooks_of_what_they_do,
        bulk_writes_run_hooks_for_each_row,
        dynamic_rows_run_hooks,
    ];
    for case in cases {
        let db = builder().open(url).unwrap();
        db.create_missing_tables().unwrap();
        db.table::<Item>().unwrap().delete_where(Item::ID.gt(0)).unwrap();
        events(&db);
        case(&db).unwrap();
    }
}

/// The texts of the events since the last call.
fn events(db: &Db) -> Vec<String> {
    let table = db.table::<Event>().unwrap();
    let texts = table.list(Query::all()).unwrap().into_iter().map(|event| event.text).collect();
    table.delete_where(Event::ID.gt(0)).unwrap();
    texts
}

fn kind<R>(result: Result<R>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}

fn hooks_run_in_order_with_the_rows(db: &Db) -> Result<()> {
    let items = db.table::<Item>()?;
    let id = items.insert(&Item { amount: 7, ..item(" padded ", "a") })?;
    assert_eq!(events(db), ["inserting 0  padded ".to_owned(), format!("inserted {id} 70")]);
    let stored = items.require(id)?;
    assert_eq!((stored.name.as_str(), stored.amount), ("padded", 70));
    items.update(&Item { amount: 8, ..stored.clone() })?;
    let version = stored.version;
    let updated = format!("updated padded padded! {version}-{}", version + 1);
    assert_eq!(events(db), ["updating 70 to 8".to_owned(), updated]);
    assert_eq!(items.require(id)?.name, "padded!");
    // Another writer changed the row meanwhile.
    assert_eq!(kind(items.update(&stored)), ErrorKind::Conflict);
    assert_eq!(kind(items.update(&Item { id: id + 9, ..stored })), ErrorKind::NotFound);
    assert_eq!(events(db), [""; 0]);
    assert!(items.delete(id)?);
    assert!(!items.delete(id)?);
    assert_eq!(events(db), ["deleting padded!", "deleted padded!, 0"]);
    Ok(())
}

fn errors_undo_the_write_and_its_hooks(db: &Db) -> Result<()> {
    let items = db.table::<Item>()?;
    assert_eq!(kind(items.insert(&Item { amount: -1, ..item("a", "a") })), ErrorKind::Constraint);
    assert_eq!(kind(items.insert(&Item { amount: 101, ..item("a", "a") })), ErrorKind::Constraint);
    let error = items.insert(&Item { amount: 13, ..item("a", "a") }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Engine);
    assert!(error.message().starts_with("a hook panicked: an unlucky amount"), "{error}");
    // What a hook changes is normalized and validated too.
    assert_eq!(kind(items.insert(&item("long", "a"))), ErrorKind::Invalid);
    assert_eq!((items.count(Query::all())?, events(db).len()), (0, 0));

    let id = items.insert(&item("a", "a"))?;
    events(db);
    let transaction = db.begin()?;
    let table = transaction.table::<Item>()?;
    assert_eq!(kind(table.set(id, [Item::AMOUNT.set(-1)])), ErrorKind::Constraint);
    assert_eq!(kind(table.set(id, [Item::AMOUNT.set(99)])), ErrorKind::Misuse);
    table.set(id, [Item::AMOUNT.add(4)])?;
    transaction.commit()?;
    assert_eq!(items.require(id)?.amount, 5);
    assert_eq!(events(db)[0], "updating 1 to 5");
    let transaction = db.begin()?;
    transaction.table::<Item>()?.insert(&item("b", "b"))?;
    transaction.rollback()?;
    assert_eq!((items.count(Query::all())?, events(db).len()), (1, 0));
    Ok(())
}

fn upserts_and_replacements_run_the_hooks_of_what_they_do(db: &Db) -> Result<()> {
    let items = db.table::<Item>()?;
    let id = items.upsert(&item("a", "a"))?;
    assert_eq!(events(db), ["inserting 0 a".to_owned(), format!("inserted {id} 1")]);
    items.upsert(&Item { id, amount: 2, ..item("a", "a") })?;
    assert_eq!(events(db)[0], "updating 1 to 2");
    assert_eq!(items.upsert_on(Item::CODE, &Item { amount: 3, ..item("b", "a") })?, id);
    assert_eq!(events(db)[0], "updating 2 to 3");
    assert_eq!(items.require(id)?.name, "b!");
    assert_eq!(items.insert_or_ignore(&item("c", "a"))?, None);
    assert_eq!(events(db), [""; 0]);
    let new = items.insert_or_replace(&item("d", "a"))?;
    let inserted = format!("inserted {new} 1");
    assert_eq!(events(db), ["deleting b!", "deleted b!, 0", "inserting 0 d", &inserted]);
    Ok(())
}

fn bulk_writes_run_hooks_for_each_row(db: &Db) -> Result<()> {
    let items = db.table::<Item>()?;
    let mut batch = db.batch(BatchOptions::new().on_error(OnError::Continue));
    for (code, amount) in [("a", 1), ("b", -1), ("c", 7), ("d", 500), ("a", 1), ("e", 13)] {
        batch.insert(&Item { amount, ..item(code, code) })?;
    }
    let report = batch.finish()?;
    let failed: Vec<_> =
        report.outcomes().filter_map(Result::err).map(|e| (e.row().unwrap(), e.kind())).collect();
    let (check, duplicate) = (ErrorKind::Constraint, ErrorKind::Duplicate);
    assert_eq!(failed, [(1, check), (3, check), (4, duplicate), (5, ErrorKind::Engine)]);
    assert_eq!(events(db).len(), 4, "two rows, two hooks each");
    assert_eq!(items.set_where(Item::AMOUNT.gt(0), [Item::AMOUNT.add(1)])?, 2);
    assert_eq!(events(db).len(), 4);
    let amounts: Vec<i64> = items.list(Query::all())?.iter().map(|item| item.amount).collect();
    assert_eq!(amounts, [2, 71]);
    assert_eq!(items.delete_where(Item::AMOUNT.gt(0))?, 2);
    assert_eq!(events(db), ["deleting a!", "deleted a!, 1", "deleting c!", "deleted c!, 0"]);

    let mut batch = db.batch(BatchOptions::new());
    batch.insert(&item("a", "a"))?;
    batch.insert(&Item { amount: -1, ..item("b", "b") })?;
    let error = batch.finish().unwrap_err();
    assert_eq!((error.kind(), error.row()), (check, Some(1)));
    assert_eq!((items.count(Query::all())?, events(db).len()), (0, 0));
    Ok(())
}

fn dynamic_rows_run_hooks(db: &Db) -> Result<()> {
    let items = db.dynamic("hooked_item")?;
    let mut row = DynRow::new();
    for (name, value) in [("name", Value::from("x")), ("code", "x".into()), ("amount", 7.into())] {
        row.set(name, value)?;
    }
    row.set("version", 0)?;
    items.insert(&row)?;
    let stored = db.table::<Item>()?.list(Query::all())?.remove(0);
    assert_eq!(stored.amount, 70);
    events(db);
    let mut row = DynRow::new();
    row.set("id", stored.id)?;
    row.set("amount", 5)?;
    row.set("version", stored.version)?;
    items.update(&row)?;
    assert_eq!(events(db)[0], "updating 70 to 5");
    items.delete((stored.id,))?;
    assert_eq!(events(db)[0], "deleting x!");
    Ok(())
}

#[test]
fn hooks_on_memory() {
    run("memory:");
}

#[test]
fn hooks_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    run(&format!("sqlite:{}", folder.path().join("hooks.db").display()));
}

#[test]
#[cfg(feature = "kv")]
fn hooks_on_a_key_value_file() {
    let folder = tempfile::tempdir().unwrap();
    run(&format!("kv:{}", folder.path().join("hooks.kv").display()));
}

#[test]
#[cfg(feature = "postgres")]
fn hooks_on_postgres() {
    crate::engines::on_postgres(run);
}

#[test]
#[cfg(feature = "mysql")]
fn hooks_on_mariadb() {
    crate::engines::on_mariadb(run);
}

#[test]
fn hooks_that_write_to_their_own_table_end() -> Result<()> {
    let db = Db::builder()
        .before_insert(|transaction, item: &mut Item| {
            let code = format!("{}x", item.code);
            transaction.table::<Item>()?.insert(&Item { code, ..item.clone() }).map(drop)
        })
        .open("memory:")?;
    db.create_missing_tables()?;
    let items = db.table::<Item>()?;
    let error = items.insert(&item("a", "a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
    assert_eq!(items.count(Query::all())?, 0);
    Ok(())
}

/// The hook of each table writes to the other one.
#[test]
fn a_cycle_of_hooks_is_one_error_and_writes_nothing() -> Result<()> {
    for url in ["memory:", "sqlite::memory:"] {
        let db = Db::builder()
            .before_insert(|transaction, item: &mut Item| {
                let text = format!("{}x", item.code);
                transaction.table::<Event>()?.insert(&Event { id: 0, text }).map(drop)
            })
            .before_insert(|transaction, event: &mut Event| {
                transaction.table::<Item>()?.insert(&item(&event.text, &event.text)).map(drop)
            })
            .open(url)?;
        db.create_missing_tables()?;
        let error = db.table::<Item>()?.insert(&item("a", "a")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
        let message = "hooks write rows whose hooks write rows, 8 deep";
        assert!(error.message().contains(message), "{error}");
        assert_eq!(db.table::<Item>()?.count(Query::all())?, 0);
        assert_eq!(db.table::<Event>()?.count(Query::all())?, 0);
    }
    Ok(())
}

/// Clients of a served database write through its rules and hooks.
#[cfg(feature = "remote")]
#[test]
fn clients_run_the_rules_and_hooks_of_the_server() -> Result<()> {
    let db = builder().open("sqlite::memory:")?;
    db.create_missing_tables()?;
    let token = "a-token-of-the-tests";
    let server = bobak_server::Server::builder()
        .shared_database("main", db.engine()?)
        .token(token)
        .tcp("127.0.0.1:0")
        .start()?;
    let client = Db::open(&format!("bobak://{}?token={token}", server.addresses()[0]))?;
    let mut row = DynRow::new();
    for (name, value) in [("name", Value::from(" ")), ("code", "x".into()), ("amount", 7.into())] {
        row.set(name, value)?;
    }
    row.set("version", 0)?;
    let error = client.dynamic("hooked_item")?.insert(&row).map(drop).unwrap_err();
    let violations: Vec<_> = error.violations().iter().map(ToString::to_string).collect();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(violations, ["name must have 1 to 20 characters, not 0"]);
    row.set("name", " spade ")?;
    client.dynamic("hooked_item")?.insert(&row)?;
    assert_eq!(events(&db), ["inserting 0 spade", "inserted 1 70"]);
    let transaction = client.begin()?;
    transaction.dynamic("hooked_item")?.delete((1,))?;
    transaction.commit()?;
    assert_eq!(events(&db), ["deleting spade", "deleted spade, 0"]);
    server.stop();
    Ok(())
}

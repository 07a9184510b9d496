//! Hooks, on every way to write.

use bobak::Result;
use bobak::batch::OnError;
use bobak::prelude::*;
use bobak::relation::{NestedRecord, ToMany};

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

#[derive(Record, Debug)]
#[record(table = "hooked_part")]
struct Part {
    id: i64,
    #[record(references = Item, on_delete = "cascade")]
    item_id: i64,
}

impl Item {
    const PARTS: ToMany<Item, Part> = Part::ITEM.inverse();
}

#[derive(Record, Debug, PartialEq)]
#[record(table = "hooked_page")]
struct Page {
    #[record(key, max = 20)]
    slug: String,
    #[record(unique, lowercase, max = 20)]
    code: String,
}

#[derive(Record, Debug)]
#[record(table = "hooked_page_part", foreign_key(page_code, references = Page(code)))]
struct PagePart {
    id: i64,
    #[record(max = 20)]
    page_code: String,
}

impl Page {
    const PARTS: ToMany<Page, PagePart> = PagePart::PAGE.inverse();
}

#[derive(Record, Debug, PartialEq)]
#[record(table = "hooked_token")]
struct Token {
    id: Uuid,
    number: u8,
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
        .before_insert(|_, page: &mut Page| {
            page.slug = page.slug.replace(' ', "-");
            page.code = page.code.replace(' ', "-");
            Ok(())
        })
        .before_insert(|_, token: &mut Token| {
            token.id = Uuid::from_bytes([token.number; 16]);
            Ok(())
        })
        .before_insert(|transaction, item: &mut Item| {
            match item.amount {
                13 => panic!("an unlucky amount"),
                7 => item.amount = 70,
                amount if amount < 0 => {
                    return Err(Error::new(ErrorKind::Constraint, "an amount is missing"));
                }
                _ => {}
            }
            if let Some(id) = item.name.strip_prefix("key ").and_then(|id| id.parse().ok()) {
                item.id = id;
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
        a_key_that_a_hook_changes_is_the_one_returned,
        a_key_that_no_outcome_has_cannot_be_changed,
    ];
    // The kv engine has no foreign keys.
    let linked: &[fn(&Db) -> Result<()>] = match url.starts_with("kv:") {
        true => &[],
        false => &[children_refer_to_the_row_as_it_is_written],
    };
    for case in cases.iter().chain(linked) {
        let mut builder = builder();
        if !linked.is_empty() {
            builder = builder.record::<Part>().record::<PagePart>();
        }
        let db = builder.open(url).unwrap();
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

fn a_key_that_a_hook_changes_is_the_one_returned(db: &Db) -> Result<()> {
    let items = db.table::<Item>()?;
    items.insert(&Item { id: 5, ..item("other", "o") })?;
    assert_eq!(items.insert(&Item { id: 5, ..item("key 50", "a") })?, 50);
    let mut record = item("key 51", "b");
    assert_eq!(items.insert(&mut record)?, 51);
    assert_eq!(record.id, 51);
    let names = items.returning(Item::NAME);
    assert_eq!(names.insert(&Item { id: 5, ..item("key 52", "c") })?, "key 52");
    let mut batch = db.batch(BatchOptions::new());
    batch.insert(&item("key 53", "d"))?;
    assert_eq!(batch.finish()?.generated_key::<i64>(0), Some(53));

    let tokens = db.table::<Token>()?;
    tokens.delete_all()?;
    let mut token = Token { id: Uuid::nil(), number: 3 };
    assert_eq!(tokens.insert(&mut token)?, Uuid::from_bytes([3; 16]));
    assert_eq!(tokens.list(Query::all())?, [token]);
    Ok(())
}

fn a_key_that_no_outcome_has_cannot_be_changed(db: &Db) -> Result<()> {
    let pages = db.table::<Page>()?;
    pages.delete_all()?;
    let page = |slug: &str, code: &str| Page { slug: slug.into(), code: code.into() };
    let error = pages.insert(&page("a b", "a")).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Misuse, Some("slug")), "{error}");
    assert_eq!(pages.count(Query::all())?, 0);
    assert_eq!(pages.insert(&page("a", "a"))?, "a");
    Ok(())
}

fn children_refer_to_the_row_as_it_is_written(db: &Db) -> Result<()> {
    let items = db.table::<Item>()?;
    items.insert(&Item { id: 5, ..item("other", "o") })?;
    let parent = NestedRecord::new(Item { id: 5, ..item("key 54", "e") });
    assert_eq!(items.insert_nested(parent.with(Item::PARTS, [Part { id: 0, item_id: 0 }]))?, 54);
    let parts = db.table::<Part>()?.list(Query::all())?;
    assert_eq!(parts.iter().map(|part| part.item_id).collect::<Vec<_>>(), [54]);
    let (pages, parts) = (db.table::<Page>()?, db.table::<PagePart>()?);
    parts.delete_all()?;
    pages.delete_all()?;
    let part = || PagePart { id: 0, page_code: String::new() };
    // By a normalizer, and by a hook.
    for (slug, code) in [("a", "BE"), ("b", "x y"), ("c", "BE x")] {
        let page = NestedRecord::new(Page { slug: slug.into(), code: code.into() });
        pages.insert_nested(page.with(Page::PARTS, [part()]))?;
    }
    let codes = parts.list(Query::all())?.into_iter().map(|part| part.page_code);
    assert_eq!(codes.collect::<Vec<_>>(), ["be", "x-y", "be-x"]);
    parts.delete_all()?;
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

//! Handles that are confined to the rows of one tenant: no call reaches the rows of another.

use crate::engines::on_each;
use bobak::backup::BackupOptions;
use bobak::changes::{Keep, TrackOptions};
use bobak::pipeline::PipelineOptions;
use bobak::prelude::*;
use bobak::query::{exists, from};
use bobak::relation::ToMany;
use bobak::{BatchOptions, RowLock, RowScope, Shape, count};

#[derive(Record, Debug, Clone, PartialEq)]
struct Customer {
    id: i64,
    tenant: i64,
    #[record(max = 40)]
    name: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Invoice {
    id: i64,
    tenant: i64,
    #[record(references = Customer, index)]
    customer_id: i64,
    total: i64,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Country {
    id: i64,
    name: String,
}

#[derive(Record, Debug)]
struct Secret {
    id: i64,
    text: String,
}

impl Customer {
    const INVOICES: ToMany<Customer, Invoice> = Invoice::CUSTOMER.inverse();
}

#[derive(Shape)]
#[shape(of = Customer)]
struct CustomerPage {
    name: String,
    #[shape(count = Customer::INVOICES)]
    invoices: u64,
}

fn model() -> bobak::DbBuilder {
    let tracked = Db::builder().track::<Invoice>(TrackOptions::new());
    tracked.record::<Customer>().record::<Country>().record::<Secret>()
}

fn invoice(tenant: i64, customer_id: i64, total: i64) -> Invoice {
    Invoice { id: 0, tenant, customer_id, total }
}

/// Customers 1 of tenant 7 and 2 of tenant 8, each with two invoices: 1 and 2, 3 and 4.
fn fill(db: &Db) {
    db.create_missing_tables().unwrap();
    for tenant in [7, 8] {
        let name = format!("customer of {tenant}");
        let customer = db.table().unwrap().insert(&Customer { id: 0, tenant, name }).unwrap();
        for total in [10, 20] {
            db.table().unwrap().insert(&invoice(tenant, customer, total)).unwrap();
        }
    }
    db.table().unwrap().insert(&Country { id: 0, name: "Iceland".into() }).unwrap();
    db.table().unwrap().insert(&Secret { id: 0, text: "key".into() }).unwrap();
}

fn of(db: &Db, tenant: i64) -> Db {
    let scope = RowScope::new(format!("tenant {tenant}"))
        .grant("read, write on customer, invoice where tenant = :tenant")
        .grant("read on country")
        .variable("tenant", tenant);
    db.scoped(&scope).unwrap()
}

#[track_caller]
fn fails<R>(result: bobak::Result<R>, kind: ErrorKind) {
    assert_eq!(result.err().map(|error| error.kind()), Some(kind));
}

fn secrets(db: &Db) -> bobak::Result<u64> {
    db.table::<Secret>()?.count(Query::all())
}

fn reads_are_confined(acme: &Db) {
    let invoices = acme.table::<Invoice>().unwrap();
    let ids = |found: Vec<Invoice>| found.iter().map(|invoice| invoice.id).collect::<Vec<_>>();
    assert_eq!(ids(invoices.list(Query::all()).unwrap()), [1, 2]);
    let iterated: bobak::Result<Vec<_>> = invoices.iter(Query::all()).unwrap().collect();
    assert_eq!(ids(iterated.unwrap()), [1, 2]);
    assert!(invoices.get(1).unwrap().is_some() && invoices.get(3).unwrap().is_none());
    assert_eq!(invoices.get_many([1, 3, 4]).unwrap().iter().flatten().count(), 1);
    assert_eq!(invoices.count(Query::all()).unwrap(), 2);
    assert_eq!(invoices.count(Invoice::TENANT.eq(8)).unwrap(), 0);
    assert_eq!(invoices.sum(Query::all(), Invoice::TOTAL).unwrap(), Some(30));
    assert_eq!(acme.dynamic("invoice").unwrap().count(Query::all()).unwrap(), 2);
    assert_eq!(invoices.count(Invoice::CUSTOMER.has(Customer::TENANT.eq(8))).unwrap(), 0);
    let pages: Vec<CustomerPage> =
        acme.table::<Customer>().unwrap().load(Query::all(), &()).unwrap();
    let shown: Vec<_> = pages.iter().map(|page| (page.name.as_str(), page.invoices)).collect();
    assert_eq!(shown, [("customer of 7", 2)]);
    let join = Query::<Invoice>::all()
        .join(Invoice::CUSTOMER)
        .group_by(Customer::NAME)
        .select((Customer::NAME, count::<Invoice>()));
    assert_eq!(acme.list(&join).unwrap(), [("customer of 7".to_owned(), 2)]);
    let count_of_all = from::<Invoice>().select(count::<Invoice>()).value();
    let own =
        Query::<Invoice>::all().subquery().and(Invoice::CUSTOMER_ID.into_expr().eq(Customer::ID));
    let nested = from::<Customer>().and(exists(own)).select((Customer::ID, count_of_all));
    assert_eq!(acme.list(&nested).unwrap(), [(1, Some(2))]);
    let dear = from::<Invoice>().and(Invoice::TOTAL.gt(10)).select(Invoice::CUSTOMER_ID);
    let names = from::<Country>().and(Country::ID.is_in_query(dear)).select(Country::NAME);
    assert_eq!(acme.list(&names).unwrap(), ["Iceland"]);
    let ids = from::<Invoice>().select((Invoice::ID, Invoice::TENANT));
    let all = acme.list(&ids.clone().union_all(ids)).unwrap();
    assert_eq!(all, [(1, 7), (1, 7), (2, 7), (2, 7)]);
    let of_secret = from::<Secret>().select(Secret::ID);
    let known = from::<Country>().and(Country::ID.is_in_query(of_secret));
    fails(acme.list(&known), ErrorKind::Schema);
    assert_eq!(acme.table::<Country>().unwrap().count(Query::all()).unwrap(), 1);
    fails(secrets(acme), ErrorKind::Schema);
    assert!(!acme.tables().unwrap().iter().any(|table| table.name() == "secret"));
}

fn writes_are_confined(acme: &Db) {
    let invoices = acme.table::<Invoice>().unwrap();
    let added = invoices.insert(&invoice(7, 1, 5)).unwrap();
    fails(invoices.insert(&invoice(8, 1, 5)), ErrorKind::Denied);
    // The other tenant's customer does not exist here.
    fails(invoices.insert(&invoice(7, 2, 5)), ErrorKind::Constraint);
    fails(invoices.update(&Invoice { id: 3, ..invoice(7, 1, 5) }), ErrorKind::NotFound);
    fails(invoices.update(&Invoice { id: 1, ..invoice(8, 1, 5) }), ErrorKind::Denied);
    fails(invoices.upsert(&Invoice { id: 3, ..invoice(7, 1, 5) }), ErrorKind::Denied);
    assert!(!invoices.set(3, [Invoice::TOTAL.set(0)]).unwrap());
    fails(invoices.set(1, [Invoice::TENANT.set(8)]), ErrorKind::Denied);
    assert!(!invoices.delete(3).unwrap());
    assert_eq!(invoices.set_where(Invoice::ID.gt(0), [Invoice::TOTAL.add(1)]).unwrap(), 3);
    let mut batch = acme.batch(BatchOptions::new());
    batch.insert(&invoice(8, 1, 6)).unwrap();
    fails(batch.finish(), ErrorKind::Denied);
    let pipeline = acme.pipeline(PipelineOptions::new());
    drop(pipeline.delete::<Invoice>(4).unwrap());
    pipeline.flush().unwrap();
    let done = acme.transaction(|transaction| {
        let invoices = transaction.table::<Invoice>()?;
        let locked = invoices.list(Query::all().lock(RowLock::Wait))?.len();
        Ok((locked, invoices.delete(4)?))
    });
    assert_eq!(done.unwrap(), (3, false));
    assert!(invoices.delete(added).unwrap());
    let countries = acme.table::<Country>().unwrap();
    fails(countries.insert(&Country { id: 0, name: "Malta".into() }), ErrorKind::Denied);
}

fn nothing_else_is_possible(acme: &Db) {
    for text in ["SELECT count(*) FROM invoice", "SELECT text FROM secret", "SELECT 1"] {
        fails(acme.sql::<i64>(text, ()), ErrorKind::Denied);
    }
    fails(acme.execute("UPDATE invoice SET tenant = 7", ()), ErrorKind::Denied);
    fails(acme.explain("SELECT count(*) FROM invoice", ()), ErrorKind::Denied);
    let transaction = acme.begin().unwrap();
    fails(transaction.sql::<i64>("SELECT count(*) FROM invoice", ()), ErrorKind::Denied);
    fails(transaction.execute("DELETE FROM invoice", ()), ErrorKind::Denied);
    transaction.rollback().unwrap();
    fails(acme.with_actor("somebody").map(drop), ErrorKind::Denied);
    fails(acme.changes().map(drop), ErrorKind::Denied);
    fails(acme.consumer::<Invoice>("mailer").map(drop), ErrorKind::Denied);
    let unseen = acme.table::<Invoice>().unwrap().history(1).unwrap_err();
    assert!(unseen.message().ends_with("in a scope it has no log"), "{unseen}");
    fails(acme.prune_changes(Keep::Last(0)), ErrorKind::Denied);
    assert!(acme.track_table("customer", TrackOptions::new()).is_err());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup");
    assert!(acme.backup(&file, &BackupOptions::new(), |_| Ok(())).is_err() && !file.exists());
    // A scope within a scope confines both.
    let none = acme.scoped(&RowScope::new("all").grant("read on *")).unwrap();
    assert_eq!(none.table::<Invoice>().unwrap().count(Query::all()).unwrap(), 2);
    let pages: bobak::Result<Vec<CustomerPage>> =
        none.table::<Customer>().unwrap().load(Query::all(), &());
    assert_eq!(pages.unwrap().len(), 1, "even if readers have no transactions");
    fails(secrets(&none), ErrorKind::Schema);
    assert_eq!(
        none.table::<Invoice>().unwrap().delete_all().err().unwrap().kind(),
        ErrorKind::Denied
    );
}

fn check(db: &Db) {
    fill(db);
    let acme = of(db, 7);
    reads_are_confined(&acme);
    writes_are_confined(&acme);
    nothing_else_is_possible(&acme);
    let all = db.table::<Invoice>().unwrap().list(Query::all()).unwrap();
    let totals: Vec<_> = all.iter().map(|invoice| (invoice.tenant, invoice.total)).collect();
    assert_eq!(totals, [(7, 11), (7, 21), (8, 10), (8, 20)], "the other tenant's are as before");
    let actors = db.changes().unwrap().iter().map(|change| change.unwrap().actor);
    assert!(actors.flatten().all(|actor| actor == "tenant 7"));
    assert_eq!(of(db, 8).table::<Invoice>().unwrap().delete_all().unwrap(), 2);
    assert_eq!(db.table::<Invoice>().unwrap().count(Query::all()).unwrap(), 2);
}

#[test]
fn on_local_engines() {
    on_each(|place| check(&place.open(model())));
}

#[test]
fn on_a_server_of_bobak() {
    crate::engines::on_bobak_server(bobak::engine::memory::Memory::new(), |url| {
        let db = model().open(url).unwrap();
        check(&db);
    });
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn on_servers() {
    crate::engines::on_servers(|url| {
        check(&model().open(url).unwrap());
    });
}

#[test]
fn wrong_scopes_are_rejected() {
    let db = model().open("memory:").unwrap();
    db.create_missing_tables().unwrap();
    for grant in ["sql on invoice", "all on *", "schema on *", "fly on invoice", "read invoice"] {
        fails(db.scoped(&RowScope::new("x").grant(grant)), ErrorKind::Config);
    }
    // Conditions that do not fit the table, or name a variable that is not set, allow nothing.
    for rule in ["nosuch = 1", "tenant = :tenant", "total = 'ten'"] {
        let scope = RowScope::new("x").grant(format!("read on invoice where {rule}"));
        let confined = db.scoped(&scope).unwrap();
        let read = confined.table::<Invoice>().and_then(|table| table.count(Query::all()));
        fails(read, ErrorKind::Denied);
    }
    let empty = db.scoped(&RowScope::new("x")).unwrap();
    assert!(empty.tables().unwrap().is_empty());
    // A served scope stays confined.
    assert!(of(&db, 7).engine().unwrap().tables().unwrap().len() < db.tables().unwrap().len());
}

/// Hooks run with what the scope grants, so they run no SQL text either, on engines with SQL and without.
#[test]
fn hooks_of_a_scope_run_no_sql() {
    on_each(|place| {
        let hook = |transaction: &Transaction<'_>, _: &mut Country| {
            transaction.sql::<i64>("SELECT count(*) FROM country", ()).map(drop)
        };
        let hidden = |transaction: &Transaction<'_>, _: &mut Customer| {
            transaction.table::<Secret>().map(drop)
        };
        let builder = Db::builder().record::<Secret>().before_insert(hook).before_insert(hidden);
        let db = builder.open(&place.url).unwrap();
        db.create_missing_tables().unwrap();
        db.table().unwrap().insert(&Country { id: 1, name: "CH".into() }).unwrap();
        let scope = RowScope::new("a").grant("read, write on country, customer");
        let scoped = db.scoped(&scope).unwrap();
        let error = scoped.table().unwrap().insert(&Country { id: 2, name: "FR".into() });
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{} {error}", place.url);
        let customer = Customer { id: 1, tenant: 1, name: "a".into() };
        let error = scoped.table().unwrap().insert(&customer).unwrap_err();
        assert!(error.message().contains("the scope has no grant on it"), "{} {error}", place.url);
        assert!(db.table().unwrap().insert(&Country { id: 3, name: "IT".into() }).is_ok());
    });
}

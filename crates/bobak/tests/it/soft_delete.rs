//! Rows that stay when they are deleted: every way to read leaves them out, on every engine.

use crate::engines::on_each;
use crate::rules_model::Passed;
use bobak::batch::OnError;
use bobak::prelude::*;
use bobak::query::{exists, from, not};
use bobak::relation::ToMany;
use bobak::{Result, Shape, SoftDelete};

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "soft_customer")]
struct Customer {
    id: i64,
    #[record(max = 40)]
    name: String,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "soft_order")]
struct Order {
    #[record(key = "given")]
    id: i64,
    #[record(references = Customer, index)]
    customer_id: i64,
    #[record(unique)]
    number: Option<i64>,
    total: i64,
    #[record(deleted_at)]
    removed: Option<Timestamp>,
    #[record(modified_at)]
    modified: Timestamp,
    #[record(version)]
    version: i64,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "soft_note")]
struct Note {
    id: i64,
    #[record(references = Order)]
    order_id: i64,
}

impl Customer {
    const ORDERS: ToMany<Customer, Order> = Order::CUSTOMER.inverse();
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Customer)]
struct CustomerPage {
    name: String,
    #[shape(count = Customer::ORDERS)]
    orders: u64,
    #[shape(many = Customer::ORDERS, order_by = Order::ID.asc())]
    list: Vec<OrderTotal>,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Order)]
struct OrderTotal {
    id: i64,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Order)]
struct OrderPage {
    id: i64,
    #[shape(one = Order::CUSTOMER)]
    customer: Option<CustomerName>,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Customer)]
struct CustomerName {
    name: String,
}

fn model() -> bobak::DbBuilder {
    Db::builder().record::<Customer>().record::<Order>().record::<Note>()
}

fn customer(name: &str) -> Customer {
    Customer { id: 0, name: name.into(), deleted_at: None }
}

fn order(id: i64, customer_id: i64) -> Order {
    let (modified, removed) = (Timestamp::default(), None);
    Order { id, customer_id, number: Some(id), total: id, removed, modified, version: 0 }
}

fn ids(db: &Db, query: impl Into<Query<Order>>) -> Vec<i64> {
    let orders = db.table::<Order>().unwrap().list(query).unwrap();
    orders.into_iter().map(|order| order.id).collect()
}

/// Two customers, the first with the orders 1, 2 and 3, the second with 4.
fn fill(db: &Db) -> Result<()> {
    let customers = db.table::<Customer>()?;
    let (ada, bob) = (customers.insert(&customer("Ada"))?, customers.insert(&customer("Bob"))?);
    let orders = db.table::<Order>()?;
    for id in 1..=4 {
        orders.insert(&order(id, if id < 4 { ada } else { bob }))?;
    }
    Ok(())
}

fn deleted_rows_stay(db: &Db) -> Result<()> {
    fill(db)?;
    let orders = db.table::<Order>()?;
    let old = orders.require(2)?;
    assert!(orders.delete(2)?);
    assert!(!orders.delete(2)?, "it is deleted already");
    assert_eq!((orders.get(2)?, orders.exists(2)?), (None, false));
    assert_eq!(orders.get_many([1, 2])?.iter().filter(|found| found.is_some()).count(), 1);
    assert_eq!(ids(db, Query::all()), [1, 3, 4]);
    assert_eq!(ids(db, Order::TOTAL.lt(3).or(Order::TOTAL.eq(4))), [1, 4]);
    assert_eq!(ids(db, Query::all().with_deleted()), [1, 2, 3, 4]);
    assert_eq!(ids(db, Query::all().only_deleted()), [2]);
    assert_eq!(
        (orders.count(Query::all())?, orders.sum(Query::all(), Order::TOTAL)?),
        (3, Some(8))
    );
    assert_eq!(orders.iter(Query::all())?.count(), 3);
    assert_eq!(orders.iter(Query::all().with_deleted())?.count(), 4);
    let stored = orders.first(Query::filter(Order::ID.eq(2)).only_deleted())?.unwrap();
    assert!(stored.removed.is_some() && stored.modified >= old.modified);
    assert_eq!((stored.total, stored.version), (2, old.version + 1));

    // Nothing that does not name the column changes it.
    assert_eq!(orders.update(&stored).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!orders.set(2, [Order::TOTAL.add(10)])?);
    assert_eq!(orders.set_where(Order::TOTAL.lt(4), [Order::TOTAL.add(10)])?, 2);
    assert_eq!(orders.insert(&order(2, 1)).unwrap_err().kind(), ErrorKind::Duplicate);
    let replaced = orders.insert_or_replace(&order(2, 1)).unwrap_err();
    assert_eq!(replaced.kind(), ErrorKind::Unsupported);
    let with_more = [Order::REMOVED.set(Timestamp::default()), Order::TOTAL.set(1)];
    assert_eq!(orders.set(1, with_more).unwrap_err().kind(), ErrorKind::Misuse);
    let given = Order { removed: Some(Timestamp::default()), ..orders.require(3)? };
    orders.update(&given)?;
    orders.insert(&Order { removed: Some(Timestamp::default()), ..order(5, 1) })?;
    assert_eq!(ids(db, Query::all()), [1, 3, 4, 5]);

    // Setting the column is a delete, too.
    assert!(orders.set(4, [Order::REMOVED.set(Timestamp::default())])?);
    assert!(!orders.set(4, [Order::REMOVED.set(Timestamp::default())])?);
    let fourth = orders.first(Query::filter(Order::ID.eq(4)).only_deleted())?.unwrap();
    assert!(fourth.removed > Some(Timestamp::default()), "the time of the deletion");
    assert!(orders.restore(4)?);

    assert!(orders.restore(2)?);
    assert!(!orders.restore(2)? && !orders.restore(9)?);
    assert_eq!(orders.require(2)?.total, 2);
    assert_eq!(orders.require(2)?.removed, None);
    Ok(())
}

fn many_rows(db: &Db) -> Result<()> {
    fill(db)?;
    let orders = db.table::<Order>()?;
    assert_eq!(orders.delete_where(Order::TOTAL.ge(3))?, 2);
    assert_eq!(orders.delete_where(Order::TOTAL.ge(2))?, 1);
    assert_eq!(orders.delete_all()?, 1);
    assert_eq!(orders.delete_all()?, 0);
    assert_eq!(orders.restore_where(Order::TOTAL.lt(3))?, 2);
    assert_eq!(ids(db, Query::all()), [1, 2]);
    let stored = orders.require(1)?;
    orders.delete_record(&stored)?;
    assert_eq!(orders.delete_record(&stored).unwrap_err().kind(), ErrorKind::NotFound);

    // An upsert restores the row that it finds.
    orders.upsert(&Order { total: 70, ..stored })?;
    assert_eq!(orders.require(1)?.total, 70);
    assert!(orders.delete(1)?);
    let stored = orders.first(Query::filter(Order::ID.eq(1)).with_deleted())?.unwrap();
    let kept = orders.upsert_on(Order::NUMBER, &Order { id: 8, number: Some(1), ..stored })?;
    assert_eq!((kept, orders.require(1)?.total), (1, 70));

    let mut batch = db.batch(BatchOptions::new());
    batch.delete::<Order>(1)?;
    batch.delete::<Order>(3)?;
    batch.update(&Order { total: 20, ..orders.require(2)? })?;
    batch.insert(&order(6, 1))?;
    batch.finish()?;
    assert_eq!(ids(db, Query::all()), [2, 6]);
    let mut batch = db.batch(BatchOptions::new().on_error(OnError::Continue));
    batch.update(&order(1, 1))?;
    let report = batch.finish()?;
    assert_eq!(report.outcome(0).unwrap().unwrap_err().kind(), ErrorKind::NotFound);

    // A purge removes rows, live ones never.
    assert_eq!(orders.purge(Timestamp::default())?, 0);
    let later = Timestamp::MAX;
    assert_eq!(orders.purge(later)?, 3);
    assert_eq!(orders.delete_where(Order::REMOVED.is_null())?, 0);
    assert_eq!(ids(db, Query::all().with_deleted()), [2, 6]);
    Ok(())
}

fn relations(db: &Db) -> Result<()> {
    fill(db)?;
    let (customers, orders) = (db.table::<Customer>()?, db.table::<Order>()?);
    orders.delete(1)?;
    orders.delete(4)?;
    let pages: Vec<CustomerPage> = customers.load(Query::all(), &())?;
    let found: Vec<_> =
        pages.iter().map(|page| (&*page.name, page.orders, page.list.len())).collect();
    assert_eq!(found, [("Ada", 2, 2), ("Bob", 0, 0)]);
    assert_eq!(customers.count(Customer::ORDERS.any(Order::TOTAL.ge(1)))?, 1);
    assert_eq!(customers.count(Customer::ORDERS.is_empty())?, 1);
    assert_eq!(customers.count(Customer::ORDERS.any(Order::REMOVED.is_not_null()))?, 2);

    let join = Query::<Customer>::all().join(Customer::ORDERS);
    assert_eq!(db.list(&join.clone().select((Customer::NAME, Order::ID)))?.len(), 2);
    let deleted = join.clone().and(Order::REMOVED.is_not_null()).and(Order::TOTAL.le(4));
    assert_eq!(db.list(&deleted.select((Customer::NAME, Order::ID)))?.len(), 2);
    let left = Query::<Customer>::all().left_join(Customer::ORDERS);
    let rows =
        db.list(&left.group_by(Customer::NAME).select((Customer::NAME, count::<Order>())))?;
    assert_eq!(rows, [("Ada".to_owned(), 2), ("Bob".to_owned(), 0)]);

    // Queries inside of others.
    let own =
        || Query::<Order>::all().subquery().and(Order::CUSTOMER_ID.into_expr().eq(Customer::ID));
    let total = own().select(Order::TOTAL.sum()).value();
    let rows = db.list(&from::<Customer>().select((Customer::NAME, total)))?;
    assert_eq!(rows, [("Ada".to_owned(), Some(5)), ("Bob".to_owned(), None)]);
    let buyers = from::<Customer>().and(exists(own())).select(Customer::ID);
    assert_eq!(db.list(&buyers)?, [1]);
    let ids_of = from::<Order>().select(Order::CUSTOMER_ID);
    let others = from::<Customer>().and(not(Customer::ID.is_in_query(ids_of))).select(Customer::ID);
    assert_eq!(db.list(&others)?, [2]);
    let gone = own().and(Order::REMOVED.is_not_null()).select(count::<Order>()).value();
    assert_eq!(db.list(&from::<Customer>().select(gone))?, [Some(1), Some(1)]);

    // A deleted parent: its rows stay, and refer to a row that is not found.
    assert!(customers.delete(1)?);
    assert_eq!(ids(db, Query::all()), [2, 3]);
    let pages: Vec<OrderPage> = orders.load(Query::all(), &())?;
    assert!(pages.iter().all(|page| page.customer.is_none()), "{pages:?}");
    let join = Query::<Order>::all().join(Order::CUSTOMER).select((Order::ID, Customer::NAME));
    assert!(db.list(&join)?.is_empty());
    let later = Timestamp::MAX;
    assert_eq!(customers.purge(later).unwrap_err().kind(), ErrorKind::Constraint);
    Ok(())
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
fn all(db: &dyn Fn() -> Db) {
    deleted_rows_stay(&db()).unwrap();
    many_rows(&db()).unwrap();
    relations(&db()).unwrap();
}

/// A database without the rows of the test before.
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn emptied(url: &str) -> Db {
    let plain = Db::open(url).unwrap();
    for table in ["soft_note", "soft_order", "soft_customer"] {
        if plain.dynamic(table).is_ok() {
            plain.execute(&format!("DROP TABLE {table}"), ()).unwrap();
        }
    }
    let db = model().open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

#[test]
fn deleted_rows_stay_on_embedded_engines() {
    for test in [deleted_rows_stay, many_rows, relations] {
        on_each(|place| test(&place.open(model())).unwrap());
    }
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn deleted_rows_stay_on_servers() {
    crate::engines::on_servers(|url| all(&|| emptied(url)));
}

#[test]
fn hooks_see_a_soft_delete_as_a_delete() {
    let builder = model()
        .before_delete(|_, order: &Order| match order.total {
            3 => Err(Error::new(ErrorKind::Constraint, "three stays")),
            _ => Ok(()),
        })
        .after_delete(|transaction, order: &Order| {
            let note = Note { id: 0, order_id: order.id };
            transaction.table::<Note>()?.insert(&note).map(drop)
        })
        .before_update(|_, old: &Order, new: &mut Order| {
            assert_eq!(old.id, new.id);
            new.total += 100;
            Ok(())
        });
    let db = builder.open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    fill(&db).unwrap();
    let orders = db.table::<Order>().unwrap();
    assert!(orders.delete(1).unwrap());
    assert!(!orders.delete(1).unwrap());
    assert_eq!(orders.delete_where(Order::TOTAL.eq(2)).unwrap(), 1);
    assert_eq!(orders.delete_all().unwrap_err().message(), "three stays");
    assert_eq!(db.table::<Note>().unwrap().count(Query::all()).unwrap(), 2);
    assert_eq!(ids(&db, Query::all()), [3, 4]);
    // A restore is an update.
    assert_eq!(orders.restore_where(Order::TOTAL.lt(3)).unwrap(), 2);
    assert_eq!(orders.require(1).unwrap().total, 101);
    assert_eq!(ids(&db, Query::all()), [1, 2, 3, 4]);
}

#[test]
fn clients_of_a_server_see_live_rows() {
    let served = model().open("memory:").unwrap();
    served.create_missing_tables().unwrap();
    fill(&served).unwrap();
    crate::engines::on_bobak_server(Passed(served.engine().unwrap()), |url| {
        // A program that knows nothing of the records, as the clients in other languages.
        let db = Db::open(url).unwrap();
        let orders = db.dynamic("soft_order").unwrap();
        assert!(orders.delete((2,)).unwrap());
        assert!(orders.get((2,)).unwrap().is_none());
        let removed = orders.column("removed").unwrap();
        assert_eq!(orders.count(Query::all()).unwrap(), 3);
        assert_eq!(orders.count(removed.is_not_null()).unwrap(), 1);
        let long_ago = Value::from("2000-01-01T00:00:00Z");
        assert_eq!(orders.delete_where(removed.lt(long_ago)).unwrap(), 0);
        let second = orders.column("id").unwrap().eq(2);
        assert_eq!(orders.set_where(second, [removed.set(Value::Null)]).unwrap(), 1);
        assert_eq!(orders.count(Query::all()).unwrap(), 4);
        assert!(orders.delete((3,)).unwrap());
        assert_eq!(orders.delete_where(removed.is_not_null()).unwrap(), 1);
        assert_eq!(orders.count(removed.is_not_null()).unwrap(), 0);
    });
    assert_eq!(ids(&served, Query::all().with_deleted()), [1, 2, 4]);
}

#[test]
fn a_program_and_its_server_may_both_know_the_records() {
    for test in [deleted_rows_stay, many_rows, relations] {
        let served = model().before_delete(|_, _: &Order| Ok(())).open("sqlite::memory:").unwrap();
        served.create_missing_tables().unwrap();
        crate::engines::on_bobak_server(Passed(served.engine().unwrap()), |url| {
            test(&model().open(url).unwrap()).unwrap();
        });
    }
}

#[test]
fn a_scope_needs_the_grants_of_what_is_written() {
    let db = model().open("memory:").unwrap();
    db.create_missing_tables().unwrap();
    fill(&db).unwrap();
    let scoped = |grant: &str| db.scoped(&bobak::RowScope::new("ann").grant(grant)).unwrap();
    let reader = scoped("read, delete on soft_order");
    assert_eq!(reader.table::<Order>().unwrap().delete(1).unwrap_err().kind(), ErrorKind::Denied);
    let writer = scoped("read, update on soft_order where total < 3");
    let orders = writer.table::<Order>().unwrap();
    assert_eq!(orders.delete_all().unwrap(), 2);
    assert_eq!(orders.purge(Timestamp::MAX).unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(orders.restore_where(Order::TOTAL.gt(0)).unwrap(), 2);
}

#[test]
fn the_change_log_has_the_update() {
    use bobak::changes::TrackOptions;
    let db = model().track::<Order>(TrackOptions::new()).open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    fill(&db).unwrap();
    let orders = db.table::<Order>().unwrap();
    orders.delete(1).unwrap();
    orders.restore(1).unwrap();
    let kinds: Vec<String> = orders
        .history(1)
        .unwrap()
        .into_iter()
        .map(|version| {
            format!("{:?} {}", version.kind, version.after.is_some_and(|o| o.removed.is_some()))
        })
        .collect();
    assert_eq!(kinds, ["Insert false", "Update true", "Update false"]);
}

#[test]
fn the_constant_is_the_field() {
    assert_eq!(Order::DELETION.index(), Order::REMOVED.index());
}

/// A tag of an order, which stays when it is deleted.
#[derive(Record, Debug)]
#[record(table = "soft_order_tag")]
struct OrderTag {
    #[record(key, references = Order)]
    order_id: i64,
    #[record(key, references = Note)]
    note_id: i64,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
}

impl Order {
    const NOTES: ToMany<Order, Note> = OrderTag::ORDER.inverse().then(OrderTag::NOTE);
}

#[test]
fn deleted_links_are_added_again() {
    on_each(|place| {
        let builder = Db::builder().record::<Customer>().record::<Order>();
        let db = place.open(builder.record::<Note>().record::<OrderTag>());
        let (customers, orders) = (db.table::<Customer>().unwrap(), db.table::<Order>().unwrap());
        let customer_id = customers.insert(&customer("Ada")).unwrap();
        let order = order(1, customer_id);
        orders.insert(&order).unwrap();
        let note = |_| db.table().unwrap().insert(&Note { id: 0, order_id: 1 }).unwrap();
        let notes: Vec<i64> = (0..3).map(note).collect();
        let links = orders.links(Order::NOTES, 1).unwrap();
        let tags = db.table::<OrderTag>().unwrap();
        let found = || -> Vec<i64> {
            tags.list(Query::all()).unwrap().iter().map(|tag| tag.note_id).collect()
        };
        assert_eq!(links.add([notes[0], notes[1]]).unwrap(), 2);
        assert_eq!(links.remove([notes[0]]).unwrap(), 1);
        assert_eq!(found(), [notes[1]]);
        let replaced = links.replace([notes[0], notes[2]]).unwrap();
        assert_eq!((replaced.added, replaced.removed), (2, 1));
        assert_eq!(found(), [notes[0], notes[2]]);
        assert_eq!(links.add([notes[1]]).unwrap(), 1);
        assert_eq!(links.add([notes[1]]).unwrap(), 0);
        assert_eq!(found(), notes);
    });
}

#[test]
fn setting_the_time_to_null_restores_with_hooks_too() {
    on_each(|place| {
        let builder = Db::builder().record::<Customer>();
        let db = place.open(builder.before_update(|_, _: &Customer, new: &mut Customer| {
            new.name.push('!');
            Ok(())
        }));
        let customers = db.table::<Customer>().unwrap();
        let id = customers.insert(&customer("Ada")).unwrap();
        for restore in [true, false] {
            customers.delete(id).unwrap();
            assert!(customers.get(id).unwrap().is_none());
            // Other updates do not find it.
            assert!(!customers.set(id, [Customer::NAME.set("x")]).unwrap());
            let assign = [Customer::DELETED_AT.set(None::<Timestamp>)];
            match restore {
                true => assert!(customers.set(id, assign).unwrap()),
                false => assert_eq!(customers.set_where(Customer::ID.eq(id), assign).unwrap(), 1),
            }
        }
        assert_eq!(customers.require(id).unwrap().name, "Ada!!");
    });
}

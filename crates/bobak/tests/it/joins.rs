//! Typed joins, on each engine and over two.

use crate::engines::on_each;
use bobak::prelude::*;
use bobak::query::{Alias, AnyOf, Filter, PageRequest, PageToken, whole};
use bobak::relation::ToMany;

#[derive(Record, Debug, Clone, PartialEq)]
struct Customer {
    id: i64,
    name: String,
    #[record(collation = "nocase")]
    city: Option<String>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Order {
    id: i64,
    #[record(references = Customer, index)]
    customer_id: i64,
    placed: Date,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Line {
    id: i64,
    #[record(references = Order, index)]
    order_id: i64,
    #[record(references = Product, index)]
    product_id: Option<i64>,
    price: Currency,
    quantity: i32,
    weight: Option<f64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Product {
    id: i64,
    name: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Employee {
    id: i64,
    name: String,
    #[record(references = Employee)]
    boss_id: Option<i64>,
}

/// Names of the second and the third employee in a join.
struct Boss;
struct Report;

impl Customer {
    const ORDERS: ToMany<Customer, Order> = Order::CUSTOMER.inverse();
    const LINES: ToMany<Customer, Line> = Customer::ORDERS.then_many(Order::LINES);
}

impl Order {
    const LINES: ToMany<Order, Line> = Line::ORDER.inverse();
}

fn model() -> bobak::DbBuilder {
    Db::builder().record::<Customer>().record::<Order>().record::<Product>().record::<Line>()
}

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

fn money(text: &str) -> Currency {
    text.parse().unwrap()
}

/// Anna of Bern has two orders, Bob of bern one without lines, Carl none, and Dora of Basel one.
fn fill(db: &Db) {
    let customer = |id, name: &str, city: Option<&str>| {
        let customer = Customer { id, name: name.into(), city: city.map(Into::into) };
        db.table::<Customer>().unwrap().insert(&customer).unwrap();
    };
    customer(1, "Anna", Some("Bern"));
    customer(2, "Bob", Some("bern"));
    customer(3, "Carl", None);
    customer(4, "Dora", Some("Basel"));
    let order = |id, customer_id, placed| {
        let order = Order { id, customer_id, placed: date(placed) };
        db.table::<Order>().unwrap().insert(&order).unwrap();
    };
    order(10, 1, "2026-01-05");
    order(11, 1, "2026-02-05");
    order(12, 2, "2026-02-06");
    order(13, 4, "2026-03-01");
    for (id, name) in [(5, "tea"), (6, "cup")] {
        db.table().unwrap().insert(&Product { id, name: name.into() }).unwrap();
    }
    let line = |id, order_id, product_id, price, quantity, weight| {
        let line = Line { id, order_id, product_id, price: money(price), quantity, weight };
        db.table().unwrap().insert(&line).unwrap();
    };
    line(100, 10, Some(5), "2.50", 4, Some(0.5));
    line(101, 10, Some(6), "10", 1, None);
    line(102, 11, Some(5), "2.25", 2, Some(0.25));
    line(103, 13, None, "0.05", 3, None);
}

/// What holds on every engine. The last one writes.
const CHECKS: [fn(&Db); 8] = [
    sums_of_groups_are_sorted_and_filtered,
    aggregates_without_a_group_have_one_row,
    left_joins_keep_records_without_related_ones,
    columns_of_left_joined_records_may_be_missing,
    filters_of_several_records_and_expressions,
    filters_through_relations,
    errors_name_what_is_wrong,
    joins_in_a_transaction_see_its_writes,
];

fn check(db: &Db) {
    fill(db);
    CHECKS.iter().for_each(|check| check(db));
}

#[test]
fn joins_are_the_same_on_each_engine() {
    on_each(|place| check(&place.open(model())));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn joins_are_the_same_on_servers() {
    crate::engines::on_servers(|url| {
        let db = model().open(url).unwrap();
        db.create_missing_tables().unwrap();
        check(&db);
    });
}

#[derive(Record, Debug, Clone, PartialEq)]
struct SideOrder {
    id: i64,
    customer: i64,
}

fn sums_of_groups_are_sorted_and_filtered(db: &Db) {
    let total = (Line::PRICE * Line::QUANTITY).sum();
    let spent = Query::<Order>::all()
        .join(Order::CUSTOMER)
        .join(Order::LINES)
        .group_by(Customer::ID)
        .order_by(total.desc())
        .select((Customer::NAME, total, bobak::count::<Line>()));
    let all =
        [("Anna".to_owned(), Some(money("24.5")), 3), ("Dora".into(), Some(money("0.15")), 1)];
    assert_eq!(db.list(&spent).unwrap(), all);
    let of_bern = spent.clone().and(Customer::CITY.eq("BERN"));
    assert_eq!(db.list(&of_bern).unwrap(), all[..1]);
    assert_eq!(db.list(&spent.clone().and(total.lt(money("1")))).unwrap(), all[1..]);
    assert_eq!(db.list(&spent.clone().limit(1).offset(1)).unwrap(), all[1..]);
    assert_eq!(db.list(&spent.and(Customer::NAME.eq("Carl"))).unwrap(), []);
}

fn aggregates_without_a_group_have_one_row(db: &Db) {
    let lines = |name: &str| {
        let query = Query::<Customer>::filter(Customer::NAME.eq(name)).join(Customer::LINES);
        let selection = (
            Line::WEIGHT.sum(),
            (Line::PRICE * Line::QUANTITY).avg(),
            Line::QUANTITY.max(),
            Line::PRICE.min(),
            bobak::count::<Line>(),
            (Line::QUANTITY * 2 + 1).max(),
            (Line::WEIGHT * Line::QUANTITY).sum(),
        );
        db.list(&query.select(selection)).unwrap().pop().unwrap()
    };
    let anna = (
        Some(0.75),
        Some(245_000.0 / 3.0 / 10_000.0),
        Some(4),
        Some(money("2.25")),
        3,
        Some(9),
        Some(2.5),
    );
    assert_eq!(lines("Anna"), anna);
    assert_eq!(lines("Carl"), (None, None, None, None, 0, None, None));
}

fn left_joins_keep_records_without_related_ones(db: &Db) {
    let names = |rows: Vec<(Customer, Option<Order>)>| -> Vec<(String, Option<i64>)> {
        rows.into_iter().map(|(customer, order)| (customer.name, order.map(|o| o.id))).collect()
    };
    let all = Query::<Customer>::all().left_join(Customer::ORDERS);
    let expected = [
        ("Anna", Some(10)),
        ("Anna", Some(11)),
        ("Bob", Some(12)),
        ("Carl", None),
        ("Dora", Some(13)),
    ];
    let expected = expected.map(|(name, order)| (name.to_owned(), order));
    assert_eq!(names(db.list(&all).unwrap()), expected);

    // A filter of the joined record leaves out the rows without it; a condition of the join does not.
    let early = Order::PLACED.lt(date("2026-02-01"));
    let rows = names(db.list(&all.clone().and(early.clone())).unwrap());
    assert_eq!(rows, [("Anna".to_owned(), Some(10))]);
    let rows = db.list(&Query::<Customer>::all().left_join_where(Customer::ORDERS, early)).unwrap();
    let expected = [("Anna", Some(10)), ("Bob", None), ("Carl", None), ("Dora", None)];
    assert_eq!(names(rows), expected.map(|(name, order)| (name.to_owned(), order)));
    assert_eq!(db.list(&all.and(Order::ID.is_null())).unwrap().len(), 1);

    let counts = Query::<Customer>::all()
        .left_join(Customer::ORDERS)
        .left_join(Order::LINES)
        .group_by(Customer::ID)
        .select((Customer::NAME, bobak::count::<Line>(), Order::PLACED.max()));
    let counts: Vec<i64> = db.list(&counts).unwrap().into_iter().map(|(_, n, _)| n).collect();
    assert_eq!(counts, [3, 0, 0, 1]);
}

fn columns_of_left_joined_records_may_be_missing(db: &Db) {
    let rows = Query::<Line>::all()
        .left_join(Line::PRODUCT)
        .join(Line::ORDER)
        .order_by(Product::NAME.desc())
        .order_by(Line::PRICE.asc())
        .select((Line::ID, Product::NAME, whole::<Order>()));
    let rows = db.list(&rows).unwrap();
    let lines: Vec<(i64, Option<&str>, i64)> =
        rows.iter().map(|(line, name, order)| (*line, name.as_deref(), order.id)).collect();
    let expected =
        [(102, Some("tea"), 11), (100, Some("tea"), 10), (101, Some("cup"), 10), (103, None, 13)];
    assert_eq!(lines, expected);
}

fn filters_of_several_records_and_expressions(db: &Db) {
    let lines = |query: bobak::query::JoinQuery<_, i64>| db.list(&query).unwrap();
    let all =
        || Query::<Line>::all().left_join(Line::PRODUCT).join(Line::ORDER).join(Order::CUSTOMER);
    let either = AnyOf((Product::NAME.eq("cup"), Customer::NAME.eq("Dora")));
    assert_eq!(lines(all().and(either).select(Line::ID)), [101, 103]);
    let price = Line::PRICE * Line::QUANTITY;
    assert_eq!(lines(all().and(price.ge(money("10"))).select(Line::ID)), [100, 101]);
    let either = AnyOf((price.lt(money("1")), Order::PLACED.gt(date("2026-02-01"))));
    let query = all().and(either).and(Customer::CITY.is_not_null()).select(Line::ID);
    assert_eq!(lines(query.clone()), [102, 103]);
    assert_eq!(lines(query.order_by((Line::QUANTITY * Line::QUANTITY).desc())), [103, 102]);
}

fn joins_in_a_transaction_see_its_writes(db: &Db) {
    let query = Query::<Order>::all().join(Order::CUSTOMER).select(Customer::NAME);
    db.transaction(|transaction| {
        let order = Order { id: 14, customer_id: 3, placed: date("2026-04-01") };
        transaction.table()?.insert(&order)?;
        assert_eq!(transaction.list(&query)?.last().map(String::as_str), Some("Carl"));
        Ok(())
    })
    .unwrap();
    assert_eq!(db.list(&query).unwrap().len(), 5);
}

#[test]
fn records_of_two_engines_are_joined() {
    let builder = Db::builder().attach("other", "sqlite::memory:");
    let builder = builder.record::<Customer>().record_on::<SideOrder>("other");
    let db = builder.open("memory:").unwrap();
    db.create_missing_tables().unwrap();
    for (id, name) in [(1, "Anna"), (2, "Bob")] {
        db.table().unwrap().insert(&Customer { id, name: name.into(), city: None }).unwrap();
    }
    for (id, customer) in [(1, 2), (2, 1), (3, 2), (4, 9)] {
        db.table().unwrap().insert(&SideOrder { id, customer }).unwrap();
    }
    let customer = SideOrder::CUSTOMER.refers_to::<Customer>();
    let names = Query::<SideOrder>::all().join(customer).select((SideOrder::ID, Customer::NAME));
    let expected = [(1, "Bob"), (2, "Anna"), (3, "Bob")].map(|(id, name)| (id, name.to_owned()));
    assert_eq!(db.list(&names).unwrap(), expected);
    let missing = Query::<SideOrder>::all().left_join(customer).and(Customer::ID.is_null());
    assert_eq!(db.list(&missing).unwrap(), [(SideOrder { id: 4, customer: 9 }, None)]);
    let orders = customer.inverse();
    let counts = Query::<Customer>::all().join(orders).group_by(Customer::NAME);
    let counts = counts.select((Customer::NAME, bobak::count::<SideOrder>()));
    assert_eq!(db.list(&counts).unwrap(), [("Anna".to_owned(), 1), ("Bob".to_owned(), 2)]);
}

/// A filter of a joined record can be about records related to it.
fn filters_through_relations(db: &Db) {
    let lines = |query: bobak::query::JoinQuery<_, i64>| db.list(&query).unwrap();
    let all = || Query::<Line>::all().left_join(Line::PRODUCT).join(Line::ORDER);
    let of_bern = Line::ORDER.as_many().then(Order::CUSTOMER).any(Customer::CITY.eq("Bern"));
    assert_eq!(lines(all().and(of_bern.clone()).select(Line::ID)), [100, 101, 102]);
    assert_eq!(lines(all().and(of_bern.clone().not()).select(Line::ID)), [103]);
    let query = Query::filter(of_bern.clone()).join(Line::ORDER);
    assert_eq!(db.list(&query.select(Line::ID)).unwrap(), [100, 101, 102]);

    let large = Order::LINES.all(Line::PRICE.gt(money("2.40")));
    let orders = |filter: Filter<Order>| lines(all().and(filter).select(Line::ID));
    assert_eq!(orders(large.clone()), [100, 101]);
    assert_eq!(orders(Order::LINES.none(Line::PRICE.gt(money("1")))), [103]);
    assert_eq!(
        orders(Order::CUSTOMER.has(Customer::ORDERS.any(Order::ID.eq(11)))),
        [100, 101, 102]
    );
    let either = AnyOf((Product::NAME.eq("cup"), Order::CUSTOMER.has(Customer::NAME.eq("Dora"))));
    assert_eq!(lines(all().and(either).select(Line::ID)), [101, 103]);

    let lined = Query::<Customer>::all().left_join_where(Customer::ORDERS, large);
    let lined = lined.select((Customer::ID, Order::ID));
    let expected = [(1, Some(10)), (2, Some(12)), (3, None), (4, None)];
    assert_eq!(db.list(&lined).unwrap(), expected);
}

#[cfg(feature = "async")]
#[test]
fn joins_are_listed_async() {
    on_each(|place| {
        let db = place.open(model());
        fill(&db);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let query = Query::<Order>::all().join(Order::CUSTOMER).select(Customer::NAME);
        let names = bobak::aio::AsyncDb::new(db.clone()).unwrap().list(&query);
        assert_eq!(runtime.block_on(names).unwrap(), db.list(&query).unwrap());
        let request = || PageRequest::size(3).with_total();
        let page = bobak::aio::AsyncDb::new(db.clone()).unwrap().page(&query, request());
        let (page, expected) = (runtime.block_on(page).unwrap(), db.page(&query, request()));
        let expected = expected.unwrap();
        assert_eq!((page.items.len(), page.total), (3, Some(4)));
        assert_eq!((page.items, page.next), (expected.items, expected.next));
    });
}

#[test]
fn a_record_is_joined_with_itself() {
    on_each(|place| {
        let db = place.open(Db::builder().record::<Employee>());
        let names = [("Ada", None), ("Bob", Some(1)), ("Cyd", Some(1)), ("Dan", Some(2))];
        for (id, (name, boss_id)) in (1..).zip(names) {
            db.table().unwrap().insert(&Employee { id, name: name.into(), boss_id }).unwrap();
        }
        let boss_name = Employee::NAME.of_alias::<Boss>();
        let all = Query::<Employee>::all().left_join(Employee::BOSS.to_alias::<Boss>());
        let pairs = db.list(&all.clone().select((Employee::NAME, boss_name))).unwrap();
        let bosses: Vec<_> = pairs.iter().map(|(_, boss)| boss.as_deref()).collect();
        assert_eq!(bosses, [None, Some("Ada"), Some("Ada"), Some("Bob")]);

        let of_ada = all.clone().and(boss_name.eq("Ada")).order_by(Employee::NAME.desc());
        let rows: Vec<(Employee, Option<Alias<Employee, Boss>>)> = db.list(&of_ada).unwrap();
        let rows: Vec<_> = rows.iter().map(|(e, b)| (&*e.name, b.as_ref().unwrap().id)).collect();
        assert_eq!(rows, [("Cyd", 1), ("Bob", 1)]);

        // From an employee to the boss, and from there to all whose boss that is.
        let reports = Employee::BOSS.inverse().of_alias::<Boss>().to_alias::<Report>();
        let peers = all.join(reports).group_by(Employee::ID).select((
            Employee::NAME,
            bobak::count::<Alias<Employee, Report>>(),
            Employee::NAME.of_alias::<Report>().max(),
        ));
        let expected = [("Bob", 2, "Cyd"), ("Cyd", 2, "Cyd"), ("Dan", 1, "Dan")];
        let expected = expected.map(|(a, n, b)| (a.to_owned(), n, Some(b.to_owned())));
        assert_eq!(db.list(&peers).unwrap(), expected);
    });
}

#[test]
fn pages_reject_what_they_cannot_continue() {
    let db = model().open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    fill(&db);
    let all = Query::<Line>::all().join(Line::ORDER).order_by((Line::PRICE * 2).desc());
    let page = |token: &str| {
        let token: PageToken = token.parse().unwrap();
        db.page(&all.clone().select(Line::ID), PageRequest::size(1).after(token))
    };
    let first = db.page(&all.clone().select(Line::ID), PageRequest::size(1)).unwrap();
    assert_eq!(first.items, [101]);
    let next = first.next.unwrap().to_string();
    assert_eq!(page(&next).unwrap().items, [100]);
    let by_key = Query::<Line>::all().join(Line::ORDER);
    let other = db.page(&by_key, PageRequest::size(1)).unwrap().next.unwrap().to_string();
    for token in ["", "00", &other] {
        assert_eq!(page(token).unwrap_err().kind(), ErrorKind::Mismatch, "{token}");
    }
    // Pages of groups, and of a limited query.
    let grouped = by_key.clone().group_by(Order::ID).select((Order::ID, Line::QUANTITY.sum()));
    let grouped = grouped.order_by(Line::QUANTITY.sum().desc());
    let first = db.page(&grouped, PageRequest::size(2).with_total()).unwrap();
    assert_eq!((first.items, first.total), (vec![(10, Some(5)), (13, Some(3))], Some(3)));
    let second = db.page(&grouped, PageRequest::size(2).after(first.next)).unwrap();
    assert_eq!((second.items, second.next), (vec![(11, Some(2))], None));
    let limited = all.select(Line::ID).limit(3).offset(1);
    let page = db.page(&limited, PageRequest::size(2).with_total()).unwrap();
    assert_eq!((page.items, page.total), (vec![100, 102], Some(3)));
    let page = db.page(&limited, PageRequest::size(2).after(page.next)).unwrap();
    assert_eq!((page.items, page.next), (vec![103], None));
}

fn errors_name_what_is_wrong(db: &Db) {
    let query = Query::<Order>::all().join(Order::CUSTOMER).group_by(Customer::CITY);
    let error = db.list(&query.select((Customer::NAME, bobak::count::<Order>()))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert_eq!((error.table(), error.column()), (Some("customer"), Some("name")));

    // An aggregate makes groups, wherever it is.
    let rows = Query::<Order>::all().join(Order::LINES).select(Order::ID);
    for grouped in
        [rows.clone().order_by(Line::QUANTITY.sum().desc()), rows.and(Line::QUANTITY.sum().gt(5))]
    {
        assert_eq!(db.list(&grouped).unwrap_err().kind(), ErrorKind::Schema);
    }

    let after = Query::<Order>::all().after(3).join(Order::CUSTOMER);
    assert_eq!(db.list(&after).unwrap_err().kind(), ErrorKind::Unsupported);

    let large = Query::<Line>::all().join(Line::ORDER);
    let large = large.select(Line::QUANTITY * i64::MAX);
    assert_eq!(db.list(&large).unwrap_err().kind(), ErrorKind::OutOfRange);
}

//! Relations over foreign keys of several fields: conditions, shapes, joins and nested inserts on each engine.

use crate::engines::on_each;
use bobak::prelude::*;
use bobak::relation::{NestedRecord, ToMany, ToOne};
use bobak::{Filter, RowScope, Shape, count};

#[derive(Record, Debug, Clone, PartialEq)]
#[record(foreign_key(shop, parent_number, references = Self(shop, number), relation = PARENT))]
#[record(index(shop, parent_number))]
struct Order {
    #[record(key, max = 10)]
    shop: String,
    #[record(key)]
    number: i64,
    customer: i64,
    parent_number: Option<i64>,
    #[record(deleted_at)]
    deleted: Option<Timestamp>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Product {
    #[record(key, max = 10)]
    shop: String,
    #[record(key, max = 10, column = "product_code")]
    code: String,
    price: i64,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(
    foreign_key(shop, order_number, references = Order(shop, number), on_delete = "cascade"),
    foreign_key(shop, code, references = Product(shop, code))
)]
#[record(index(shop, code))]
struct Line {
    #[record(key, max = 10)]
    shop: String,
    #[record(key)]
    order_number: i64,
    #[record(key)]
    position: i32,
    #[record(max = 10)]
    code: String,
    amount: Option<i64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(foreign_key(shop, order_number, references = Order(shop, number)))]
struct Payment {
    id: i64,
    #[record(max = 10)]
    shop: Option<String>,
    order_number: Option<i64>,
    cents: i64,
}

impl Order {
    const LINES: ToMany<Order, Line> = Line::ORDER.inverse();
    const PARTS: ToMany<Order, Order> = Order::PARENT.inverse();
    const PRODUCTS: ToMany<Order, Product> = Order::LINES.then(Line::PRODUCT);
    const PAYMENTS: ToMany<Order, Payment> = Payment::ORDER.inverse();
}

impl Product {
    const LINES: ToMany<Product, Line> = Line::PRODUCT.inverse();
    const ORDERS: ToMany<Product, Order> = Product::LINES.then(Line::ORDER);
}

fn model() -> bobak::DbBuilder {
    let builder = Db::builder().record::<Order>().record::<Product>();
    builder.record::<Line>().record::<Payment>()
}

fn order(shop: &str, number: i64, parent_number: Option<i64>) -> Order {
    Order { shop: shop.into(), number, customer: number * 10, parent_number, deleted: None }
}

fn key(shop: &str, number: i64) -> (String, i64) {
    (shop.into(), number)
}

/// Inserts records one by one.
fn insert<T: Record>(db: &Db, records: &[T]) {
    let table = db.table::<T>().unwrap();
    records.iter().for_each(|record| drop(table.insert(record).unwrap()));
}

fn product(shop: &str, code: &str, price: i64) -> Product {
    Product { shop: shop.into(), code: code.into(), price }
}

fn line(shop: &str, order_number: i64, position: i32, code: &str, amount: Option<i64>) -> Line {
    Line { shop: shop.into(), order_number, position, code: code.into(), amount }
}

/// Orders of both shops have the same numbers, and products the same codes.
fn fill(db: &Db) {
    let orders =
        [("a", 1, None), ("a", 2, Some(1)), ("a", 3, Some(1)), ("b", 1, None), ("b", 3, Some(1))];
    let orders = orders.map(|(shop, number, parent)| order(shop, number, parent));
    insert(db, &orders);
    let products = [product("a", "tea", 3), product("a", "mug", 9), product("b", "tea", 4)];
    insert(db, &products);
    let lines = [
        line("a", 1, 1, "tea", Some(2)),
        line("a", 1, 2, "mug", None),
        line("a", 1, 3, "tea", Some(5)),
        line("a", 2, 1, "mug", Some(1)),
        line("b", 3, 1, "tea", Some(7)),
    ];
    insert(db, &lines);
    let payments = [
        (1, Some("a"), Some(1), 5),
        (2, Some("a"), Some(1), 6),
        (3, Some("b"), Some(3), 7),
        (4, Some("b"), None, 8),
        (5, None, Some(1), 9),
        (6, None, None, 10),
    ];
    for (id, shop, order_number, cents) in payments {
        let shop = shop.map(Into::into);
        db.table().unwrap().insert(&Payment { id, shop, order_number, cents }).unwrap();
    }
}

fn names(found: Vec<Order>) -> String {
    let names: Vec<_> = found.iter().map(|o| format!("{}{}", o.shop, o.number)).collect();
    names.join(" ")
}

fn orders(db: &Db, filter: Filter<Order>) -> String {
    names(db.table().unwrap().list(Query::filter(filter)).unwrap())
}

fn payments(db: &Db, filter: Filter<Payment>) -> Vec<i64> {
    let found = db.table::<Payment>().unwrap().list(Query::filter(filter)).unwrap();
    found.into_iter().map(|payment| payment.id).collect()
}

fn conditions(db: &Db) {
    let cases = [
        (Order::LINES.any(Line::AMOUNT.gt(1)), "a1 b3"),
        (Order::LINES.any(Line::CODE.eq("mug")), "a1 a2"),
        (Order::LINES.none(Line::CODE.eq("mug")), "a3 b1 b3"),
        (Order::LINES.exists(), "a1 a2 b3"),
        (Order::LINES.is_empty(), "a3 b1"),
        // NULL does not match.
        (Order::LINES.all(Line::AMOUNT.ge(1)), "a2 a3 b1 b3"),
        (Order::PARENT.has(Order::LINES.exists()), "a2 a3"),
        (Order::PARENT.has(Order::CUSTOMER.eq(10)), "a2 a3 b3"),
        (Order::PARENT.as_many().none(Order::SHOP.eq("a")), "a1 b1 b3"),
        (Order::PARENT.as_many().is_empty(), "a1 b1"),
        (Order::PARTS.any(Order::NUMBER.eq(2)), "a1"),
        (Order::PRODUCTS.any(Product::PRICE.eq(4)), "b3"),
        (Order::PRODUCTS.any(Product::CODE.eq("tea")), "a1 b3"),
        (Order::PRODUCTS.none(Product::CODE.eq("tea")), "a2 a3 b1"),
        (Order::PAYMENTS.any(Payment::CENTS.ge(6)), "a1 b3"),
        (Order::PAYMENTS.is_empty().and(Order::SHOP.eq("a")), "a2 a3"),
        (Order::LINES.exists().not().or(Order::NUMBER.eq(2)), "a2 a3 b1"),
    ];
    for (number, (filter, expected)) in cases.into_iter().enumerate() {
        assert_eq!(orders(db, filter), expected, "case {number}");
    }
    assert_eq!(payments(db, Payment::ORDER.has(Order::SHOP.eq("a"))), [1, 2]);
    assert_eq!(payments(db, Payment::ORDER.as_many().exists()), [1, 2, 3]);
    assert_eq!(payments(db, Payment::ORDER.as_many().is_empty()), [4, 5, 6]);
    assert_eq!(payments(db, Payment::ORDER.as_many().none(Order::SHOP.eq("a"))), [3, 4, 5, 6]);
    let with_mug = Order::PRODUCTS.any(Product::CODE.eq("mug"));
    assert_eq!(payments(db, Payment::ORDER.has(with_mug)), [1, 2]);
    let table = db.table::<Order>().unwrap();
    let (first, second) =
        (table.require(key("a", 1)).unwrap(), table.require(key("a", 2)).unwrap());
    let lines = db.table::<Line>().unwrap();
    assert_eq!(lines.count(Order::LINES.of(&first)).unwrap(), 3);
    assert_eq!(orders(db, Order::PARENT.as_many().of(&second)), "a1");
    assert_eq!(orders(db, Order::PARENT.as_many().of(&first)), "");
    let products = db.table::<Product>().unwrap();
    assert_eq!(products.count(Order::PRODUCTS.of(&first)).unwrap(), 2);
    assert_eq!(products.count(Order::PARTS.then_many(Order::PRODUCTS).of(&first)).unwrap(), 1);
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Line)]
struct LinePart {
    position: i32,
    #[shape(one = Line::PRODUCT)]
    product: Product,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Order)]
struct ParentPart {
    number: i64,
    #[shape(count = Order::PARTS)]
    parts: u64,
}

#[derive(Shape, Debug)]
#[shape(of = Order, with(least: i64))]
struct OrderPage {
    shop: String,
    number: i64,
    #[shape(one = Order::PARENT)]
    parent: Option<ParentPart>,
    #[shape(many = Order::LINES, order_by = Line::POSITION.desc(), limit = 2)]
    lines: Vec<LinePart>,
    #[shape(many = Order::PRODUCTS, select = Product::CODE, order_by = Product::CODE.asc())]
    codes: Vec<String>,
    #[shape(count = Order::LINES, filter = Line::AMOUNT.ge(least))]
    many: u64,
    #[shape(exists = Order::PAYMENTS)]
    is_paid: bool,
    #[shape(count = Order::PRODUCTS)]
    products: u64,
}

#[derive(Shape, Debug)]
#[shape(of = Payment)]
struct PaymentPage {
    id: i64,
    #[shape(one = Payment::ORDER)]
    order: Option<Order>,
}

fn shapes(db: &Db) {
    let expected = [
        "a1 - 3tea 2mug | mug tea | 2 true 2",
        "a2 1/2 1mug | mug | 1 false 1",
        "a3 1/2  |  | 0 false 0",
        "b1 -  |  | 0 false 0",
        "b3 1/1 1tea | tea | 1 true 1",
    ];
    let text = |page: &OrderPage| {
        let parent = page.parent.as_ref();
        let parent = parent.map_or("-".into(), |one| format!("{}/{}", one.number, one.parts));
        let lines = page.lines.iter().map(|l| format!("{}{}", l.position, l.product.code));
        assert!(page.lines.iter().all(|line| line.product.shop == page.shop));
        let (lines, codes) = (lines.collect::<Vec<_>>().join(" "), page.codes.join(" "));
        let OrderPage { shop, number, many, is_paid, products, .. } = page;
        format!("{shop}{number} {parent} {lines} | {codes} | {many} {is_paid} {products}")
    };
    let table = db.table::<Order>().unwrap();
    // Few rows have their counts in the same query.
    for query in [Query::all(), Query::all().limit(9)] {
        let pages: Vec<OrderPage> = table.load(query, &1).unwrap();
        assert_eq!(pages.iter().map(text).collect::<Vec<_>>(), expected);
    }
    let filtered = Order::PARENT.has(Order::CUSTOMER.eq(10)).and(Order::LINES.exists());
    let pages: Vec<OrderPage> = table.load(filtered, &1).unwrap();
    assert_eq!(pages.iter().map(text).collect::<Vec<_>>(), [expected[1], expected[4]]);
    let page = table.load_one::<OrderPage>(key("b", 3), &8).unwrap().unwrap();
    assert_eq!(text(&page), "b3 1/1 1tea | tea | 0 true 1");
    let pages: Vec<PaymentPage> = db.table::<Payment>().unwrap().load(Query::all(), &()).unwrap();
    let found: Vec<_> = pages
        .iter()
        .map(|page| (page.id, page.order.as_ref().map(|order| (&*order.shop, order.number))))
        .collect();
    let (first, third) = (Some(("a", 1)), Some(("b", 3)));
    let expected = [(1, first), (2, first), (3, third), (4, None), (5, None), (6, None)];
    assert_eq!(found, expected);
}

struct Parent;

fn joins(db: &Db) {
    let inner = Query::<Line>::all()
        .join(Line::ORDER)
        .join(Line::PRODUCT)
        .and(Order::SHOP.eq("a"))
        .order_by(Line::ORDER_NUMBER.asc())
        .order_by(Line::POSITION.asc())
        .select((Line::POSITION, Order::NUMBER, Product::PRICE));
    assert_eq!(db.list(&inner).unwrap(), [(1, 1, 3), (2, 1, 9), (3, 1, 3), (1, 2, 9)]);
    let left = Query::<Payment>::all().left_join(Payment::ORDER);
    let rows: Vec<(Payment, Option<Order>)> = db.list(&left).unwrap();
    let found: Vec<_> = rows.iter().map(|(payment, order)| (payment.id, order.is_some())).collect();
    assert_eq!(found, [(1, true), (2, true), (3, true), (4, false), (5, false), (6, false)]);
    let grouped = Query::<Order>::all()
        .left_join_where(Order::LINES, Line::AMOUNT.ge(2))
        .group_by(Order::SHOP)
        .group_by(Order::NUMBER)
        .select((Order::SHOP, Order::NUMBER, count::<Line>()));
    let shown = db.list(&grouped).unwrap().into_iter();
    let shown: Vec<_> =
        shown.map(|(shop, number, lines)| format!("{shop}{number}:{lines}")).collect();
    assert_eq!(shown, ["a1:2", "a2:0", "a3:0", "b1:0", "b3:1"]);
    let chain = Query::<Product>::all()
        .join(Product::ORDERS)
        .and(Order::NUMBER.eq(1))
        .select((Product::CODE, Order::SHOP));
    let found: Vec<(String, String)> = db.list(&chain).unwrap();
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|(_, shop)| shop == "a"));
    let parents = Query::<Order>::all()
        .join(Order::PARENT.to_alias::<Parent>())
        .and(Order::LINES.exists())
        .select((Order::NUMBER, Order::NUMBER.of_alias::<Parent>()));
    assert_eq!(db.list(&parents).unwrap(), [(2, 1), (3, 1)]);
}

fn changes(db: &Db) {
    let lines = db.table::<Line>().unwrap();
    let of_parts = Line::ORDER.has(Order::PARENT.has(Order::SHOP.eq("a")));
    assert_eq!(lines.set_where(of_parts, [Line::AMOUNT.set(4)]).unwrap(), 1);
    assert_eq!(lines.require(("a".to_owned(), 2, 1)).unwrap().amount, Some(4));
    // The table itself is in the subquery.
    let alone = Line::ORDER.has(Order::LINES.all(Line::POSITION.eq(1)));
    assert_eq!(lines.delete_where(alone).unwrap(), 2);
    assert_eq!(orders(db, Order::LINES.exists()), "a1");
    let mut first = NestedRecord::new(order("c", 7, None));
    let new = line("", 0, 1, "mug", Some(1));
    db.table().unwrap().insert(&product("c", "mug", 1)).unwrap();
    first = first.with(Order::LINES, [new.clone(), Line { position: 2, ..new }]);
    let part = order("", 8, None);
    let table = db.table::<Order>().unwrap();
    let inserted = table.insert_nested(first.with(Order::PARTS, [part])).unwrap();
    assert_eq!(inserted, key("c", 7));
    assert_eq!(orders(db, Order::PARENT.has(Order::LINES.any(Line::POSITION.eq(2)))), "a2 a3 c8");
    // Deleted orders are not there.
    assert!(table.delete(key("c", 7)).unwrap());
    assert_eq!(lines.count(Line::ORDER.has(Order::SHOP.eq("c"))).unwrap(), 0);
    assert_eq!(orders(db, Order::PARENT.as_many().is_empty()), "a1 b1 c8");
    let join = Query::<Line>::all().join(Line::ORDER).and(Line::SHOP.eq("c")).select(Line::CODE);
    assert_eq!(db.list(&join).unwrap(), Vec::<String>::new());
    let error = table.links(Order::PRODUCTS, key("c", 7)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
}

fn scopes(db: &Db) {
    let scope = RowScope::new("shop a")
        .grant("read on order, line, product, payment where shop = :shop")
        .variable("shop", "a");
    let shop = db.scoped(&scope).unwrap();
    assert_eq!(orders(&shop, Order::LINES.exists()), "a1 a2");
    assert_eq!(orders(&shop, Order::PRODUCTS.none(Product::CODE.eq("tea"))), "a2 a3");
    assert_eq!(payments(&shop, Payment::ORDER.as_many().exists()), [1, 2]);
    let pages: Vec<OrderPage> = shop.table::<Order>().unwrap().load(Query::all(), &1).unwrap();
    assert_eq!(pages.iter().map(|page| page.products).collect::<Vec<_>>(), [2, 1, 0]);
    let join = Query::<Line>::all().join(Line::ORDER).select(Line::POSITION);
    assert_eq!(shop.list(&join).unwrap().len(), 4);
    let no_lines = RowScope::new("orders").grant("read on order");
    let error = db.scoped(&no_lines).unwrap().table::<Order>().unwrap();
    let error = error.count(Order::LINES.exists()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
}

fn check(db: &Db) {
    db.create_missing_tables().unwrap();
    fill(db);
    conditions(db);
    shapes(db);
    joins(db);
    scopes(db);
    changes(db);
}

#[test]
fn on_local_engines() {
    on_each(|place| check(&model().open(&place.url).unwrap()));
}

#[test]
fn on_a_server_of_bobak() {
    use bobak::engine::memory::Memory;
    let check = |url: &str| check(&model().open(url).unwrap());
    crate::engines::on_bobak_server(Memory::new(), check);
    let sqlite = bobak_sqlite::Sqlite::builder().open_memory().unwrap();
    crate::engines::on_bobak_server(sqlite, check);
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn on_servers() {
    crate::engines::on_servers(|url| check(&model().open(url).unwrap()));
}

#[test]
fn on_firebird() {
    crate::engines::on_firebird(|url| check(&model().open(url).unwrap()));
}

/// Orders and lines without foreign keys, which no engine has to a table of another engine.
#[derive(Record, Debug, Clone, PartialEq)]
struct SideNote {
    id: i64,
    shop: Option<String>,
    order_number: i64,
    text: String,
}

impl SideNote {
    const ORDER: ToOne<SideNote, Order> = ToOne::by_fields([
        SideNote::SHOP.refers_to_field(Order::SHOP),
        SideNote::ORDER_NUMBER.refers_to_field(Order::NUMBER),
    ]);
}

#[derive(Shape)]
#[shape(of = Order)]
struct NotedOrder {
    number: i64,
    #[shape(many = SideNote::ORDER.inverse(), select = SideNote::TEXT)]
    notes: Vec<String>,
    #[shape(exists = SideNote::ORDER.inverse())]
    has_notes: bool,
}

#[test]
fn related_records_on_another_engine() {
    for (main, side) in [("sqlite::memory:", "memory:"), ("memory:", "sqlite::memory:")] {
        let builder = model().attach("side", side).record_on::<SideNote>("side");
        let db = builder.open(main).unwrap();
        db.create_missing_tables().unwrap();
        fill(&db);
        for (shop, order_number, text) in
            [(Some("a"), 1, "x"), (Some("a"), 1, "y"), (Some("b"), 3, "z"), (None, 1, "lost")]
        {
            let shop = shop.map(Into::into);
            let note = SideNote { id: 0, shop, order_number, text: text.into() };
            db.table().unwrap().insert(&note).unwrap();
        }
        let notes = SideNote::ORDER.inverse();
        assert_eq!(orders(&db, notes.any(SideNote::TEXT.ne("x"))), "a1 b3");
        assert_eq!(orders(&db, notes.is_empty()), "a2 a3 b1");
        let side = db.table::<SideNote>().unwrap();
        let texts = |filter| -> String {
            side.list(Query::filter(filter)).unwrap().into_iter().map(|note| note.text).collect()
        };
        assert_eq!(texts(SideNote::ORDER.has(Order::LINES.exists())), "xyz");
        assert_eq!(texts(SideNote::ORDER.as_many().none(Order::SHOP.eq("b"))), "xylost");
        let table = db.table::<Order>().unwrap();
        let pages: Vec<NotedOrder> = table.load(Query::all(), &()).unwrap();
        let shown: Vec<_> =
            pages.iter().map(|page| format!("{}{}", page.number, page.notes.join(""))).collect();
        assert_eq!(shown, ["1xy", "2", "3", "1", "3z"]);
        assert!(pages.iter().all(|page| page.has_notes != page.notes.is_empty()));
        let left = Query::<SideNote>::all()
            .left_join(SideNote::ORDER)
            .left_join(Order::PARENT.to_alias::<Parent>());
        let rows = db.list(&left).unwrap();
        let found = rows.iter().map(|(note, order, parent)| {
            format!("{}{}{}", note.text, u8::from(order.is_some()), u8::from(parent.is_some()))
        });
        assert_eq!(found.collect::<Vec<_>>(), ["x10", "y10", "z11", "lost00"]);
    }
}

/// Many rows of few combinations, so that lists of each column alone would find too many.
#[test]
fn many_combinations_are_found_exactly() {
    on_each(|place| {
        let db = place.open(model());
        let number = |row: i64| (row * 7919) % 601;
        let rows: Vec<_> = (0..600)
            .map(|row| order(["a", "b", "c"][(row % 3) as usize], number(row), None))
            .collect();
        insert(&db, &rows);
        let mut payments: Vec<_> = rows.iter().filter(|order| order.number % 2 == 0).collect();
        payments.retain(|order| order.number % 5 > 0);
        for order in &payments {
            let shop = Some(order.shop.clone());
            let order_number = Some(order.number);
            db.table().unwrap().insert(&Payment { id: 0, shop, order_number, cents: 1 }).unwrap();
        }
        let table = db.table::<Order>().unwrap();
        let paid = payments.len() as u64;
        assert_eq!(table.count(Order::PAYMENTS.exists()).unwrap(), paid);
        assert_eq!(table.count(Order::PAYMENTS.is_empty()).unwrap(), 600 - paid);
        let pages: Vec<OrderPage> = table.load(Query::all(), &1).unwrap();
        assert_eq!(pages.iter().filter(|page| page.is_paid).count() as u64, paid);
        let joined = Query::<Payment>::all().join(Payment::ORDER).select(count::<Order>());
        assert_eq!(db.list(&joined).unwrap(), [paid as i64]);
    });
}

#[test]
fn the_schema_has_the_columns_of_the_record() {
    let table = Line::schema();
    let keys: Vec<_> =
        table.foreign_keys().iter().map(|key| (&*key.table, &key.referenced)).collect();
    assert_eq!(keys[0], ("order", &vec!["shop".into(), "number".into()]));
    assert_eq!(keys[1], ("product", &vec!["shop".into(), "product_code".into()]));
    assert_eq!(&*Order::schema().foreign_keys()[0].table, "order");
    assert!(Order::PARENT.is_nullable() && Payment::ORDER.is_nullable());
    assert!(!Line::ORDER.is_nullable());
}

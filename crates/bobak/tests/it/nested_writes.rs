//! Records inserted with new records that refer to them.

use crate::engines::on_each;
use crate::link_writes::{
    Rating, Related, link_records_keep_their_other_columns, links_are_added_and_removed,
    links_are_replaced,
};
use bobak::batch::OnError;
use bobak::engine::{Engine, EngineLayer, Session, SessionLayer, WriteBatch};
use bobak::prelude::*;
use bobak::relation::{NestedRecord, ToMany};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Record, Debug, Clone, PartialEq)]
pub struct Order {
    pub id: i64,
    #[record(max = 20)]
    pub name: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
pub struct Line {
    pub id: i64,
    #[record(references = Order, on_delete = "cascade", index)]
    pub order_id: i64,
    #[record(check = "amount > 0")]
    pub amount: i32,
}

#[derive(Record, Debug, Clone, PartialEq)]
pub struct Remark {
    pub id: Uuid,
    #[record(references = Line, on_delete = "cascade", index)]
    pub line_id: i64,
    #[record(references = Remark, index)]
    pub reply_to_id: Option<Uuid>,
    pub text: String,
    #[record(created_at)]
    pub created: Timestamp,
}

#[derive(Record, Debug, Clone, PartialEq)]
pub struct Tag {
    #[record(key, max = 20)]
    pub name: String,
}

/// A link table that is a plain pair of keys.
#[derive(Record, Debug, Clone, PartialEq)]
#[record(index(tag))]
pub struct OrderTag {
    #[record(key, references = Order, on_delete = "cascade")]
    pub order_id: i64,
    #[record(key, references = Tag)]
    pub tag: String,
}

impl Order {
    pub const LINES: ToMany<Order, Line> = Line::ORDER.inverse();
    pub const TAG_LINKS: ToMany<Order, OrderTag> = OrderTag::ORDER.inverse();
    pub const TAGS: ToMany<Order, Tag> = Order::TAG_LINKS.then(OrderTag::TAG_REF);
}

impl Line {
    pub const REMARKS: ToMany<Line, Remark> = Remark::LINE.inverse();
}

impl Remark {
    pub const REPLIES: ToMany<Remark, Remark> = Remark::REPLY_TO.inverse();
}

pub fn model() -> bobak::DbBuilder {
    let builder = Db::builder().record::<Order>().record::<Line>().record::<Remark>();
    builder.record::<Tag>().record::<OrderTag>().record::<Related>().record::<Rating>()
}

pub fn order(name: &str) -> Order {
    Order { id: 0, name: name.into() }
}

pub fn line(amount: i32) -> Line {
    Line { id: 0, order_id: 0, amount }
}

fn remark(text: &str) -> Remark {
    let created = Timestamp::UNIX_EPOCH;
    Remark { id: Uuid::nil(), line_id: 0, reply_to_id: None, text: text.into(), created }
}

pub fn add_tags(db: &Db, names: &[&str]) {
    for name in names {
        db.table().unwrap().insert(&Tag { name: (*name).into() }).unwrap();
    }
}

/// The amounts of the lines of each order.
fn amounts(db: &Db) -> Vec<(String, Vec<i32>)> {
    let orders = db.table::<Order>().unwrap().list(Query::all()).unwrap();
    let lines = db.table::<Line>().unwrap();
    let amounts = |order: &Order| {
        let lines = lines.list(Query::filter(Order::LINES.of(order))).unwrap();
        lines.iter().map(|line| line.amount).collect()
    };
    orders.into_iter().map(|order| (order.name.clone(), amounts(&order))).collect()
}

pub fn tags_of(db: &Db, id: i64) -> String {
    let orders = db.table::<Order>().unwrap();
    let order = orders.require(id).unwrap();
    let tags = db.table::<Tag>().unwrap().list(Query::filter(Order::TAGS.of(&order))).unwrap();
    tags.iter().map(|tag| tag.name.as_str()).collect::<Vec<_>>().join(" ")
}

/// What holds on every engine, each on empty tables.
const CHECKS: [fn(&Db); 6] = [
    children_get_the_generated_key,
    an_error_rolls_everything_back,
    a_call_is_a_part_of_its_transaction,
    links_are_added_and_removed,
    links_are_replaced,
    link_records_keep_their_other_columns,
];

fn check(db: &Db) {
    for check in CHECKS {
        check(db);
        db.table::<OrderTag>().unwrap().delete_all().unwrap();
        db.table::<Related>().unwrap().delete_all().unwrap();
        db.table::<Remark>()
            .unwrap()
            .set_where(Remark::REPLY_TO_ID.is_not_null(), [Remark::REPLY_TO_ID.set(None)])
            .unwrap();
        db.table::<Remark>().unwrap().delete_all().unwrap();
        db.table::<Order>().unwrap().delete_all().unwrap();
        db.table::<Tag>().unwrap().delete_all().unwrap();
    }
}

#[test]
fn nested_writes_are_the_same_on_each_engine() {
    on_each(|place| check(&place.open(model())));
}

#[test]
fn nested_writes_through_a_server() {
    let token = "a-secret-token-of-the-test";
    let server = bobak_server::Server::builder()
        .token(token)
        .database("main", bobak_sqlite::Sqlite::builder().open_memory().unwrap())
        .tcp("127.0.0.1:0")
        .start()
        .unwrap();
    let url = format!("bobak://{}/main?token={token}", server.addresses()[0]);
    let db = model().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    check(&db);
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn nested_writes_are_the_same_on_servers() {
    crate::engines::on_servers(|url| {
        let db = model().open(url).unwrap();
        db.create_missing_tables().unwrap();
        check(&db);
    });
}

fn children_get_the_generated_key(db: &Db) {
    let orders = db.table::<Order>().unwrap();
    add_tags(db, &["rust", "sql"]);
    let first = NestedRecord::new(order("first"))
        .with(Order::LINES, [line(1).into(), NestedRecord::new(line(2))])
        .with(
            Order::TAG_LINKS,
            ["rust", "sql"].map(|tag| OrderTag { order_id: 0, tag: tag.into() }),
        );
    // Lines of two calls of `with` go to one batch.
    let second = NestedRecord::new(order("second"))
        .with(Order::LINES, [line(3)])
        .with(Order::LINES, [NestedRecord::new(line(4)).with(Line::REMARKS, Vec::<Remark>::new())]);
    let keys = orders.insert_all_nested([first, second, order("third").into()]).unwrap();
    let names: Vec<_> = keys.iter().map(|key| orders.require(*key).unwrap().name).collect();
    assert_eq!(names, ["first", "second", "third"]);
    let expected = [("first", vec![1, 2]), ("second", vec![3, 4]), ("third", vec![])];
    assert_eq!(amounts(db), expected.map(|(name, amounts)| (name.to_owned(), amounts)));
    assert_eq!(tags_of(db, keys[0]), "rust sql");
    // A reference to a line that exists stays, since the relation sets the other one.
    let lines = db.table::<Line>().unwrap();
    let line_id = lines.first(Line::AMOUNT.eq(1)).unwrap().unwrap().id;
    let of_line = |text: &str| Remark { line_id, ..remark(text) };
    let tree = NestedRecord::new(of_line("a")).with(
        Remark::REPLIES,
        [NestedRecord::new(of_line("b")).with(Remark::REPLIES, [of_line("c"), of_line("d")])],
    );
    let remarks = db.table::<Remark>().unwrap();
    let top = remarks.require(remarks.insert_nested(tree).unwrap()).unwrap();
    assert!(top.id != Uuid::nil() && top.created > Timestamp::UNIX_EPOCH);
    let replies = remarks.list(Query::filter(Remark::REPLIES.of(&top))).unwrap();
    assert_eq!((replies.len(), replies[0].text.as_str()), (1, "b"));
    let last = Query::filter(Remark::REPLIES.of(&replies[0])).order_by(Remark::TEXT.asc());
    let last: String = remarks.list(last).unwrap().into_iter().map(|one| one.text).collect();
    assert_eq!(last, "cd");
    assert!(orders.insert_all_nested(Vec::<Order>::new()).unwrap().is_empty());
}

fn an_error_rolls_everything_back(db: &Db) {
    let orders = db.table::<Order>().unwrap();
    add_tags(db, &["rust"]);
    let tag = |tag: &str| OrderTag { order_id: 0, tag: tag.into() };
    let cases = [
        (
            NestedRecord::new(order("check")).with(Order::LINES, [line(1), line(0)]),
            (ErrorKind::Constraint, "line"),
        ),
        (
            NestedRecord::new(order("key")).with(Order::TAG_LINKS, [tag("rust"), tag("none")]),
            (ErrorKind::Constraint, "order_tag"),
        ),
        (
            NestedRecord::new(order("twice")).with(Order::TAG_LINKS, [tag("rust"), tag("rust")]),
            (ErrorKind::Duplicate, "order_tag"),
        ),
        (order("a name of more than twenty characters").into(), (ErrorKind::TooLong, "order")),
    ];
    for (record, expected) in cases {
        let error = orders.insert_all_nested([order("other").into(), record]).unwrap_err();
        assert_eq!((error.kind(), error.table()), (expected.0, Some(expected.1)), "{error}");
        assert_eq!(amounts(db), [], "{error}");
    }
    assert_eq!(db.table::<Line>().unwrap().count(Query::all()).unwrap(), 0);
    assert_eq!(db.table::<OrderTag>().unwrap().count(Query::all()).unwrap(), 0);
}

fn a_call_is_a_part_of_its_transaction(db: &Db) {
    let with_line =
        |name: &str, amount| NestedRecord::new(order(name)).with(Order::LINES, [line(amount)]);
    let transaction = db.begin().unwrap();
    let orders = transaction.table::<Order>().unwrap();
    orders.insert_nested(with_line("kept", 1)).unwrap();
    // The failed call leaves nothing, and the transaction continues.
    orders.insert_nested(with_line("failed", 0)).unwrap_err();
    orders.insert_nested(with_line("also", 2)).unwrap();
    transaction.commit().unwrap();
    let expected = [("kept", vec![1]), ("also", vec![2])];
    assert_eq!(amounts(db), expected.map(|(name, amounts)| (name.to_owned(), amounts)));
    let transaction = db.begin().unwrap();
    transaction.table::<Order>().unwrap().insert_nested(with_line("gone", 3)).unwrap();
    transaction.rollback().unwrap();
    assert_eq!(amounts(db).len(), 2);
}

/// Counts what a session sends.
pub struct Counted {
    inner: Arc<dyn Engine>,
    calls: Arc<[AtomicU64; 3]>,
}

struct CountedSession<'a> {
    inner: Box<dyn Session + 'a>,
    calls: &'a [AtomicU64; 3],
}

impl Counted {
    pub fn new(inner: Arc<dyn Engine>) -> Self {
        Self { inner, calls: Arc::default() }
    }
}

impl EngineLayer for Counted {
    fn inner(&self) -> &dyn Engine {
        &*self.inner
    }

    fn session(&self) -> bobak::Result<Box<dyn Session + '_>> {
        Ok(Box::new(CountedSession { inner: self.inner.session()?, calls: &self.calls }))
    }
}

impl SessionLayer for CountedSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(bobak::Result<bobak::batch::Outcome>),
    ) -> bobak::Result<()> {
        self.calls[0].fetch_add(1, Ordering::Relaxed);
        self.inner.batch(batch, on_error, each)
    }

    fn query(
        &self,
        source: &bobak::engine::Source<'_>,
        row: &mut dyn FnMut(&dyn bobak::Row) -> bobak::Result<bool>,
    ) -> bobak::Result<()> {
        self.calls[1].fetch_add(1, Ordering::Relaxed);
        self.inner.query(source, row)
    }

    fn change(&self, change: &bobak::engine::BulkChange<'_>) -> bobak::Result<u64> {
        self.calls[2].fetch_add(1, Ordering::Relaxed);
        self.inner.change(change)
    }
}

#[test]
fn the_number_of_calls_does_not_depend_on_the_rows() {
    let calls: Arc<[AtomicU64; 3]> = Arc::default();
    for url in ["sqlite::memory:", "memory:"] {
        let inner = bobak::engine::open(url).unwrap();
        let db = model().open_engine(Counted { inner, calls: Arc::clone(&calls) }).unwrap();
        db.create_missing_tables().unwrap();
        let names: Vec<String> = (0..200).map(|number| format!("tag{number:03}")).collect();
        add_tags(&db, &names.iter().map(String::as_str).collect::<Vec<_>>());
        let orders = db.table::<Order>().unwrap();
        let counted = |run: &dyn Fn()| {
            calls.iter().for_each(|count| count.store(0, Ordering::Relaxed));
            run();
            [0, 1, 2].map(|at: usize| calls[at].load(Ordering::Relaxed))
        };
        for rows in [2, 100] {
            let insert = || {
                let lines = || (1..=rows).map(line);
                let tags = || names[..rows as usize].iter();
                let new = |number: i32| {
                    NestedRecord::new(order(&number.to_string())).with(Order::LINES, lines()).with(
                        Order::TAG_LINKS,
                        tags().map(|tag| OrderTag { order_id: 0, tag: tag.clone() }),
                    )
                };
                orders.insert_all_nested((0..rows).map(new)).unwrap();
            };
            assert_eq!(counted(&insert), [3, 0, 0], "{url}, {rows}");
            let tags = orders.links(Order::TAGS, 1).unwrap();
            let (half, rest) = names.split_at(rows as usize);
            let add = || assert!(tags.add(rest.iter().cloned()).unwrap() > 0);
            assert_eq!(counted(&add), [1, 1, 0], "{url}, {rows}");
            let remove = || assert_eq!(tags.remove(half.iter().cloned()).unwrap(), rows as u64);
            assert_eq!(counted(&remove), [0, 0, 1], "{url}, {rows}");
            let replace = || assert!(tags.replace(half.iter().cloned()).unwrap().removed > 0);
            assert_eq!(counted(&replace), [1, 1, 0], "{url}, {rows}");
            orders.delete_all().unwrap();
            db.table::<Line>().unwrap().delete_all().unwrap();
        }
    }
}

#[test]
fn mistakes_are_named() {
    #[derive(Record)]
    struct Parcel {
        id: i64,
        #[record(references = Order)]
        order_id: i64,
    }
    let db = model().open("memory:").unwrap();
    db.create_missing_tables().unwrap();
    let orders = db.table::<Order>().unwrap();
    let is = |error: Error, kind, table, text: &str| {
        assert_eq!((error.kind(), error.table()), (kind, Some(table)), "{error}");
        assert!(error.message().contains(text), "{error}");
        assert_eq!(orders.count(Query::all()).unwrap(), 0);
    };
    let parcel = Parcel { id: 0, order_id: 0 };
    let new = NestedRecord::new(order("a")).with(Parcel::ORDER.inverse(), [parcel]);
    is(orders.insert_nested(new).unwrap_err(), ErrorKind::Misuse, "parcel", "is not registered");
    let new = NestedRecord::new(order("a")).with(Order::TAGS, [Tag { name: "x".into() }]);
    is(orders.insert_nested(new).unwrap_err(), ErrorKind::Misuse, "order", "one step");
    // Inside another record, too.
    let orders_of_tags = Line::ORDER.as_many().then_many(Order::TAGS);
    let inner = NestedRecord::new(line(1)).with(orders_of_tags, [Tag { name: "x".into() }]);
    let new = NestedRecord::new(order("a")).with(Order::LINES, [inner]);
    is(orders.insert_nested(new).unwrap_err(), ErrorKind::Misuse, "line", "one step");
    let no_links = |error: Option<Error>| {
        is(error.unwrap(), ErrorKind::Misuse, "order", "does not go through a link table");
    };
    no_links(orders.links(Order::LINES, 1).err());
    no_links(orders.links(Order::LINES.then_many(Line::REMARKS), 1).err());

    #[derive(Record)]
    struct SideParcel {
        id: i64,
        order_id: i64,
    }
    let builder = model().record_on::<SideParcel>("side").attach("side", "memory:");
    let db = builder.open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    let orders = db.table::<Order>().unwrap();
    let parcels = SideParcel::ORDER_ID.refers_to::<Order>().inverse();
    let new = NestedRecord::new(order("a")).with(parcels, [SideParcel { id: 0, order_id: 0 }]);
    let error = orders.insert_nested(new).unwrap_err();
    assert_eq!(
        (error.kind(), error.table()),
        (ErrorKind::Unsupported, Some("side_parcel")),
        "{error}"
    );
    assert_eq!(orders.count(Query::all()).unwrap(), 0);
}

//! Links that are added, removed and replaced. `nested_writes` runs these on each engine.

use crate::nested_writes::{Counted, Order, Tag, add_tags, line, model, order, tags_of};
use bobak::prelude::*;
use bobak::relation::{NestedRecord, ToMany};
use std::sync::Arc;

/// A link table that is a record of its own.
#[derive(Record, Debug, Clone, PartialEq)]
pub struct Related {
    pub id: i64,
    #[record(references = Order, index)]
    pub order_id: i64,
    #[record(references = Order, index)]
    pub other_id: i64,
    pub weight: Option<i32>,
    #[record(modified_at)]
    pub modified: Timestamp,
    #[record(version)]
    pub version: i64,
}

/// A link table with a column that needs a value.
#[derive(Record, Debug, Clone, PartialEq)]
pub struct Rating {
    #[record(key, references = Order)]
    pub order_id: i64,
    #[record(key, references = Tag)]
    pub tag: String,
    pub stars: i32,
}

const OTHERS: ToMany<Order, Order> = Related::ORDER.inverse().then(Related::OTHER);
const RATED: ToMany<Order, Tag> = Rating::ORDER.inverse().then(Rating::TAG_REF);

pub fn links_are_added_and_removed(db: &Db) {
    let orders = db.table::<Order>().unwrap();
    add_tags(db, &["go", "rust", "sql"]);
    let (id, other) = (orders.insert(&order("a")).unwrap(), orders.insert(&order("b")).unwrap());
    let tags = orders.links(Order::TAGS, id).unwrap();
    assert_eq!(orders.links(Order::TAGS, other).unwrap().add(["go"]).unwrap(), 1);
    // A link that is given twice, or exists, is ignored.
    assert_eq!(tags.add(["rust", "sql", "rust"]).unwrap(), 2);
    assert_eq!(tags.add(["sql", "go"]).unwrap(), 1);
    assert_eq!(tags.add(Vec::<String>::new()).unwrap(), 0);
    assert_eq!(tags_of(db, id), "go rust sql");
    assert_eq!(tags.remove(["rust", "none", "rust"]).unwrap(), 1);
    assert_eq!(tags.remove(Vec::<String>::new()).unwrap(), 0);
    assert_eq!((tags_of(db, id), tags_of(db, other)), ("go sql".into(), "go".into()));
    let error = tags.add(["rust", "none"]).unwrap_err();
    assert_eq!(
        (error.kind(), error.table()),
        (ErrorKind::Constraint, Some("order_tag")),
        "{error}"
    );
    assert_eq!(tags_of(db, id), "go sql");
    // Of an order that does not exist.
    let error = orders.links(Order::TAGS, other + 1_000).unwrap().add(["go"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
}

pub fn links_are_replaced(db: &Db) {
    let orders = db.table::<Order>().unwrap();
    add_tags(db, &["go", "rust", "sql"]);
    let (id, other) = (orders.insert(&order("a")).unwrap(), orders.insert(&order("b")).unwrap());
    let tags = orders.links(Order::TAGS, id).unwrap();
    let replace = |links: &[&str]| {
        let replaced = tags.replace(links.iter().copied()).unwrap();
        (replaced.added, replaced.removed, tags_of(db, id))
    };
    assert_eq!(orders.links(Order::TAGS, other).unwrap().add(["go"]).unwrap(), 1);
    assert_eq!(replace(&["rust", "go", "go"]), (2, 0, "go rust".into()));
    assert_eq!(replace(&["rust", "sql"]), (1, 1, "rust sql".into()));
    assert_eq!(replace(&["rust", "sql"]), (0, 0, "rust sql".into()));
    let error = tags.replace(["none"]).unwrap_err();
    assert_eq!((error.kind(), tags_of(db, id)), (ErrorKind::Constraint, "rust sql".into()));
    let transaction = db.begin().unwrap();
    let inside = transaction.table::<Order>().unwrap().links(Order::TAGS, id).unwrap();
    assert_eq!(inside.replace(["go"]).unwrap().removed, 2);
    inside.replace(["none"]).unwrap_err();
    transaction.commit().unwrap();
    assert_eq!(tags_of(db, id), "go");
    assert_eq!(replace(&[]), (0, 1, String::new()));
    assert_eq!(tags_of(db, other), "go");
}

pub fn link_records_keep_their_other_columns(db: &Db) {
    let orders = db.table::<Order>().unwrap();
    let ids = orders.insert_all_nested(["a", "b", "c"].map(order)).unwrap();
    let others = orders.links(OTHERS, ids[0]).unwrap();
    assert_eq!(others.add([ids[1]]).unwrap(), 1);
    let related = db.table::<Related>().unwrap();
    let first = related.first(Query::all()).unwrap().unwrap();
    assert!(first.id > 0 && first.modified > Timestamp::UNIX_EPOCH);
    related.set(first.id, [Related::WEIGHT.set(7)]).unwrap();
    let kept = related.require(first.id).unwrap();
    // Also without a unique index of the pair, a link exists once.
    assert_eq!(others.replace([ids[1], ids[2], ids[1]]).unwrap().added, 1);
    assert_eq!(related.require(first.id).unwrap(), kept);
    assert_eq!(related.count(Query::all()).unwrap(), 2);
    add_tags(db, &["rust"]);
    let error = orders.links(RATED, ids[0]).unwrap().add(["rust"]).unwrap_err();
    let place = (error.kind(), error.table(), error.column());
    assert_eq!(place, (ErrorKind::Constraint, Some("rating"), Some("stars")), "{error}");
}

#[test]
fn restricted_callers_write_what_they_may() {
    use bobak_permissions::{Access, ProtectedDatabase, new_token};
    for url in ["memory:", "sqlite::memory:"] {
        let engine = bobak::engine::open(url).unwrap();
        let db = model().open_engine(Counted::new(Arc::clone(&engine))).unwrap();
        db.create_missing_tables().unwrap();
        add_tags(&db, &["open", "secret"]);
        let database = ProtectedDatabase::new("shop", engine);
        let caller = |grants: &str| {
            let (token, hash) = new_token().unwrap();
            let text = format!("role tester\n{grants}\ntoken ada {hash} roles tester");
            let credentials = bobak_wire::Credentials::Token(token);
            let access = Access::from_text(&text).unwrap();
            let caller = access.authenticate(&credentials, false).unwrap();
            model().open_engine(Counted::new(database.engine_for(&caller))).unwrap()
        };
        let new = || NestedRecord::new(order("a")).with(Order::LINES, [line(1)]);
        let orders_only = caller("read, write on order\nread on line");
        let error = orders_only.table::<Order>().unwrap().insert_nested(new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert_eq!(db.table::<Order>().unwrap().count(Query::all()).unwrap(), 0);
        let both = caller(
            "read, write on order, line\nread on tag\nread, write on order_tag where tag <> 'secret'",
        );
        let orders = both.table::<Order>().unwrap();
        let id = orders.insert_nested(new()).unwrap();
        db.table::<Order>().unwrap().links(Order::TAGS, id).unwrap().add(["secret"]).unwrap();
        // Links that the caller may not see stay, and those that it may not write are rejected.
        let tags = orders.links(Order::TAGS, id).unwrap();
        assert_eq!(tags.replace(["open"]).unwrap().added, 1);
        assert_eq!(tags.replace(Vec::<String>::new()).unwrap().removed, 1);
        assert_eq!(tags.remove(["secret"]).unwrap(), 0);
        let error = tags.add(["open", "secret"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert_eq!(tags_of(&db, id), "secret");
    }
}

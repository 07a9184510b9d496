//! Assignments of expressions, changes that return rows, and inserts of the rows of queries, on each engine.

use crate::engines::{on_each, on_firebird};
use bobak::prelude::*;
use bobak::query::{Column, from, when, whole};

#[derive(Record, Debug, Clone, PartialEq)]
struct Line {
    id: i64,
    #[record(max = 8)]
    name: String,
    price: Currency,
    quantity: i32,
    total: Option<Currency>,
    small: i8,
    #[record(version)]
    version: i64,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Stock {
    #[record(key, max = 8)]
    name: String,
    #[record(key)]
    day: i32,
    #[record(default = 7)]
    left: i32,
    #[record(created_at)]
    added: Timestamp,
}

fn money(text: &str) -> Currency {
    text.parse().unwrap()
}

fn kind<R: std::fmt::Debug>(result: bobak::Result<R>) -> ErrorKind {
    result.unwrap_err().kind()
}

fn open(url: &str) -> Db {
    let db = Db::builder().record::<Line>().record::<Stock>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    for (n, name) in ["tea", "cup", "pot"].into_iter().enumerate() {
        let (price, quantity) = (money("2.50") * (n as i64 + 1), n as i32 + 1);
        let line =
            Line { id: 0, name: name.into(), price, quantity, total: None, small: 100, version: 0 };
        db.table().unwrap().insert(&line).unwrap();
    }
    db
}

fn expressions(db: &Db) {
    let lines = db.table::<Line>().unwrap();
    let all = || Line::ID.gt(0);
    let total = Line::TOTAL.set(Line::PRICE * Line::QUANTITY);
    assert_eq!(lines.set_where(all(), [total, Line::QUANTITY.add(1)]).unwrap(), 3);
    let found = lines.select(Query::all(), (Line::TOTAL, Line::QUANTITY, Line::VERSION)).unwrap();
    let expected = [("2.50", 2), ("10", 3), ("22.50", 4)].map(|(t, q)| (Some(money(t)), q, 1));
    assert_eq!(found, expected);
    // All expressions have the values from before.
    let swapped =
        [Line::PRICE.set(Line::TOTAL.coalesce(Line::PRICE)), Line::TOTAL.set(Line::PRICE)];
    assert!(lines.set(2, swapped).unwrap());
    let two = lines.require(2).unwrap();
    assert_eq!((two.price, two.total), (money("10"), Some(money("5"))));
    let size = when(Line::QUANTITY.gt(3), Line::NAME.upper()).otherwise("x");
    lines.set_where(Line::ID.gt(1), [Line::NAME.set(size)]).unwrap();
    assert_eq!(lines.select(Query::all(), Line::NAME).unwrap(), ["tea", "x", "POT"]);
    let most = from::<Line>().select(Line::QUANTITY.max()).value();
    lines.set(1, [Line::QUANTITY.set(most.coalesce(0))]).unwrap();
    assert_eq!(lines.require(1).unwrap().quantity, 4);
    assert!(!lines.set(9, [Line::QUANTITY.set(Line::QUANTITY + 1)]).unwrap());
}

fn rejected_expressions(db: &Db) {
    let lines = db.table::<Line>().unwrap();
    let before = lines.list(Query::all()).unwrap();
    let all = || Line::ID.gt(0);
    let large = lines.set_where(all(), [Line::SMALL.set(Line::SMALL * 2)]);
    assert_eq!(kind(large), ErrorKind::OutOfRange);
    let long = lines.set_where(all(), [Line::NAME.set(Line::NAME.concat("-123456789"))]);
    assert_eq!(kind(long), ErrorKind::TooLong);
    let version = Column::<Line, i64>::new(Line::VERSION.index());
    assert_eq!(kind(lines.set(1, [version.set(version + 1)])), ErrorKind::Misuse);
    let twice = [Line::QUANTITY.set(Line::QUANTITY + 1), Line::QUANTITY.set(3)];
    assert_eq!(kind(lines.set(1, twice)), ErrorKind::Misuse);
    let sum = lines.set(1, [Line::TOTAL.set(Line::PRICE.sum() * 1)]);
    assert_eq!(kind(sum), ErrorKind::Unsupported);
    assert_eq!(lines.list(Query::all()).unwrap(), before);
}

fn returned_rows(db: &Db) {
    let lines = db.table::<Line>().unwrap();
    let mut line = lines.require(1).unwrap();
    line.id = 0;
    let records = lines.returning(whole::<Line>());
    let added = records.insert(&line).unwrap();
    assert_eq!(lines.require(added.id).unwrap(), added);
    line = Line { quantity: 9, ..added.clone() };
    let parts = lines.returning((Line::ID, Line::QUANTITY * 2, Line::VERSION));
    let version = added.version;
    assert_eq!(parts.update(&line).unwrap(), (line.id, 18, version + 1));
    assert_eq!(kind(parts.update(&line)), ErrorKind::Conflict);
    line.quantity = 10;
    assert_eq!(parts.upsert(&line).unwrap(), (line.id, 20, version + 2));
    assert_eq!(parts.insert_or_ignore(&line).unwrap(), None);
    let set = parts.set(line.id, [Line::QUANTITY.set(Line::QUANTITY + 1)]).unwrap();
    assert_eq!(set, Some((line.id, 22, version + 3)));
    assert_eq!(parts.set(99, [Line::QUANTITY.set(1)]).unwrap(), None);
    // The rows that matched before, though they do not match now.
    let small = parts.set_where(Line::QUANTITY.lt(11), [Line::QUANTITY.set(11)]).unwrap();
    assert_eq!(
        small.iter().map(|(id, q, _)| (*id, *q)).collect::<Vec<_>>(),
        [(1, 22), (2, 22), (3, 22)]
    );
    deleted_rows(db, line);
}

fn deleted_rows(db: &Db, line: Line) {
    let lines = db.table::<Line>().unwrap();
    let records = lines.returning(whole::<Line>());
    assert_eq!(records.delete(line.id).unwrap().map(|line| line.quantity), Some(11));
    assert_eq!(records.delete(line.id).unwrap(), None);
    let names = lines.returning(Line::NAME);
    assert_eq!(names.delete_where(Line::ID.le(2)).unwrap().len(), 2);
    assert_eq!(lines.count(Query::all()).unwrap(), 1);
    let rolled_back = db.transaction(|transaction| {
        let names = transaction.table::<Line>()?.returning(Line::NAME);
        assert_eq!(names.delete_where(Line::ID.gt(0))?.len(), 1);
        // A failed change undoes itself alone.
        assert_eq!(
            kind(names.insert(&Line { name: "123456789".into(), ..line.clone() })),
            ErrorKind::TooLong
        );
        assert_eq!(transaction.table::<Line>()?.count(Query::all())?, 0);
        Err::<(), _>(Error::new(ErrorKind::Misuse, "no"))
    });
    assert_eq!(kind(rolled_back), ErrorKind::Misuse);
    assert_eq!(lines.count(Query::all()).unwrap(), 1);
}

fn inserts_of_rows(db: &Db) {
    let stock = db.table::<Stock>().unwrap();
    let rows = from::<Line>().select((Line::NAME.lower(), Line::QUANTITY * 10));
    assert_eq!(stock.insert_from((Stock::NAME, Stock::DAY), &rows).unwrap(), 1);
    let first = stock.list(Query::all()).unwrap().pop().unwrap();
    assert_eq!((first.day, first.left), (110, 7));
    assert!(first.added > "2020-01-01T00:00:00Z".parse().unwrap());
    let error = stock.insert_from((Stock::NAME, Stock::DAY), &rows).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate);
    let large = from::<Line>().select((Line::NAME, Line::QUANTITY * 1_000_000_000));
    let error = stock.insert_from((Stock::NAME, Stock::DAY), &large).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some("day")));
    // Of the same table.
    let copies = from::<Stock>().select((Stock::NAME, Stock::DAY + 1, Stock::LEFT));
    assert_eq!(stock.insert_from((Stock::NAME, Stock::DAY, Stock::LEFT), &copies).unwrap(), 1);
    let both = stock.returning((Stock::NAME, Stock::DAY));
    let set =
        both.set_where(Stock::DAY.gt(0), [Stock::LEFT.set(Stock::DAY - Stock::LEFT)]).unwrap();
    assert_eq!(set.iter().map(|(_, day)| *day).collect::<Vec<_>>(), [110, 111]);
    assert_eq!(stock.select(Query::all(), Stock::LEFT).unwrap(), [103, 104]);
}

fn all(url: &str) {
    let db = open(url);
    expressions(&db);
    rejected_expressions(&db);
    returned_rows(&db);
    inserts_of_rows(&db);
}

#[test]
fn changes_return_rows() {
    on_each(|place| all(&place.url));
}

#[test]
fn changes_return_rows_on_servers() {
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(all);
    on_firebird(all);
}

#[cfg(feature = "remote")]
#[test]
fn changes_return_rows_through_a_server() {
    crate::engines::on_bobak_server(bobak::engine::memory::Memory::new(), all);
}

/// No update of several threads is lost.
#[test]
fn expressions_are_atomic() {
    let add = |url: &str| {
        let db = open(url);
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let db = db.clone();
                std::thread::spawn(move || {
                    for _ in 0..10 {
                        let add = Line::QUANTITY.set(Line::QUANTITY + 1);
                        db.table::<Line>().unwrap().set(1, [add]).unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(db.table::<Line>().unwrap().require(1).unwrap().quantity, 31, "{url}");
    };
    on_each(|place| add(&place.url));
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(add);
}

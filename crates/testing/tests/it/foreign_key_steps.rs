//! Foreign keys of several columns that migrations add and drop.

use crate::on_each_and_firebird;
use bobak::migration::{Drops, Migrations};
use bobak::prelude::*;

const START: &str = r#"bobak migration 1
first
up
create table {"name":"shelf","key":["shop","number"],"indexes":[],"columns":[
    {"name":"shop","type":"i64","nullable":false},
    {"name":"number","type":"i64","nullable":false}]}
create table {"name":"book","key":["id"],"indexes":[],"columns":[
    {"name":"id","type":"i64","nullable":false},
    {"name":"shop","type":"i64","nullable":true},
    {"name":"number","type":"i64","nullable":true},
    {"name":"title","type":"text","nullable":true}]}
"#;

const KEY: &str = r#"{"columns":["shop","number"],"on_delete":"restrict","referenced":["shop","number"],"table":"shelf"}"#;

#[derive(Record)]
struct Shelf {
    #[record(key)]
    shop: i64,
    #[record(key)]
    number: i64,
}

#[derive(Record)]
#[record(foreign_key(shop, number, references = "shelf(shop, number)"))]
struct Book {
    id: i64,
    shop: Option<i64>,
    number: Option<i64>,
    title: Option<String>,
}

fn insert(db: &Db, shop: i64, number: i64) -> bobak::Result<()> {
    let mut row = DynRow::new();
    row.set("shop", shop)?;
    row.set("number", number)?;
    db.dynamic("book")?.insert(&row).map(drop)
}

#[test]
fn foreign_keys_of_several_columns_are_added_and_dropped() {
    on_each_and_firebird(|url| {
        // The key-value engine has no foreign keys.
        if url.starts_with("kv") {
            return;
        }
        let up = format!("add foreign key book {KEY}");
        let down = r#"drop foreign key book ["shop","number"]"#;
        let text = format!("bobak migration 1\nafter a\nup\n{up}\ndown\n{down}\n");
        let one = Migrations::new([("a", START)]).unwrap();
        let all = Migrations::new([("a", START), ("b", text.as_str())]).unwrap();
        let db = Db::builder().record::<Shelf>().record::<Book>().open(url).unwrap();
        db.migrate(&one).unwrap();
        let plan = db.migration_plan(Drops::Nothing).unwrap();
        assert_eq!(plan.to_string().trim(), up, "{url}");
        let mut shelf = DynRow::new();
        shelf.set("shop", 1_i64).unwrap();
        shelf.set("number", 2_i64).unwrap();
        db.dynamic("shelf").unwrap().insert(&shelf).unwrap();
        insert(&db, 1, 2).unwrap();
        insert(&db, 1, 9).unwrap();
        // A row that breaks the rule: nothing changes.
        let error = db.migrate(&all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{url}: {error}");
        let keys = || {
            let tables = db.tables().unwrap();
            let book = tables.iter().find(|table| table.name() == "book").unwrap();
            book.foreign_keys().len()
        };
        assert_eq!(keys(), 0, "{url}");
        db.dynamic("book").unwrap().delete((2_i64,)).unwrap();
        assert_eq!(db.migrate(&all).unwrap(), ["b"], "{url}");
        assert_eq!(keys(), 1, "{url}");
        assert!(db.migration_plan(Drops::Columns).unwrap().to_string().is_empty(), "{url}");
        assert_eq!(insert(&db, 7, 7).unwrap_err().kind(), ErrorKind::Constraint, "{url}");
        insert(&db, 1, 2).unwrap();
        db.undo_migrations(&all, 1, false).unwrap();
        assert_eq!(keys(), 0, "{url}");
        insert(&db, 7, 7).unwrap();
    });
}

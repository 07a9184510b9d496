//! Keys that become such that are never reused, and back.

use crate::on_each_and_firebird;
use bobak::migration::{Drops, Migrations};
use bobak::prelude::*;

const START: &str = r#"bobak migration 1
first
up
create table {"name":"ticket","key":["id"],"indexes":[{"name":"ticket_text","columns":["text"],"unique":false}],"columns":[
    {"name":"id","type":"i64","nullable":false},
    {"name":"text","type":"text","nullable":true}]}
"#;

const NEVER: &str = "bobak migration 1\nafter a\nup\nchange keys ticket never reused\n\
    down\nchange keys ticket reused\n";

#[derive(Record)]
#[record(never_reuse_keys)]
struct Ticket {
    id: i64,
    #[record(index)]
    text: Option<String>,
}

fn is_never_reused(db: &Db) -> bool {
    db.tables().unwrap().iter().any(|table| table.name() == "ticket" && table.never_reuses_keys())
}

#[test]
fn keys_become_such_that_are_never_reused() {
    on_each_and_firebird(|url| {
        let one = Migrations::new([("a", START)]).unwrap();
        let all = Migrations::new([("a", START), ("b", NEVER)]).unwrap();
        let db = Db::builder().record::<Ticket>().open(url).unwrap();
        db.migrate(&one).unwrap();
        let insert = || {
            let row = DynRow::new();
            db.dynamic("ticket").unwrap().insert(&row).unwrap();
            let keys = db.dynamic("ticket").unwrap().list(Query::all()).unwrap();
            keys.iter().map(|row| row.get::<i64>("id").unwrap()).max().unwrap()
        };
        let (first, second) = (insert(), insert());
        let plan = db.migration_plan(Drops::Nothing).unwrap();
        assert_eq!(plan.to_string(), "change keys ticket never reused\n", "{url}");
        db.migrate(&all).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert!(is_never_reused(&db), "{url}");
        assert!(db.migration_plan(Drops::Nothing).unwrap().to_string().is_empty(), "{url}");
        let tickets = db.table::<Ticket>().unwrap();
        assert_eq!(tickets.count(Query::all()).unwrap(), 2, "{url}");
        // The key of a row that was there before is not generated once more, nor that of a later one.
        tickets.delete(second).unwrap();
        let third = insert();
        tickets.delete(third).unwrap();
        assert!(first < second && second < third && third < insert(), "{url}");
        assert_eq!(db.undo_migrations(&all, 1, false).unwrap(), ["b"], "{url}");
        assert!(!is_never_reused(&db), "{url}");
        assert_eq!(tickets.count(Query::all()).unwrap(), 2, "{url}");
    });
}

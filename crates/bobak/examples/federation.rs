//! Federation: one SQL statement over the tables of several engines.
//!
//! `cargo run -p bobak --example federation`

use bobak::engine::memory::Memory;
use bobak::prelude::*;

#[derive(Record)]
struct Customer {
    id: i64,
    name: String,
}

/// Kept in memory, attached under the name `cache`.
#[derive(Record)]
struct Visit {
    id: i64,
    customer: i64,
    page: String,
}

fn main() -> bobak::Result<()> {
    let db = Db::builder()
        .record::<Customer>()
        .attach_engine("cache", Memory::new())
        .record_on::<Visit>("cache")
        .open("sqlite::memory:")?;
    db.create_missing_tables()?;
    let customer = db.table()?.insert(&Customer { id: 0, name: "Ada".into() })?;
    for page in ["/", "/prices"] {
        db.table()?.insert(&Visit { id: 0, customer, page: page.into() })?;
    }

    let query = "SELECT customer.name, count(*) FROM customer JOIN visit ON visit.customer = customer.id \
                 WHERE visit.page <> ? GROUP BY customer.name";
    let rows = db.sql::<(String, i64)>(query, ("/",))?;
    assert_eq!(rows, [("Ada".to_owned(), 1)]);

    // What each engine does.
    print!("{}", db.explain(query, ("/",))?);

    // A statement can write to one engine, with data from others.
    let copied =
        db.execute("INSERT INTO visit (customer, page) SELECT id, '/welcome' FROM customer", ())?;
    assert_eq!(copied, 1);
    Ok(())
}

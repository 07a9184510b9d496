//! The first record: a struct in a database, written, read, changed and deleted.
//!
//! `cargo run -p bobak --example first_record`

use bobak::prelude::*;

#[derive(Record, Debug, PartialEq)]
struct Person {
    /// The key. 0 asks the database for a new one.
    id: i64,
    #[record(max = 60, unique)]
    name: String,
    age: Option<u32>,
}

fn main() -> bobak::Result<()> {
    // `sqlite:people.db` would be a file.
    let db = Db::builder().record::<Person>().open("sqlite::memory:")?;
    db.create_missing_tables()?;
    let people = db.table::<Person>()?;

    let id = people.insert(&Person { id: 0, name: "Ada".into(), age: Some(36) })?;
    let mut ada = people.require(id)?;
    println!("inserted: {ada:?}");

    ada.age = Some(37);
    people.update(&ada)?;
    assert_eq!(people.get(id)?.and_then(|person| person.age), Some(37));

    // A unique value exists once.
    let inserted = people.insert(&Person { id: 0, name: "Ada".into(), age: None });
    let error = inserted.expect_err("the name is already in the table");
    assert_eq!(error.kind(), ErrorKind::Duplicate);
    println!("rejected: {error}");

    assert!(people.delete(id)?);
    assert_eq!(people.count(Query::all())?, 0);
    Ok(())
}

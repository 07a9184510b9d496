//! Tests with the memory engine: the same code on a database that takes microseconds to create.
//!
//! `cargo run -p bobak --example testing_with_memory`

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bobak::prelude::*;

#[derive(Record, Debug)]
struct User {
    id: i64,
    #[record(unique)]
    email: String,
    active: bool,
}

/// Code under test: it takes a database, whatever its engine.
fn register(db: &Db, email: &str) -> bobak::Result<i64> {
    if !email.contains('@') {
        return Err(Error::new(
            ErrorKind::Constraint,
            format!("'{email}' is not an e-mail address"),
        ));
    }
    db.table()?.insert(&User { id: 0, email: email.to_lowercase(), active: true })
}

/// A database for each test. The URL selects the engine, so tests can also run on SQLite or on a server.
fn test_db() -> bobak::Result<Db> {
    let url = std::env::var("TEST_DATABASE").unwrap_or_else(|_| "memory:".to_owned());
    let db = Db::builder().record::<User>().open(&url)?;
    db.create_missing_tables()?;
    Ok(db)
}

fn addresses_are_unique_in_any_case() -> bobak::Result<()> {
    let db = test_db()?;
    register(&db, "ada@example.org")?;
    assert_eq!(register(&db, "Ada@example.org").unwrap_err().kind(), ErrorKind::Duplicate);
    Ok(())
}

fn invalid_addresses_are_rejected() -> bobak::Result<()> {
    let db = test_db()?;
    assert_eq!(register(&db, "ada").unwrap_err().kind(), ErrorKind::Constraint);
    assert_eq!(db.table::<User>()?.count(User::ACTIVE.eq(true))?, 0);
    Ok(())
}

// These would be `#[test]` functions.
fn main() -> bobak::Result<()> {
    addresses_are_unique_in_any_case()?;
    invalid_addresses_are_rejected()?;
    println!("ok");
    Ok(())
}

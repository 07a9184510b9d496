//! Transactions: several operations that happen together or not at all.
//!
//! `cargo run -p bobak --example transactions`

use bobak::prelude::*;

#[derive(Record, Debug)]
struct Account {
    #[record(key = "given")]
    id: i64,
    #[record(check = "balance >= 0")]
    balance: Currency,
}

fn transfer(db: &Db, from: i64, to: i64, units: i64) -> bobak::Result<()> {
    // Committed if the closure returns `Ok`, rolled back if it fails.
    db.transaction(|transaction| {
        let accounts = transaction.table::<Account>()?;
        accounts.set(from, [Account::BALANCE.add(Currency::from_units(-units)?)])?;
        accounts.set(to, [Account::BALANCE.add(Currency::from_units(units)?)])?;
        Ok(())
    })
}

fn main() -> bobak::Result<()> {
    let db = Db::builder().record::<Account>().open("sqlite::memory:")?;
    db.create_missing_tables()?;
    for id in [1, 2] {
        db.table()?.insert(&Account { id, balance: Currency::from_units(100)? })?;
    }

    transfer(&db, 1, 2, 30)?;
    let error = transfer(&db, 1, 2, 1_000).expect_err("it is rejected");
    println!("rolled back: {error}");

    // A transaction as a value, with a savepoint.
    let transaction = db.begin()?;
    let accounts = transaction.table::<Account>()?;
    accounts.delete(2)?;
    let savepoint = transaction.savepoint()?;
    accounts.delete(1)?;
    savepoint.rollback()?;
    assert_eq!(accounts.count(Query::all())?, 1);
    transaction.rollback()?;

    let accounts = db.table::<Account>()?.list(Query::all())?;
    assert_eq!(accounts[0].balance, Currency::from_units(70)?);
    assert_eq!(accounts[1].balance, Currency::from_units(130)?);
    Ok(())
}

//! Queries that are written once, and run with different values: they return what the ordinary ones do, on every engine.

use crate::engines::{Place, on_each};
use bobak::prelude::*;
use bobak::query::{Placeholder, PreparedQuery, when};
use bobak::relation::ToMany;
use bobak::{ErrorKind, Result, RowLock};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "prepared_owner")]
struct Owner {
    id: i64,
    #[record(max = 10)]
    name: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "prepared_account")]
struct Account {
    id: i64,
    #[record(references = Owner, index)]
    owner_id: i64,
    opened: Date,
    amount: Currency,
    rate: f32,
    closed: Option<Timestamp>,
    limit: Option<i16>,
}

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "prepared_visit")]
struct Visit {
    id: i64,
    place: String,
    #[record(modified_at)]
    modified: Timestamp,
    #[record(version)]
    version: i64,
    #[record(deleted_at)]
    removed: Option<Timestamp>,
}

impl Owner {
    const ACCOUNTS: ToMany<Owner, Account> = Account::OWNER.inverse();
}

fn model() -> bobak::DbBuilder {
    Db::builder().record::<Owner>().record::<Account>()
}

fn day(day: i8) -> Date {
    Date::new(2026, 11, day).unwrap()
}

/// Three owners: the first with the accounts 1 and 4, the second with 2 and 5, the third with 3 and 6.
fn fill(db: &Db) -> Result<()> {
    for name in ["Ada", "Bob", "Cid"] {
        db.table()?.insert(&Owner { id: 0, name: name.into() })?;
    }
    for id in 1..=6 {
        let limit = (id > 2).then_some(id as i16);
        db.table()?.insert(&Account {
            id: 0,
            owner_id: (id - 1) % 3 + 1,
            opened: day(id as i8),
            amount: Currency::from_scaled(id * 10_000),
            rate: 0.5 * id as f32,
            closed: None,
            limit,
        })?;
    }
    Ok(())
}

/// Runs a test with a model without rules, and with one that has rules of another table.
fn on_all(test: impl Fn(&Db) -> Result<()>) {
    let run = |db: &Db| {
        fill(db)?;
        test(db)
    };
    on_each(|place: &Place| run(&place.open(model().record::<Visit>())).unwrap());
    on_each(|place: &Place| {
        if !place.url.contains("/app.db") {
            run(&place.open(model())).unwrap();
        }
    });
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(|url| {
        let db = model().record::<Visit>().open(url).unwrap();
        db.create_missing_tables().unwrap();
        run(&db).unwrap();
    });
}

fn ids(accounts: &[Account]) -> Vec<i64> {
    accounts.iter().map(|account| account.id).collect()
}

#[test]
fn records_and_numbers_of_records() {
    let by_owner =
        PreparedQuery::new(|id: Placeholder<i64>| Query::filter(Account::OWNER_ID.eq(id)));
    on_all(|db| {
        let accounts = db.table::<Account>()?;
        for owner in [1, 2, 3, 9, 2] {
            let query = Query::filter(Account::OWNER_ID.eq(owner));
            assert_eq!(by_owner.list(&accounts, owner)?, accounts.list(&query)?);
            assert_eq!(by_owner.first(&accounts, owner)?, accounts.first(&query)?);
            assert_eq!(by_owner.count(&accounts, owner)?, accounts.count(&query)?);
        }
        assert_eq!(ids(&by_owner.list(&accounts, 3)?), [3, 6]);
        let mut seen = Vec::new();
        by_owner.for_each(&accounts, 1, |account| {
            seen.push(account.id);
            Ok(seen.is_empty())
        })?;
        assert_eq!(seen, [1]);
        Ok(())
    });
}

#[test]
fn a_value_of_each_type_and_in_any_place() {
    type Values = (
        Placeholder<Date>,
        Placeholder<Currency>,
        Placeholder<f32>,
        Placeholder<i64>,
        Placeholder<i16>,
        Placeholder<Timestamp>,
    );
    // One is used twice, one after a later one, and a constant is between them.
    let found = PreparedQuery::new(|(day, amount, rate, owner, limit, time): Values| {
        let closed = Account::CLOSED.is_null().or(Account::CLOSED.lt(time));
        let filter = Account::AMOUNT.le(amount).and(Account::OPENED.between(day, day).not());
        let owners = Account::OWNER_ID.is_in([owner]).or(Account::OWNER_ID.eq(3));
        let limits = Account::LIMIT.ge(limit).or(Account::RATE.ge(rate)).and(owners);
        Query::filter(filter.and(limits).and(closed)).order_by(Account::ID.desc()).limit(3)
    });
    on_all(|db| {
        let accounts = db.table::<Account>()?;
        let now = Timestamp::now();
        let amount = |units: i64| Currency::from_scaled(units * 10_000);
        let of = |values| found.list(&accounts, values).map(|list| ids(&list));
        assert_eq!(of((day(3), amount(6), 0.5, 1, 4, now))?, [6, 4, 1]);
        assert_eq!(of((day(6), amount(6), 9.0, 2, 5, now))?, [5]);
        assert_eq!(of((day(1), amount(4), 1.5, 1, 9, now))?, [4, 3]);
        assert_eq!(found.count(&accounts, (day(9), amount(6), 0.5, 2, 1, now))?, 4, "no limit");
        Ok(())
    });
}

#[test]
fn no_value_is_compared_as_null() {
    let limited = PreparedQuery::new(|limit: Placeholder<Option<i16>>| {
        Query::filter(Account::LIMIT.eq(limit))
    });
    let given =
        PreparedQuery::new(|limit: Placeholder<i16>| Query::filter(Account::LIMIT.ne(limit)));
    on_all(|db| {
        let accounts = db.table::<Account>()?;
        assert_eq!(ids(&limited.list(&accounts, Some(4))?), [4]);
        assert_eq!(ids(&limited.list(&accounts, None)?), [1, 2]);
        assert_eq!(ids(&limited.list(&accounts, Some(5))?), [5]);
        assert_eq!(ids(&given.list(&accounts, 4)?), [3, 5, 6]);
        Ok(())
    });
}

#[test]
fn joins_and_selections() {
    let names = PreparedQuery::new(|(name, day): (Placeholder<String>, Placeholder<Date>)| {
        let accounts = Query::filter(Account::OPENED.gt(day)).join(Account::OWNER);
        let accounts = accounts.and(Owner::NAME.ne(name)).order_by(Account::ID.asc());
        accounts.select((Owner::NAME, Account::ID))
    });
    let total = PreparedQuery::new(|owner: Placeholder<i64>| {
        Query::filter(Account::OWNER_ID.eq(owner)).select(Account::AMOUNT.sum())
    });
    // Engines write it with the values inside: nothing is prepared.
    let classes = PreparedQuery::new(|owner: Placeholder<i64>| {
        let large = when(Account::AMOUNT.gt(Currency::from_scaled(30_000)), "large");
        Query::filter(Account::OWNER_ID.eq(owner)).select((Account::ID, large.otherwise("small")))
    });
    let with_accounts = PreparedQuery::new(|day: Placeholder<Date>| {
        let owners = Query::<Owner>::all();
        let owners = owners.left_join_where(Owner::ACCOUNTS, Account::OPENED.ge(day));
        owners.select((Owner::NAME, Account::ID))
    });
    on_all(|db| {
        for (name, after) in [("Ada", 3), ("Bob", 3), ("Bob", 9)] {
            let accounts = Query::filter(Account::OPENED.gt(day(after))).join(Account::OWNER);
            let accounts = accounts.and(Owner::NAME.ne(name)).order_by(Account::ID.asc());
            let expected = db.list(&accounts.select((Owner::NAME, Account::ID)))?;
            assert_eq!(names.list(db, (name.into(), day(after)))?, expected);
        }
        let transaction = db.begin()?;
        transaction.table::<Account>()?.set(1, [Account::AMOUNT.set(Currency::ZERO)])?;
        let four = Some(Currency::from_scaled(40_000));
        assert_eq!(total.first(&transaction, 1)?, Some(four), "it sees what the transaction wrote");
        assert_eq!(names.list(&transaction, ("Bob".into(), day(5)))?, [("Cid".to_owned(), 6)]);
        transaction.rollback()?;
        assert_eq!(total.list(db, 1)?, [Some(Currency::from_scaled(50_000))]);
        assert_eq!(total.first(db, 9)?, Some(None));
        let class = |id, class: &str| (id, class.to_owned());
        assert_eq!(classes.list(db, 1)?, [class(1, "small"), class(4, "large")]);
        assert_eq!(classes.list(db, 3)?, [class(3, "small"), class(6, "large")]);
        let owner = |name: &str, account| (name.to_owned(), account);
        let expected = [owner("Ada", None), owner("Bob", Some(5)), owner("Cid", Some(6))];
        assert_eq!(with_accounts.list(db, day(5))?, expected);
        Ok(())
    });
}

#[test]
fn updates() {
    type Change = (Placeholder<i64>, Placeholder<Currency>, Placeholder<i16>);
    let set = PreparedQuery::new(|(owner, amount, limit): Change| {
        (Account::OWNER_ID.eq(owner), [Account::AMOUNT.set(amount), Account::LIMIT.set(limit)])
    });
    let clear = PreparedQuery::new(|limit: Placeholder<Option<i16>>| {
        (Account::ID.eq(1), [Account::LIMIT.set(limit)])
    });
    let add = PreparedQuery::new(|(id, amount): (Placeholder<i64>, Placeholder<Currency>)| {
        (Account::ID.eq(id), [Account::AMOUNT.add(amount)])
    });
    let owner = PreparedQuery::new(|(id, owner): (Placeholder<i64>, Placeholder<i64>)| {
        (Account::ID.eq(id), [Account::OWNER_ID.set(owner)])
    });
    on_all(|db| {
        let accounts = db.table::<Account>()?;
        let ten = Currency::from_scaled(100_000);
        assert_eq!(set.set(&accounts, (2, ten, 7))?, 2);
        assert_eq!(set.set(&accounts, (9, ten, 7))?, 0);
        let two = accounts.require(2)?;
        assert_eq!((two.amount, two.limit), (ten, Some(7)));
        assert_eq!(accounts.require(1)?.limit, None);
        assert_eq!((clear.set(&accounts, Some(3))?, accounts.require(1)?.limit), (1, Some(3)));
        assert_eq!((clear.set(&accounts, None)?, accounts.require(1)?.limit), (1, None));
        assert_eq!(add.set(&accounts, (2, ten))?, 1);
        assert_eq!(accounts.require(2)?.amount, ten + ten);

        let transaction = db.begin()?;
        let inside = transaction.table::<Account>()?;
        assert_eq!(owner.set(&inside, (1, 3))?, 1);
        let expected = inside.set(2, [Account::OWNER_ID.set(99)]).unwrap_err();
        drop(inside);
        transaction.rollback()?;
        assert_eq!(accounts.require(1)?.owner_id, 1);
        let error = owner.set(&accounts, (2, 99)).unwrap_err();
        assert_eq!((error.kind(), error.table()), (expected.kind(), expected.table()));
        assert_eq!(error.kind(), ErrorKind::Constraint);
        assert_eq!(owner.set(&accounts, (2, 1))?, 1, "the failed statement is as before");
        Ok(())
    });
}

#[test]
fn rules_of_records_apply() {
    let by_place =
        PreparedQuery::new(|place: Placeholder<String>| Query::filter(Visit::PLACE.eq(place)));
    let move_to = PreparedQuery::new(|(id, place): (Placeholder<i64>, Placeholder<String>)| {
        (Visit::ID.eq(id), [Visit::PLACE.set(place)])
    });
    let run = |db: &Db| -> Result<()> {
        let visits = db.table::<Visit>()?;
        for _ in 0..3 {
            let (modified, removed) = (Timestamp::default(), None);
            visits.insert(&Visit { id: 0, place: "Bern".into(), modified, version: 0, removed })?;
        }
        visits.delete(2)?;
        assert_eq!(by_place.count(&visits, "Bern".into())?, 2, "one is deleted");
        let before = visits.require(3)?;
        assert_eq!(move_to.set(&visits, (3, "Basel".into()))?, 1);
        let after = visits.require(3)?;
        assert_eq!(after.version, before.version + 1);
        assert!(after.modified >= before.modified);
        assert_eq!(by_place.list(&visits, "Basel".into())?, [after]);
        assert_eq!(move_to.set(&visits, (2, "Basel".into()))?, 0, "it is deleted");
        Ok(())
    };
    on_each(|place| run(&place.open(model().record::<Visit>())).unwrap());
}

#[test]
fn sqlite_prepares_them_and_other_engines_get_ordinary_queries() {
    on_each(|place| {
        for model in [model(), model().record::<Visit>()] {
            let written = Arc::new(AtomicI64::new(0));
            let counter = Arc::clone(&written);
            let by_owner = PreparedQuery::new(move |id: Placeholder<i64>| {
                counter.fetch_add(1, Ordering::Relaxed);
                Query::filter(Account::OWNER_ID.eq(id))
            });
            let db = place.open(model);
            let accounts = db.table::<Account>().unwrap();
            for owner in 1..=5 {
                by_owner.list(&accounts, owner).unwrap();
            }
            let expected = if place.is_memory_engine() { 6 } else { 1 };
            assert_eq!(written.load(Ordering::Relaxed), expected);
        }
    });
}

#[test]
fn a_value_that_does_not_fit_fails_as_in_the_ordinary_query() {
    let named = PreparedQuery::new(|name: Placeholder<String>| Query::filter(Owner::NAME.eq(name)));
    let rated = PreparedQuery::new(|rate: Placeholder<f32>| Query::filter(Account::RATE.eq(rate)));
    on_all(|db| {
        let owners = db.table::<Owner>()?;
        let long = "Bartholomew".to_owned();
        let expected = owners.list(Owner::NAME.eq(long.clone())).unwrap_err();
        assert_eq!(named.list(&owners, long).unwrap_err().to_string(), expected.to_string());
        assert_eq!(expected.kind(), ErrorKind::TooLong);
        assert_eq!(named.count(&owners, "Bob".into())?, 1);
        let error = rated.count(&db.table()?, f32::NAN).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        Ok(())
    });
}

#[test]
fn a_placeholder_has_no_value_elsewhere() {
    let db = model().open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    let accounts = db.table::<Account>().unwrap();
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let prepared = PreparedQuery::new(move |owner: Placeholder<i64>| {
        let query = Query::filter(Account::OWNER_ID.eq(owner));
        keep.lock().unwrap().replace((owner, query.clone()));
        query
    });
    assert_eq!(prepared.count(&accounts, 1).unwrap(), 0);
    let (owner, query) = kept.lock().unwrap().take().unwrap();
    for query in [query.clone(), Query::filter(Account::OWNER_ID.eq(owner))] {
        assert_eq!(accounts.list(&query).unwrap_err().kind(), ErrorKind::OutOfRange);
        assert_eq!(
            accounts.delete_where(Account::OWNER_ID.eq(owner)).unwrap_err().kind(),
            ErrorKind::OutOfRange
        );
    }
    // Nor in another prepared query.
    let other = PreparedQuery::new(move |_: Placeholder<i64>| query.clone());
    assert_eq!(other.count(&accounts, 1).unwrap_err().kind(), ErrorKind::OutOfRange);
}

#[test]
fn locks_need_a_transaction() {
    let queue = PreparedQuery::new(|owner: Placeholder<i64>| {
        Query::filter(Account::OWNER_ID.eq(owner)).lock(RowLock::Wait)
    });
    on_all(|db| {
        let error = queue.list(&db.table()?, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse);
        let transaction = db.begin()?;
        assert_eq!(ids(&queue.list(&transaction.table()?, 1)?), [1, 4]);
        transaction.commit()
    });
}

#[test]
fn the_table_changes_between_two_runs() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/app.db", folder.path().display());
    let by_owner =
        PreparedQuery::new(|id: Placeholder<i64>| Query::filter(Account::OWNER_ID.eq(id)));
    let db = model().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    fill(&db).unwrap();
    let accounts = db.table::<Account>().unwrap();
    assert_eq!(by_owner.count(&accounts, 1).unwrap(), 2);
    db.execute("DROP INDEX prepared_account_owner_id", ()).unwrap();
    assert_eq!(by_owner.count(&accounts, 1).unwrap(), 2);
    db.execute("ALTER TABLE prepared_account ADD COLUMN note TEXT", ()).unwrap();
    assert_eq!(ids(&by_owner.list(&accounts, 1).unwrap()), [1, 4]);
    db.execute("ALTER TABLE prepared_account RENAME TO moved", ()).unwrap();
    assert_eq!(by_owner.list(&accounts, 1).unwrap_err().kind(), ErrorKind::Schema);
    db.execute("ALTER TABLE moved RENAME TO prepared_account", ()).unwrap();
    assert_eq!(ids(&by_owner.list(&accounts, 1).unwrap()), [1, 4]);
    // Another database with the same query, and more queries than a connection keeps statements.
    let other = model().open("sqlite::memory:").unwrap();
    other.create_missing_tables().unwrap();
    assert_eq!(by_owner.count(&other.table().unwrap(), 1).unwrap(), 0);
    for limit in 1..=300 {
        let first = PreparedQuery::new(move |id: Placeholder<i64>| {
            Query::filter(Account::OWNER_ID.ge(id)).limit(limit)
        });
        assert_eq!(first.list(&accounts, 1).unwrap().len() as u64, limit.min(6));
    }
    assert_eq!(ids(&by_owner.list(&accounts, 2).unwrap()), [2, 5]);
}

#[test]
fn threads_share_one() {
    let by_owner =
        PreparedQuery::new(|id: Placeholder<i64>| Query::filter(Account::OWNER_ID.eq(id)));
    on_each(|place| {
        let db = place.open(model());
        fill(&db).unwrap();
        let sum = AtomicI64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let accounts = db.table::<Account>().unwrap();
                    for owner in (1..=3).cycle().take(30) {
                        let found = by_owner.list(&accounts, owner).unwrap();
                        assert_eq!(ids(&found), [owner, owner + 3]);
                        sum.fetch_add(found.len() as i64, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 240);
    });
}

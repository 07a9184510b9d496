//! A database whose changes are rolled back.

use crate::on_each;
use bobak::prelude::*;
use bobak_testing::rolled_back;

#[derive(Record, Debug, PartialEq)]
struct Account {
    id: i64,
    #[record(max = 40, unique)]
    email: String,
}

fn account(email: &str) -> Account {
    Account { id: 0, email: email.into() }
}

fn builder() -> bobak::DbBuilder {
    Db::builder().record::<Account>()
}

fn count(url: &str) -> u64 {
    builder().open(url).unwrap().table::<Account>().unwrap().count(Query::all()).unwrap()
}

/// Creates the table and one row.
fn create(url: &str) {
    let db = builder().open(url).unwrap();
    db.create_missing_tables().unwrap();
    db.table().unwrap().insert(&account("first@example.org")).unwrap();
    db.flush().unwrap();
}

#[test]
fn what_a_test_does_is_undone() {
    on_each(|url| {
        create(url);
        let db = rolled_back(builder(), url).unwrap();
        let accounts = db.table::<Account>().unwrap();
        accounts.insert(&account("a@example.org")).unwrap();
        // An error leaves everything before it.
        let error = accounts.insert(&account("first@example.org")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Duplicate);
        db.transaction(|transaction| {
            transaction.table::<Account>()?.insert(&account("b@example.org")).map(drop)
        })
        .unwrap();
        let failed = db.transaction(|transaction| {
            transaction.table::<Account>()?.insert(&account("c@example.org"))?;
            transaction.table::<Account>()?.insert(&account("b@example.org"))
        });
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Duplicate);
        let nested = db.begin().unwrap();
        let savepoint = nested.savepoint().unwrap();
        nested.table::<Account>().unwrap().insert(&account("d@example.org")).unwrap();
        savepoint.rollback().unwrap();
        nested.table::<Account>().unwrap().insert(&account("e@example.org")).unwrap();
        nested.commit().unwrap();
        let mut batch = db.batch(BatchOptions::new());
        batch.insert(&account("f@example.org")).unwrap();
        batch.finish().unwrap();
        let rows = accounts.iter(Query::all()).unwrap().map(|row| row.unwrap().email);
        let mut emails: Vec<_> = rows.map(|email| email[..1].to_owned()).collect();
        emails.sort();
        assert_eq!(emails.join(" "), "a b e f f");
        drop((accounts, db));
        assert_eq!(count(url), 1, "on {url}");
    });
}

#[test]
fn misuse_has_errors() {
    on_each(|url| {
        create(url);
        let db = rolled_back(builder(), url).unwrap();
        let accounts = db.table::<Account>().unwrap();
        // A write next to an open transaction would be undone with it.
        let transaction = db.begin().unwrap();
        transaction.table::<Account>().unwrap().insert(&account("a@example.org")).unwrap();
        let error = accounts.insert(&account("b@example.org")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        drop(transaction);
        accounts.insert(&account("a@example.org")).unwrap();
        // Calls from inside a callback.
        let error = accounts
            .for_each_row(Query::all(), |_| accounts.count(Query::all()).map(|_| true))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
        // MariaDB commits when tables change.
        let table = bobak::schema::TableSchema::builder("other")
            .column(bobak::schema::ColumnSchema::of::<i64>("id"))
            .key(["id"]);
        match db.create_table(table.build().unwrap()) {
            Err(error) => {
                assert!(url.starts_with("mysql:"), "{url}: {error}");
                assert_eq!(error.kind(), ErrorKind::Unsupported);
            }
            Ok(_) => assert!(!url.starts_with("mysql:")),
        }
        drop((accounts, db));
        assert_eq!(builder().open(url).unwrap().tables().unwrap().len(), 1, "{url}");
        assert_eq!(count(url), 1, "{url}");
    });
}

/// As the engines themselves, whose writers wait for each other.
#[test]
fn transactions_of_threads_wait_for_each_other() {
    on_each(|url| {
        create(url);
        let db = rolled_back(builder(), url).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let db = &db;
                scope.spawn(move || {
                    for number in 0..10 {
                        let email = format!("{thread}-{number}");
                        db.transaction(|t| t.table()?.insert(&account(&email))).unwrap();
                    }
                });
            }
        });
        assert_eq!(db.table::<Account>().unwrap().count(Query::all()).unwrap(), 41);
    });
}

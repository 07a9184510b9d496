//! Transactions and savepoints.

use crate::engines::{Person, on_each, person};
use bobak::prelude::*;

#[test]
fn a_transaction_commits_all_or_nothing() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        let transaction = db.begin().unwrap();
        let inside = transaction.table::<Person>().unwrap();
        inside.insert(&person("ada", 1)).unwrap();
        assert_eq!(inside.count(Query::all()).unwrap(), 1, "it sees its own");
        transaction.commit().unwrap();
        assert_eq!(people.count(Query::all()).unwrap(), 1);

        let failed: bobak::Result<()> = db.transaction(|transaction| {
            transaction.table::<Person>()?.delete_all()?;
            Err(Error::new(ErrorKind::Interrupted, "changed my mind"))
        });
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(people.count(Query::all()).unwrap(), 1);
        let transaction = db.begin().unwrap();
        transaction.table::<Person>().unwrap().delete_all().unwrap();
        transaction.rollback().unwrap();
        assert_eq!(people.count(Query::all()).unwrap(), 1);
    });
}

#[test]
fn savepoints_roll_back_their_part() {
    on_each(|place| {
        let db = place.people();
        let transaction = db.begin().unwrap();
        let people = transaction.table::<Person>().unwrap();
        people.insert(&person("ada", 1)).unwrap();
        {
            let _dropped = transaction.savepoint().unwrap();
            people.insert(&person("bob", 2)).unwrap();
        }
        let outer = transaction.savepoint().unwrap();
        people.insert(&person("cid", 3)).unwrap();
        let inner = transaction.savepoint().unwrap();
        people.insert(&person("dan", 4)).unwrap();
        inner.rollback().unwrap();
        outer.release().unwrap();
        let nested: bobak::Result<()> = transaction.nested(|transaction| {
            transaction.table::<Person>()?.insert(&person("eve", 5))?;
            transaction.table::<Person>()?.insert(&person("eve", 5))?;
            Ok(())
        });
        assert_eq!(nested.unwrap_err().kind(), ErrorKind::Duplicate);
        transaction.commit().unwrap();
        let names = db.table::<Person>().unwrap().select(Query::all(), (Person::NAME,)).unwrap();
        assert_eq!(names, [("ada".to_owned(),), ("cid".to_owned(),)]);
    });
}

#[test]
fn a_transaction_is_invisible_until_its_commit() {
    on_each(|place| {
        if place.url.contains("exclusive") || place.url.contains(":memory:") {
            // One connection: readers wait until the transaction ends.
            return;
        }
        if place.url.contains("journal_mode=delete") {
            return;
        }
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        people.insert(&person("ada", 1)).unwrap();
        let transaction = db.begin().unwrap();
        transaction.table::<Person>().unwrap().insert(&person("bob", 2)).unwrap();
        assert_eq!(people.count(Query::all()).unwrap(), 1);
        transaction.commit().unwrap();
        assert_eq!(people.count(Query::all()).unwrap(), 2);
    });
}

#[test]
fn a_thread_that_would_wait_for_itself_gets_an_error() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        let transaction = db.begin().unwrap();
        for error in [people.insert(&person("ada", 1)).map(|_| ()), db.begin().map(|_| ())] {
            let error = error.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Busy | ErrorKind::Misuse), "{error}");
        }
        drop(transaction);
        people.insert(&person("ada", 1)).unwrap();
    });
}

#[test]
fn concurrent_writers_lose_no_update() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        let id = people.insert(&person("counter", 0)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        db.transaction(|transaction| {
                            let people = transaction.table::<Person>()?;
                            let mut counter = people.require(id)?;
                            counter.age += 1;
                            people.update(&counter)
                        })
                        .unwrap();
                    }
                });
            }
        });
        assert_eq!(people.require(id).unwrap().age, 100);
    });
}

#[test]
fn handles_can_be_sent_to_other_threads() {
    fn shared<T: Clone + Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<Db>();
    shared::<Table<'static, Person>>();
    sent::<Transaction<'static>>();
    sent::<Batch<'static>>();
}

#[test]
fn tables_created_in_a_transaction_are_rolled_back_with_it() {
    use bobak::schema::{ColumnSchema, TableSchema};
    on_each(|place| {
        let db = Db::open(&place.url).unwrap();
        for commits in [false, true] {
            let transaction = db.begin().unwrap();
            let id = ColumnSchema::of::<i64>("id");
            let schema = TableSchema::builder("made").column(id).key(["id"]).build().unwrap();
            let table = transaction.create_table(schema).unwrap();
            table.insert(&DynRow::new()).unwrap();
            assert_eq!(transaction.dynamic("made").unwrap().count(Query::all()).unwrap(), 1);
            if commits {
                transaction.commit().unwrap();
                assert_eq!(db.dynamic("made").unwrap().count(Query::all()).unwrap(), 1);
            } else {
                drop(transaction);
                assert!(db.tables().unwrap().is_empty());
            }
        }
    });
}

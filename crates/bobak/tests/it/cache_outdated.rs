//! Cached records that another program has written.

use crate::cache::{file, open};
use crate::engines::{Person, person};
use bobak::cache::CacheOptions;
use bobak::prelude::*;
use std::time::Duration;

/// A program whose write fails because its record is old reads the current one in a transaction, and then has it.
#[test]
fn a_transaction_that_reads_another_record_forgets_the_cached_one() {
    let (_folder, url) = file();
    let db = open(&url, CacheOptions::new().time_to_live(Duration::from_secs(3_600)));
    let other = Db::builder().record::<Person>().open(&url).unwrap();
    let people = db.table::<Person>().unwrap();
    let ids = ["ada", "bob"].map(|name| people.insert(&person(name, 1)).unwrap());
    assert_eq!(ids.map(|id| people.require(id).unwrap().age), [1, 1]);
    let theirs = other.table::<Person>().unwrap();
    theirs.set(ids[0], [Person::AGE.set(2)]).unwrap();
    theirs.delete(ids[1]).unwrap();
    assert_eq!(ids.map(|id| people.require(id).unwrap().age), [1, 1]);
    let transaction = db.begin().unwrap();
    let current = transaction.table::<Person>().unwrap();
    assert_eq!(current.require(ids[0]).unwrap().age, 2);
    assert!(current.get(ids[1]).unwrap().is_none());
    transaction.rollback().unwrap();
    assert_eq!(people.require(ids[0]).unwrap().age, 2);
    assert!(people.get(ids[1]).unwrap().is_none());
}

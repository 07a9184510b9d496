//! Makes records of one type for tests.

use bobak::types::Key;
use bobak::{Db, Record, Result};
use std::sync::atomic::{AtomicU64, Ordering};

/// Makes records that differ only in what a test is about.
///
/// The function gets a number that begins at 1 and increases with each record, for unique values. It may insert
/// other records first, through the database, for references.
///
/// ```
/// use bobak::prelude::*;
/// use bobak_testing::Factory;
///
/// #[derive(Record)]
/// struct Account {
///     id: i64,
///     #[record(unique)]
///     email: String,
///     active: bool,
/// }
///
/// let accounts = Factory::new(|_db: &Db, number| {
///     Ok(Account { id: 0, email: format!("user{number}@example.org"), active: true })
/// });
/// let db = Db::builder().record::<Account>().open("memory:")?;
/// db.create_missing_tables()?;
/// let first = accounts.insert(&db)?;
/// let second = accounts.insert_with(&db, |account| account.active = false)?;
/// assert_eq!(db.table::<Account>()?.require(first)?.email, "user1@example.org");
/// assert!(!db.table::<Account>()?.require(second)?.active);
/// # Ok::<(), Error>(())
/// ```
pub struct Factory<T, F> {
    make: F,
    number: AtomicU64,
    record: std::marker::PhantomData<fn() -> T>,
}

impl<T: Record, F: Fn(&Db, u64) -> Result<T>> Factory<T, F> {
    /// A factory with this function.
    pub const fn new(make: F) -> Self {
        Self { make, number: AtomicU64::new(1), record: std::marker::PhantomData }
    }

    /// Makes a record, and does not insert it.
    ///
    /// # Errors
    /// Those of the function.
    pub fn make(&self, db: &Db) -> Result<T> {
        (self.make)(db, self.number.fetch_add(1, Ordering::Relaxed))
    }

    /// Makes a record and inserts it; returns its key.
    ///
    /// # Errors
    /// Those of the function; as [`Table::insert`](bobak::Table::insert).
    pub fn insert(&self, db: &Db) -> Result<T::Key> {
        self.insert_with(db, |_| ())
    }

    /// Makes a record, changes it, and inserts it; returns its key.
    ///
    /// # Errors
    /// As [`insert`](Factory::insert).
    pub fn insert_with(&self, db: &Db, change: impl FnOnce(&mut T)) -> Result<T::Key>
    where
        T::Key: Key,
    {
        let mut record = self.make(db)?;
        change(&mut record);
        db.table::<T>()?.insert(&record)
    }
}

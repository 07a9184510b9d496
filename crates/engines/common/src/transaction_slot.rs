//! The transaction of a session, for engines that run in this process.

use bobak_core::{Error, ErrorKind, Result, TransactionControl};
use std::cell::{Cell, RefCell, RefMut};
use std::ops::{Deref, DerefMut};

/// A transaction of an engine that runs in this process. A [`SavepointStack`] has its savepoints.
///
/// Dropping it rolls it back.
pub trait LocalTransaction {
    /// What is needed to return to a moment.
    type Mark;

    /// Marks this moment, for a savepoint.
    fn mark(&mut self) -> Self::Mark;

    /// Undoes what was done since the mark, which stays valid.
    ///
    /// # Errors
    /// Those of the storage.
    fn return_to(&mut self, mark: &Self::Mark) -> Result<()>;

    /// Called if no mark is left: nothing has to be recorded for them.
    fn forget_marks(&mut self) {}

    /// Commits.
    ///
    /// # Errors
    /// Those of [`TransactionControl::Commit`]. The transaction is over even then.
    fn commit(self) -> Result<()>;
}

/// An open transaction and its savepoints.
pub struct SavepointStack<T: LocalTransaction> {
    transaction: T,
    savepoints: Vec<(String, T::Mark)>,
}

/// The place of a session's transaction. It is borrowed while a call of the session runs, so that a call from inside a
/// row's callback is rejected.
pub struct TransactionSlot<T: LocalTransaction> {
    open: RefCell<Option<SavepointStack<T>>>,
    is_open: Cell<bool>,
}

impl<T: LocalTransaction> SavepointStack<T> {
    /// Runs one step of a session's transaction, which is in `open` if there is one.
    ///
    /// # Errors
    /// `Misuse` if the step does not fit: no transaction is open, another one is, or there is no such savepoint. Those
    /// of `begin` and of the transaction.
    pub fn control(
        open: &mut Option<Self>,
        step: TransactionControl<'_>,
        begin: impl FnOnce() -> Result<T>,
    ) -> Result<()> {
        let misuse = |message: &str| Err(Error::new(ErrorKind::Misuse, message.to_owned()));
        match (step, &mut *open) {
            (TransactionControl::Begin, None) => {
                *open = Some(Self { transaction: begin()?, savepoints: Vec::new() });
                Ok(())
            }
            (TransactionControl::Begin, Some(_)) => {
                misuse("a transaction is already open: use a savepoint")
            }
            (_, None) => misuse("no transaction is open"),
            (TransactionControl::Commit, Some(_)) => {
                open.take().map_or(Ok(()), |open| open.transaction.commit())
            }
            (TransactionControl::Rollback, Some(_)) => {
                *open = None;
                Ok(())
            }
            (TransactionControl::Savepoint(name), Some(open)) => {
                open.savepoints.push((name.to_owned(), open.transaction.mark()));
                Ok(())
            }
            (TransactionControl::Release(name), Some(open)) => open.release(name),
            (TransactionControl::RollbackTo(name), Some(open)) => open.roll_back_to(name),
        }
    }

    fn release(&mut self, name: &str) -> Result<()> {
        let place = self.find(name)?;
        self.savepoints.truncate(place);
        if self.savepoints.is_empty() {
            self.transaction.forget_marks();
        }
        Ok(())
    }

    fn roll_back_to(&mut self, name: &str) -> Result<()> {
        let place = self.find(name)?;
        self.savepoints.truncate(place + 1);
        match self.savepoints.last() {
            Some((_, mark)) => self.transaction.return_to(mark),
            None => Ok(()),
        }
    }

    /// The place of the last savepoint of this name.
    fn find(&self, name: &str) -> Result<usize> {
        let place = self.savepoints.iter().rposition(|(known, _)| known == name);
        place
            .ok_or_else(|| Error::new(ErrorKind::Misuse, format!("there is no savepoint '{name}'")))
    }
}

impl<T: LocalTransaction> Deref for SavepointStack<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.transaction
    }
}

impl<T: LocalTransaction> DerefMut for SavepointStack<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.transaction
    }
}

impl<T: LocalTransaction> TransactionSlot<T> {
    /// Whether a transaction is open. It can be asked at any time.
    pub const fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// The transaction, for one call of the session.
    ///
    /// # Errors
    /// `Misuse` during another call.
    pub fn enter(&self) -> Result<RefMut<'_, Option<SavepointStack<T>>>> {
        self.open.try_borrow_mut().map_err(|_| in_row_callback())
    }

    /// Runs one step.
    ///
    /// # Errors
    /// As [`SavepointStack::control`] and [`enter`](Self::enter).
    pub fn control(
        &self,
        step: TransactionControl<'_>,
        begin: impl FnOnce() -> Result<T>,
    ) -> Result<()> {
        let mut open = self.enter()?;
        let result = SavepointStack::control(&mut open, step, begin);
        self.is_open.set(open.is_some());
        result
    }
}

impl<T: LocalTransaction> Default for TransactionSlot<T> {
    fn default() -> Self {
        Self { open: RefCell::new(None), is_open: Cell::new(false) }
    }
}

/// The error for a call of a session inside another, as in the callback of a query.
#[cold]
#[must_use]
pub fn in_row_callback() -> Error {
    let message = "the session is in a row callback: use another session, or a cursor";
    Error::new(ErrorKind::Misuse, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use TransactionControl::{Begin, Commit, Release, Rollback, RollbackTo, Savepoint};

    /// A number that counts up, and whether its marks were forgotten.
    #[derive(Default)]
    struct Counter {
        count: u32,
        forgot: bool,
    }

    impl LocalTransaction for Counter {
        type Mark = u32;

        fn mark(&mut self) -> u32 {
            self.count
        }

        fn return_to(&mut self, mark: &u32) -> Result<()> {
            self.count = *mark;
            Ok(())
        }

        fn forget_marks(&mut self) {
            self.forgot = true;
        }

        fn commit(self) -> Result<()> {
            let message = "commits fail";
            if self.count > 9 { Err(Error::new(ErrorKind::Io, message)) } else { Ok(()) }
        }
    }

    fn count(slot: &TransactionSlot<Counter>) -> u32 {
        let mut open = slot.enter().unwrap();
        let open = open.as_mut().unwrap();
        open.count += 1;
        open.count
    }

    #[test]
    fn savepoints_nest_and_the_last_of_a_name_is_meant() {
        let slot = TransactionSlot::default();
        let step = |step| slot.control(step, || Ok(Counter::default()));
        step(Begin).unwrap();
        assert_eq!(count(&slot), 1);
        step(Savepoint("a")).unwrap();
        assert_eq!(count(&slot), 2);
        step(Savepoint("a")).unwrap();
        assert_eq!(count(&slot), 3);
        step(RollbackTo("a")).unwrap();
        assert_eq!(count(&slot), 3, "the second savepoint");
        step(Release("a")).unwrap();
        step(RollbackTo("a")).unwrap();
        assert_eq!(count(&slot), 2, "the first savepoint");
        assert!(!slot.enter().unwrap().as_ref().unwrap().forgot);
        step(Release("a")).unwrap();
        assert!(slot.enter().unwrap().as_ref().unwrap().forgot);
        step(Commit).unwrap();
        assert!(!slot.is_open());
    }

    #[test]
    fn steps_that_do_not_fit_are_rejected() {
        let slot = TransactionSlot::default();
        let step = |step| slot.control(step, || Ok(Counter::default()));
        for without in [Commit, Rollback, Savepoint("a"), Release("a"), RollbackTo("a")] {
            assert_eq!(step(without).unwrap_err().kind(), ErrorKind::Misuse);
        }
        step(Begin).unwrap();
        for within in [Begin, Release("a"), RollbackTo("a")] {
            assert_eq!(step(within).unwrap_err().kind(), ErrorKind::Misuse);
        }
        let call = slot.enter().unwrap();
        assert_eq!(step(Commit).unwrap_err().kind(), ErrorKind::Misuse);
        assert!(slot.is_open());
        drop(call);
        while count(&slot) < 10 {}
        assert_eq!(step(Commit).unwrap_err().kind(), ErrorKind::Io);
        assert!(!slot.is_open(), "it is over, although its commit failed");
    }
}

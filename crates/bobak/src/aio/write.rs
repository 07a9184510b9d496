//! A record on its way through a lane.

use super::answer::{Answer, Slot, Wanted, lock};
use super::db::AsyncDb;
use super::group::LoneWrite;
use crate::Db;
use crate::table::key_of;
use bobak_core::{
    Batch, Error, FieldSet, GivenKey, Key, Outcome, Record, Result, ValueRef, Verb, Write,
    prepare_waiting,
};
use std::sync::{Arc, Mutex};

/// One record to insert, update or delete, and where its result comes.
pub(super) struct RecordWrite<T: Record, R> {
    db: Db,
    verb: Verb,
    work: Mutex<Work<T>>,
    /// What the caller gets, from the key and what happened.
    give: fn(T::Key, Outcome) -> R,
    slot: Slot<Result<R>>,
}

struct Work<T: Record> {
    subject: Option<Subject<T>>,
    begun: bool,
}

/// What is written: a whole record, or a key to delete, and the key that a record was given.
pub(super) enum Subject<T: Record> {
    Record(T, Option<T::Key>),
    Key(T::Key),
}

impl<T: Record> Subject<T> {
    pub(super) const fn record(record: T) -> Self {
        Self::Record(record, None)
    }
}

/// Sends a record to the lane of its engine, when the answer is polled first.
pub(super) fn send<T, R>(
    db: &AsyncDb,
    verb: Verb,
    subject: Subject<T>,
    give: fn(T::Key, Outcome) -> R,
) -> Answer<Result<R>>
where
    T: Record + Send,
    T::Key: Send,
    R: Send + 'static,
{
    let lane = match db.lane_of::<T>() {
        Ok(lane) => Arc::clone(lane),
        Err(error) => return db.workers().run(|| Err(error)),
    };
    let work = Mutex::new(Work { subject: Some(subject), begun: false });
    let slot = Slot::new();
    let write = Arc::new(RecordWrite { db: db.blocking().clone(), verb, work, give, slot });
    let queued = Arc::clone(&write);
    Answer::new(db.workers(), write, move |pool| lane.push_lone(pool, queued))
}

impl<T, R> LoneWrite for RecordWrite<T, R>
where
    T: Record + Send,
    T::Key: Send,
    R: Send,
{
    fn begin(&self) -> bool {
        let mut work = lock(&self.work);
        work.begun = work.subject.is_some();
        work.begun
    }

    fn push(&self, batch: &mut Batch) -> Result<()> {
        let table = T::schema();
        self.db.catalog().bind::<T>()?;
        let mut work = lock(&self.work);
        let pushed = match &mut work.subject {
            Some(Subject::Record(record, given)) => {
                let mut values = record.values()?;
                prepare_waiting(table, self.verb, values.as_mut())?;
                *given = Some(key_of(record, values.as_ref())?);
                let fields = match self.verb {
                    Verb::Update | Verb::Upsert => table.updated_fields(),
                    _ => FieldSet::EMPTY,
                };
                let values = values.as_ref();
                batch.push_waiting(&Write { table, verb: self.verb, fields, values })
            }
            Some(Subject::Key(key)) => key.with_values(|values| {
                let (verb, fields) = (Verb::Delete, FieldSet::EMPTY);
                batch.push_waiting(&Write { table, verb, fields, values })
            }),
            None => Ok(()),
        };
        pushed.map_err(|error| error.in_table(T::TABLE))
    }

    fn write(&self) {
        let written = self.write_alone();
        self.done(written.map(|(key, outcome)| (self.give)(key, outcome)));
    }

    fn finish(&self, outcome: Result<Outcome>) {
        let key = match lock(&self.work).subject.take() {
            Some(Subject::Record(record, given)) => given.unwrap_or_else(|| record.key()),
            Some(Subject::Key(key)) => key,
            None => return,
        };
        let given = outcome.map_err(|error| error.in_table(T::TABLE)).and_then(|outcome| {
            let key = match outcome {
                Outcome::Inserted(Some(GivenKey::Int(id))) => {
                    T::Key::from_values(&[ValueRef::Int(id)])?
                }
                _ => key,
            };
            Ok((self.give)(key, outcome))
        });
        self.slot.put(Ok(given));
    }
}

impl<T, R> RecordWrite<T, R>
where
    T: Record,
{
    fn write_alone(&self) -> Result<(T::Key, Outcome)> {
        let table = self.db.table::<T>()?;
        let work = lock(&self.work);
        match &work.subject {
            Some(Subject::Record(record, _)) => table.write_as(self.verb, record),
            Some(Subject::Key(key)) => {
                let deleted = table.delete(key.clone())?;
                Ok((key.clone(), Outcome::Changed(u64::from(deleted))))
            }
            None => Err(Error::new(bobak_core::ErrorKind::Misuse, "the record was written")),
        }
    }

    /// The record is gone before the result is there: it may hold what the caller waits for.
    fn done(&self, result: Result<R>) {
        let subject = lock(&self.work).subject.take();
        drop(subject);
        self.slot.put(Ok(result));
    }
}

impl<T, R> Wanted<Result<R>> for RecordWrite<T, R>
where
    T: Record + Send,
    T::Key: Send,
    R: Send,
{
    fn slot(&self) -> &Slot<Result<R>> {
        &self.slot
    }

    fn cancel(&self) {
        let mut work = lock(&self.work);
        // What was begun is in a transaction with what others want.
        if !work.begun {
            let subject = work.subject.take();
            drop(work);
            drop(subject);
        }
    }
}

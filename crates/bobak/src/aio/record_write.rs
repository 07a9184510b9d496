//! A queued write of one record.

use super::future::{DbFuture, PendingWork, WorkSlot, lock};
use super::group::GroupedWrite;
use super::workers::Workers;
use super::write_queue::WriteQueue;
use crate::Db;
use crate::record_arg::key_of;
use bobak_core::{
    Error, FieldSet, GeneratedKey, Key, Outcome, Record, Result, ValueRef, Verb, Write, WriteBatch,
    prepare_batched,
};
use std::sync::{Arc, Mutex};

/// A record to insert, update or delete, and the slot for the result.
pub(super) struct RecordWrite<T: Record, R> {
    db: Db,
    verb: Verb,
    state: Mutex<RecordState<T>>,
    /// Makes the caller's result from the key and the outcome.
    convert: fn(T::Key, Outcome) -> R,
    slot: WorkSlot<Result<R>>,
}

struct RecordState<T: Record> {
    /// `None` if the write was cancelled or is done.
    subject: Option<WriteSubject<T>>,
    started: bool,
}

/// A record to write, with the key generated for it, or the key of a record to delete.
pub(super) enum WriteSubject<T: Record> {
    Record(T, Option<T::Key>),
    Key(T::Key),
}

impl<T: Record> WriteSubject<T> {
    pub(super) const fn record(record: T) -> Self {
        Self::Record(record, None)
    }
}

/// Queues a record for its engine, once the future is polled.
pub(super) fn queue_write<T, R>(
    workers: &Workers,
    queue: &Arc<WriteQueue>,
    write: RecordWrite<T, R>,
) -> DbFuture<Result<R>>
where
    T: Record + Send,
    T::Key: Send,
    R: Send + 'static,
{
    let (write, queue) = (Arc::new(write), Arc::clone(queue));
    let queued = Arc::clone(&write);
    DbFuture::new(workers, write, move |pool| queue.enqueue_row(pool, queued))
}

impl<T: Record, R> RecordWrite<T, R> {
    pub(super) fn new(
        db: &Db,
        verb: Verb,
        subject: WriteSubject<T>,
        convert: fn(T::Key, Outcome) -> R,
    ) -> Self {
        let state = Mutex::new(RecordState { subject: Some(subject), started: false });
        Self { db: db.clone(), verb, state, convert, slot: WorkSlot::new() }
    }
}

impl<T, R> GroupedWrite for RecordWrite<T, R>
where
    T: Record + Send,
    T::Key: Send,
    R: Send,
{
    fn start(&self) -> bool {
        let mut state = lock(&self.state);
        state.started = state.subject.is_some();
        state.started
    }

    fn encode(&self, batch: &mut WriteBatch) -> Result<()> {
        let table = T::schema();
        self.db.catalog().bind::<T>()?;
        let mut state = lock(&self.state);
        let pushed = match &mut state.subject {
            Some(WriteSubject::Record(record, given)) => {
                let mut values = record.values()?;
                prepare_batched(table, self.verb, values.as_mut())?;
                *given = Some(key_of(record, values.as_ref())?);
                let fields = match self.verb {
                    Verb::Update | Verb::Upsert => table.updated_fields(),
                    _ => FieldSet::EMPTY,
                };
                let values = values.as_ref();
                batch.push_unstamped(&Write { table, verb: self.verb, fields, values })
            }
            Some(WriteSubject::Key(key)) => key.with_values(|values| {
                let (verb, fields) = (Verb::Delete, FieldSet::EMPTY);
                batch.push_unstamped(&Write { table, verb, fields, values })
            }),
            None => Ok(()),
        };
        pushed.map_err(|error| error.in_table(T::TABLE))
    }

    fn write_alone(&self) {
        let written = self.write_as_single();
        self.done(written.map(|(key, outcome)| (self.convert)(key, outcome)));
    }

    fn complete(&self, outcome: Result<Outcome>) {
        let key = match lock(&self.state).subject.take() {
            Some(WriteSubject::Record(record, given)) => given.unwrap_or_else(|| record.key()),
            Some(WriteSubject::Key(key)) => key,
            None => return,
        };
        let given = outcome.map_err(|error| error.in_table(T::TABLE)).and_then(|outcome| {
            let key = match outcome {
                Outcome::Inserted(Some(GeneratedKey::Int(id))) => {
                    T::Key::from_values(&[ValueRef::Int(id)])?
                }
                _ => key,
            };
            Ok((self.convert)(key, outcome))
        });
        self.slot.put(Ok(given));
    }
}

impl<T, R> RecordWrite<T, R>
where
    T: Record,
{
    fn write_as_single(&self) -> Result<(T::Key, Outcome)> {
        let table = self.db.table::<T>()?;
        let state = lock(&self.state);
        match &state.subject {
            Some(WriteSubject::Record(record, _)) => table.write_as(self.verb, record),
            Some(WriteSubject::Key(key)) => {
                let deleted = table.delete(key.clone())?;
                Ok((key.clone(), Outcome::Changed(u64::from(deleted))))
            }
            None => {
                Err(Error::new(bobak_core::ErrorKind::Misuse, "the record was written already"))
            }
        }
    }

    /// Drops the record before it puts the result: the record may hold something that the caller waits for.
    fn done(&self, result: Result<R>) {
        let subject = lock(&self.state).subject.take();
        drop(subject);
        self.slot.put(Ok(result));
    }
}

impl<T, R> PendingWork<Result<R>> for RecordWrite<T, R>
where
    T: Record + Send,
    T::Key: Send,
    R: Send,
{
    fn slot(&self) -> &WorkSlot<Result<R>> {
        &self.slot
    }

    fn cancel(&self) {
        let mut state = lock(&self.state);
        // A started write is in a transaction with the writes of others.
        if !state.started {
            let subject = state.subject.take();
            drop(state);
            drop(subject);
        }
    }
}

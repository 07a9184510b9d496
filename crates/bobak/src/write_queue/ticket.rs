//! The result of a queued write.

use super::group::{RowSlot, TableCheck};
use super::queue::WriteQueue;
use bobak_core::{Error, ErrorKind, Key, Outcome, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What dropping a queued row does before it is done.
pub(crate) enum OnDrop {
    /// Nothing: a flush returns its error.
    KeepError,
    /// Cancels the write while it is queued. The check, if there is one, is made before the row is written.
    #[cfg_attr(not(feature = "async"), expect(dead_code, reason = "for futures"))]
    Cancel(Option<TableCheck>),
}

/// A row in the queue; as a future, its outcome.
pub(crate) struct QueuedRow {
    slot: Arc<RowSlot>,
    queue: Arc<WriteQueue>,
    number: u64,
    cancels: bool,
    /// Whether the outcome was taken.
    taken: bool,
}

impl QueuedRow {
    pub(super) const fn new(
        slot: Arc<RowSlot>,
        queue: Arc<WriteQueue>,
        number: u64,
        cancels: bool,
    ) -> Self {
        Self { slot, queue, number, cancels, taken: false }
    }

    fn take(&mut self, outcome: Option<Result<Outcome>>) -> Result<Outcome> {
        self.taken = true;
        outcome.unwrap_or_else(|| {
            Err(Error::new(ErrorKind::Misuse, "the ticket's result was already taken"))
        })
    }
}

impl Future for QueuedRow {
    type Output = Result<Outcome>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Outcome>> {
        let outcome = ready!(self.slot.poll(context));
        Poll::Ready(self.take(outcome))
    }
}

impl Drop for QueuedRow {
    fn drop(&mut self) {
        if self.taken {
            return;
        }
        match self.slot.close() {
            Some(Err(error)) if !self.cancels => self.queue.keep_error(error),
            None if self.cancels => self.queue.cancel(self.number),
            _ => {}
        }
    }
}

/// The result of a write that a [`Pipeline`](crate::Pipeline) queued. Block for it with [`wait`](Ticket::wait), or
/// `.await` it in any runtime.
///
/// Dropping the ticket does not cancel the write; [`Pipeline::flush`](crate::Pipeline::flush) then returns its error.
#[must_use = "the write may fail: wait for the ticket, or flush the pipeline"]
pub struct Ticket<R> {
    row: QueuedRow,
    convert: fn(Outcome, Option<R>) -> Result<R>,
    /// The result if the outcome has none, such as a key that the caller gave.
    given: Option<R>,
}

// No field is pinned.
impl<R> Unpin for Ticket<R> {}

impl<R> Ticket<R> {
    pub(super) const fn new(
        row: QueuedRow,
        convert: fn(Outcome, Option<R>) -> Result<R>,
        given: Option<R>,
    ) -> Self {
        Self { row, convert, given }
    }

    /// Blocks until the write is as durable as that of the plain call.
    ///
    /// # Errors
    /// As the plain call; `Unknown` if the engine panicked.
    pub fn wait(mut self) -> Result<R> {
        let outcome = self.row.slot.wait();
        let outcome = self.row.take(outcome)?;
        (self.convert)(outcome, self.given.take())
    }

    /// Whether there is a result, so that [`wait`](Ticket::wait) does not block.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.row.slot.is_full()
    }
}

impl<R> Future for Ticket<R> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R>> {
        let outcome = ready!(Pin::new(&mut self.row).poll(context));
        Poll::Ready(outcome.and_then(|outcome| (self.convert)(outcome, self.given.take())))
    }
}

impl<R> fmt::Debug for Ticket<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("done", &self.is_done()).finish_non_exhaustive()
    }
}

/// The key that the engine generated, or else the given one.
pub(super) fn key_or_given<K: Key>(outcome: Outcome, given: Option<K>) -> Result<K> {
    match outcome {
        Outcome::Inserted(Some(key)) | Outcome::Updated(key) => key.to_key(),
        _ => given.ok_or_else(|| Error::new(ErrorKind::Misuse, "the key was already taken")),
    }
}

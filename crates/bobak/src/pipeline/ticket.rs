//! The result of a queued write.

use super::queue::PipelineQueue;
use crate::write_queue::ResultSlot;
use bobak_core::{Error, ErrorKind, Outcome, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The result of a write that a [`Pipeline`](crate::Pipeline) queued. Block for it with [`wait`](Ticket::wait), or
/// `.await` it in any runtime.
///
/// Dropping the ticket does not cancel the write; [`Pipeline::flush`](crate::Pipeline::flush) then returns its error.
#[must_use = "the write may fail: wait for the ticket, or flush the pipeline"]
pub struct Ticket<R> {
    slot: Arc<WriteSlot>,
    queue: Arc<PipelineQueue>,
    table: &'static str,
    convert: ConvertOutcome<R>,
    /// The result if the outcome has none, such as a key that the caller gave.
    fallback: Option<R>,
}

/// Where the outcome of a queued write is put.
pub(super) type WriteSlot = ResultSlot<Result<Outcome>>;

/// Makes the caller's result from an outcome and the fallback.
pub(super) type ConvertOutcome<R> = fn(Outcome, Option<R>) -> Result<R>;

// No field is pinned.
impl<R> Unpin for Ticket<R> {}

impl<R> Ticket<R> {
    pub(super) fn new(
        slot: Arc<WriteSlot>,
        queue: Arc<PipelineQueue>,
        table: &'static str,
        convert: ConvertOutcome<R>,
        fallback: Option<R>,
    ) -> Self {
        Self { slot, queue, table, convert, fallback }
    }

    /// Blocks until the write is as durable as that of the plain call.
    ///
    /// # Errors
    /// As the plain call; `Unknown` if the writing thread panicked.
    pub fn wait(mut self) -> Result<R> {
        let outcome = self.slot.wait();
        self.finish(outcome)
    }

    /// Whether there is a result, so that [`wait`](Ticket::wait) does not block.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.slot.is_full()
    }

    fn finish(&mut self, outcome: Option<Result<Outcome>>) -> Result<R> {
        let outcome = outcome.unwrap_or_else(|| {
            Err(Error::new(ErrorKind::Misuse, "the ticket's result was taken before"))
        });
        let result = outcome.and_then(|outcome| (self.convert)(outcome, self.fallback.take()));
        result.map_err(|error| error.in_table(self.table))
    }
}

impl<R> Future for Ticket<R> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R>> {
        let outcome = ready!(self.slot.poll(context));
        Poll::Ready(self.finish(outcome))
    }
}

impl<R> Drop for Ticket<R> {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.slot.close() {
            self.queue.keep_error(error.in_table(self.table));
        }
    }
}

impl<R> fmt::Debug for Ticket<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("done", &self.is_done()).finish_non_exhaustive()
    }
}

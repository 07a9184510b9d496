//! The write queue in front of an engine: single writes that wait for it are committed together.
//!
//! Pipelines, the async API and the HTTP server queue their single writes here, on every engine. The contract:
//!
//! * **Order.** Writes of one queue happen in the order in which they were queued. A closure, such as a transaction, keeps
//!   its place among them, unless the engine allows concurrent writers.
//! * **Batching.** One thread at a time serves the queue. It takes the rows at its front, up to a number of rows and of
//!   bytes or to the next closure, and writes them in one transaction with one sync. A single row is written by itself.
//! * **Linger.** There is none: a group is what was queued while the previous one was written, so a single write does not
//!   wait for others.
//! * **Errors.** Each write has its own result, as if it were alone: a row that fails leaves the others as they are. If a
//!   transaction fails as a whole, and that may be due to some of its rows, each row is written by itself. A conflict is
//!   repeated. After `Unknown`, and after a panic of the engine, nothing is repeated, and each write gets that error.
//! * **Cancellation.** Dropping a future whose write is queued cancels the write. A started write completes: others are in
//!   its transaction. Dropping a ticket of a pipeline cancels nothing; [`WriteQueue::flush`] returns its error.
//! * **Interrupts.** A row is not interrupted; a closure is, by the drop of its future.
//!
//! Rows are encoded into the group under the queue's lock, so a write costs one allocation: the place for its result.
//!
//! The SQLite engine has *group commit* below this: threads that call the engine directly, such as those of the server,
//! each bring a small transaction of their own, and one of them commits for all. See `session/group_commit.rs` there.

mod group;
mod queue;
mod result_slot;
mod ticket;

pub(crate) use queue::{QueueLimits, WriteQueue};
pub(crate) use ticket::OnDrop;
pub use ticket::Ticket;
#[cfg(feature = "async")]
pub(crate) use {queue::GROUP_LIMITS, result_slot::ResultSlot};

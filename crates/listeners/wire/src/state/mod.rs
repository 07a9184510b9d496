//! The state of a server that all of its threads share. It knows none of the threads.

mod password_queue;
mod poller_handle;
mod shared;
mod shutdown;
mod worker_pool;

pub(crate) use password_queue::PasswordQueue;
pub(crate) use poller_handle::PollerHandle;
pub(crate) use shared::Shared;
pub(crate) use shutdown::Shutdown;
pub(crate) use worker_pool::WorkerPool;

//! The state of a server that all of its threads share. It knows none of the threads.

mod password_queue;
mod poller_handle;
mod request_workers;
mod server_state;
mod shutdown;

pub(crate) use password_queue::PasswordQueue;
pub(crate) use poller_handle::PollerHandle;
pub(crate) use request_workers::RequestWorkers;
pub(crate) use server_state::WireServerState;
pub(crate) use shutdown::Shutdown;

//! The database's connections: one that writes, a pool of those that read, and a second one that can write while a thread
//! reads on the first.

mod active_cursors;
mod connections;
mod second_writer;

pub(crate) use active_cursors::{ActiveCursor, CallbackGuard, WriteGuard};
pub(crate) use connections::{Pool, PooledConnection, WriterLock, lock};

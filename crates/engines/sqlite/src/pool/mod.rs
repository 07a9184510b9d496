//! The database's connections: one that writes, and a pool of those that read.

mod active_cursors;
mod connections;

pub(crate) use active_cursors::{ActiveCursor, CallbackGuard, WriteGuard};
pub(crate) use connections::{Pool, PooledConnection, WriterLock, lock};

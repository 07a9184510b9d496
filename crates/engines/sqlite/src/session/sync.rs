//! The locks that [`group`](crate::session::commit_queue) stands on: the tests put those of a scheduler here.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};

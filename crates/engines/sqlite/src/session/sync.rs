//! The locks that `commit_queue` uses. The tests replace them with those of a scheduler.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};

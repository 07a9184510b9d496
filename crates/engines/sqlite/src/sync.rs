//! The locks that [`group`](crate::group) stands on: the tests put those of a scheduler here.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};

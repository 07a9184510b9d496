//! The schema on the server: which tables exist, and changes of them.

pub(crate) mod alter;
mod online;

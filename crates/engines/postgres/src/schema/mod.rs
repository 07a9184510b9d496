//! The schema on the server: which tables exist, and changes of them.

pub(crate) mod alter;
pub(crate) mod details;
mod online;

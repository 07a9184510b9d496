//! Blocking work on threads of its own, with a fair share for each client.

pub(crate) mod blocking;
pub(crate) mod permits;

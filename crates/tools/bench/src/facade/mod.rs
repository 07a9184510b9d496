//! Bobak's own contenders: the benchmark's work through the facade, as a program would write it.
//!
//! Nothing here is tuned for the benchmark: a derived record, an engine by its URL, and the calls that the documentation
//! shows.

mod aio;
mod cached;
mod contender;
mod engine;
mod http;
mod person;
pub(crate) mod remote;
mod server;
mod slow;

pub(crate) use aio::ASYNC;
pub(crate) use cached::CACHED;
#[cfg(feature = "encryption")]
pub(crate) use engine::ENCRYPTED;
#[cfg(feature = "sqlcipher")]
pub(crate) use engine::SQLCIPHER;
pub(crate) use engine::{ENGINES, MONITORED, in_url};
pub(crate) use http::{HTTP, IN_PROCESS};
pub(crate) use remote::{ENGINES as REMOTE, program};
pub(crate) use server::SERVERS;
pub(crate) use slow::SLOW;

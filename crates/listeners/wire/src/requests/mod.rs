//! Requests: run one after the other, until the connection is idle or ends.

mod batch;
mod client_session;
mod queries;
mod serve;
mod stream;
mod subqueries;
mod value_parts;

pub(crate) use serve::{ServeOutcome, serve};

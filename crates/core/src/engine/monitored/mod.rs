//! Engines whose statements are monitored: see [`statements`](crate::statements).

mod call;
mod join_text;
mod layer;
mod session;
mod sql_text;
#[cfg(test)]
mod tests;
mod text;

pub use layer::MonitoredEngine;

//! Which statements a program runs, how often, how long they take, and where they come from.
//!
//! A [`StatementMonitor`] collects that. It sees what runs through a [`MonitoredEngine`], the layer in front of an
//! engine: every statement of every session, typed or SQL. Statements that differ in their values alone have one *shape*,
//! and are counted together; values are never kept. Programs without a monitor have no such layer, and pay nothing.
//!
//! The same layer ends calls that run longer than [`MonitorOptions::timeout`], and reports those that run longer than
//! [`MonitorOptions::slow`]. With the feature `tracing`, each statement is a span of that crate.

mod engine;
mod join_text;
mod monitor;
mod options;
mod origin;
mod session;
mod shape;
#[cfg(feature = "tracing")]
mod span;
mod sql_text;
mod statistics;
mod text;

pub use engine::MonitoredEngine;
pub(crate) use monitor::ShapeKey;
pub use monitor::StatementMonitor;
pub use options::{MonitorOptions, SlowStatement};
pub use origin::{CallSite, Origin, with_label};
pub use statistics::StatementStats;

#[cfg(test)]
mod tests;

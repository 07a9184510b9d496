//! Which statements a program runs, how often, how long they take, and where they come from.
//!
//! A [`StatementMonitor`] collects that. It sees every statement, typed or SQL, of every session of a
//! [`MonitoredEngine`](crate::MonitoredEngine), the layer in front of an engine. Statements that differ in their values
//! alone have one *shape*, and are counted together; values are never kept. Programs without a monitor have no such
//! layer, and pay nothing.
//!
//! The same layer ends calls that run longer than [`MonitorOptions::timeout`], and reports those that run longer than
//! [`MonitorOptions::slow`]. With the feature `tracing`, each statement is a span of that crate.

mod monitor;
mod options;
mod origin;
#[cfg(feature = "tracing")]
mod span;
mod statistics;

pub use monitor::StatementMonitor;
pub(crate) use monitor::{CallProgress, CursorProgress, MonitoredCall};
pub use options::{MonitorOptions, SlowStatement};
pub use origin::{CallSite, Origin, with_label};
pub use statistics::StatementStats;

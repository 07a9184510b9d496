//! What a monitor keeps and reports.

use super::Origin;
use crate::ErrorKind;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Receives slow statements.
pub(super) type SlowLog = Arc<dyn Fn(&SlowStatement<'_>) + Send + Sync>;

/// What a [`StatementMonitor`](super::StatementMonitor) keeps and reports.
#[derive(Clone)]
pub struct MonitorOptions {
    pub(super) max_shapes: usize,
    pub(super) timeout: Option<Duration>,
    pub(super) slow: Option<(Duration, SlowLog)>,
}

impl Default for MonitorOptions {
    fn default() -> Self {
        Self { max_shapes: 1_000, timeout: None, slow: None }
    }
}

impl MonitorOptions {
    /// Statistics of 1,000 shapes, no timeout, no log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many shapes of statements are kept. Default: 1,000, which take about 2 MB. For a further one, the shape that
    /// took the least time is added to the other statements.
    #[must_use]
    pub fn max_shapes(mut self, number: usize) -> Self {
        self.max_shapes = number.max(1);
        self
    }

    /// Ends calls that run longer, with [`ErrorKind::Timeout`]. Of a cursor, all parts of SQL text are one call, and each part of
    /// a table's rows is one. Default: no timeout. See [`Deadline`](crate::Deadline) for what ends, and for a timeout of single calls.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Calls `log` after each statement that took `threshold` or longer, on the thread that ran it. Default: none.
    #[must_use]
    pub fn slow(
        mut self,
        threshold: Duration,
        log: impl Fn(&SlowStatement<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.slow = Some((threshold, Arc::new(log)));
        self
    }
}

impl fmt::Debug for MonitorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MonitorOptions")
            .field("max_shapes", &self.max_shapes)
            .field("timeout", &self.timeout)
            .field("slow", &self.slow.as_ref().map(|(threshold, _)| threshold))
            .finish()
    }
}

/// A statement that took long. Its `Display` is one line for a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SlowStatement<'a> {
    /// The engine's name.
    pub engine: &'a str,
    /// Its shape: the text without values.
    pub text: &'a str,
    /// How long it took.
    pub time: Duration,
    /// How many rows it returned or changed.
    pub rows: u64,
    /// Why it failed, if it did.
    pub error: Option<ErrorKind>,
    /// Where it comes from, if that is known.
    pub origin: Option<Origin>,
}

impl fmt::Display for SlowStatement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.time.as_micros() / 1_000;
        write!(f, "slow statement: {millis} ms, {} rows, on {}", self.rows, self.engine)?;
        if let Some(error) = self.error {
            write!(f, ", failed: {error:?}")?;
        }
        if let Some(origin) = &self.origin {
            write!(f, ", from {origin}")?;
        }
        write!(f, ": {}", self.text)
    }
}

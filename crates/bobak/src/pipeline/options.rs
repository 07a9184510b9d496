//! How much a pipeline queues.

use std::time::Duration;

/// How much a [`Pipeline`](super::Pipeline) queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineOptions {
    pub(super) rows: usize,
    pub(super) bytes: usize,
    pub(super) full_timeout: Duration,
}

impl PipelineOptions {
    /// 10,000 writes or 4 MiB of rows; a call that finds the queue full waits for up to a minute.
    #[must_use]
    pub const fn new() -> Self {
        Self { rows: 10_000, bytes: 4 << 20, full_timeout: Duration::from_secs(60) }
    }

    /// The most queued writes, at least 1. Default: 10,000.
    #[must_use]
    pub const fn rows(mut self, rows: usize) -> Self {
        self.rows = if rows == 0 { 1 } else { rows };
        self
    }

    /// The most bytes of queued rows; a larger row is queued alone. Default: 4 MiB.
    #[must_use]
    pub const fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = if bytes == 0 { 1 } else { bytes };
        self
    }

    /// How long a call waits for room in a full queue before it fails with `Busy`. Default: one minute.
    #[must_use]
    pub const fn full_timeout(mut self, timeout: Duration) -> Self {
        self.full_timeout = timeout;
        self
    }
}

impl Default for PipelineOptions {
    fn default() -> Self {
        Self::new()
    }
}

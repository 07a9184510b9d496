//! How much a pipeline queues.

use bobak_core::settings;
use std::time::Duration;

settings! {
    /// How much a [`Pipeline`](super::Pipeline) queues.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct PipelineOptions with pub(super) settings {
        /// The most queued writes.
        rows: usize = 10_000, min = 1;
        /// The most bytes of queued rows; a larger row is queued alone.
        bytes: usize = 4 << 20, unit = "bytes", min = 1;
        /// How long a call waits for space in a full queue before it fails with `Busy`.
        full_timeout: Duration = Duration::from_secs(60);
    }
}

impl PipelineOptions {
    /// 10,000 writes or 4 MiB of rows; a call that finds the queue full waits for up to a minute.
    pub fn new() -> Self {
        Self::default()
    }
}

//! Counters and histograms in the text format of Prometheus.

use crate::route::Resource;
use hyper::{Method, StatusCode};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "other"];
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// The upper bounds of the duration buckets in microseconds, with their labels in seconds.
const BOUNDS: [(u64, &str); 10] = [
    (100, "0.0001"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (10_000_000, "10"),
];

/// All metrics of a server.
#[derive(Debug)]
pub(crate) struct Metrics {
    resources: [ResourceMetrics; Resource::TEMPLATES.len()],
    /// Requests with missing or wrong credentials.
    pub failed_logins: AtomicU64,
    /// Requests that a rate limit rejected.
    pub rate_limited: AtomicU64,
}

#[derive(Debug, Default)]
struct ResourceMetrics {
    responses: [[AtomicU64; CLASSES.len()]; METHODS.len()],
    durations: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            // Only arrays of at most 32 have a default of their own.
            resources: std::array::from_fn(|_| ResourceMetrics::default()),
            failed_logins: AtomicU64::default(),
            rate_limited: AtomicU64::default(),
        }
    }
}

impl Metrics {
    /// Counts a response of the resource with this index.
    pub fn count(&self, index: usize, method: &Method, status: StatusCode, duration: Duration) {
        let Some(resource) = self.resources.get(index) else { return };
        let method = METHODS.iter().position(|name| method.as_str() == *name);
        let row = resource.responses.get(method.unwrap_or(METHODS.len() - 1));
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(counter) = row.and_then(|row| row.get(class)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|(bound, _)| micros <= *bound).unwrap_or(BOUNDS.len());
        if let Some(bucket) = resource.durations.get(bucket) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        resource.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// All metrics as text.
    pub fn to_text(&self, connections: usize, streams: usize) -> String {
        let mut out = String::with_capacity(4_096);
        // WriteRequest to a String does not fail.
        let _ = self.write(&mut out, connections, streams);
        out
    }

    fn write(&self, out: &mut String, connections: usize, streams: usize) -> std::fmt::Result {
        out.push_str(
            "# HELP bobak_http_requests_total Responses by route, method and class of status.\n",
        );
        out.push_str("# TYPE bobak_http_requests_total counter\n");
        let named = || Resource::TEMPLATES.iter().zip(&self.resources);
        for (route, resource) in named() {
            for (method, row) in METHODS.iter().zip(&resource.responses) {
                for (class, counter) in CLASSES.iter().zip(row) {
                    let count = counter.load(Ordering::Relaxed);
                    if count > 0 {
                        writeln!(
                            out,
                            "bobak_http_requests_total{{route=\"{route}\",method=\"{method}\",status=\"{class}\"}} {count}"
                        )?;
                    }
                }
            }
        }
        out.push_str(
            "# HELP bobak_http_request_seconds Time until the response headers are sent.\n",
        );
        out.push_str("# TYPE bobak_http_request_seconds histogram\n");
        for (route, resource) in named() {
            resource.write(out, route)?;
        }
        let gauges = [
            ("bobak_http_connections", "gauge", "Open connections.", connections as u64),
            (
                "bobak_http_streams",
                "gauge",
                "Imports, exports and batches in progress.",
                streams as u64,
            ),
            (
                "bobak_http_rejected_total",
                "counter",
                "Requests with missing or wrong credentials.",
                self.failed_logins.load(Ordering::Relaxed),
            ),
            (
                "bobak_http_limited_total",
                "counter",
                "Requests that a rate limit rejected.",
                self.rate_limited.load(Ordering::Relaxed),
            ),
        ];
        for (name, kind, help, value) in gauges {
            writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}")?;
        }
        Ok(())
    }
}

impl ResourceMetrics {
    fn write(&self, out: &mut String, route: &str) -> std::fmt::Result {
        let counts: Vec<u64> =
            self.durations.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return Ok(());
        }
        let mut cumulative = 0;
        for ((_, bound), count) in BOUNDS.iter().zip(&counts) {
            cumulative += count;
            writeln!(
                out,
                "bobak_http_request_seconds_bucket{{route=\"{route}\",le=\"{bound}\"}} {cumulative}"
            )?;
        }
        writeln!(
            out,
            "bobak_http_request_seconds_bucket{{route=\"{route}\",le=\"+Inf\"}} {total}"
        )?;
        let micros = self.micros.load(Ordering::Relaxed);
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        writeln!(out, "bobak_http_request_seconds_sum{{route=\"{route}\"}} {seconds}.{rest:06}")?;
        writeln!(out, "bobak_http_request_seconds_count{{route=\"{route}\"}} {total}")
    }
}

//! Statements as spans of the crate `tracing`.

use super::monitor::{MonitoredCall, shape_text};
use super::statistics::Execution;
use tracing::field::{Empty, display};
use tracing::span::EnteredSpan;
use tracing::{Level, debug_span, enabled};

/// The most characters of a text in a span.
const MAX_TEXT: usize = 1_000;

/// The span of a running statement: `bobak.statement`, at the level of debugging.
pub(super) struct StatementSpan(Option<EnteredSpan>);

impl StatementSpan {
    /// Enters a span if somebody is interested in it.
    pub fn enter(engine: &'static str, statement: &dyn MonitoredCall) -> Self {
        if !enabled!(target: "bobak", Level::DEBUG) {
            return Self(None);
        }
        let text = shape_text(engine, statement, MAX_TEXT);
        let span = debug_span!(
            target: "bobak",
            "bobak.statement",
            engine,
            text,
            table = statement.table(),
            rows = Empty,
            micros = Empty,
            error = Empty,
            origin = Empty,
        );
        Self(Some(span.entered()))
    }

    /// Adds what is known at the end.
    pub fn record(&self, execution: &Execution) {
        let Some(span) = &self.0 else { return };
        span.record("rows", execution.rows);
        span.record("micros", u64::try_from(execution.time.as_micros()).unwrap_or(u64::MAX));
        if let Some(error) = execution.error {
            span.record("error", tracing::field::debug(error));
        }
        if let Some(origin) = &execution.origin {
            span.record("origin", display(origin));
        }
    }
}

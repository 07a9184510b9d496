//! How `bobak serve` monitors the statements of its databases.

use super::arguments::short_duration;
use crate::output::Terminal;
use bobak::engine::{Engine, MonitoredEngine};
use bobak::statements::{MonitorOptions, StatementMonitor};
use clap::Args;
use std::sync::Arc;
use std::time::Duration;

/// The flags for statements.
#[derive(Debug, Args)]
#[command(next_help_heading = "Statements")]
pub struct MonitoringOptions {
    /// Log statements that take this long, such as 500ms, with their origin and without their values
    #[arg(long, value_name = "DURATION", value_parser = short_duration)]
    slow: Option<Duration>,

    /// End statements that take longer than this, such as 30s
    #[arg(long, value_name = "DURATION", value_parser = short_duration)]
    statement_timeout: Option<Duration>,

    /// Do not collect statistics of statements: there is nothing at /statements and for bobak top then
    #[arg(long, conflicts_with_all = ["slow", "statement_timeout"])]
    without_statements: bool,
}

impl MonitoringOptions {
    /// The engine, monitored unless the flags say otherwise.
    pub fn monitored(&self, engine: Arc<dyn Engine>, screen: Terminal) -> Arc<dyn Engine> {
        if self.without_statements {
            return engine;
        }
        let mut options = MonitorOptions::new();
        if let Some(timeout) = self.statement_timeout {
            options = options.timeout(timeout);
        }
        if let Some(threshold) = self.slow {
            options = options.slow(threshold, move |statement| screen.log(statement));
        }
        Arc::new(MonitoredEngine::new(engine, StatementMonitor::new(options)))
    }
}

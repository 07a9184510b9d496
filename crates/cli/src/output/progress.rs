//! The progress bar of a long command, drawn only on a terminal.

use crate::output::terminal::{Terminal, count};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Instant;

/// A progress bar with a message. It is erased when it is dropped.
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
}

impl Progress {
    /// Creates a bar from 0 to `end`, in any unit.
    #[must_use]
    pub fn new(screen: Terminal, end: u64) -> Self {
        let target = if screen.draws_progress() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(end), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {msg}") {
            bar.set_style(style.progress_chars("━━ "));
        }
        Self { bar, begun: Instant::now() }
    }

    /// Sets the position and the message.
    pub fn set(&self, position: u64, doing: impl Into<String>) {
        self.bar.set_position(position);
        self.bar.set_message(doing.into());
    }

    /// Like [`set`](Self::set), with a row count and its rate in the message.
    pub fn set_rows(&self, position: u64, doing: &str, rows: u64) {
        if self.bar.is_hidden() {
            return;
        }
        let seconds = self.begun.elapsed().as_secs_f64().max(1e-9);
        let rate = (rows as f64 / seconds) as u64;
        self.set(position, format!("{doing} {} rows ({} rows/s)", count(rows), count(rate)));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

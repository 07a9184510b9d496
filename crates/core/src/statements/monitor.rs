//! The monitor: collects statistics, and reports slow statements.

use super::shape::Statement;
use super::statistics::{Collected, Execution};
use super::{MonitorOptions, Origin, SlowStatement, StatementStats};
use crate::{Deadline, Result, WordHasher};
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most characters of a shape's text that are kept.
const MAX_TEXT: usize = 4_000;

/// Collects which statements run on the engines behind one or more [`MonitoredEngine`](super::MonitoredEngine)s.
///
/// ```
/// use bobak_core::statements::{MonitorOptions, StatementMonitor};
/// use std::time::Duration;
///
/// let options = MonitorOptions::new().timeout(Duration::from_secs(30));
/// let options = options.slow(Duration::from_millis(500), |statement| eprintln!("{statement}"));
/// let monitor = StatementMonitor::new(options);
/// assert!(monitor.statistics().is_empty());
/// ```
pub struct StatementMonitor {
    options: MonitorOptions,
    shapes: Mutex<Shapes>,
    hasher: RandomState,
}

#[derive(Default)]
struct Shapes {
    /// By the key of the shape.
    kept: HashMap<u64, Collected, BuildHasherDefault<WordHasher>>,
    /// The sums of those that are not kept.
    others: Option<Collected>,
}

/// What a running statement reports of itself.
#[derive(Default)]
pub(super) struct Progress {
    /// The rows that it returned or changed so far.
    pub rows: u64,
    /// The engine did not run it.
    pub is_declined: bool,
}

/// The shape of a statement, for the parts of its cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShapeKey(u64);

impl StatementMonitor {
    /// A monitor that has seen nothing yet.
    #[must_use]
    pub fn new(options: MonitorOptions) -> Arc<Self> {
        let (shapes, hasher) = (Mutex::default(), RandomState::new());
        Arc::new(Self { options, shapes, hasher })
    }

    /// The statistics of all shapes, the one that took the most time first. Those that are not kept are one, with the verb
    /// `other`.
    #[must_use]
    pub fn statistics(&self) -> Vec<StatementStats> {
        let shapes = self.lock();
        let mut all: Vec<_> =
            shapes.kept.values().chain(&shapes.others).map(Collected::snapshot).collect();
        drop(shapes);
        all.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.text.cmp(&b.text)));
        all
    }

    /// Forgets all statistics.
    pub fn reset(&self) {
        *self.lock() = Shapes::default();
    }

    /// The options.
    #[must_use]
    pub const fn options(&self) -> &MonitorOptions {
        &self.options
    }

    /// Runs a call that is no statement of its own, within the timeout.
    pub(super) fn limited<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        match self.options.timeout {
            Some(timeout) => Deadline::after(timeout).run(work),
            None => work(),
        }
    }

    /// Runs a statement.
    pub(super) fn run<R>(
        &self,
        engine: &'static str,
        statement: &Statement<'_>,
        waited: Duration,
        work: impl FnOnce(&mut Progress) -> Result<R>,
    ) -> Result<R> {
        let mut progress = Progress::default();
        #[cfg(feature = "tracing")]
        let span = super::span::StatementSpan::enter(engine, statement);
        let began = Instant::now();
        let result = self.limited(|| work(&mut progress));
        if progress.is_declined {
            return result;
        }
        let time = began.elapsed();
        let execution = Execution {
            time,
            waited: if statement.is_waiting() { waited + time } else { waited },
            rows: progress.rows,
            error: result.as_ref().err().map(|error| error.kind()),
            origin: Origin::now(),
        };
        #[cfg(feature = "tracing")]
        span.record(&execution);
        self.report_slow(engine, statement, &execution);
        self.add(engine, statement, execution);
        result
    }

    /// The key under which a statement is counted.
    pub(super) fn key(&self, engine: &'static str, statement: &Statement<'_>) -> ShapeKey {
        ShapeKey(statement.key(engine, &self.hasher))
    }

    /// Adds what a cursor of a statement has fetched.
    pub(super) fn add_part(&self, key: ShapeKey, time: Duration, rows: u64) {
        if let Some(shape) = self.lock().kept.get_mut(&key.0) {
            shape.add_part(time, rows);
        }
    }

    fn add(&self, engine: &'static str, statement: &Statement<'_>, execution: Execution) {
        let key = self.key(engine, statement).0;
        let mut shapes = self.lock();
        if let Some(shape) = shapes.kept.get_mut(&key) {
            return shape.add(execution);
        }
        if shapes.kept.len() >= self.options.max_shapes {
            shapes.forget_one();
        }
        let text = shape_text(engine, statement, MAX_TEXT);
        let verb = statement.verb(engine);
        let mut shape = Collected::new(engine, text.into(), verb.into(), statement.table());
        shape.add(execution);
        shapes.kept.insert(key, shape);
    }

    fn report_slow(&self, engine: &'static str, statement: &Statement<'_>, execution: &Execution) {
        let Some((threshold, log)) = &self.options.slow else { return };
        if execution.time < *threshold {
            return;
        }
        log(&SlowStatement {
            engine,
            text: &shape_text(engine, statement, MAX_TEXT),
            time: execution.time,
            rows: execution.rows,
            error: execution.error,
            origin: execution.origin.clone(),
        });
    }

    fn lock(&self) -> MutexGuard<'_, Shapes> {
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shapes {
    /// Forgets the shape that took the least time.
    fn forget_one(&mut self) {
        let least = self.kept.iter().min_by_key(|(_, shape)| shape.total()).map(|(key, _)| *key);
        if let Some(forgotten) = least.and_then(|key| self.kept.remove(&key)) {
            let others = || Collected::new("", "other statements".into(), "other".into(), None);
            self.others.get_or_insert_with(others).merge(&forgotten);
        }
    }
}

/// The text of a shape, cut after `most` characters.
pub(super) fn shape_text(engine: &str, statement: &Statement<'_>, most: usize) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = statement.write_text(engine, &mut text);
    if let Some((cut, _)) = text.char_indices().nth(most) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

impl fmt::Debug for StatementMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatementMonitor").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Progress {
    /// Notes the rows of a write.
    pub fn wrote(&mut self, outcome: &crate::Outcome) {
        self.rows += match outcome {
            crate::Outcome::Changed(rows) => *rows,
            crate::Outcome::Ignored => 0,
            _ => 1,
        };
    }
}

//! The monitor: collects statistics, and reports slow statements.

use super::statistics::{Execution, ShapeCounters};
use super::{MonitorOptions, Origin, SlowStatement, StatementStats};
use crate::{Deadline, ErrorKind, Interrupt, Result, WordHasher};
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most characters of a shape's text that are kept.
const MAX_TEXT: usize = 4_000;

/// Collects which statements run on the engines behind one or more [`MonitoredEngine`](crate::MonitoredEngine)s.
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
    kept: HashMap<u64, ShapeCounters, BuildHasherDefault<WordHasher>>,
    /// The sums of those that are not kept.
    others: Option<ShapeCounters>,
}

/// What a running statement reports of itself.
#[derive(Default)]
pub(crate) struct CallProgress {
    /// The rows that it returned or changed so far.
    pub rows: u64,
    /// The engine did not run it.
    pub is_declined: bool,
}

/// What a statement whose rows are fetched in parts has done so far.
#[derive(Clone, Debug)]
pub(crate) struct CursorProgress {
    /// Of its shape.
    key: u64,
    /// Without that of the reader between two parts.
    time: Duration,
    rows: u64,
    is_over: bool,
    /// Whether the whole statement has to end within the timeout, and not each part.
    is_limited: bool,
}

/// A call whose statement is counted.
pub(crate) trait MonitoredCall {
    /// A number that all statements of one shape have on an engine, and hardly any other.
    fn key(&self, engine: &'static str, hasher: &RandomState) -> u64;

    /// Writes the text of the shape.
    fn write_text(&self, engine: &str, out: &mut dyn fmt::Write) -> fmt::Result;

    /// What it does, in lower case.
    fn verb(&self, engine: &str) -> String;

    /// The table, if there is one.
    fn table(&self) -> Option<&str>;

    /// Whether its whole time is waiting for other transactions.
    fn is_waiting(&self) -> bool;

    /// Whether it is SQL text of a program.
    fn is_sql(&self) -> bool;
}

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
            shapes.kept.values().chain(&shapes.others).map(ShapeCounters::snapshot).collect();
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
    pub(crate) fn limited<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        match self.options.timeout {
            Some(timeout) => Deadline::after(timeout).run(work),
            None => work(),
        }
    }

    /// Fetches a part of the rows of a statement, which has done so much before.
    pub(crate) fn fetch_part<R>(
        &self,
        progress: Option<&CursorProgress>,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let Some(timeout) = self.options.timeout else { return work() };
        let spent = progress.filter(|progress| progress.is_limited).map(|progress| progress.time);
        Deadline::after_part(timeout, spent.unwrap_or_default()).run(|| {
            // A part that is short ends before the engine looks at the clock.
            Interrupt::check()?;
            work()
        })
    }

    /// Runs a statement.
    pub(crate) fn run<R>(
        &self,
        engine: &'static str,
        statement: &dyn MonitoredCall,
        waited: Duration,
        work: impl FnOnce(&mut CallProgress) -> Result<R>,
    ) -> Result<R> {
        let (result, execution) = self.measure(engine, statement, waited, work);
        if let Some(execution) = execution {
            self.report_slow(engine, statement, &execution);
            self.add(engine, statement, execution);
        }
        result
    }

    /// Opens a cursor. Whether its statement is slow is known when the cursor ends.
    pub(crate) fn open<R>(
        &self,
        engine: &'static str,
        statement: &dyn MonitoredCall,
        waited: Duration,
        work: impl FnOnce() -> Result<R>,
    ) -> Result<(R, CursorProgress)> {
        let (result, execution) = self.measure(engine, statement, waited, |_| work());
        let time = execution.as_ref().map(|execution| execution.time).unwrap_or_default();
        if let Some(execution) = execution {
            if result.is_err() {
                self.report_slow(engine, statement, &execution);
            }
            self.add(engine, statement, execution);
        }
        let key = self.key(engine, statement);
        let is_limited = statement.is_sql();
        Ok((result?, CursorProgress { key, time, rows: 0, is_over: false, is_limited }))
    }

    /// Runs a statement. Returns its result, and what it took if the engine did not decline it.
    fn measure<R>(
        &self,
        engine: &'static str,
        statement: &dyn MonitoredCall,
        waited: Duration,
        work: impl FnOnce(&mut CallProgress) -> Result<R>,
    ) -> (Result<R>, Option<Execution>) {
        let mut progress = CallProgress::default();
        #[cfg(not(feature = "tracing"))]
        let _ = engine;
        #[cfg(feature = "tracing")]
        let span = super::span::StatementSpan::enter(engine, statement);
        let began = Instant::now();
        let result = self.limited(|| work(&mut progress));
        if progress.is_declined {
            return (result, None);
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
        (result, Some(execution))
    }

    /// The key under which a statement is counted.
    pub(crate) fn key(&self, engine: &'static str, statement: &dyn MonitoredCall) -> u64 {
        statement.key(engine, &self.hasher)
    }

    /// Adds what a cursor of a statement has fetched: so many rows, or an error. It ends with the error, and if there are no
    /// more rows.
    pub(crate) fn add_part(
        &self,
        progress: &mut CursorProgress,
        time: Duration,
        part: std::result::Result<u64, ErrorKind>,
    ) {
        if progress.is_over {
            return;
        }
        let (before, rows) = (progress.time, part.unwrap_or_default());
        progress.time = progress.time.saturating_add(time);
        progress.rows = progress.rows.saturating_add(rows);
        if let Some(shape) = self.lock().kept.get_mut(&progress.key) {
            shape.add_part(before, progress.time, rows, part.err());
        }
        if rows == 0 {
            self.end(progress, part.err());
        }
    }

    /// Reports the statement of a cursor that has ended, if it was slow.
    pub(crate) fn end(&self, progress: &mut CursorProgress, error: Option<ErrorKind>) {
        let is_over = std::mem::replace(&mut progress.is_over, true);
        let Some((threshold, log)) = &self.options.slow else { return };
        if is_over || progress.time < *threshold {
            return;
        }
        let stats = self.lock().kept.get(&progress.key).map(ShapeCounters::snapshot);
        let Some(stats) = stats else { return };
        log(&SlowStatement {
            engine: stats.engine,
            text: &stats.text,
            time: progress.time,
            rows: progress.rows,
            error,
            origin: Origin::now(),
        });
    }

    fn add(&self, engine: &'static str, statement: &dyn MonitoredCall, execution: Execution) {
        let key = self.key(engine, statement);
        let mut shapes = self.lock();
        if let Some(shape) = shapes.kept.get_mut(&key) {
            return shape.add(execution);
        }
        if shapes.kept.len() >= self.options.max_shapes {
            shapes.forget_one();
        }
        let text = shape_text(engine, statement, MAX_TEXT);
        let verb = statement.verb(engine);
        let mut shape = ShapeCounters::new(engine, text.into(), verb.into(), statement.table());
        shape.add(execution);
        shapes.kept.insert(key, shape);
    }

    fn report_slow(
        &self,
        engine: &'static str,
        statement: &dyn MonitoredCall,
        execution: &Execution,
    ) {
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
            let others = || ShapeCounters::new("", "other statements".into(), "other".into(), None);
            self.others.get_or_insert_with(others).merge(&forgotten);
        }
    }
}

/// The text of a shape, cut after `most` characters.
pub(super) fn shape_text(engine: &str, statement: &dyn MonitoredCall, most: usize) -> String {
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

//! What a measured engine implements. To add one, write one file with an [`Engine`] that opens a [`Contender`], and add its
//! name to [`crate::engines`].

use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::workload::{Expectation, Row, Rows, Task, View};

/// One row of the benchmark's table: an engine in one of its modes.
pub trait Engine: Sync {
    /// The name in reports and options, in lower case, such as `sqlite file wal full`.
    fn name(&self) -> &'static str;

    /// The tasks that it can do, in the order in which they are run.
    fn tasks(&self) -> &'static [Task];

    /// Whether each row of `task` waits for the disk; such cells get fewer rows.
    fn syncs_each_row(&self, task: Task) -> bool {
        let _ = task;
        false
    }

    /// The engine that does the same work in the plainest way, for comparison; none if there
    /// is none.
    fn raw(&self) -> Option<&'static dyn Engine> {
        None
    }

    /// Keeps what the engine needs besides its databases, such as a server, from one contender to the next, until the result is
    /// dropped; nothing by default.
    fn hold(&self) -> Option<Result<KeepAlive, Failure>> {
        None
    }

    /// Opens a new database in `folder`, which is empty, with an empty table of persons.
    ///
    /// # Errors
    /// The engine's own.
    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure>;
}

/// Something that is there for as long as it is held.
pub type KeepAlive = Arc<dyn Any + Send + Sync>;

/// One new database of an engine. The runner calls [`fill`](Self::fill), [`load`](Self::load),
/// then [`run`](Self::run) with the clock on it, then [`dump`](Self::dump).
pub trait Contender {
    /// Inserts rows in the fastest way and returns their keys in order; not timed.
    ///
    /// # Errors
    /// The engine's own.
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure>;

    /// Converts the rows that the next run writes to the contender's own record type; not timed. Their key is 0 if the engine
    /// generates it.
    ///
    /// # Errors
    /// A value that the record type cannot hold.
    fn load(&mut self, rows: &[Row]) -> Result<(), Failure>;

    /// Does the whole task; the clock runs from before this call to after it.
    ///
    /// # Errors
    /// The engine's own, or the first row that [`Expectation::check`] rejects.
    fn run(&mut self, task: Task, expected: &Expectation<'_>) -> Result<TaskResult, Failure>;

    /// All rows that the table holds now, in the order of their keys; not timed.
    ///
    /// # Errors
    /// The engine's own.
    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure>;

    /// Writes rows as they come, by one batch, without ever holding all of them.
    ///
    /// # Errors
    /// The engine's own; the default rejects.
    fn write_endless(&mut self, rows: &mut dyn Iterator<Item = Row>) -> Result<(), Failure> {
        let _ = rows;
        Err(Failure::new("this contender has no endless batch"))
    }

    /// Returns all rows in the order of their keys, one at a time, without holding all of them.
    ///
    /// # Errors
    /// The engine's own, or that of `visit`; the default rejects.
    fn read_endless(
        &mut self,
        visit: &mut dyn FnMut(View<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let _ = visit;
        Err(Failure::new("this contender has no endless read"))
    }

    /// The settings in force, by name. If both contenders of a pair have the same setting, it must have the same value, or the
    /// comparison is rejected.
    ///
    /// # Errors
    /// The engine's own.
    fn settings(&mut self) -> Result<Vec<(String, String)>, Failure> {
        Ok(Vec::new())
    }
}

/// What a run gives back.
pub enum TaskResult {
    /// The keys of the inserted rows, in order.
    Keys(Vec<i64>),
    /// How many rows were changed or deleted, or read and checked on the way.
    Count(usize),
    /// The rows that were read, to be checked when the clock has stopped.
    Rows(Box<dyn Rows>),
}

/// Why a cell has no rate: one lower-case line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// A failure with this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// The same, with the row where it was found, counted from 0 here and from 1 for the reader.
    #[must_use]
    pub fn at_row(self, index: usize) -> Self {
        Self(format!("row {}: {}", index + 1, self.0))
    }

    /// The same, with what was being done.
    #[must_use]
    pub fn during(self, what: &str) -> Self {
        Self(format!("{what}: {}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<bobak::Error> for Failure {
    fn from(error: bobak::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

//! What to measure, and how often.

use std::path::PathBuf;

use crate::contender::Engine;
use crate::engines;
use crate::workload::Task;

/// What to measure. The default is everything, with the rows of the published tables.
#[derive(Clone)]
pub struct Options {
    /// The engines, one row of the report each; [`engines::all`] by default. From names by
    /// [`engines::parse`].
    pub engines: Vec<&'static dyn Engine>,
    /// The cells of each row; all by default. From names by [`Task::parse_list`].
    pub tasks: Vec<Task>,
    /// Rows of each cell, at least 1; [`Options::ROWS`] by default.
    pub rows: Option<usize>,
    /// Rows of the cells in which each row waits for the disk, at least 1. Default: [`Options::SYNCED_ROWS`], or `rows` if that
    /// is less.
    pub synced_rows: Option<usize>,
    /// How often each cell is measured, at least 1; 5 by default. The median is reported.
    pub repeat: usize,
    /// Where databases are made and removed again; the system's folder for temporary files by
    /// default. A folder in memory makes every sync cost nothing: look at what the report says.
    pub folder: Option<PathBuf>,
}

impl Options {
    /// Rows of a cell unless said otherwise.
    pub const ROWS: usize = 10_000;
    /// Rows of a cell in which each row waits for the disk, unless said otherwise.
    pub const SYNCED_ROWS: usize = 200;

    /// Rows of a cell that does not wait for the disk at each row.
    #[must_use]
    pub fn plain_rows(&self) -> usize {
        self.rows.unwrap_or(Self::ROWS).max(1)
    }

    /// Rows of `task` on `engine`.
    #[must_use]
    pub fn rows_of(&self, engine: &dyn Engine, task: Task) -> usize {
        let rows = self.plain_rows();
        if engine.syncs_each_row(task) {
            // Threads share their waits: each gets as many rows as one alone.
            self.synced_rows.unwrap_or(rows.min(Self::SYNCED_ROWS)).max(1) * task.threads()
        } else {
            rows
        }
    }

    /// The folder for databases.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.clone().unwrap_or_else(std::env::temp_dir)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            engines: engines::all(),
            tasks: Task::ALL.to_vec(),
            rows: None,
            synced_rows: None,
            repeat: 5,
            folder: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_wait_for_the_disk_get_fewer_rows() {
        let full = engines::parse("raw sqlite file full").expect("it is in the list")[0];
        let rows = |rows, synced_rows, task| {
            Options { rows, synced_rows, ..Options::default() }.rows_of(full, task)
        };
        assert_eq!(rows(None, None, Task::Direct), 200);
        assert_eq!(rows(None, None, Task::Batch), 10_000);
        assert_eq!(rows(Some(50), None, Task::Direct), 50);
        assert_eq!(rows(Some(100_000), None, Task::Direct), 200);
        assert_eq!(rows(Some(100_000), Some(5_000), Task::Direct), 5_000);
        assert_eq!(rows(Some(0), Some(0), Task::Direct), 1);
    }
}

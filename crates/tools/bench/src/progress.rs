//! How a long run tells what it is doing.

use crate::report::Cell;
use crate::workload::Task;

/// Reports the progress of a run. Nothing is reported while a clock runs.
pub trait Progress {
    /// A pair of contenders is about to run.
    fn step(&mut self, step: Step) {
        let _ = step;
    }

    /// All repeats of a cell are done.
    fn cell(&mut self, cell: &Cell) {
        let _ = cell;
    }
}

/// Where the run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Finished pairs of contenders, of all cells and repeats.
    pub done: usize,
    /// All pairs of contenders of the run.
    pub total: usize,
    /// The engine that runs next.
    pub engine: &'static str,
    /// What it does.
    pub task: Task,
    /// Which repeat this is, from 1.
    pub repeat: usize,
    /// How many repeats each cell has.
    pub repeats: usize,
}

/// Says nothing.
pub struct Silent;

impl Progress for Silent {}

//! How a long run tells what it is doing.

use crate::report::Cell;
use crate::workload::Task;

/// What the runner tells while it runs. Nothing is told while a clock runs.
pub trait Progress {
    /// A pair of lanes is about to run.
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
    /// Pairs of lanes that are done, of all cells and repeats.
    pub done: usize,
    /// Pairs of lanes in the whole run.
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

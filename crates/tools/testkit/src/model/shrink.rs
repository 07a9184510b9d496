//! Shrinks a program that shows a difference.

use super::Mismatch;
use super::step::Step;

/// How often shrinking may run the program.
const RUNS: usize = 600;

/// Removes steps and rows of batches as long as the stores still differ. Returns the remaining steps,
/// and the difference.
pub(crate) fn shrink(
    mut program: Vec<Step>,
    found: Mismatch,
    run: impl Fn(&[Step]) -> Option<Mismatch>,
) -> (Vec<Step>, String) {
    program.truncate(found.after);
    let what = found.what;
    let mut shrinker = Shrinker { program, what, left: RUNS, run };
    // Now the tables are compared after each step, so the difference may show earlier.
    if let Some(earlier) = (shrinker.run)(&shrinker.program) {
        shrinker.program.truncate(earlier.after);
        shrinker.what = earlier.what;
    }
    shrinker.leave_out_steps();
    for at in 0..shrinker.program.len() {
        shrinker.leave_out_rows(at);
    }
    (shrinker.program, shrinker.what)
}

struct Shrinker<F> {
    program: Vec<Step>,
    what: String,
    left: usize,
    run: F,
}

impl<F: Fn(&[Step]) -> Option<Mismatch>> Shrinker<F> {
    /// Accepts the candidate if it shows a difference at its last step. Otherwise it would be a
    /// different difference.
    fn try_it(&mut self, candidate: Vec<Step>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let found = (self.run)(&candidate).filter(|found| found.after == candidate.len());
        let Some(found) = found else {
            return false;
        };
        self.program = candidate;
        self.what = found.what;
        true
    }

    /// Tries to remove half of them at once, then a quarter, and so on.
    fn leave_out_steps(&mut self) {
        let mut part = self.program.len().div_ceil(2);
        while part > 0 {
            let mut at = 0;
            while at < self.program.len() {
                let mut candidate = self.program.clone();
                candidate.drain(at..(at + part).min(candidate.len()));
                if !self.try_it(candidate) {
                    at += part;
                }
            }
            part /= 2;
        }
    }

    /// Does the same with the rows of each batch.
    fn leave_out_rows(&mut self, at: usize) {
        let mut part = self.rows(at).div_ceil(2);
        while part > 0 {
            let mut row = 0;
            while row < self.rows(at) {
                let mut candidate = self.program.clone();
                if let Some(Step::Batch(entries, _)) = candidate.get_mut(at) {
                    entries.drain(row..(row + part).min(entries.len()));
                }
                if !self.try_it(candidate) {
                    row += part;
                }
            }
            part /= 2;
        }
    }

    fn rows(&self, at: usize) -> usize {
        match self.program.get(at) {
            Some(Step::Batch(entries, _)) => entries.len(),
            _ => 0,
        }
    }
}

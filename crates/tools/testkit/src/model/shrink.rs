//! Making a program that shows a difference as short as it gets.

use super::Found;
use super::step::Step;

/// How often the program may be run for it.
const RUNS: usize = 600;

/// Leaves out steps, and rows of batches, as long as the stores differ still; gives what is left,
/// and how they differ.
pub(crate) fn shrink(
    mut program: Vec<Step>,
    found: Found,
    run: impl Fn(&[Step]) -> Option<Found>,
) -> (Vec<Step>, String) {
    program.truncate(found.after);
    let what = found.what;
    let mut shrinker = Shrinker { program, what, left: RUNS, run };
    // Now the tables are compared after each step, so it may show earlier.
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

impl<F: Fn(&[Step]) -> Option<Found>> Shrinker<F> {
    /// Takes the candidate, where it shows a difference at the same step, which is the last: else
    /// it would be another one.
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

    /// Half of them at once, then a quarter, then ever fewer.
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

    /// The same of a batch's rows.
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

//! Making a program that shows a difference as short as it gets.

use super::Found;
use super::step::Step;

/// How often the program may be run for it.
const RUNS: usize = 600;

/// Leaves out steps, and rows of batches, as long as the stores differ still.
pub(crate) fn shrink(
    mut program: Vec<Step>,
    found: Found,
    run: impl Fn(&[Step]) -> Option<Found>,
) -> (Vec<Step>, String) {
    program.truncate(found.after);
    let mut what = found.what;
    let mut left = RUNS;
    let mut try_it = |candidate: Vec<Step>, program: &mut Vec<Step>| {
        if left == 0 {
            return false;
        }
        left -= 1;
        let Some(found) = run(&candidate) else {
            return false;
        };
        *program = candidate;
        program.truncate(found.after);
        what = found.what;
        true
    };
    let mut part = program.len().div_ceil(2);
    while part > 0 {
        let mut at = 0;
        while at < program.len() {
            // Changes of the schema stay: without them later steps ask for what is not there.
            let kept = |(place, step): &(usize, &Step)| {
                !(at..at + part).contains(place) || matches!(step, Step::Alter(..))
            };
            let candidate: Vec<Step> =
                program.iter().enumerate().filter(kept).map(|(_, step)| step.clone()).collect();
            let shorter = candidate.len() < program.len();
            if !(shorter && try_it(candidate, &mut program)) {
                at += part;
            }
        }
        part /= 2;
    }
    for at in 0..program.len() {
        let rows = |program: &[Step]| match program.get(at) {
            Some(Step::Batch(entries, _)) => entries.len(),
            _ => 0,
        };
        let mut part = rows(&program).div_ceil(2);
        while part > 0 {
            let mut row = 0;
            while row < rows(&program) {
                let mut candidate = program.clone();
                if let Some(Step::Batch(entries, _)) = candidate.get_mut(at) {
                    entries.drain(row..(row + part).min(entries.len()));
                }
                if !try_it(candidate, &mut program) {
                    row += part;
                }
            }
            part /= 2;
        }
    }
    (program, what)
}

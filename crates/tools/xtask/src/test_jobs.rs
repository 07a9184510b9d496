//! Tests that run at the same time: many wait, for servers, browsers, other processes and timeouts, and meanwhile others compute.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::failure::Outcome;
use crate::tally::Tally;

/// How many jobs run at a time.
pub const AT_A_TIME: usize = 2;

/// Some tests, which are counted.
pub type TestJob<'a> = Box<dyn FnOnce(&mut Tally) -> Outcome + Send + 'a>;

/// Runs all jobs in this order, [`AT_A_TIME`] at a time, and adds to `tally`.
///
/// # Errors
/// When any failed, after all have run.
pub fn run(jobs: Vec<TestJob<'_>>, tally: &mut Tally) -> Outcome {
    let jobs = Mutex::new(VecDeque::from(jobs));
    let total = Mutex::new((tally, Ok(())));
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || {
        while let Some(job) = next() {
            let mut counted = Tally::default();
            let outcome = job(&mut counted);
            if let Err(failure) = &outcome {
                println!("{failure}");
            }
            let (tally, all) = &mut *total.lock().unwrap_or_else(PoisonError::into_inner);
            tally.add(counted);
            *all = std::mem::replace(all, Ok(())).and(outcome);
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(work);
        }
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use std::sync::Barrier;

    #[test]
    fn jobs_run_together_and_all_are_counted() {
        let barrier = Barrier::new(AT_A_TIME);
        let good = |tally: &mut Tally| {
            barrier.wait();
            tally.passed += 1;
            Ok(())
        };
        let bad = |tally: &mut Tally| {
            tally.failed += 2;
            Err(Failure::new("it is broken", "fix it"))
        };
        let mut jobs: Vec<TestJob<'_>> = vec![Box::new(bad)];
        jobs.extend((0..AT_A_TIME).map(|_| Box::new(good) as TestJob<'_>));
        let mut tally = Tally::default();
        let failure = run(jobs, &mut tally).unwrap_err().to_string();
        assert!(failure.contains("it is broken"), "{failure}");
        assert_eq!((tally.passed, tally.failed), (AT_A_TIME as u64, 2));
    }
}

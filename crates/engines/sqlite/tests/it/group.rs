//! The queue of group commit, under a scheduler that tries many orders of its threads' steps.
//!
//! `BOBAK_SCHEDULES=100000` tries so many.

use std::time::{Duration, Instant};

mod sync {
    pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
}

#[path = "../../src/session/commit_queue.rs"]
mod queue;

use queue::{CommitQueue, QueueResult};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

fn schedules(usual: usize) -> usize {
    std::env::var("BOBAK_SCHEDULES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

/// A piece of work: done once it has an answer.
struct Work {
    number: u64,
    result: Option<u64>,
}

/// Brings work, and does that of others where it leads. Nobody else may be at the `desk` then.
fn serve(
    group: &CommitQueue<Work>,
    desk: &Mutex<Vec<u64>>,
    number: u64,
    most: usize,
) -> Option<u64> {
    let deadline = if number % 5 == 4 { Instant::now() } else { soon() };
    let work = match group.join(Work { number, result: None }, deadline) {
        QueueResult::Done(work) => work,
        QueueResult::TimedOut => return None,
        QueueResult::Abandoned => panic!("nobody panics here"),
        QueueResult::Leads(mut leader) => {
            let mut done = desk.try_lock().expect("one leads at a time");
            let mut room = most;
            let mut works = leader.take(|_| {
                room = room.saturating_sub(1);
                room > 0
            });
            assert_eq!(works[0].number, number, "who leads is served first");
            for work in &mut works {
                work.result = Some(work.number * 10);
                done.push(work.number);
                thread::yield_now();
            }
            drop(done);
            leader.finish(works).expect("its own work was taken")
        }
    };
    assert_eq!(work.number, number, "everybody gets the result of their own work");
    work.result
}

#[test]
fn each_thread_is_served_once() {
    let check = || {
        let group = Arc::new(CommitQueue::new());
        let desk = Arc::new(Mutex::new(Vec::new()));
        let served = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..4_u64)
            .map(|thread| {
                let (group, desk) = (Arc::clone(&group), Arc::clone(&desk));
                let served = Arc::clone(&served);
                thread::spawn(move || {
                    for turn in 0..3 {
                        let number = turn * 4 + thread;
                        let result = serve(&group, &desk, number, 3);
                        assert!(result.is_none_or(|result| result == number * 10));
                        served.fetch_add(u64::from(result.is_some()), Ordering::SeqCst);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let mut done = std::mem::take(&mut *desk.lock().unwrap());
        assert_eq!(done.len() as u64, served.load(Ordering::SeqCst), "what timed out was not done");
        done.sort_unstable();
        done.dedup();
        assert_eq!(done.len() as u64, served.load(Ordering::SeqCst), "nothing was done twice");
        assert_eq!(group.waiting(), 0);
    };
    shuttle::check_random(check, schedules(400));
    shuttle::check_pct(check, schedules(300), 3);
}

/// Waiting threads are served in the order of their arrival, however many a leader takes.
#[test]
fn queue_order_is_kept() {
    let check = || {
        let group = Arc::new(CommitQueue::new());
        let desk = Arc::new(Mutex::new(Vec::new()));
        let QueueResult::Leads(mut first) = group.join(Work { number: 0, result: None }, soon())
        else {
            panic!("nobody else is there");
        };
        let works = first.take(|_| true);
        let threads: Vec<_> = [1_u64, 2, 3, 5, 6]
            .into_iter()
            .enumerate()
            .map(|(before, number)| {
                let (line, desk) = (Arc::clone(&group), Arc::clone(&desk));
                let thread = thread::spawn(move || serve(&line, &desk, number, 2));
                while group.waiting() == before {
                    thread::yield_now();
                }
                thread
            })
            .collect();
        first.finish(works);
        threads.into_iter().for_each(|thread| assert!(thread.join().unwrap().is_some()));
        assert_eq!(*desk.lock().unwrap(), [1, 2, 3, 5, 6]);
    };
    shuttle::check_random(check, schedules(400));
    shuttle::check_pct(check, schedules(300), 3);
}

/// One who leads and gives up, before it takes any work, holds nobody up.
#[test]
fn leader_can_give_up() {
    let check = || {
        let group = Arc::new(CommitQueue::new());
        let threads: Vec<_> = (0..3_u64)
            .map(|number| {
                let group = Arc::clone(&group);
                thread::spawn(move || match group.join(Work { number, result: None }, soon()) {
                    QueueResult::Leads(leader) if number == 0 => drop(leader),
                    QueueResult::Leads(mut leader) => {
                        let works = leader.take(|_| true);
                        assert!(leader.finish(works).is_some());
                    }
                    QueueResult::Done(work) => assert_eq!(work.number, number),
                    QueueResult::TimedOut | QueueResult::Abandoned => panic!("nobody is late"),
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(group.waiting(), 0);
    };
    shuttle::check_random(check, schedules(400));
}

/// One who leads and loses the work that it took leaves nobody waiting.
#[test]
fn panicking_leader_abandons_its_work() {
    let check = || {
        let group = Arc::new(CommitQueue::new());
        let threads: Vec<_> = (0..3_u64)
            .map(|number| {
                let group = Arc::clone(&group);
                thread::spawn(move || match group.join(Work { number, result: None }, soon()) {
                    QueueResult::Leads(mut leader) => drop(leader.take(|_| true)),
                    QueueResult::Done(_) => panic!("nothing is done"),
                    QueueResult::TimedOut => panic!("nobody is late"),
                    QueueResult::Abandoned => {}
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(group.waiting(), 0);
    };
    shuttle::check_random(check, schedules(400));
}

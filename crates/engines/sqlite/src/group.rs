//! Work that threads bring is put together, and done by one of them for all: the queue of group
//! commit, without the commit.
//!
//! Who comes first leads: it takes what waits in the order in which it came, does it, and hands
//! each his result. Who comes meanwhile waits; the first of those leads next. So no thread is
//! needed besides those that have work, each leads once for itself, and nobody is passed over.
//!
//! Nothing here but locks and work of any kind `T`: the tests run this very file under a scheduler
//! that tries the orders in which threads can meet.

use super::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Instant;

/// Threads with work, in line.
#[derive(Debug)]
pub(crate) struct Group<T> {
    line: Mutex<Line<T>>,
}

#[derive(Debug)]
struct Line<T> {
    waiting: VecDeque<Arc<Seat<T>>>,
    /// Whether somebody leads, or has been told to.
    led: bool,
}

/// Where one waits.
#[derive(Debug)]
struct Seat<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
enum State<T> {
    /// In line, with its work.
    Waiting(T),
    /// In line, to lead now.
    Leads(T),
    /// Its work has been taken, and is being done.
    Taken,
    /// Done, or given up by a leader that panicked (`None`), and to be fetched.
    Done(Option<T>),
}

/// What became of work that was brought.
#[derive(Debug)]
pub(crate) enum Joined<'g, T> {
    /// It was done by another thread.
    Done(T),
    /// This thread leads: its own work is in line, the first.
    Leads(Leader<'g, T>),
    /// Nobody began with it in time: here it is again.
    TimedOut,
    /// The thread that had taken it panicked: what it did was undone.
    Abandoned,
}

/// The one who works for all. Where it is dropped early, the next one leads.
#[derive(Debug)]
pub(crate) struct Leader<'g, T> {
    group: &'g Group<T>,
    own: Arc<Seat<T>>,
    taken: Vec<Arc<Seat<T>>>,
}

impl<T> Group<T> {
    pub(crate) fn new() -> Self {
        Self { line: Mutex::new(Line { waiting: VecDeque::new(), led: false }) }
    }

    /// How many are in line.
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.line).waiting.len()
    }

    /// Brings work, and waits until it is done, or is to be done by this thread; until `deadline`
    /// where nobody has begun with it by then.
    pub(crate) fn join(&self, work: T, deadline: Instant) -> Joined<'_, T> {
        let mut line = lock(&self.line);
        let leads = !line.led;
        line.led = true;
        let state = if leads { State::Leads(work) } else { State::Waiting(work) };
        let seat = Arc::new(Seat { state: Mutex::new(state), changed: Condvar::new() });
        line.waiting.push_back(Arc::clone(&seat));
        drop(line);
        self.wait(seat, deadline)
    }

    fn wait(&self, seat: Arc<Seat<T>>, deadline: Instant) -> Joined<'_, T> {
        let mut state = lock(&seat.state);
        loop {
            match &mut *state {
                State::Leads(_) => {
                    drop(state);
                    return Joined::Leads(Leader { group: self, own: seat, taken: Vec::new() });
                }
                State::Done(work) => {
                    return work.take().map_or(Joined::Abandoned, Joined::Done);
                }
                State::Taken => {
                    state = seat.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                State::Waiting(_) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        drop(state);
                        if self.leave(&seat) {
                            return Joined::TimedOut;
                        }
                        // Somebody was quicker: it leads, or is being served.
                        state = lock(&seat.state);
                        continue;
                    }
                    let woken = seat.changed.wait_timeout(state, left);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    /// Takes a seat out of the line, unless it was taken or told to lead.
    fn leave(&self, seat: &Arc<Seat<T>>) -> bool {
        let mut line = lock(&self.line);
        if !matches!(*lock(&seat.state), State::Waiting(_)) {
            return false;
        }
        line.waiting.retain(|other| !Arc::ptr_eq(other, seat));
        true
    }

    /// Tells the first in line to lead; nobody where there is none.
    fn hand_over(&self) {
        let mut line = lock(&self.line);
        line.led = false;
        if let Some(next) = line.waiting.front() {
            let mut state = lock(&next.state);
            if let State::Waiting(work) = std::mem::replace(&mut *state, State::Taken) {
                *state = State::Leads(work);
            }
            drop(state);
            next.changed.notify_one();
            line.led = true;
        }
    }
}

impl<T> Leader<'_, T> {
    /// Takes work from the line, its own first: as much as `fits`, which gets what was taken
    /// before, and all of its own.
    pub(crate) fn take(&mut self, mut fits: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut line = lock(&self.group.line);
        let mut works = Vec::new();
        while let Some(seat) = line.waiting.front() {
            let mut state = lock(&seat.state);
            let (State::Waiting(work) | State::Leads(work)) = &*state else {
                break;
            };
            if !fits(work) && !works.is_empty() {
                break;
            }
            if let State::Waiting(work) | State::Leads(work) =
                std::mem::replace(&mut *state, State::Taken)
            {
                works.push(work);
            }
            drop(state);
            self.taken.extend(line.waiting.pop_front());
        }
        works
    }

    /// Hands out what was taken, done and in the same order; gives its own.
    pub(crate) fn finish(mut self, works: Vec<T>) -> Option<T> {
        let mut own = None;
        for (seat, work) in std::mem::take(&mut self.taken).into_iter().zip(works) {
            if Arc::ptr_eq(&seat, &self.own) {
                own = Some(work);
            } else {
                seat.done(Some(work));
            }
        }
        own
    }
}

impl<T> Drop for Leader<'_, T> {
    fn drop(&mut self) {
        // Left over by a panic.
        for seat in self.taken.drain(..) {
            seat.done(None);
        }
        // Its own work, where it gave up before it took any.
        let mut line = lock(&self.group.line);
        line.waiting.retain(|seat| !Arc::ptr_eq(seat, &self.own));
        drop(line);
        self.group.hand_over();
    }
}

impl<T> Seat<T> {
    fn done(&self, work: Option<T>) {
        *lock(&self.state) = State::Done(work);
        self.changed.notify_one();
    }
}

/// What is behind the locks stays whole where a thread panics: it is changed in single steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

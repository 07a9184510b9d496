//! The queue of group commit, independent of what is committed.
//! | The first thread to arrive leads: it takes the waiting work in order of arrival, does it,
//! and distributes the results. Threads that arrive meanwhile wait; the first of them leads next.
//! So no extra thread is needed, each thread leads at most once for its own work, and nobody is
//! overtaken.
//! | This file uses only locks and work of any type `T`: the tests compile it with the locks of a
//! scheduler that tries many interleavings.

use super::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Instant;

/// A queue of threads with work.
#[derive(Debug)]
pub(crate) struct CommitQueue<T> {
    queue: Mutex<QueueState<T>>,
}

#[derive(Debug)]
struct QueueState<T> {
    waiting: VecDeque<Arc<QueueEntry<T>>>,
    /// Whether a thread leads, or was woken to lead.
    led: bool,
}

/// The work of one thread.
#[derive(Debug)]
struct QueueEntry<T> {
    state: Mutex<EntryState<T>>,
    changed: Condvar,
}

#[derive(Debug)]
enum EntryState<T> {
    /// In the queue.
    Waiting(T),
    /// In the queue; its thread is to lead.
    Leads(T),
    /// A leader is working on it.
    Taken,
    /// Done, or abandoned by a leader that panicked (`None`).
    Done(Option<T>),
}

/// The result of submitting work.
#[derive(Debug)]
pub(crate) enum QueueResult<'g, T> {
    /// Another thread has done it.
    Done(T),
    /// This thread leads; its own work is the first in the queue.
    Leads(Leader<'g, T>),
    /// Nobody started it before the deadline.
    TimedOut,
    /// The leader panicked; its work was undone.
    Abandoned,
}

/// The thread that works for all. If it is dropped early, the next one leads.
#[derive(Debug)]
pub(crate) struct Leader<'g, T> {
    group: &'g CommitQueue<T>,
    own: Arc<QueueEntry<T>>,
    taken: Vec<Arc<QueueEntry<T>>>,
}

impl<T> CommitQueue<T> {
    pub(crate) fn new() -> Self {
        Self { queue: Mutex::new(QueueState { waiting: VecDeque::new(), led: false }) }
    }

    /// The number of entries in the queue.
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.queue).waiting.len()
    }

    /// Submits work, and waits until it is done or this thread is to lead. Gives up at `deadline`
    /// if nobody has started it by then.
    pub(crate) fn join(&self, work: T, deadline: Instant) -> QueueResult<'_, T> {
        let mut queue = lock(&self.queue);
        let leads = !queue.led;
        queue.led = true;
        let state = if leads { EntryState::Leads(work) } else { EntryState::Waiting(work) };
        let entry = Arc::new(QueueEntry { state: Mutex::new(state), changed: Condvar::new() });
        queue.waiting.push_back(Arc::clone(&entry));
        drop(queue);
        self.wait(entry, deadline)
    }

    fn wait(&self, entry: Arc<QueueEntry<T>>, deadline: Instant) -> QueueResult<'_, T> {
        let mut state = lock(&entry.state);
        loop {
            match &mut *state {
                EntryState::Leads(_) => {
                    drop(state);
                    return QueueResult::Leads(Leader {
                        group: self,
                        own: entry,
                        taken: Vec::new(),
                    });
                }
                EntryState::Done(work) => {
                    return work.take().map_or(QueueResult::Abandoned, QueueResult::Done);
                }
                EntryState::Taken => {
                    state = entry.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                EntryState::Waiting(_) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        drop(state);
                        if self.leave(&entry) {
                            return QueueResult::TimedOut;
                        }
                        // Another thread was faster: the entry leads, or its work is being done.
                        state = lock(&entry.state);
                        continue;
                    }
                    let woken = entry.changed.wait_timeout(state, left);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    /// Removes an entry from the queue, unless it was taken or is to lead.
    fn leave(&self, entry: &Arc<QueueEntry<T>>) -> bool {
        let mut queue = lock(&self.queue);
        if !matches!(*lock(&entry.state), EntryState::Waiting(_)) {
            return false;
        }
        queue.waiting.retain(|other| !Arc::ptr_eq(other, entry));
        true
    }

    /// Tells the first entry in the queue to lead, if there is one.
    fn hand_over(&self) {
        let mut queue = lock(&self.queue);
        queue.led = false;
        if let Some(next) = queue.waiting.front() {
            let mut state = lock(&next.state);
            if let EntryState::Waiting(work) = std::mem::replace(&mut *state, EntryState::Taken) {
                *state = EntryState::Leads(work);
            }
            drop(state);
            next.changed.notify_one();
            queue.led = true;
        }
    }
}

impl<T> Leader<'_, T> {
    /// Takes work from the queue, the leader's own first, as long as `fits` returns `true`.
    pub(crate) fn take(&mut self, mut fits: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut queue = lock(&self.group.queue);
        let mut works = Vec::new();
        while let Some(entry) = queue.waiting.front() {
            let mut state = lock(&entry.state);
            let (EntryState::Waiting(work) | EntryState::Leads(work)) = &*state else {
                break;
            };
            if !fits(work) && !works.is_empty() {
                break;
            }
            if let EntryState::Waiting(work) | EntryState::Leads(work) =
                std::mem::replace(&mut *state, EntryState::Taken)
            {
                works.push(work);
            }
            drop(state);
            self.taken.extend(queue.waiting.pop_front());
        }
        works
    }

    /// Returns the finished work to its threads, in the order in which it was taken. Returns the leader's own.
    pub(crate) fn finish(mut self, works: Vec<T>) -> Option<T> {
        let mut own = None;
        for (entry, work) in std::mem::take(&mut self.taken).into_iter().zip(works) {
            if Arc::ptr_eq(&entry, &self.own) {
                own = Some(work);
            } else {
                entry.done(Some(work));
            }
        }
        own
    }
}

impl<T> Drop for Leader<'_, T> {
    fn drop(&mut self) {
        // Work that a panic left over.
        for entry in self.taken.drain(..) {
            entry.done(None);
        }
        // The leader's own work, if it gave up before taking any.
        let mut queue = lock(&self.group.queue);
        queue.waiting.retain(|entry| !Arc::ptr_eq(entry, &self.own));
        drop(queue);
        self.group.hand_over();
    }
}

impl<T> QueueEntry<T> {
    fn done(&self, work: Option<T>) {
        *lock(&self.state) = EntryState::Done(work);
        self.changed.notify_one();
    }
}

/// Locks a mutex. Its data is changed in single steps, so it is valid even after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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

/// Threads with work, in queue.
#[derive(Debug)]
pub(crate) struct CommitQueue<T> {
    queue: Mutex<QueueState<T>>,
}

#[derive(Debug)]
struct QueueState<T> {
    waiting: VecDeque<Arc<QueueEntry<T>>>,
    /// Whether somebody leads, or has been told to.
    led: bool,
}

/// Where one waits.
#[derive(Debug)]
struct QueueEntry<T> {
    state: Mutex<EntryState<T>>,
    changed: Condvar,
}

#[derive(Debug)]
enum EntryState<T> {
    /// In queue, with its work.
    Waiting(T),
    /// In queue, to lead now.
    Leads(T),
    /// Its work has been taken, and is being done.
    ExclusiveDatabase,
    /// Done, or given up by a leader that panicked (`None`), and to be fetched.
    Done(Option<T>),
}

/// What became of work that was brought.
#[derive(Debug)]
pub(crate) enum QueueResult<'g, T> {
    /// It was done by another thread.
    Done(T),
    /// This thread leads: its own work is in queue, the first.
    Leads(Leader<'g, T>),
    /// Nobody began with it in time: here it is again.
    TimedOut,
    /// The thread that had taken it panicked: what it did was undone.
    Abandoned,
}

/// The one who works for all. Where it is dropped early, the next one leads.
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

    /// How many are in queue.
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.queue).waiting.len()
    }

    /// Brings work, and waits until it is done, or is to be done by this thread; until `deadline`
    /// where nobody has begun with it by then.
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
                EntryState::ExclusiveDatabase => {
                    state = entry.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                EntryState::Waiting(_) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        drop(state);
                        if self.leave(&entry) {
                            return QueueResult::TimedOut;
                        }
                        // Somebody was quicker: it leads, or is being served.
                        state = lock(&entry.state);
                        continue;
                    }
                    let woken = entry.changed.wait_timeout(state, left);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    /// Takes a entry out of the queue, unless it was taken or told to lead.
    fn leave(&self, entry: &Arc<QueueEntry<T>>) -> bool {
        let mut queue = lock(&self.queue);
        if !matches!(*lock(&entry.state), EntryState::Waiting(_)) {
            return false;
        }
        queue.waiting.retain(|other| !Arc::ptr_eq(other, entry));
        true
    }

    /// Tells the first in queue to lead; nobody where there is none.
    fn hand_over(&self) {
        let mut queue = lock(&self.queue);
        queue.led = false;
        if let Some(next) = queue.waiting.front() {
            let mut state = lock(&next.state);
            if let EntryState::Waiting(work) =
                std::mem::replace(&mut *state, EntryState::ExclusiveDatabase)
            {
                *state = EntryState::Leads(work);
            }
            drop(state);
            next.changed.notify_one();
            queue.led = true;
        }
    }
}

impl<T> Leader<'_, T> {
    /// Takes work from the queue, its own first: as much as `fits`, which gets what was taken
    /// before, and all of its own.
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
                std::mem::replace(&mut *state, EntryState::ExclusiveDatabase)
            {
                works.push(work);
            }
            drop(state);
            self.taken.extend(queue.waiting.pop_front());
        }
        works
    }

    /// Hands out what was taken, done and in the same order; gives its own.
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
        // Left over by a panic.
        for entry in self.taken.drain(..) {
            entry.done(None);
        }
        // Its own work, where it gave up before it took any.
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

/// What is behind the locks stays whole where a thread panics: it is changed in single steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

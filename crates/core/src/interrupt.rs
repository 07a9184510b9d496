//! Ending what an engine does, from another thread.

use crate::{Error, ErrorKind, Result};
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Ends calls of engines, from any thread: those made inside [`run`](Interrupt::run).
///
/// A call that is ended gives [`ErrorKind::Interrupted`], and has done nothing, as with every error. It holds for what
/// may take long, queries, statements and batches; a single record's write comes to its end, and so does a batch that
/// shares its transaction with others'. An engine that can't be ended goes on, and the next call inside `run` is
/// refused, but for those that end a transaction.
///
/// ```
/// use bobak_core::{ErrorKind, Interrupt};
///
/// let interrupt = Interrupt::new();
/// let theirs = interrupt.clone();
/// std::thread::spawn(move || theirs.interrupt()).join().unwrap();
/// let called = interrupt.run(|| -> bobak_core::Result<()> { Interrupt::check() });
/// assert_eq!(called.unwrap_err().kind(), ErrorKind::Interrupted);
/// ```
///
/// It is of the thread, not of a session: whatever stands between a caller and an engine needs to know nothing of it.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Default)]
struct Inner {
    interrupted: AtomicBool,
    /// What ends the call under way, where looking at the flag does not.
    stop: Mutex<Option<Stop>>,
}

type Stop = Box<dyn FnMut() + Send>;

thread_local! {
    static CURRENT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

/// A way to end the call under way, until it is dropped. See [`Interrupt::stop_by`].
#[derive(Debug)]
#[must_use = "it counts until it is dropped"]
pub struct Interruptible(Option<Interrupt>);

impl Interrupt {
    /// One that has not happened yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends what runs, and refuses what is begun afterwards. It can't be taken back.
    pub fn interrupt(&self) {
        let first = !self.0.interrupted.swap(true, Ordering::SeqCst);
        if first && let Some(stop) = &mut *self.0.lock() {
            stop();
        }
    }

    /// Whether it has happened.
    #[inline]
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.0.interrupted.load(Ordering::SeqCst)
    }

    /// Has all calls heed it that this thread makes inside `work`. Of two, one inside the other, the inner counts.
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        let _within = Within::new(Some(self.clone()));
        work()
    }

    /// For engines: whether the call under way on this thread is to end.
    #[inline]
    #[must_use]
    pub fn is_now() -> bool {
        let is = |current: &RefCell<Option<Self>>| match &*current.borrow() {
            Some(current) => current.is_interrupted(),
            None => false,
        };
        // Where the thread is ending nothing is to be ended any more.
        CURRENT.try_with(is).unwrap_or(false)
    }

    /// For engines: whether anybody may end the call under way on this thread.
    #[must_use]
    pub fn is_heeded() -> bool {
        CURRENT.with_borrow(Option::is_some)
    }

    /// For engines: to be called now and then by what may take long.
    ///
    /// # Errors
    /// `Interrupted`, where the call is to end.
    #[inline]
    pub fn check() -> Result<()> {
        if Self::is_now() { Err(Self::error()) } else { Ok(()) }
    }

    /// For engines: the error of a call that was ended.
    #[cold]
    #[must_use]
    pub fn error() -> Error {
        Error::new(ErrorKind::Interrupted, "the call was interrupted, and has done nothing")
    }

    /// For engines: runs what must come to its end, such as a rollback.
    pub fn hold_off<R>(work: impl FnOnce() -> R) -> R {
        let _within = Within::new(None);
        work()
    }

    /// For engines that wait for somebody else: says how the call under way on this thread is ended, for as long as the
    /// answer is kept. `stop` is called once at most, on another thread, or here where it has happened already; while
    /// it runs the answer can't be dropped.
    pub fn stop_by(stop: impl FnMut() + Send + 'static) -> Interruptible {
        let Some(current) = CURRENT.with_borrow(Clone::clone) else { return Interruptible(None) };
        let mut stop = Box::new(stop);
        let mut place = current.0.lock();
        if current.is_interrupted() {
            stop();
        } else {
            *place = Some(stop);
        }
        drop(place);
        Interruptible(Some(current))
    }
}

impl Interruptible {
    /// Whether somebody ended the call: then `stop` was called.
    #[must_use]
    pub fn was_stopped(&self) -> bool {
        self.0.as_ref().is_some_and(Interrupt::is_interrupted)
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        if let Some(interrupt) = &self.0 {
            *interrupt.0.lock() = None;
        }
    }
}

impl Inner {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Stop>> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").field(&self.is_interrupted()).finish()
    }
}

/// Sets the thread's interrupt, and puts the one before back.
struct Within(Option<Interrupt>);

impl Within {
    fn new(now: Option<Interrupt>) -> Self {
        Self(CURRENT.replace(now))
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        drop(CURRENT.replace(self.0.take()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn it_holds_inside_and_nowhere_else() {
        let (outer, inner) = (Interrupt::new(), Interrupt::new());
        outer.interrupt();
        assert!(!Interrupt::is_now());
        outer.run(|| {
            assert!(Interrupt::is_now());
            inner.run(|| assert!(!Interrupt::is_now()));
            Interrupt::hold_off(|| assert!(Interrupt::check().is_ok()));
            assert!(Interrupt::is_now());
        });
        assert!(!Interrupt::is_now());
    }

    #[test]
    fn what_stops_a_call_is_called_once_and_only_while_it_runs() {
        let (interrupt, stopped) = (Interrupt::new(), Arc::new(AtomicU32::new(0)));
        let stop = || {
            let stopped = Arc::clone(&stopped);
            move || {
                stopped.fetch_add(1, Ordering::SeqCst);
            }
        };
        interrupt.run(|| drop(Interrupt::stop_by(stop())));
        interrupt.run(|| {
            let running = Interrupt::stop_by(stop());
            assert!(!running.was_stopped());
            interrupt.interrupt();
            interrupt.interrupt();
            assert!(running.was_stopped());
        });
        assert_eq!(stopped.load(Ordering::SeqCst), 1);
        interrupt.run(|| drop(Interrupt::stop_by(stop())));
        assert_eq!(stopped.load(Ordering::SeqCst), 2, "it had happened before");
        assert!(!Interrupt::stop_by(stop()).was_stopped());
    }
}

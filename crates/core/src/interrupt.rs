//! Interrupting engine calls from another thread.

use crate::deadline::Alarm;
use crate::{Deadline, Error, ErrorKind, Result};
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Interrupts engine calls, from any thread: those made inside [`run`](Interrupt::run).
///
/// An interrupted call fails with [`ErrorKind::Interrupted`] and has no effect, as with every error.
/// Queries, statements and batches can be interrupted. A write of a single record is completed, and so is
/// a batch that shares its transaction with other batches. If an engine cannot be interrupted, its call
/// is completed, and the next call inside `run` fails unless it ends a transaction.
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
/// It belongs to the calling thread and not to a session, so layers between the caller and the engine
/// need no code for it.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<InterruptState>);

#[derive(Default)]
struct InterruptState {
    interrupted: AtomicBool,
    /// Interrupts the current call, if the engine does not check the flag.
    stop: Mutex<Option<Stop>>,
}

pub(crate) type Stop = Box<dyn FnMut() + Send>;

thread_local! {
    static CURRENT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

/// The registration of a function that interrupts the current call. Dropping it removes the function.
/// See [`Interrupt::stop_by`].
#[must_use = "dropping it removes the function"]
pub struct Interruptible {
    interrupt: Option<Interrupt>,
    alarm: Option<Arc<Alarm>>,
}

impl Interrupt {
    /// An interrupt that was not triggered yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Interrupts the current call and makes later ones fail. This cannot be undone.
    pub fn interrupt(&self) {
        let first = !self.0.interrupted.swap(true, Ordering::SeqCst);
        if first && let Some(stop) = &mut *self.0.lock() {
            stop();
        }
    }

    /// Whether it was triggered.
    #[inline]
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.0.interrupted.load(Ordering::SeqCst)
    }

    /// Runs `work`; calls that this thread makes inside it can be interrupted. If two are nested, the inner
    /// one counts.
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        let _within = CurrentGuard::new(Some(self.clone()));
        work()
    }

    /// For engines: whether the current call on this thread is interrupted, or ran past its [`Deadline`].
    #[inline]
    #[must_use]
    pub fn is_now() -> bool {
        let is = |current: &RefCell<Option<Self>>| match &*current.borrow() {
            Some(current) => current.is_interrupted(),
            None => false,
        };
        // While the thread ends, nothing can be interrupted.
        CURRENT.try_with(is).unwrap_or(false) || Deadline::is_over()
    }

    /// For engines: whether the current call on this thread can be interrupted.
    #[inline]
    #[must_use]
    pub fn is_enabled() -> bool {
        Deadline::current().is_some() || CURRENT.with_borrow(Option::is_some)
    }

    /// Whether the thread's interrupt was triggered, whatever its deadline.
    pub(crate) fn is_triggered() -> bool {
        CURRENT.with_borrow(|current| current.as_ref().is_some_and(Self::is_interrupted))
    }

    /// For engines: to be called regularly by anything that may take long.
    ///
    /// # Errors
    /// `Interrupted` if the call is interrupted; `Timeout` if its [`Deadline`] has passed.
    #[inline]
    pub fn check() -> Result<()> {
        if Self::is_now() { Err(Self::error()) } else { Ok(()) }
    }

    /// For engines: the error of an interrupted call.
    #[cold]
    #[must_use]
    pub fn error() -> Error {
        if !Self::is_triggered()
            && let Some(deadline) = Deadline::current().filter(|_| Deadline::is_over())
        {
            return deadline.error();
        }
        Error::new(ErrorKind::Interrupted, "the call was interrupted and had no effect")
    }

    /// For engines: runs work that must not be interrupted, such as a rollback.
    #[inline]
    pub fn hold_off<R>(work: impl FnOnce() -> R) -> R {
        if !Self::is_enabled() {
            return work();
        }
        let _within = CurrentGuard::new(None);
        Deadline::hold_off(work)
    }

    /// For engines that wait for something else: registers a function that ends the current call on this thread if it is
    /// interrupted or its [`Deadline`] passes, until the returned value is dropped. `stop` is called at most once, on
    /// another thread, or immediately if the interrupt was triggered already. Dropping the returned value waits while
    /// `stop` runs.
    pub fn stop_by(stop: impl FnMut() + Send + 'static) -> Interruptible {
        let interrupt = CURRENT.with_borrow(Clone::clone);
        let Some(deadline) = Deadline::current() else {
            if let Some(interrupt) = &interrupt {
                interrupt.register(Box::new(stop));
            }
            return Interruptible { interrupt, alarm: None };
        };
        let alarm = deadline.alarm(Box::new(stop));
        if let Some(interrupt) = &interrupt {
            let alarm = Arc::clone(&alarm);
            interrupt.register(Box::new(move || alarm.stop()));
        }
        Interruptible { interrupt, alarm: Some(alarm) }
    }

    fn register(&self, mut stop: Stop) {
        let mut place = self.0.lock();
        if self.is_interrupted() {
            stop();
        } else {
            *place = Some(stop);
        }
    }
}

impl Interruptible {
    /// Whether the call was interrupted or ran past its deadline: then `stop` was called.
    #[must_use]
    pub fn was_stopped(&self) -> bool {
        self.interrupt.as_ref().is_some_and(Interrupt::is_interrupted)
            || self.alarm.as_ref().is_some_and(|alarm| alarm.has_rung())
    }
}

impl fmt::Debug for Interruptible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interruptible").field(&self.was_stopped()).finish()
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        if let Some(interrupt) = &self.interrupt {
            *interrupt.0.lock() = None;
        }
        if let Some(alarm) = &self.alarm {
            alarm.cancel();
        }
    }
}

impl InterruptState {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Stop>> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").field(&self.is_interrupted()).finish()
    }
}

/// Sets the thread's interrupt, and restores the previous one when dropped.
struct CurrentGuard(Option<Interrupt>);

impl CurrentGuard {
    fn new(now: Option<Interrupt>) -> Self {
        Self(CURRENT.replace(now))
    }
}

impl Drop for CurrentGuard {
    fn drop(&mut self) {
        drop(CURRENT.replace(self.0.take()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn interrupt_affects_calls_inside_run_only() {
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
    fn stop_function_is_called_once_and_only_during_the_call() {
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

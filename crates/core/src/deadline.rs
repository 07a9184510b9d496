//! Time limits of engine calls.

use crate::interrupt::Stop;
use crate::{Error, ErrorKind, Interrupt, Result};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// Stands for a timeout that the clock cannot represent.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// A moment at which engine calls end: those made inside [`run`](Deadline::run).
///
/// A call that runs longer fails with [`ErrorKind::Timeout`] and has no effect. It ends in the same way as one that is
/// [interrupted](Interrupt): queries, statements and batches end early, the write of a single record is completed.
///
/// ```
/// use bobak_core::{Deadline, ErrorKind, Interrupt, Result};
/// use std::time::Duration;
///
/// let endless = || -> Result<()> {
///     loop {
///         Interrupt::check()?;
///     }
/// };
/// let error = Deadline::after(Duration::from_millis(5)).run(endless).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Timeout);
/// ```
///
/// Like an interrupt it belongs to the calling thread. If two are nested, the earlier one counts.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    timeout: Duration,
    /// Inside [`Interrupt::hold_off`].
    is_held_off: bool,
}

thread_local! {
    static CURRENT: Cell<Option<Deadline>> = const { Cell::new(None) };
}

impl Deadline {
    /// The deadline that ends after `timeout`, from now on.
    #[must_use]
    pub fn after(timeout: Duration) -> Self {
        let now = Instant::now();
        let at = now.checked_add(timeout).unwrap_or_else(|| now + CENTURY);
        Self { at, timeout, is_held_off: false }
    }

    /// The deadline of a call that has taken so long before.
    pub(crate) fn after_part(timeout: Duration, spent: Duration) -> Self {
        Self { timeout, ..Self::after(timeout.saturating_sub(spent)) }
    }

    /// Runs `work`; calls that this thread makes inside it end at the deadline.
    ///
    /// # Errors
    /// Those of `work`; `Timeout` instead of `Interrupted` or `Busy` if the deadline has passed.
    pub fn run<R>(self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let earliest = match CURRENT.get() {
            Some(outer) if outer.at <= self.at => outer,
            _ => self,
        };
        let within = CurrentGuard(CURRENT.replace(Some(earliest)));
        let result = work();
        drop(within);
        result.map_err(|error| earliest.explain(error))
    }

    /// For engines: how long a call on this thread may wait, if it would wait for `longest` without a deadline.
    #[must_use]
    pub fn limit(longest: Duration) -> Duration {
        let left = |deadline: Self| deadline.at.saturating_duration_since(Instant::now());
        CURRENT.get().map_or(longest, |deadline| longest.min(left(deadline)))
    }

    /// The deadline of this thread's calls, unless it is held off.
    pub(crate) fn current() -> Option<Self> {
        // While the thread ends, there is none.
        let current = CURRENT.try_with(Cell::get).unwrap_or(None);
        current.filter(|deadline| !deadline.is_held_off)
    }

    /// Whether the current call on this thread ran too long.
    #[inline]
    pub(crate) fn is_over() -> bool {
        Self::current().is_some_and(Self::has_passed)
    }

    /// Runs work that goes on after the deadline.
    pub(crate) fn hold_off<R>(work: impl FnOnce() -> R) -> R {
        let held = CURRENT.get().map(|deadline| Self { is_held_off: true, ..deadline });
        let _within = CurrentGuard(CURRENT.replace(held));
        work()
    }

    /// The error of a call that ran too long.
    #[cold]
    pub(crate) fn error(self) -> Error {
        let message = format!("the call did not end within {:?} and had no effect", self.timeout);
        Error::new(ErrorKind::Timeout, message)
    }

    /// Calls `stop` when the deadline passes, on another thread, unless the alarm is dropped before.
    pub(crate) fn alarm(self, stop: Stop) -> Arc<Alarm> {
        let alarm =
            Arc::new(Alarm { stop: Mutex::new(Some(stop)), has_rung: AtomicBool::new(false) });
        TIMER.set(self.at, &alarm);
        alarm
    }

    fn has_passed(self) -> bool {
        Instant::now() >= self.at
    }

    fn explain(self, error: Error) -> Error {
        let is_early_end = matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::Busy);
        if is_early_end && self.has_passed() && !Interrupt::is_triggered() {
            return self.error().with_source(error);
        }
        error
    }
}

/// Restores the thread's deadline when dropped.
struct CurrentGuard(Option<Deadline>);

impl Drop for CurrentGuard {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// A function that is called at a deadline.
pub(crate) struct Alarm {
    /// `None` after it was called or cancelled.
    stop: Mutex<Option<Stop>>,
    has_rung: AtomicBool,
}

impl Alarm {
    /// Calls the function unless it was called before.
    pub(crate) fn stop(&self) {
        if let Some(mut stop) = lock(&self.stop).take() {
            stop();
        }
    }

    /// Whether the deadline has passed before the alarm was cancelled.
    pub(crate) fn has_rung(&self) -> bool {
        self.has_rung.load(Ordering::SeqCst)
    }

    /// Waits while the function runs; afterwards it is not called any more.
    pub(crate) fn cancel(&self) {
        drop(lock(&self.stop).take());
    }

    fn ring(&self) {
        let mut stop = lock(&self.stop);
        if let Some(mut stop) = stop.take() {
            self.has_rung.store(true, Ordering::SeqCst);
            stop();
        }
    }
}

/// Rings alarms, on a thread that starts with the first one. Only calls that wait for something else need an alarm:
/// those of servers. Engines in this process look at the clock.
struct Timer {
    alarms: Mutex<BTreeMap<(Instant, u64), std::sync::Weak<Alarm>>>,
    /// An alarm was set that rings before all others.
    changed: Condvar,
    numbers: AtomicU64,
    started: Once,
}

static TIMER: Timer = Timer {
    alarms: Mutex::new(BTreeMap::new()),
    changed: Condvar::new(),
    numbers: AtomicU64::new(0),
    started: Once::new(),
};

impl Timer {
    fn set(&'static self, at: Instant, alarm: &Arc<Alarm>) {
        // Without the thread, a call ends when its engine does: as with one that cannot be interrupted.
        self.started.call_once(|| {
            let thread = std::thread::Builder::new().name("bobak timer".to_owned());
            drop(thread.spawn(|| self.run()));
        });
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let mut alarms = lock(&self.alarms);
        alarms.insert((at, number), Arc::downgrade(alarm));
        if alarms.first_key_value().is_some_and(|(first, _)| *first == (at, number)) {
            self.changed.notify_one();
        }
    }

    fn run(&self) {
        let mut alarms = lock(&self.alarms);
        loop {
            let first =
                alarms.first_key_value().map(|((at, _), alarm)| (*at, alarm.strong_count()));
            let now = Instant::now();
            alarms = match first {
                None => self.changed.wait(alarms).unwrap_or_else(PoisonError::into_inner),
                Some((at, uses)) if at <= now || uses == 0 => {
                    let alarm = alarms.pop_first().and_then(|(_, alarm)| alarm.upgrade());
                    drop(alarms);
                    alarm.into_iter().for_each(ring);
                    lock(&self.alarms)
                }
                Some((at, _)) => {
                    let waited = self.changed.wait_timeout(alarms, at - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// Rings an alarm on a thread of its own, since stopping a call may take long.
fn ring(alarm: Arc<Alarm>) {
    let (thread, own) = (std::thread::Builder::new(), Arc::clone(&alarm));
    if thread.spawn(move || own.ring()).is_err() {
        alarm.ring();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs until something stops it.
    fn endless() -> Result<()> {
        loop {
            Interrupt::check()?;
        }
    }

    const SHORT: Duration = Duration::from_millis(5);

    #[test]
    fn earlier_deadline_counts() {
        let long = Deadline::after(CENTURY);
        let error = long.run(|| Deadline::after(SHORT).run(endless)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        let error = Deadline::after(SHORT).run(|| long.run(endless)).unwrap_err();
        assert_eq!(error.to_string(), "the call did not end within 5ms and had no effect");
        assert!(Interrupt::check().is_ok());
    }

    #[test]
    fn interrupt_counts_inside_a_deadline() {
        let interrupt = Interrupt::new();
        interrupt.interrupt();
        let error = interrupt.run(|| Deadline::after(CENTURY).run(endless)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
        let error = interrupt.run(|| Deadline::after(Duration::ZERO).run(endless)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted, "the program has interrupted it");
    }

    #[test]
    fn held_off_work_goes_on_and_does_not_wait() {
        let done = Deadline::after(Duration::ZERO).run(|| {
            assert!(Interrupt::is_now());
            Interrupt::hold_off(|| {
                assert_eq!(Deadline::limit(CENTURY), Duration::ZERO);
                Interrupt::check()
            })
        });
        assert!(done.is_ok());
        assert_eq!(Deadline::limit(SHORT), SHORT);
        assert_eq!(Deadline::after(Duration::MAX).run(|| Ok(1)).ok(), Some(1));
    }

    #[test]
    fn waiting_call_is_stopped_by_the_timer() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let stop_by = || {
            let sender = sender.clone();
            Interrupt::stop_by(move || sender.send(()).unwrap_or_default())
        };
        let error = Deadline::after(SHORT).run(|| -> Result<()> {
            let stoppable = stop_by();
            receiver.recv().map_err(|_| Interrupt::error())?;
            assert!(stoppable.was_stopped());
            Interrupt::check()
        });
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Timeout);
        // An alarm that is dropped in time does not ring.
        Deadline::after(SHORT)
            .run(|| {
                drop(stop_by());
                Ok(())
            })
            .unwrap();
        std::thread::sleep(SHORT * 3);
        assert!(receiver.try_recv().is_err());
    }
}

//! The request monitor: interrupts requests that time out, and those that the client cancels or leaves
//! by disconnecting.
//!
//! The worker that runs a request is inside the engine and cannot read from the connection. So one thread
//! of the server monitors all requests that have run for a while. It peeks at what their clients have sent
//! since, without consuming it.
//!
//! An [`Interrupt`] applies to a thread while something runs on it, rather than to a database connection.
//! So it needs no support in the engines that stand in front of another, and it cannot hit the next
//! statement on the same connection, as `sqlite3_interrupt` could.

use crate::pipelined::PipelinedFrames;
use crate::transport::{ClientSignals, MAX_PEEK, Peek, lock};
use bobak_core::{Error, ErrorKind, Interrupt, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, recv};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often requests are checked, and how long a request runs before it is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// How long the thread stays without a request.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
/// The initial number of bytes to peek at.
const PEEK_SIZE: usize = 16 << 10;
/// That the client has closed its end, reported even while data of it waits.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOSED: PollFlags = PollFlags::RDHUP;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOSED: PollFlags = PollFlags::empty();

/// Monitors running requests.
#[derive(Default)]
pub(crate) struct RequestMonitor(Arc<MonitorThread>);

#[derive(Default)]
struct MonitorThread {
    state: Mutex<MonitorState>,
    work: Condvar,
}

#[derive(Default)]
struct MonitorState {
    requests: Vec<RunningRequest>,
    next: u64,
    has_thread: bool,
    /// Whether the thread waits for a request.
    is_waiting: bool,
    /// Whether the monitor was dropped.
    is_dropped: bool,
}

/// A running request.
struct RunningRequest {
    number: u64,
    since: Instant,
    client: MonitoredClient,
    interrupt: Interrupt,
    aborted: Option<AbortReason>,
}

/// Why a request was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AbortReason {
    Timeout,
    Cancelled,
    Disconnected,
    Shutdown,
}

/// The client of a running request.
pub(crate) struct MonitoredClient {
    pub signals: ClientSignals,
    /// The descriptor to poll: of pipes, the end that is written to.
    pub descriptor: Option<Arc<OwnedFd>>,
    /// What the client has sent, if the descriptor does not show it.
    pub peek_buffer: Option<Arc<Mutex<dyn Peek>>>,
    /// The request's id.
    pub id: u32,
    /// What was received after the request.
    pub pipelined: PipelinedFrames,
    /// Set if the client has disconnected.
    pub disconnected: Arc<AtomicBool>,
    /// How long the request may run.
    pub timeout: Duration,
}

impl RequestMonitor {
    /// Runs `work`, and interrupts it if it times out or the client cancels it or disconnects.
    ///
    /// # Errors
    /// Those of `work`; `Timeout`, `Interrupted` or `Unreachable` if it was interrupted.
    pub fn run<R>(&self, client: MonitoredClient, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let interrupt = Interrupt::new();
        let number = self.begin(client, &interrupt);
        let result = interrupt.run(work);
        let aborted = self.end(number);
        match (result, aborted) {
            (Err(error), Some(reason)) if error.kind() == ErrorKind::Interrupted => {
                Err(reason.error())
            }
            (result, _) => result,
        }
    }

    /// Aborts all running requests, because the server shuts down.
    pub fn abort_all(&self) {
        self.0.lock().requests.iter_mut().for_each(|request| request.abort(AbortReason::Shutdown));
    }

    fn begin(&self, client: MonitoredClient, interrupt: &Interrupt) -> u64 {
        let (since, interrupt) = (Instant::now(), interrupt.clone());
        let mut state = self.0.lock();
        let number = state.next;
        state.next += 1;
        state.requests.push(RunningRequest { number, since, client, interrupt, aborted: None });
        if !state.has_thread {
            let inner = Arc::clone(&self.0);
            let thread = std::thread::Builder::new().name("bobak monitor".to_owned());
            // Without a thread, requests are not interrupted.
            state.has_thread = thread.spawn(move || inner.monitor()).is_ok();
        } else if state.is_waiting {
            self.0.work.notify_one();
        }
        number
    }

    fn end(&self, number: u64) -> Option<AbortReason> {
        let mut state = self.0.lock();
        let index = state.requests.iter().position(|request| request.number == number)?;
        state.requests.swap_remove(index).aborted
    }
}

impl Drop for RequestMonitor {
    fn drop(&mut self) {
        self.0.lock().is_dropped = true;
        self.0.work.notify_one();
    }
}

impl MonitorThread {
    fn monitor(&self) {
        let mut peeked = vec![0; PEEK_SIZE];
        let mut last_request = Instant::now();
        loop {
            std::thread::sleep(CHECK_INTERVAL);
            let mut state = self.lock();
            if state.is_dropped {
                return;
            }
            if !state.requests.is_empty() {
                last_request = Instant::now();
            }
            for request in &mut state.requests {
                if request.aborted.is_none() && request.since.elapsed() >= CHECK_INTERVAL {
                    request.check(&mut peeked);
                }
            }
            // Goes on for a while before it waits, because waking it costs short requests time.
            if last_request.elapsed() < IDLE_TIMEOUT / 5 {
                continue;
            }
            state.is_waiting = true;
            let woken = self.work.wait_timeout(state, IDLE_TIMEOUT);
            let (mut state, waited) = woken.unwrap_or_else(PoisonError::into_inner);
            state.is_waiting = false;
            if waited.timed_out() && state.requests.is_empty() {
                state.has_thread = false;
                return;
            }
            last_request = Instant::now();
        }
    }

    fn lock(&self) -> MutexGuard<'_, MonitorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningRequest {
    fn check(&mut self, peeked: &mut Vec<u8>) {
        if self.since.elapsed() >= self.client.timeout {
            self.abort(AbortReason::Timeout);
        } else if self.client.pipelined.cancelled {
            self.abort(AbortReason::Cancelled);
        } else if let Some(reason) = self.client.check(peeked) {
            self.abort(reason);
        }
    }

    fn abort(&mut self, reason: AbortReason) {
        self.aborted = Some(reason);
        let is_disconnected = reason == AbortReason::Disconnected;
        self.client.disconnected.fetch_or(is_disconnected, Ordering::Relaxed);
        self.interrupt.interrupt();
    }
}

impl MonitoredClient {
    /// Whether the client has cancelled its request or disconnected.
    fn check(&self, peeked: &mut Vec<u8>) -> Option<AbortReason> {
        let descriptor = self.descriptor.as_ref()?.as_fd();
        let is_pipe = self.signals == ClientSignals::StopsReading;
        let events = if is_pipe { PollFlags::empty() } else { PollFlags::IN };
        let mut polled = [PollFd::new(&descriptor, events | CLOSED)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let has_events = poll(&mut polled, Some(&now)).ok()? > 0;
        let [events] = polled.map(|polled| polled.revents());
        if events.intersects(PollFlags::HUP | PollFlags::ERR | CLOSED) {
            return Some(AbortReason::Disconnected);
        }
        if let Some(buffer) = &self.peek_buffer {
            let mut buffer = lock(buffer);
            let received = buffer.peek();
            return match received.ended && !is_pipe {
                true => Some(AbortReason::Disconnected),
                false => self.find_cancel(received.bytes),
            };
        }
        if !has_events || self.signals != ClientSignals::DataAndClose {
            return None;
        }
        let peek = |room: &mut Vec<u8>| {
            recv(descriptor, &mut room[..], RecvFlags::PEEK | RecvFlags::DONTWAIT)
                .map(|(count, _)| count)
        };
        let mut count = peek(peeked).ok()?;
        while count == peeked.len() && count < MAX_PEEK {
            peeked.resize(2 * count, 0);
            count = peek(peeked).ok()?;
        }
        match peeked.get(..count) {
            None | Some([]) => Some(AbortReason::Disconnected),
            Some(bytes) => self.find_cancel(bytes),
        }
    }

    /// Whether the received bytes contain a cancellation of the request.
    fn find_cancel(&self, received: &[u8]) -> Option<AbortReason> {
        let mut pipelined = self.pipelined.clone();
        pipelined.scan(received, self.id);
        pipelined.cancelled.then_some(AbortReason::Cancelled)
    }
}

impl AbortReason {
    fn error(self) -> Error {
        let (kind, message) = match self {
            Self::Timeout => {
                (ErrorKind::Timeout, "the request exceeded the server's time limit and was aborted")
            }
            Self::Cancelled => return cancelled(),
            Self::Disconnected => (ErrorKind::Interrupted, "the client has disconnected"),
            Self::Shutdown => (ErrorKind::Unreachable, "the server is shutting down"),
        };
        Error::new(kind, message)
    }
}

/// The error of a request that the client cancelled.
pub(crate) fn cancelled() -> Error {
    Error::new(ErrorKind::Interrupted, "the client cancelled the request")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_aborted_by_timeout_and_shutdown() {
        let monitor = RequestMonitor::default();
        let client = |timeout| MonitoredClient {
            signals: ClientSignals::StopsReading,
            descriptor: None,
            peek_buffer: None,
            id: 1,
            pipelined: PipelinedFrames::default(),
            disconnected: Arc::default(),
            timeout,
        };
        let forever = || -> Result<()> {
            loop {
                Interrupt::check()?;
                std::thread::yield_now();
            }
        };
        let late = monitor.run(client(Duration::from_millis(1)), forever).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Timeout);
        assert_eq!(monitor.run(client(Duration::MAX), || Ok(7)).unwrap(), 7);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| monitor.run(client(Duration::MAX), forever));
            while !running.is_finished() {
                monitor.abort_all();
            }
            assert_eq!(running.join().unwrap().unwrap_err().kind(), ErrorKind::Unreachable);
        });
    }
}

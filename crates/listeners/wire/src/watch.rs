//! An eye on requests that run for long: on their time, and on clients that take them back, or leave.
//!
//! The worker that runs a request is inside the engine, and hears nothing. So one thread of the server looks after those
//! that have run for a while: it peeks at what their clients have sent meanwhile, without taking it.

use crate::early::{Peek, ROOM, lock};
use bobak_core::{Error, ErrorKind, Interrupt, Result};
use bobak_wire::{FrameHeader, FrameKind, HEADER_LENGTH};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, recv};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often it looks, and so how long a request runs before it is looked after.
const TICK: Duration = Duration::from_millis(20);
/// How long the thread stays without a request.
const STAY: Duration = Duration::from_secs(5);
/// How much of what a client has sent is peeked at to begin with.
const PEEK: usize = 16 << 10;
/// That the other end will send nothing more, which it shows even where bytes of it wait.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LEFT: PollFlags = PollFlags::RDHUP;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const LEFT: PollFlags = PollFlags::empty();

/// Looks after requests.
#[derive(Default)]
pub(crate) struct Watch(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    next: u64,
    has_thread: bool,
    /// The thread sleeps until there is a request.
    sleeps: bool,
    /// The server is gone.
    ended: bool,
}

/// A request that runs.
struct Request {
    number: u64,
    since: Instant,
    line: Line,
    interrupt: Interrupt,
    ended: Option<Why>,
}

/// Why a request was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Late,
    TakenBack,
    Gone,
    Stopping,
}

/// Where a client would take its request back.
pub(crate) struct Line {
    pub kind: LineKind,
    /// What is watched: of pipes the end that is written to.
    pub end: Option<Arc<OwnedFd>>,
    /// What the client sends, where `end` does not show it.
    pub early: Option<Arc<Mutex<dyn Peek>>>,
    /// The request's number.
    pub id: u32,
    pub ahead: Ahead,
    /// Set where the client is seen to be gone.
    pub gone: Arc<AtomicBool>,
    pub patience: Duration,
}

/// What can be seen of a client from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// What it sends, and that it is gone.
    Socket,
    /// That it is gone.
    #[cfg(feature = "tls")]
    Sealed,
    /// That it does not read any more. The end of what it sends says nothing: it may still read.
    Pipe,
}

/// What was read already of what a client has sent behind its request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ahead {
    /// Bytes of a frame that are still to come.
    rest: usize,
    /// The beginning of a frame whose head is not whole.
    head: Vec<u8>,
    cancelled: bool,
}

impl Watch {
    /// Runs what may take long, and ends it where its time is over or nobody wants it any more.
    ///
    /// # Errors
    /// Those of `work`; `Timeout`, `Interrupted`, `Unreachable` where it was ended.
    pub fn over<R>(&self, line: Line, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let interrupt = Interrupt::new();
        let number = self.begin(line, &interrupt);
        let done = interrupt.run(work);
        let why = self.end(number);
        match (done, why) {
            (Err(error), Some(why)) if error.kind() == ErrorKind::Interrupted => Err(why.error()),
            (done, _) => done,
        }
    }

    /// Ends all requests that run: the server stops.
    pub fn end_all(&self) {
        self.0.lock().requests.iter_mut().for_each(|request| request.stop(Why::Stopping));
    }

    fn begin(&self, line: Line, interrupt: &Interrupt) -> u64 {
        let (since, interrupt) = (Instant::now(), interrupt.clone());
        let mut state = self.0.lock();
        let number = state.next;
        state.next += 1;
        state.requests.push(Request { number, since, line, interrupt, ended: None });
        if !state.has_thread {
            let inner = Arc::clone(&self.0);
            let thread = std::thread::Builder::new().name("bobak watch".to_owned());
            // Where it can't be had, requests run as long as they run.
            state.has_thread = thread.spawn(move || inner.look_after()).is_ok();
        } else if state.sleeps {
            self.0.work.notify_one();
        }
        number
    }

    fn end(&self, number: u64) -> Option<Why> {
        let mut state = self.0.lock();
        let place = state.requests.iter().position(|request| request.number == number)?;
        state.requests.swap_remove(place).ended
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.work.notify_one();
    }
}

impl Inner {
    fn look_after(&self) {
        let mut peeked = vec![0; PEEK];
        let mut idle = Instant::now();
        loop {
            std::thread::sleep(TICK);
            let mut state = self.lock();
            if state.ended {
                return;
            }
            if !state.requests.is_empty() {
                idle = Instant::now();
            }
            for request in &mut state.requests {
                if request.ended.is_none() && request.since.elapsed() >= TICK {
                    request.look(&mut peeked);
                }
            }
            // It goes on looking for a while: to be woken costs those who are quick.
            if idle.elapsed() < STAY / 5 {
                continue;
            }
            state.sleeps = true;
            let woken = self.work.wait_timeout(state, STAY);
            let (mut state, waited) = woken.unwrap_or_else(PoisonError::into_inner);
            state.sleeps = false;
            if waited.timed_out() && state.requests.is_empty() {
                state.has_thread = false;
                return;
            }
            idle = Instant::now();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Request {
    fn look(&mut self, peeked: &mut Vec<u8>) {
        if self.since.elapsed() >= self.line.patience {
            self.stop(Why::Late);
        } else if self.line.ahead.cancelled {
            self.stop(Why::TakenBack);
        } else if let Some(why) = self.line.says(peeked) {
            self.stop(why);
        }
    }

    fn stop(&mut self, why: Why) {
        self.ended = Some(why);
        self.line.gone.fetch_or(why == Why::Gone, Ordering::Relaxed);
        self.interrupt.interrupt();
    }
}

impl Line {
    /// What the client says of its request, if anything.
    fn says(&self, peeked: &mut Vec<u8>) -> Option<Why> {
        let end = self.end.as_ref()?.as_fd();
        let wanted = if self.kind == LineKind::Pipe { PollFlags::empty() } else { PollFlags::IN };
        let mut ends = [PollFd::new(&end, wanted | LEFT)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let some = poll(&mut ends, Some(&now)).ok()? > 0;
        let [seen] = ends.map(|end| end.revents());
        if seen.intersects(PollFlags::HUP | PollFlags::ERR | LEFT) {
            return Some(Why::Gone);
        }
        if let Some(early) = &self.early {
            let mut early = lock(early);
            let seen = early.peek();
            return match seen.ended && self.kind != LineKind::Pipe {
                true => Some(Why::Gone),
                false => self.reads(seen.bytes),
            };
        }
        if !some || self.kind != LineKind::Socket {
            return None;
        }
        let peek = |room: &mut Vec<u8>| {
            recv(end, &mut room[..], RecvFlags::PEEK | RecvFlags::DONTWAIT).map(|(count, _)| count)
        };
        let mut count = peek(peeked).ok()?;
        while count == peeked.len() && count < ROOM {
            peeked.resize(2 * count, 0);
            count = peek(peeked).ok()?;
        }
        match peeked.get(..count) {
            None | Some([]) => Some(Why::Gone),
            Some(bytes) => self.reads(bytes),
        }
    }

    /// Whether the client has sent that it takes the request back.
    fn reads(&self, sent: &[u8]) -> Option<Why> {
        let mut ahead = self.ahead.clone();
        ahead.pass(sent, self.id);
        ahead.cancelled.then_some(Why::TakenBack)
    }
}

impl Ahead {
    /// What is there of what follows a request.
    pub fn of(bytes: &[u8], id: u32) -> Self {
        let mut ahead = Self::default();
        if !bytes.is_empty() {
            ahead.pass(bytes, id);
        }
        ahead
    }

    /// Passes over frames, and notes one that takes the request back.
    fn pass(&mut self, mut bytes: &[u8], id: u32) {
        loop {
            let passed = self.rest.min(bytes.len());
            self.rest -= passed;
            let (head, behind) = bytes
                .get(passed..)
                .unwrap_or_default()
                .split_at_checked(HEADER_LENGTH - self.head.len())
                .unwrap_or((bytes.get(passed..).unwrap_or_default(), &[]));
            self.head.extend_from_slice(head);
            let Some(head) = self.head.first_chunk::<HEADER_LENGTH>() else { return };
            let Ok(head) = FrameHeader::decode(*head) else {
                // It will be told: nothing behind it is a frame.
                self.rest = usize::MAX;
                return;
            };
            self.head.clear();
            self.cancelled |= head.kind == FrameKind::Cancel && head.id == id;
            self.rest = head.length as usize;
            bytes = behind;
        }
    }
}

impl Why {
    fn error(self) -> Error {
        let (kind, message) = match self {
            Self::Late => (
                ErrorKind::Timeout,
                "the request ran longer than the server lets one run, and was ended",
            ),
            Self::TakenBack => return crate::serve::cancelled(),
            Self::Gone => (ErrorKind::Interrupted, "the client has gone"),
            Self::Stopping => (ErrorKind::Unreachable, "the server stops"),
        };
        Error::new(kind, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_wire::encode_request;

    #[test]
    fn a_request_is_found_to_be_taken_back_however_the_bytes_come() {
        let mut sent = Vec::new();
        encode_request::ping(&mut sent, 8);
        encode_request::execute(&mut sent, 9, bobak_wire::RequestSource::Text("SELECT 1", &[]))
            .unwrap();
        encode_request::cancel(&mut sent, 7);
        for cut in 0..sent.len() {
            let (read, unread) = sent.split_at(cut);
            let mut ahead = Ahead::of(read, 7);
            assert!(!ahead.cancelled);
            ahead.pass(unread, 7);
            assert!(ahead.cancelled, "cut at {cut}");
            let mut other = Ahead::of(read, 6);
            other.pass(unread, 6);
            assert!(!other.cancelled);
        }
        assert!(Ahead::of(&sent, 7).cancelled);
        assert!(!Ahead::of(b"GET / HTTP/1.1\r\n", 7).cancelled);
    }

    #[test]
    fn what_runs_too_long_is_ended() {
        let watch = Watch::default();
        let line = |patience| Line {
            kind: LineKind::Pipe,
            end: None,
            early: None,
            id: 1,
            ahead: Ahead::default(),
            gone: Arc::default(),
            patience,
        };
        let forever = || -> Result<()> {
            loop {
                Interrupt::check()?;
                std::thread::yield_now();
            }
        };
        let late = watch.over(line(Duration::from_millis(1)), forever).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Timeout);
        assert_eq!(watch.over(line(Duration::MAX), || Ok(7)).unwrap(), 7);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| watch.over(line(Duration::MAX), forever));
            while !running.is_finished() {
                watch.end_all();
            }
            assert_eq!(running.join().unwrap().unwrap_err().kind(), ErrorKind::Unreachable);
        });
    }
}

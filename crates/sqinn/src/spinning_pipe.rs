//! Reads requests with a short spin before blocking, and detects clients that have disconnected.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// How long to spin for a request before blocking. A client on a sleeping core needs about as long to wake up and send
/// the next request: with half of this, few requests arrived during a spin.
const SPIN_LIMIT: Duration = Duration::from_micros(60);
/// After so many spins without a request, reads block at once, until a request arrives quickly again.
const MAX_FAILED_SPINS: u8 = 3;

/// A pipe whose reads spin for some microseconds before they block.
///
/// Waking a process on another core takes tens of microseconds, several times as long as a small request. Spinning
/// avoids that for clients that send each request as soon as they have the last reply. For slower clients, reads block
/// and leave the core to others.
#[derive(Debug)]
pub struct SpinningPipe {
    pipe: File,
    /// How many more spins may fail before reads block at once.
    remaining_spins: u8,
}

impl SpinningPipe {
    /// Reads from a pipe. Other files work as well; they are always ready.
    #[must_use]
    pub fn new(pipe: File) -> Self {
        Self { pipe, remaining_spins: MAX_FAILED_SPINS }
    }

    /// Whether a read would return at once, with bytes, the end of the file, or an error.
    fn is_ready(&self) -> bool {
        let mut ends = [PollFd::new(&self.pipe, PollFlags::IN)];
        poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) != Ok(0)
    }
}

impl Read for SpinningPipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = Instant::now();
        while self.remaining_spins > 0 && !self.is_ready() {
            if start.elapsed() > SPIN_LIMIT {
                self.remaining_spins -= 1;
                break;
            }
            yield_now();
        }
        let count = self.pipe.read(buffer)?;
        if start.elapsed() < SPIN_LIMIT {
            self.remaining_spins = MAX_FAILED_SPINS;
        }
        Ok(count)
    }
}

/// Whether standard output is a pipe or socket whose reader has closed it.
pub(crate) fn is_client_gone() -> bool {
    let output = rustix::stdio::stdout();
    let mut ends = [PollFd::from_borrowed_fd(output, PollFlags::empty())];
    let result = poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    result.is_ok() && ends.iter().any(|end| end.revents().contains(PollFlags::ERR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::thread;

    #[test]
    fn slow_client_stops_spinning_and_fast_client_resumes_it() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let mut pipe = SpinningPipe::new(File::from(OwnedFd::from(reader)));
        let client = thread::spawn(move || {
            // Ends when the reader closes the pipe. To a reader that is late, the bytes seem fast.
            while writer.write_all(b"slow").is_ok() {
                thread::sleep(20 * SPIN_LIMIT);
            }
        });
        let mut buffer = [0; 4];
        while pipe.remaining_spins > 0 {
            assert_eq!(pipe.read(&mut buffer).expect("it is written"), 4);
        }
        let (reader, mut writer) = io::pipe().expect("a pipe");
        pipe.pipe = File::from(OwnedFd::from(reader));
        client.join().expect("the thread ends");
        // Bytes that are already there count as fast, sooner or later even on a busy machine.
        while pipe.remaining_spins < MAX_FAILED_SPINS {
            writer.write_all(b"more").expect("it is read");
            assert_eq!(pipe.read(&mut buffer).expect("it is written"), 4);
        }
        drop(writer);
        assert_eq!(pipe.read(&mut buffer).expect("the end"), 0);
    }
}

//! The client's ends of the pipes: waiting for the next request without falling asleep at once, and
//! whether anybody is there still.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// How long a request is waited for before the process sleeps. A client whose core sleeps needs as long to wake and to
/// ask again: with half of this, few requests were met awake.
const AWAKE: Duration = Duration::from_micros(60);
/// How often that may be in vain before it is given up, until a request comes quickly again.
const TRIES: u8 = 3;

/// A pipe whose next bytes are looked for some microseconds long before the process sleeps.
///
/// To be woken takes tens of microseconds where the client's core is another one, several times what a small request
/// itself takes. A client that asks one thing after the other, each as soon as it has the last answer, is waited for
/// awake; one that takes its time is not, and whoever else wants the core gets it.
#[derive(Debug)]
pub struct Eager {
    pipe: File,
    /// How often waiting awake may still be in vain.
    tries: u8,
}

impl Eager {
    /// Reads from this end of a pipe; whatever else it is, is read as if it were not waited for.
    #[must_use]
    pub fn new(pipe: File) -> Self {
        Self { pipe, tries: TRIES }
    }

    /// Whether a read would not wait: there are bytes, the end, or an error.
    fn is_ready(&self) -> bool {
        let mut ends = [PollFd::new(&self.pipe, PollFlags::IN)];
        poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) != Ok(0)
    }
}

impl Read for Eager {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let begin = Instant::now();
        while self.tries > 0 && !self.is_ready() {
            if begin.elapsed() > AWAKE {
                self.tries -= 1;
                break;
            }
            yield_now();
        }
        let count = self.pipe.read(room)?;
        if begin.elapsed() < AWAKE {
            self.tries = TRIES;
        }
        Ok(count)
    }
}

/// Whether standard output is a pipe, or a socket, that nobody reads any more.
pub(crate) fn is_unread() -> bool {
    let output = rustix::stdio::stdout();
    let mut ends = [PollFd::from_borrowed_fd(output, PollFlags::empty())];
    let found = poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    found.is_ok() && ends.iter().any(|end| end.revents().contains(PollFlags::ERR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::thread;

    #[test]
    fn a_slow_client_is_read_asleep_and_a_quick_one_awake_again() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let mut eager = Eager::new(File::from(OwnedFd::from(reader)));
        let client = thread::spawn(move || {
            // RecoveryTarget nobody reads. What a reader that is late finds there already came quickly, to him.
            while writer.write_all(b"slow").is_ok() {
                thread::sleep(20 * AWAKE);
            }
        });
        let mut room = [0; 4];
        while eager.tries > 0 {
            assert_eq!(eager.read(&mut room).expect("it is written"), 4);
        }
        let (reader, mut writer) = io::pipe().expect("a pipe");
        eager.pipe = File::from(OwnedFd::from(reader));
        client.join().expect("it has ended");
        // What is there already comes quickly, sooner or later also on a machine that does much else.
        while eager.tries < TRIES {
            writer.write_all(b"more").expect("it is read");
            assert_eq!(eager.read(&mut room).expect("it is written"), 4);
        }
        drop(writer);
        assert_eq!(eager.read(&mut room).expect("the end"), 0);
    }
}

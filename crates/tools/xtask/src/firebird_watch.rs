//! Looks after the private Firebird server while tests run. The program of Debian's version 3 ends or hangs about once in a thousand
//! runs by a fault of its own (docs/firebird.md). It is then started again, and the tests that failed may run once more.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bobak_servers::Firebird;

/// How often its process is looked at.
const PAUSE: Duration = Duration::from_secs(1);

/// After how many pauses a client of its own has to be served.
const PAUSES: u32 = 30;

/// How long that client waits until the server counts as hanging: it is served in less than a second.
const TIMEOUT: Duration = Duration::from_secs(90);

/// How many lines of a server's log are shown.
const LOG_LINES: usize = 5;

/// A server, and a thread that looks at it until this is dropped.
pub struct FirebirdWatch {
    server: Arc<WatchedFirebird>,
    // The thread ends when this is dropped.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct WatchedFirebird {
    server: Firebird,
    timeout: Duration,
    /// How it ended or hung.
    faults: Mutex<Vec<String>>,
}

impl FirebirdWatch {
    pub fn start(server: Firebird) -> Self {
        Self::with(server, PAUSE, TIMEOUT)
    }

    fn with(server: Firebird, pause: Duration, timeout: Duration) -> Self {
        let server = Arc::new(WatchedFirebird { server, timeout, faults: Mutex::default() });
        let (stop, stopped) = mpsc::channel();
        let watched = Arc::clone(&server);
        let thread = std::thread::spawn(move || {
            let mut pauses = 0;
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                pauses = (pauses + 1) % PAUSES;
                watched.look(pauses == 0);
            }
        });
        Self { server, stop: Some(stop), thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        self.server.server.url()
    }

    /// How the server ended or hung since this was called before. It runs again.
    pub fn take_faults(&self) -> Vec<String> {
        self.server.look(true);
        std::mem::take(&mut *self.server.faults.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for FirebirdWatch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl WatchedFirebird {
    /// Starts the server again if its process has ended, or, `with_client`, if it hangs.
    fn look(&self, with_client: bool) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = |server: &Firebird| {
            server.ended().map(|status| format!("Firebird's server program ended: {status}"))
        };
        let hangs = || {
            let seconds = self.timeout.as_secs();
            let hangs = with_client && self.server.hangs(self.timeout).unwrap_or(false);
            hangs.then(|| format!("Firebird's server hangs: no answer within {seconds} seconds"))
        };
        let Some(fault) = ended(&self.server).or_else(hangs).or_else(|| ended(&self.server)) else {
            return;
        };
        let log = self.server.log();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines.get(lines.len().saturating_sub(LOG_LINES)..).unwrap_or_default();
        let fault = [&[fault.as_str()], last].concat().join("\n  ");
        println!("{fault}\nIt is started again.");
        if let Err(error) = self.server.restart() {
            println!("{error}");
        }
        faults.push(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn watch(timeout: u64) -> Option<FirebirdWatch> {
        std::env::var_os("BOBAK_TEST_FIREBIRD")?;
        let server = Firebird::start().unwrap();
        let timeout = Duration::from_secs(timeout);
        Some(FirebirdWatch::with(server, Duration::from_millis(20), timeout))
    }

    fn signal(watch: &FirebirdWatch, name: &str) {
        let pid = watch.server.server.pid().unwrap().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    #[test]
    fn a_server_that_ended_is_started_again_and_named_once() {
        let Some(watch) = watch(90) else { return };
        assert_eq!(watch.take_faults(), Vec::<String>::new());
        signal(&watch, "-SEGV");
        let faults = watch.take_faults();
        assert!(faults.len() == 1 && faults[0].contains("signal: 11"), "{faults:?}");
        assert_eq!(watch.take_faults(), Vec::<String>::new());
    }

    #[test]
    fn a_server_that_hangs_is_started_again() {
        let Some(watch) = watch(1) else { return };
        signal(&watch, "-STOP");
        let faults = watch.take_faults();
        assert!(faults.len() == 1 && faults[0].contains("hangs"), "{faults:?}");
        assert!(!watch.server.server.hangs(Duration::from_secs(60)).unwrap());
    }
}

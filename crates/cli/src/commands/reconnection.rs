//! Retries of commands that run until they are stopped, while a server cannot be reached.

use crate::error::Result;
use crate::output::Terminal;
use bobak::ErrorKind;
use std::time::Duration;

/// The first pause before a retry; each one is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Waits between retries, and reports when the connection is lost and when it is back.
#[derive(Debug)]
pub struct Reconnection {
    screen: Terminal,
    /// The pause before the next retry.
    pause: Duration,
}

impl Reconnection {
    /// Nothing is lost yet.
    pub const fn new(screen: Terminal) -> Self {
        Self { screen, pause: FIRST_PAUSE }
    }

    /// Takes a step of a reader of changes. After a failure that a retry may help, it waits, and gives `None`: the next call
    /// opens the reader again, which begins from the stored position, since the failed step may be stored.
    ///
    /// # Errors
    /// The error, if a retry would not help, or `retries` is off.
    pub fn step<F, R>(
        &mut self,
        reader: &mut Option<F>,
        retries: bool,
        open: impl FnOnce() -> bobak::Result<F>,
        step: impl FnOnce(&mut F) -> bobak::Result<R>,
    ) -> Result<Option<R>> {
        let opened = reader.take().map_or_else(open, Ok);
        match opened.and_then(|opened| step(reader.insert(opened))) {
            Err(error) if retries => {
                *reader = None;
                self.wait(error).map(|()| None)
            }
            Err(error) => Err(error.into()),
            Ok(done) => {
                self.succeeded();
                Ok(Some(done))
            }
        }
    }

    /// Waits before the next retry.
    ///
    /// # Errors
    /// The error, if a retry would not help.
    fn wait(&mut self, error: bobak::Error) -> Result<()> {
        if !error.is_retryable() && error.kind() != ErrorKind::Unknown {
            return Err(error.into());
        }
        if self.pause == FIRST_PAUSE {
            self.screen.note(format_args!("retrying until it succeeds: {error}"));
        }
        std::thread::sleep(self.pause);
        self.pause = LONGEST_PAUSE.min(self.pause * 2);
        Ok(())
    }

    /// Takes note that a step succeeded.
    fn succeeded(&mut self) {
        if self.pause != FIRST_PAUSE {
            self.pause = FIRST_PAUSE;
            self.screen.note(format_args!("retried with success"));
        }
    }
}

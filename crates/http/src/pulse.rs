//! One look-out for changes of a database, for all who listen: each of them asking by itself, some
//! forty times a second, would be a load.

use bobak::feed::Changes;
use bobak_core::Engine;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long it looks out at a time, before it sees whether anybody still listens.
const LOOK: Duration = Duration::from_millis(500);

/// Tells of the number of the last change.
#[derive(Debug)]
pub(crate) struct Pulse {
    last: watch::Sender<u64>,
    /// Whether somebody looks out.
    beats: Mutex<bool>,
}

impl Pulse {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { last: watch::Sender::new(0), beats: Mutex::new(false) })
    }

    /// Is told of changes from now on. The first listener has a worker look out, until the last has
    /// gone.
    pub fn listen(self: &Arc<Self>, engine: &Arc<dyn Engine>) -> watch::Receiver<u64> {
        let listener = self.last.subscribe();
        let mut beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        if !*beats {
            *beats = true;
            let (pulse, engine) = (Arc::clone(self), Arc::clone(engine));
            tokio::task::spawn_blocking(move || pulse.beat(engine));
        }
        listener
    }

    fn beat(&self, engine: Arc<dyn Engine>) {
        let mut changes = Changes::of(engine).limit(1);
        let mut since = changes.last_id().unwrap_or(0);
        loop {
            {
                let mut beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
                if self.last.receiver_count() == 0 {
                    *beats = false;
                    return;
                }
            }
            changes = changes.since(since);
            match changes.wait(LOOK) {
                Ok(page) if page.next != since => {
                    since = page.next;
                    self.last.send_replace(since);
                }
                Ok(_) => {}
                // The listeners find out what is wrong by themselves.
                Err(_) => {
                    std::thread::sleep(LOOK);
                    since = changes.last_id().unwrap_or(since);
                    self.last.send_replace(since);
                }
            }
        }
    }
}

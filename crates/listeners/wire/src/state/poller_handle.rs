//! The way of other threads to the poller.

use crate::connection::Connection;
use mio::Waker;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

/// Wakes the poller, and gives connections back to it.
pub(crate) struct PollerHandle {
    waker: Waker,
    sender: Mutex<Sender<Connection>>,
}

impl PollerHandle {
    pub const fn new(waker: Waker, sender: Sender<Connection>) -> Self {
        Self { waker, sender: Mutex::new(sender) }
    }

    pub fn wake(&self) {
        // A poller that cannot be woken has ended.
        let _ = self.waker.wake();
    }

    /// Has a connection wait for its next request.
    pub fn give_back(&self, connection: Connection) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        // If the poller has ended, the server has stopped, and the connection ends here.
        if sender.send(connection).is_ok() {
            self.wake();
        }
    }
}

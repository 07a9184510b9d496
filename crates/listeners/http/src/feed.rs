//! One look-out for changes of a database, for all who listen: each of them asking by itself, some
//! forty times a second, would be a load.

use bobak::changes::Changes;
use bobak_core::{Condition, Engine, Result, TableSchema};
use bobak_permissions::{Caller, Protected};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long it looks out at a time, before it sees whether anybody still listens.
const LOOK: Duration = Duration::from_millis(500);

/// Where the changes of a database are read, by whoever may see them.
#[derive(Clone)]
pub(crate) struct Feed {
    /// The engine itself: its logs have no rights of their own.
    pub engine: Arc<dyn Engine>,
    pulse: Arc<Pulse>,
    /// Whose rights decide which rows are seen; nobody's for the operator.
    caller: Option<(Arc<Protected>, Caller)>,
}

impl Feed {
    /// The changes of an engine, all of them.
    pub fn new(engine: &Arc<dyn Engine>) -> Self {
        let pulse = Pulse { last: watch::Sender::new(0), beats: Mutex::new(false) };
        Self { engine: Arc::clone(engine), pulse: Arc::new(pulse), caller: None }
    }

    /// The same, as far as a caller may see them.
    pub fn for_caller(&self, database: &Arc<Protected>, caller: &Caller) -> Self {
        let caller = Some((Arc::clone(database), caller.clone()));
        Self { engine: Arc::clone(&self.engine), pulse: Arc::clone(&self.pulse), caller }
    }

    /// Which rows of a table may be seen at this moment, `None` for all of them.
    ///
    /// # Errors
    /// `Schema` where the table is not to be known of, `Denied` where it may not be read.
    pub fn readable(&self, table: &Arc<TableSchema>) -> Result<Option<Condition>> {
        match &self.caller {
            None => Ok(None),
            Some((database, caller)) => database.readable(caller, table),
        }
    }

    /// Is told of changes from now on.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.pulse.listen(&self.engine)
    }
}

/// Tells of the number of the last change.
#[derive(Debug)]
struct Pulse {
    last: watch::Sender<u64>,
    /// Whether somebody looks out.
    beats: Mutex<bool>,
}

impl Pulse {
    /// The first listener has a worker look out, until the last has
    /// gone.
    fn listen(self: &Arc<Self>, engine: &Arc<dyn Engine>) -> watch::Receiver<u64> {
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
        // Who began to listen before this looked out looks again: what came in between is no news
        // here.
        self.last.send_replace(since);
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

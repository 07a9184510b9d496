//! A database's change feed.
//!
//! One thread reads new changes for all subscribers. If each subscriber polled, some forty times a second, or read each
//! change itself, they would load the database.

use crate::database::latest_changes::LatestChanges;
use crate::problem::Problem;
use bobak::changes::Changes;
use bobak_core::{Condition, Engine, ErrorKind, Result, TableSchema};
use bobak_permissions::{Caller, ProtectedDatabase, ReadableRows};
use hyper::StatusCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long the thread waits for a change before it checks whether there are subscribers left.
const WAIT_TIMEOUT: Duration = Duration::from_millis(500);

/// How many changes the thread reads at once.
const PAGE_SIZE: usize = 200;

/// How long the thread waits after changes before it reads the next ones: so each subscriber gets the changes of a busy table in
/// one piece, and the inserts are not delayed by as many wakeups as there are subscribers. The first change
/// after a pause is sent at once.
const COLLECTION_TIME: Duration = Duration::from_millis(10);

/// The changes of a database, as one client may see them.
#[derive(Clone)]
pub(crate) struct ChangeFeed {
    /// The unrestricted engine, because permissions do not apply to change logs; see
    /// [`readable`](Self::readable).
    pub engine: Arc<dyn Engine>,
    heartbeat: Arc<Heartbeat>,
    /// Whose permissions decide which rows are visible; `None` for operators, who see all.
    caller: Option<Arc<ReadableRows>>,
}

impl ChangeFeed {
    /// All changes of an engine.
    pub fn new(engine: &Arc<dyn Engine>) -> Self {
        let heartbeat = Heartbeat {
            last: watch::Sender::new(LatestChanges::none(0)),
            is_running: Mutex::new(false),
        };
        Self { engine: Arc::clone(engine), heartbeat: Arc::new(heartbeat), caller: None }
    }

    /// The changes that a caller may see.
    pub fn for_caller(&self, database: &Arc<ProtectedDatabase>, caller: &Caller) -> Self {
        let caller = Some(Arc::new(database.readable_rows(caller)));
        Self { engine: Arc::clone(&self.engine), heartbeat: Arc::clone(&self.heartbeat), caller }
    }

    /// The condition of the rows that the client may currently read; `None` for all rows.
    ///
    /// # Errors
    /// `Schema` if the client may not know of the table, `Denied` if they may not read it.
    pub fn readable(&self, table: &Arc<TableSchema>) -> Result<Option<Condition>> {
        match &self.caller {
            None => Ok(None),
            Some(rows) => rows.of(table),
        }
    }

    /// As [`readable`](Self::readable), without any I/O: `None` if it is not known.
    pub fn known_readable(&self, table: &TableSchema) -> Option<Option<Condition>> {
        match &self.caller {
            None => Some(None),
            Some(rows) => rows.known(table).ok().flatten(),
        }
    }

    /// A receiver of new changes.
    pub fn subscribe(&self) -> watch::Receiver<LatestChanges> {
        self.heartbeat.subscribe(&self.engine)
    }
}

/// Sends new changes to subscribers.
#[derive(Debug)]
struct Heartbeat {
    last: watch::Sender<LatestChanges>,
    /// Whether the polling thread runs.
    is_running: Mutex<bool>,
}

impl Heartbeat {
    /// The first subscriber starts the thread, which ends after the last one has left.
    fn subscribe(self: &Arc<Self>, engine: &Arc<dyn Engine>) -> watch::Receiver<LatestChanges> {
        let receiver = self.last.subscribe();
        let mut is_running = self.is_running.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_running {
            *is_running = true;
            let (heartbeat, engine) = (Arc::clone(self), Arc::clone(engine));
            tokio::task::spawn_blocking(move || heartbeat.run(engine));
        }
        receiver
    }

    fn run(&self, engine: Arc<dyn Engine>) {
        let mut changes = Changes::of(engine).limit(PAGE_SIZE);
        let mut since = changes.last_id().unwrap_or(0);
        // Wakes subscribers once, because they may have missed changes before this thread started.
        self.last.send_replace(LatestChanges::none(since));
        loop {
            {
                let mut is_running = self.is_running.lock().unwrap_or_else(PoisonError::into_inner);
                if self.last.receiver_count() == 0 {
                    *is_running = false;
                    return;
                }
            }
            changes = changes.since(since);
            match changes.wait(WAIT_TIMEOUT) {
                Ok(page) if page.next != since => {
                    let may_have_more = page.changes.len() == PAGE_SIZE;
                    since = page.next;
                    self.last.send_modify(|latest| {
                        latest.add(page);
                        latest.drop_oldest();
                    });
                    if !may_have_more {
                        std::thread::sleep(COLLECTION_TIME);
                    }
                }
                Ok(_) => {}
                // Wakes the subscribers, who run into the same error and report it.
                Err(_) => {
                    std::thread::sleep(WAIT_TIMEOUT);
                    since = changes.last_id().unwrap_or(since);
                    self.last.send_replace(LatestChanges::none(since));
                }
            }
        }
    }
}

/// The problem for changes that can't be read: 410 if they were pruned, 409 if the table is not
/// tracked.
pub(crate) fn unavailable(error: bobak_core::Error) -> Problem {
    match error.kind() {
        ErrorKind::NotFound => Problem::with_status(StatusCode::GONE, error),
        ErrorKind::Schema => Problem::with_status(StatusCode::CONFLICT, error),
        _ => error.into(),
    }
}

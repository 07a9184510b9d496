//! Whether a database has tables whose changes are written down.

use bobak_core::Session;
use bobak_core::feed::tracked;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How old what is known may be: another program may begin to track a table.
const FRESH: Duration = Duration::from_secs(1);

/// What was found last, and when.
#[derive(Debug, Default)]
pub(super) struct Tracks(Mutex<Option<(Instant, bool)>>);

impl Tracks {
    /// What is known; nothing where that is too old.
    pub fn known(&self) -> Option<bool> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(since, _)| since.elapsed() < FRESH).map(|(_, tracks)| tracks)
    }

    /// Whether there are any; asks by this session, which is in no transaction, where need be.
    pub fn ask(&self, session: &dyn Session) -> bool {
        if let Some(tracks) = self.known() {
            return tracks;
        }
        // Where it can't be told all stays as it was: what comes next fails by itself.
        let found = tracked(session).map(|tables| !tables.is_empty());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tracks = found.unwrap_or_else(|_| known.is_some_and(|(_, tracks)| tracks));
        *known = Some((Instant::now(), tracks));
        tracks
    }

    /// To be called when the schema has changed.
    pub fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

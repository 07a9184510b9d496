//! Pauses during long statements of background work.

use super::connection::Connection;
use bobak_core::Interrupt;
use libsqlite3_sys as sys;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of virtual machine instructions, or pages of a check, between two checks for a
/// pause.
const STEPS: c_int = 100;
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// When a connection pauses.
#[derive(Debug)]
pub(super) struct Throttle {
    work: Duration,
    /// When it started to work.
    begun: Mutex<Instant>,
}

impl Connection {
    /// Pauses a statement after it has worked for this time, for twice as long as it worked.
    pub(crate) fn throttle(&mut self, work: Duration) {
        let rests = Arc::new(Throttle { work, begun: Mutex::new(Instant::now()) });
        let state = Arc::as_ptr(&rests).cast_mut().cast::<c_void>();
        // SAFETY: the handle is open; the state, which is only read, is kept by this connection
        // until it is closed, or until another takes its place here.
        unsafe { sys::sqlite3_progress_handler(self.raw.as_ptr(), STEPS, Some(rest), state) };
        self.progress = Some(rests);
    }
}

/// # Safety
/// SQLite calls it with the state that it was given.
unsafe extern "C" fn rest(state: *mut c_void) -> c_int {
    // SAFETY: it is a `Throttle` that is there as long as the connection.
    let rests = unsafe { &*state.cast::<Throttle>() };
    let mut begun = rests.begun.lock().unwrap_or_else(PoisonError::into_inner);
    let worked = begun.elapsed();
    if worked >= rests.work {
        std::thread::sleep((worked * 2).min(MAX_PAUSE));
        *begun = Instant::now();
    }
    // This callback replaces the one that checks for interrupts, so it checks for them too.
    c_int::from(Interrupt::is_now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::OpenFlags;

    #[test]
    fn a_statement_that_rests_gives_what_it_gives_without() {
        let flags = OpenFlags { read_only: false, create: true };
        let mut db = Connection::open(c":memory:", flags, None).unwrap();
        db.throttle(Duration::ZERO);
        db.throttle(Duration::from_micros(10));
        let begun = Instant::now();
        let text = "CREATE TABLE t AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 \
                    FROM n WHERE i < 20000) SELECT i FROM n; DELETE FROM t WHERE i > 10";
        db.exec(text).unwrap();
        assert_eq!(db.changes(), 19_990);
        let worked = begun.elapsed();
        assert!(worked > Duration::from_micros(20), "{worked:?}");
    }
}

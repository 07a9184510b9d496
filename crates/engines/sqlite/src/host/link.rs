//! What one connection has of the other engines: a session with each while it is needed, and the
//! transactions in them.
//!
//! A session is opened for the first cursor or write of a statement and dropped when the last of
//! them is gone. A transaction in it begins with the first write; its end, and the marks in it,
//! follow the host's. Where a caller has lent a session, with a transaction of its own, the
//! statement's writes stand between a mark and its release instead.

use super::ahead::{Aheads, Keys, Place};
use super::guests::Guests;
use crate::ffi::{LentSession, OwnedSession};
use bobak_core::{
    Control, Cursor, CursorId, Error, ErrorKind, Estimate, Result, RowBuffer, Session, Source,
    TableSchema,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The mark before a statement's writes in a lent session.
const LENT_MARK: &str = "bobak_host";

/// Shared by the virtual tables of one connection.
#[derive(Debug)]
pub(crate) struct Link {
    guests: Arc<Guests>,
    state: Mutex<State>,
    /// Whether a scout is running.
    scouting: AtomicBool,
    aheads: Mutex<Aheads>,
}

#[derive(Debug)]
struct State {
    slots: Vec<Slot>,
    /// Who the transaction, or the lone statement, writes to.
    claim: Option<Writer>,
}

/// Who is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// The host's own tables.
    Host,
    /// Those of the guest at this place.
    Guest(usize),
}

#[derive(Debug, Default)]
struct Slot {
    session: Option<OwnedSession>,
    lent: Option<LentSession>,
    cursors: usize,
    /// Whether a transaction was begun in it.
    began: bool,
    /// The host's marks in it, ascending.
    marks: Vec<i32>,
}

impl Link {
    pub(crate) fn new(guests: &Arc<Guests>) -> Self {
        let slots = guests.all().iter().map(|_| Slot::default()).collect();
        let state = State { slots, claim: None };
        Self {
            guests: Arc::clone(guests),
            state: Mutex::new(state),
            scouting: AtomicBool::new(false),
            aheads: Mutex::default(),
        }
    }

    pub(crate) fn guests(&self) -> &Arc<Guests> {
        &self.guests
    }

    /// Runs `work` while the session is lent for a guest's tables.
    pub(crate) fn lend<R>(
        &self,
        guest: usize,
        session: &dyn Session,
        work: impl FnOnce() -> R,
    ) -> R {
        let set = |lent| {
            if let Some(slot) = self.lock().slots.get_mut(guest) {
                slot.lent = lent;
            }
        };
        LentSession::lend(session, |lent| set(Some(lent)), work, || set(None))
    }

    /// What a guest says of its table.
    pub(crate) fn estimate(&self, guest: usize, table: &TableSchema) -> Estimate {
        let guest = self.guests.all().get(guest);
        guest.map(|guest| guest.engine.estimate(table)).unwrap_or_default()
    }

    /// What is known of keys to come.
    pub(crate) fn aheads(&self) -> MutexGuard<'_, Aheads> {
        self.aheads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a scout is running.
    pub(crate) fn is_scouting(&self) -> bool {
        self.scouting.load(Ordering::Relaxed)
    }

    /// The keys that a place is asked for while `run` runs the statement again; `None` where it
    /// does not, or where another scout is running.
    pub(crate) fn scout(&self, place: &Place, run: impl FnOnce() -> bool) -> Option<Keys> {
        if !self.aheads().begin(place) {
            return None;
        }
        self.scouting.store(true, Ordering::Relaxed);
        let ran = run();
        self.scouting.store(false, Ordering::Relaxed);
        let keys = self.aheads().end();
        ran.then_some(keys)
    }

    /// A cursor of a virtual table was opened.
    pub(crate) fn enter(&self, guest: usize) {
        if let Some(slot) = self.lock().slots.get_mut(guest) {
            slot.cursors += 1;
        }
    }

    /// A cursor of a virtual table was closed.
    pub(crate) fn leave(&self, guest: usize) {
        let session = self.lock().slots.get_mut(guest).and_then(|slot| {
            slot.cursors = slot.cursors.saturating_sub(1);
            slot.free()
        });
        drop(session);
    }

    /// Runs an operation in the guest's session.
    pub(crate) fn with<R>(
        &self,
        guest: usize,
        work: impl FnOnce(&dyn Session) -> Result<R>,
    ) -> Result<R> {
        let mut state = self.lock();
        self.slot(&mut state, guest)?.with(|session| work(session))
    }

    /// Opens a query in the guest's session.
    pub(crate) fn open(&self, guest: usize, source: &Source<'_>) -> Result<Cursor> {
        self.with(guest, |session| session.open(source))
    }

    /// As [`Session::fetch`].
    pub(crate) fn fetch(&self, guest: usize, id: CursorId, rows: &mut RowBuffer) -> Result<()> {
        self.with(guest, |session| session.fetch(id, rows))
    }

    /// As [`Session::close`].
    pub(crate) fn close(&self, guest: usize, id: CursorId) {
        // Without a session there is no cursor in it either.
        let _ = self.with(guest, |session| {
            session.close(id);
            Ok(())
        });
    }

    /// Says who is written to, until [`release_claim`](Self::release_claim).
    ///
    /// # Errors
    /// `Unsupported` where another was before.
    pub(crate) fn claim(&self, writer: Writer) -> Result<()> {
        let mut state = self.lock();
        match state.claim {
            None => {
                state.claim = Some(writer);
                Ok(())
            }
            Some(other) if other == writer => Ok(()),
            Some(other) => {
                let message = format!(
                    "a transaction writes to one engine: this one has written to {}, \
                     and can't write to {} as well",
                    self.guests.writer_name(other),
                    self.guests.writer_name(writer),
                );
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    /// A transaction, or a statement without one, begins anew.
    pub(crate) fn release_claim(&self) {
        self.lock().claim = None;
    }

    /// The first write to a table of the guest in a transaction.
    pub(crate) fn begin(&self, guest: usize) -> Result<()> {
        self.claim(Writer::Guest(guest))?;
        let mut state = self.lock();
        let slot = self.slot(&mut state, guest)?;
        if slot.began {
            return Ok(());
        }
        let step = match slot.lent {
            Some(_) => Control::Savepoint(LENT_MARK),
            None => Control::Begin,
        };
        slot.with(|session| session.control(step))?;
        slot.began = true;
        Ok(())
    }

    /// Makes what was written durable: the host commits right afterwards.
    pub(crate) fn sync(&self, guest: usize) -> Result<()> {
        let mut state = self.lock();
        let slot = self.slot(&mut state, guest)?;
        if !slot.began {
            return Ok(());
        }
        // After a failed commit the engine has rolled back.
        slot.began = false;
        slot.marks.clear();
        let step = match slot.lent {
            Some(_) => Control::Release(LENT_MARK),
            None => Control::Commit,
        };
        slot.with(|session| session.control(step))
    }

    /// The transaction has ended; what is still open in the guest's is undone.
    pub(crate) fn end(&self, guest: usize) {
        let mut state = self.lock();
        state.claim = None;
        let Some(slot) = state.slots.get_mut(guest) else {
            return;
        };
        if std::mem::take(&mut slot.began) {
            slot.marks.clear();
            let steps: &[Control<'_>] = match slot.lent {
                Some(_) => &[Control::RollbackTo(LENT_MARK), Control::Release(LENT_MARK)],
                None => &[Control::Rollback],
            };
            for step in steps {
                // It fails where the engine has ended the transaction by itself.
                let _ = slot.with(|session| session.control(*step));
            }
        }
        let session = slot.free();
        drop(state);
        drop(session);
    }

    /// Marks a place. Each table of the guest says so, the first of them counts.
    pub(crate) fn savepoint(&self, guest: usize, number: i32) -> Result<()> {
        let mut state = self.lock();
        let slot = self.slot(&mut state, guest)?;
        if !slot.began || slot.marks.contains(&number) {
            return Ok(());
        }
        slot.with(|session| session.control(Control::Savepoint(&mark_name(number))))?;
        slot.marks.push(number);
        Ok(())
    }

    /// Forgets a mark and those after it.
    pub(crate) fn release(&self, guest: usize, number: i32) -> Result<()> {
        let mut state = self.lock();
        let slot = self.slot(&mut state, guest)?;
        let Some(first) = slot.marks.iter().copied().find(|mark| *mark >= number) else {
            return Ok(());
        };
        slot.marks.retain(|mark| *mark < number);
        slot.with(|session| session.control(Control::Release(&mark_name(first))))
    }

    /// Undoes what was done since a mark, which stays.
    pub(crate) fn rollback_to(&self, guest: usize, number: i32) -> Result<()> {
        let mut state = self.lock();
        let slot = self.slot(&mut state, guest)?;
        // A transaction that began after the mark was made has a later one, at its beginning.
        let Some(first) = slot.marks.iter().copied().find(|mark| *mark >= number) else {
            return Ok(());
        };
        slot.marks.retain(|mark| *mark <= first);
        slot.with(|session| session.control(Control::RollbackTo(&mark_name(first))))
    }

    fn slot<'s>(&self, state: &'s mut MutexGuard<'_, State>, guest: usize) -> Result<&'s mut Slot> {
        let missing = || Error::new(ErrorKind::Misuse, "the engine is not attached");
        let slot = state.slots.get_mut(guest).ok_or_else(missing)?;
        if slot.session.is_none() && slot.lent.is_none() {
            let engine = &self.guests.all().get(guest).ok_or_else(missing)?.engine;
            slot.session = Some(OwnedSession::open(engine)?);
        }
        Ok(slot)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn with<R>(&self, work: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        match (&self.lent, &self.session) {
            (Some(lent), _) => work(lent.get()),
            (None, Some(session)) => work(session.get()),
            (None, None) => Err(Error::new(ErrorKind::Misuse, "there is no session")),
        }
    }

    /// The session, where nothing needs it any more.
    fn free(&mut self) -> Option<OwnedSession> {
        if self.cursors == 0 && !self.began { self.session.take() } else { None }
    }
}

fn mark_name(number: i32) -> String {
    format!("bobak_host_{number}")
}

//! What one connection of the federation has of the attached engines: a session with each while it
//! is needed, and the transactions in them.
//!
//! A session is opened for the first cursor or write of a statement and dropped with the last one.
//! A transaction in it begins with the first write; its end, and its savepoints, follow those of
//! the federation's own transaction. If a caller has lent a session, which may be in a transaction
//! of its own, the statement's writes are enclosed in a savepoint of that session instead.

use crate::attached::AttachedEngines;
use crate::lookahead::{BatchedLookups, KeySet, LookupSite};
use bobak_core::{
    Cursor, Error, ErrorKind, Estimate, Result, RowBuffer, Session, Source, TableSchema,
    TransactionControl,
};
use bobak_sqlite::extension::{BorrowedSession, OwnedSession};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The savepoint around a statement's writes in a lent session.
const LENT_SAVEPOINT: &str = "bobak_federation";

/// Shared by the virtual tables of one connection.
#[derive(Debug)]
pub(crate) struct EngineSessions {
    attached: Arc<AttachedEngines>,
    state: Mutex<SessionsState>,
    /// Whether a scout is running (see [`lookahead`](crate::lookahead)).
    scouting: AtomicBool,
    lookups: Mutex<BatchedLookups>,
}

#[derive(Debug)]
struct SessionsState {
    /// By the engine's position.
    slots: Vec<EngineSlot>,
    /// The engine that the transaction, or the statement outside one, writes to.
    claim: Option<WriteTarget>,
}

/// The engine that is written to: a transaction spans only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteTarget {
    /// The federation's own SQLite database.
    Main,
    /// The attached engine at this position.
    Attached(usize),
}

/// The session with one engine.
#[derive(Debug, Default)]
struct EngineSlot {
    owned: Option<OwnedSession>,
    /// The session that a caller has lent; used instead of `owned`.
    lent: Option<Arc<BorrowedSession>>,
    cursors: usize,
    /// Whether a transaction was begun in it.
    began: bool,
    /// SQLite's numbers of the savepoints in it, ascending.
    savepoints: Vec<i32>,
}

impl EngineSessions {
    pub(crate) fn new(attached: &Arc<AttachedEngines>) -> Self {
        let slots = attached.all().iter().map(|_| EngineSlot::default()).collect();
        Self {
            attached: Arc::clone(attached),
            state: Mutex::new(SessionsState { slots, claim: None }),
            scouting: AtomicBool::new(false),
            lookups: Mutex::default(),
        }
    }

    pub(crate) fn attached(&self) -> &Arc<AttachedEngines> {
        &self.attached
    }

    /// Runs `work` while an engine's tables use this session.
    pub(crate) fn lend<R>(
        &self,
        engine: usize,
        session: &dyn Session,
        work: impl FnOnce() -> R,
    ) -> R {
        /// Takes the session back, also after a panic.
        struct TakeBack<'s>(&'s EngineSessions, usize);
        impl Drop for TakeBack<'_> {
            fn drop(&mut self) {
                self.0.set_lent(self.1, None);
            }
        }
        let lent = Arc::new(BorrowedSession::default());
        self.set_lent(engine, Some(Arc::clone(&lent)));
        let _take_back = TakeBack(self, engine);
        lent.lend(session, work)
    }

    fn set_lent(&self, engine: usize, lent: Option<Arc<BorrowedSession>>) {
        if let Some(slot) = self.lock().slots.get_mut(engine) {
            slot.lent = lent;
        }
    }

    /// An engine's estimate for its table.
    pub(crate) fn estimate(&self, engine: usize, table: &TableSchema) -> Estimate {
        let attached = self.attached.all().get(engine);
        attached.map(|attached| attached.engine.estimate(table)).unwrap_or_default()
    }

    /// The lookups that are batched on this connection.
    pub(crate) fn lookups(&self) -> MutexGuard<'_, BatchedLookups> {
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a scout is running.
    pub(crate) fn is_scouting(&self) -> bool {
        self.scouting.load(Ordering::Relaxed)
    }

    /// Collects the keys that are looked up at a site while `run` runs the statement again. `None`
    /// if it does not run, or if another scout is running.
    pub(crate) fn scout(&self, site: &LookupSite, run: impl FnOnce() -> bool) -> Option<KeySet> {
        if !self.lookups().begin_collecting(site) {
            return None;
        }
        self.scouting.store(true, Ordering::Relaxed);
        let ran = run();
        self.scouting.store(false, Ordering::Relaxed);
        let keys = self.lookups().end_collecting();
        ran.then_some(keys)
    }

    /// Counts an opened cursor of a virtual table.
    pub(crate) fn cursor_opened(&self, engine: usize) {
        if let Some(slot) = self.lock().slots.get_mut(engine) {
            slot.cursors += 1;
        }
    }

    /// Counts a closed cursor of a virtual table.
    pub(crate) fn cursor_closed(&self, engine: usize) {
        let session = self.lock().slots.get_mut(engine).and_then(|slot| {
            slot.cursors = slot.cursors.saturating_sub(1);
            slot.take_unused()
        });
        drop(session);
    }

    /// Runs an operation in the engine's session.
    pub(crate) fn with<R>(
        &self,
        engine: usize,
        work: impl FnOnce(&dyn Session) -> Result<R>,
    ) -> Result<R> {
        let mut state = self.lock();
        self.slot(&mut state, engine)?.with(work)
    }

    /// Opens a query in the engine's session.
    pub(crate) fn open(&self, engine: usize, source: &Source<'_>) -> Result<Cursor> {
        self.with(engine, |session| session.open(source))
    }

    /// As [`Session::fetch`].
    pub(crate) fn fetch(
        &self,
        engine: usize,
        cursor: &mut Cursor,
        rows: &mut RowBuffer,
    ) -> Result<()> {
        self.with(engine, |session| session.fetch(cursor, rows))
    }

    /// As [`Session::close`].
    pub(crate) fn close(&self, engine: usize, cursor: &mut Cursor) {
        // Without a session there is no cursor to close either.
        let _ = self.with(engine, |session| {
            session.close(cursor);
            Ok(())
        });
    }

    /// Restricts writes to one engine, until [`release_claim`](Self::release_claim).
    ///
    /// # Errors
    /// `Unsupported` if they are restricted to another engine.
    pub(crate) fn claim_writes(&self, target: WriteTarget) -> Result<()> {
        let mut state = self.lock();
        match state.claim {
            None => {
                state.claim = Some(target);
                Ok(())
            }
            Some(other) if other == target => Ok(()),
            Some(other) => {
                let message = format!(
                    "a transaction can write to one engine only: this one has written to {}, and \
                     cannot write to {} as well",
                    self.attached.target_name(other),
                    self.attached.target_name(target),
                );
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    /// Called when a transaction, or a statement outside one, begins.
    pub(crate) fn release_claim(&self) {
        self.lock().claim = None;
    }

    /// Begins a transaction in the engine, at the first write to one of its tables.
    pub(crate) fn begin(&self, engine: usize) -> Result<()> {
        self.claim_writes(WriteTarget::Attached(engine))?;
        let mut state = self.lock();
        let slot = self.slot(&mut state, engine)?;
        if slot.began {
            return Ok(());
        }
        let step = match slot.lent.is_some() {
            true => TransactionControl::Savepoint(LENT_SAVEPOINT),
            false => TransactionControl::Begin,
        };
        slot.control(step)?;
        slot.began = true;
        Ok(())
    }

    /// Commits in the engine, right before SQLite commits.
    pub(crate) fn sync(&self, engine: usize) -> Result<()> {
        let mut state = self.lock();
        let slot = self.slot(&mut state, engine)?;
        if !slot.began {
            return Ok(());
        }
        // After a failed commit the engine has rolled back.
        slot.began = false;
        slot.savepoints.clear();
        let step = match slot.lent.is_some() {
            true => TransactionControl::Release(LENT_SAVEPOINT),
            false => TransactionControl::Commit,
        };
        slot.control(step)
    }

    /// Called at the end of the transaction: undoes the engine's transaction if it is still open.
    pub(crate) fn end(&self, engine: usize) {
        let mut state = self.lock();
        state.claim = None;
        let Some(slot) = state.slots.get_mut(engine) else {
            return;
        };
        if std::mem::take(&mut slot.began) {
            slot.savepoints.clear();
            let steps: &[TransactionControl<'_>] = match slot.lent.is_some() {
                true => &[
                    TransactionControl::RollbackTo(LENT_SAVEPOINT),
                    TransactionControl::Release(LENT_SAVEPOINT),
                ],
                false => &[TransactionControl::Rollback],
            };
            for step in steps {
                // It fails if the engine has already ended the transaction.
                let _ = slot.control(*step);
            }
        }
        let session = slot.take_unused();
        drop(state);
        drop(session);
    }

    /// Sets a savepoint. SQLite calls this for each table of the engine; the first call counts.
    pub(crate) fn savepoint(&self, engine: usize, number: i32) -> Result<()> {
        let mut state = self.lock();
        let slot = self.slot(&mut state, engine)?;
        if !slot.began || slot.savepoints.contains(&number) {
            return Ok(());
        }
        slot.control(TransactionControl::Savepoint(&savepoint_name(number)))?;
        slot.savepoints.push(number);
        Ok(())
    }

    /// Releases a savepoint and those after it.
    pub(crate) fn release(&self, engine: usize, number: i32) -> Result<()> {
        let mut state = self.lock();
        let slot = self.slot(&mut state, engine)?;
        let Some(first) = slot.savepoints.iter().copied().find(|other| *other >= number) else {
            return Ok(());
        };
        slot.savepoints.retain(|other| *other < number);
        slot.control(TransactionControl::Release(&savepoint_name(first)))
    }

    /// Undoes what was done since a savepoint, which remains.
    pub(crate) fn rollback_to(&self, engine: usize, number: i32) -> Result<()> {
        let mut state = self.lock();
        let slot = self.slot(&mut state, engine)?;
        // If the engine's transaction began after this savepoint, a later savepoint marks its start.
        let Some(first) = slot.savepoints.iter().copied().find(|other| *other >= number) else {
            return Ok(());
        };
        slot.savepoints.retain(|other| *other <= first);
        slot.control(TransactionControl::RollbackTo(&savepoint_name(first)))
    }

    fn slot<'s>(
        &self,
        state: &'s mut MutexGuard<'_, SessionsState>,
        engine: usize,
    ) -> Result<&'s mut EngineSlot> {
        let missing = || Error::new(ErrorKind::Misuse, "the engine is not attached");
        let slot = state.slots.get_mut(engine).ok_or_else(missing)?;
        if slot.owned.is_none() && slot.lent.is_none() {
            let engine = &self.attached.all().get(engine).ok_or_else(missing)?.engine;
            slot.owned = Some(OwnedSession::open(engine)?);
        }
        Ok(slot)
    }

    fn lock(&self) -> MutexGuard<'_, SessionsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EngineSlot {
    /// Runs an operation in the lent session, else in the own one.
    fn with<R>(&self, work: impl FnOnce(&dyn Session) -> Result<R>) -> Result<R> {
        let missing = || Error::new(ErrorKind::Misuse, "there is no session");
        match (&self.lent, &self.owned) {
            (Some(lent), _) => lent.with(work).unwrap_or_else(|| Err(missing())),
            (None, Some(owned)) => work(owned.get()),
            (None, None) => Err(missing()),
        }
    }

    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        self.with(|session| session.control(step))
    }

    /// The own session, if nothing needs it any more.
    fn take_unused(&mut self) -> Option<OwnedSession> {
        if self.cursors == 0 && !self.began { self.owned.take() } else { None }
    }
}

fn savepoint_name(number: i32) -> String {
    format!("bobak_federation_{number}")
}

//! Sessions of other engines, kept by the virtual tables of a connection.

use bobak_core::{Engine, Result, Session};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// A session together with the engine that it borrows from.
pub struct OwnedSession {
    // Dropped in this order: the session borrows from the engine.
    session: Box<dyn Session + 'static>,
    _engine: Arc<dyn Engine>,
}

/// A place for a session that its owner lends for the duration of one call.
///
/// Only the thread that lends a session can use it, and only until the call ends.
#[derive(Default)]
pub struct BorrowedSession {
    lent: Mutex<Option<(ThreadId, *const (dyn Session + 'static))>>,
}

// SAFETY: the pointer is dereferenced only on the thread that stored it (see `with`).
unsafe impl Send for BorrowedSession {}
// SAFETY: as above.
unsafe impl Sync for BorrowedSession {}

impl OwnedSession {
    /// Opens a session.
    ///
    /// # Errors
    /// Those of [`Engine::session`].
    pub fn open(engine: &Arc<dyn Engine>) -> Result<Self> {
        let engine = Arc::clone(engine);
        let session = engine.session()?;
        // SAFETY: the engine is behind an `Arc` that lives as long as the session: it is dropped
        // after it, and moving the `Arc` does not move the engine.
        let session = unsafe {
            std::mem::transmute::<Box<dyn Session + '_>, Box<dyn Session + 'static>>(session)
        };
        Ok(Self { session, _engine: engine })
    }

    /// The session.
    #[must_use]
    pub fn get(&self) -> &dyn Session {
        &*self.session
    }
}

impl BorrowedSession {
    /// Runs `work` while the session can be reached through [`with`](Self::with).
    pub fn lend<R>(&self, session: &dyn Session, work: impl FnOnce() -> R) -> R {
        /// Restores what was lent before, also after a panic.
        struct Restore<'b>(&'b BorrowedSession, Option<(ThreadId, *const (dyn Session + 'static))>);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.set(self.1.take());
            }
        }
        // SAFETY: only the lifetime is extended; the pointer is removed before this call ends.
        let session: *const (dyn Session + 'static) =
            unsafe { std::mem::transmute(std::ptr::from_ref(session)) };
        let before = self.set(Some((thread::current().id(), session)));
        let _restore = Restore(self, before);
        work()
    }

    /// Whether a session is lent now.
    #[must_use]
    pub fn is_lent(&self) -> bool {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Runs `work` with the session; `None` if this thread has lent none.
    pub fn with<R>(&self, work: impl FnOnce(&dyn Session) -> R) -> Option<R> {
        let lent = *self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, session) = lent.filter(|(thread, _)| *thread == thread::current().id())?;
        // SAFETY: this thread is inside the call of `lend` that stored the pointer: that call
        // removes it before it ends, and borrows the session until then. Thread ids are never
        // reused.
        Some(work(unsafe { &*session }))
    }

    fn set(
        &self,
        lent: Option<(ThreadId, *const (dyn Session + 'static))>,
    ) -> Option<(ThreadId, *const (dyn Session + 'static))> {
        std::mem::replace(&mut *self.lent.lock().unwrap_or_else(PoisonError::into_inner), lent)
    }
}

impl std::fmt::Debug for OwnedSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnedSession")
    }
}

impl std::fmt::Debug for BorrowedSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BorrowedSession").field("is_lent", &self.is_lent()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_memory::Memory;

    #[test]
    fn borrowed_session_is_reachable_on_its_thread_until_the_call_ends() {
        let engine = Memory::new();
        let (first, second) = (engine.session().unwrap(), engine.session().unwrap());
        let slot = BorrowedSession::default();
        let lent = || slot.with(|session| std::ptr::from_ref(session).cast::<()>());
        let address = |session: &dyn Session| Some(std::ptr::from_ref(session).cast::<()>());
        slot.lend(&*first, || {
            assert_eq!(lent(), address(&*first));
            slot.lend(&*second, || assert_eq!(lent(), address(&*second)));
            assert_eq!(lent(), address(&*first));
            thread::scope(|scope| {
                assert!(scope.spawn(|| slot.with(|_| ()).is_none()).join().unwrap());
            });
        });
        assert!(lent().is_none() && !slot.is_lent());
    }
}

//! Sessions of other engines, kept by the virtual tables of a connection.

use bobak_core::{Engine, Result, Session};
use std::sync::Arc;

/// A session together with the engine that it borrows from.
pub(crate) struct OwnedSession {
    // Dropped in this order: the session borrows from the engine.
    session: Box<dyn Session + 'static>,
    _engine: Arc<dyn Engine>,
}

/// A session that its owner has lent for one call. Only [`lend`](LentSession::lend) makes it.
pub(crate) struct LentSession(*const (dyn Session + 'static));

// SAFETY: it is used by the thread that lent it only, inside that call: the connection that it is
// kept at is used by one thread at a time, and gives it back before the call ends.
unsafe impl Send for LentSession {}

impl OwnedSession {
    /// Opens a session.
    pub(crate) fn open(engine: &Arc<dyn Engine>) -> Result<Self> {
        let engine = Arc::clone(engine);
        let session = engine.session()?;
        // SAFETY: the engine is behind an `Arc` that lives as long as the session: it is dropped
        // after it, and moving the `Arc` does not move the engine.
        let session = unsafe {
            std::mem::transmute::<Box<dyn Session + '_>, Box<dyn Session + 'static>>(session)
        };
        Ok(Self { session, _engine: engine })
    }

    pub(crate) fn get(&self) -> &dyn Session {
        &*self.session
    }
}

impl LentSession {
    /// Calls `run` with a handle on the session, which `run` must have dropped, or given to `back`
    /// to drop, when it ends: it is `take_back` that sees to that.
    pub(crate) fn lend<R>(
        session: &dyn Session,
        give: impl FnOnce(Self),
        run: impl FnOnce() -> R,
        take_back: impl Fn(),
    ) -> R {
        struct Back<F: Fn()>(F);
        impl<F: Fn()> Drop for Back<F> {
            fn drop(&mut self) {
                (self.0)();
            }
        }
        // SAFETY: only the lifetime is made longer; the handle is taken back before this call
        // ends, also by a panic.
        let session: *const (dyn Session + 'static) =
            unsafe { std::mem::transmute(std::ptr::from_ref(session)) };
        let _back = Back(take_back);
        give(Self(session));
        run()
    }

    pub(crate) fn get(&self) -> &dyn Session {
        // SAFETY: the session outlives the call of `lend` that this handle lives in.
        unsafe { &*self.0 }
    }
}

impl std::fmt::Debug for OwnedSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnedSession")
    }
}

impl std::fmt::Debug for LentSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LentSession")
    }
}

//! Where statements come from.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

thread_local! {
    static PLACE: Cell<Option<KnownPlace>> = const { Cell::new(None) };
    static LABEL: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// The place of the outermost call; `None` inside if it is that of a client of a server.
type KnownPlace = Option<&'static Location<'static>>;

/// Where a statement comes from: a label of the program, the place of the call in its source, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// What [`with_label`] was given. For clients of a server: their name, and the route of their request.
    pub label: Option<Arc<str>>,
    /// The place in the program's source. `None` for clients of a server.
    pub place: Option<&'static Location<'static>>,
}

impl Origin {
    /// The origin of what this thread calls now; `None` if nothing is known.
    #[must_use]
    pub fn now() -> Option<Self> {
        let place = PLACE.get().flatten();
        let label = LABEL.with_borrow(Clone::clone);
        (place.is_some() || label.is_some()).then_some(Self { label, place })
    }

    /// Runs `work` as if it came from here: for work that another thread does later.
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        let _at = self.place.map(CallSite::enter_at);
        match &self.label {
            Some(label) => with_label(Arc::clone(label), work),
            None => work(),
        }
    }
}

/// The label, then the place as `src/main.rs:10`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label.as_deref().unwrap_or_default())?;
        match self.place {
            Some(place) if self.label.is_some() => {
                write!(f, " at {}:{}", place.file(), place.line())
            }
            Some(place) => write!(f, "{}:{}", place.file(), place.line()),
            None => Ok(()),
        }
    }
}

/// Labels the statements that this thread runs in `work`, for example with the name of a job or a request. If two are
/// nested, the inner one counts. See [`Origin`].
pub fn with_label<R>(label: impl Into<Arc<str>>, work: impl FnOnce() -> R) -> R {
    let _within = LabelGuard(LABEL.replace(Some(label.into())));
    work()
}

/// Restores the thread's label when dropped.
struct LabelGuard(Option<Arc<str>>);

impl Drop for LabelGuard {
    fn drop(&mut self) {
        LABEL.set(self.0.take());
    }
}

/// The place of a call of the program, until it is dropped. For crates whose methods call engines: the outermost place
/// counts, since the calls inside are their own.
#[derive(Debug)]
#[must_use = "dropping it forgets the place"]
pub struct CallSite {
    before: Option<KnownPlace>,
}

impl CallSite {
    /// The caller of the function that calls this, if that function is `#[track_caller]`.
    #[inline]
    #[track_caller]
    pub fn enter() -> Self {
        Self::enter_at(Location::caller())
    }

    /// A place that was noted before.
    #[inline]
    pub fn enter_at(place: &'static Location<'static>) -> Self {
        Self::enter_known(Some(place))
    }

    /// No place: for calls of a server on behalf of its clients, which have a label.
    pub fn of_client() -> Self {
        Self::enter_known(None)
    }

    #[inline]
    fn enter_known(place: KnownPlace) -> Self {
        let before = PLACE.get();
        if before.is_none() {
            PLACE.set(Some(place));
        }
        Self { before }
    }
}

impl Drop for CallSite {
    #[inline]
    fn drop(&mut self) {
        PLACE.set(self.before);
    }
}

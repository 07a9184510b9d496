//! Blocking work on worker threads.
//!
//! Engines block, so the reactor hands their work, a whole request or a part of a stream at a time,
//! to other threads. Work of a request is interrupted if nobody waits for its result any more:
//! because its time limit has passed, or because the client has disconnected. [`WorkerPermits`]
//! keep one client from taking all threads.

use crate::peer::Peer;
use crate::problem::Problem;
use crate::settings::Settings;
use crate::workers::permits::WorkerPermits;
use bobak_core::statements::with_label;
use bobak_core::{ErrorKind, Interrupt};
use hyper::StatusCode;
use std::sync::Arc;

tokio::task_local! {
    /// The request that the current task serves.
    static SCOPE: RequestScope;
}

/// What the work of a request needs to know about it.
struct RequestScope {
    /// Interrupts the request's work when the task ends or is dropped.
    interrupt: InterruptOnDrop,
    peer: Arc<Peer>,
    permits: WorkerPermits,
    /// What the request does, if a database's statements are monitored.
    route: Option<String>,
}

impl RequestScope {
    /// Where the statements of the request come from: `ada: GET /tables`.
    fn label(&self) -> Option<String> {
        let route = self.route.as_deref()?;
        Some(match self.peer.name() {
            Some(name) => format!("{name}: {route}"),
            None => route.to_owned(),
        })
    }
}

/// Interrupts work when it is dropped.
pub(crate) struct InterruptOnDrop(Interrupt);

impl InterruptOnDrop {
    pub fn new() -> Self {
        Self(Interrupt::new())
    }

    /// The interrupt to run the work under.
    pub fn interrupt(&self) -> Interrupt {
        self.0.clone()
    }
}

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.interrupt();
    }
}

/// The most threads that blocking work needs.
///
/// Twice the workers and streams: once for clients, and once more for operators at Unix sockets, who have no quota.
/// Streams have threads of their own, so that long ones take none from requests.
/// Each database adds two: one for [`run_unlimited`], one for its change feed.
pub(crate) fn max_threads(settings: &Settings, databases: usize) -> usize {
    let workers = settings.max_workers.max(1).saturating_add(settings.max_streams);
    workers.saturating_add(databases).saturating_mul(2)
}

/// Runs `task` for a request of `peer` to `route`. When the task ends or is dropped, all blocking work that it
/// has started is interrupted.
pub(crate) async fn scope<R>(
    peer: &Arc<Peer>,
    permits: &WorkerPermits,
    route: Option<String>,
    task: impl Future<Output = R>,
) -> R {
    let interrupt = InterruptOnDrop::new();
    let (peer, permits) = (Arc::clone(peer), permits.clone());
    let scope = RequestScope { interrupt, peer, permits, route };
    SCOPE.scope(scope, task).await
}

/// What the current request does, if a database's statements are monitored.
pub(crate) fn route() -> Option<String> {
    SCOPE.try_with(|scope| scope.route.clone()).ok().flatten()
}

/// Where the statements of the current request come from, if a database's statements are monitored.
pub(crate) fn label() -> Option<String> {
    SCOPE.try_with(RequestScope::label).ok().flatten()
}

/// Runs work that does not block, and whose statements are those of the current request.
pub(crate) fn labelled<R>(work: impl FnOnce() -> R) -> R {
    with_optional_label(label(), work)
}

/// Runs work whose statements come from there.
pub(crate) fn with_optional_label<R>(label: Option<String>, work: impl FnOnce() -> R) -> R {
    match label {
        Some(label) => with_label(label, work),
        None => work(),
    }
}

/// Runs blocking work on a worker thread, as soon as the client's quota allows.
///
/// # Errors
/// Those of the work; 500 if it panics.
pub(crate) async fn run<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    let request = SCOPE.try_with(|scope| (scope.permits.clone(), scope.peer.principal()));
    let permit = match request {
        Ok((permits, principal)) => Some(permits.acquire(&principal).await),
        Err(_) => None,
    };
    run_unlimited(move || {
        let _permit = permit;
        work()
    })
    .await
}

/// Runs blocking work without a worker permit: for work that has another permit, or is done for all
/// clients.
///
/// # Errors
/// As [`run`].
pub(crate) async fn run_unlimited<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    let scope = SCOPE.try_with(|scope| (scope.interrupt.interrupt(), scope.label())).ok();
    let work = move || match scope {
        Some((interrupt, label)) => with_optional_label(label, || interrupt.run(work)),
        None => work(),
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            let message = format!("a worker thread ended: {error}");
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorKind::Engine, message))
        }
    }
}

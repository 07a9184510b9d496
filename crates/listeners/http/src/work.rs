//! Work that blocks: a whole request at a time, on threads of its own. Where nobody waits for it any more, since its time
//! is over or the client has gone, it is ended. No caller has all threads: see [`Turns`].

use crate::problem::Problem;
use crate::settings::Settings;
use crate::turns::Turns;
use crate::visitor::Visitor;
use bobak_core::{ErrorKind, Interrupt};
use hyper::StatusCode;
use std::sync::Arc;

tokio::task_local! {
    /// What the task does, and for whom.
    static REQUEST: Request;
}

/// A request that is answered.
struct Request {
    /// What ends its work.
    ends: Ends,
    visitor: Arc<Visitor>,
    turns: Turns,
}

/// Interrupts when it is dropped.
pub(crate) struct Ends(Interrupt);

impl Ends {
    pub fn new() -> Self {
        Self(Interrupt::new())
    }

    /// What it interrupts by.
    pub fn interrupt(&self) -> Interrupt {
        self.0.clone()
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.interrupt();
    }
}

/// The most threads: the workers and as many of the operator's, whom no share keeps out; the same
/// of streams, so that these, however long they last, take no worker from others; and two for each
/// database, of [`aside`] and of who looks out for its changes.
pub(crate) fn threads(settings: &Settings, databases: usize) -> usize {
    let workers = settings.workers.max(1).saturating_add(settings.streams);
    workers.saturating_add(databases).saturating_mul(2)
}

/// Answers a request of a visitor; work that is still under way when the answer is there, or is not
/// wanted any more, is ended.
pub(crate) async fn ending<R>(
    visitor: &Arc<Visitor>,
    turns: &Turns,
    answer: impl Future<Output = R>,
) -> R {
    let request = Request { ends: Ends::new(), visitor: Arc::clone(visitor), turns: turns.clone() };
    REQUEST.scope(request, answer).await
}

/// Has a worker do it, as soon as the caller may have one.
///
/// # Errors
/// Those of the work; 500 where it panicked.
pub(crate) async fn run<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    let whose = REQUEST.try_with(|request| (request.turns.clone(), request.visitor.principal()));
    let turn = match whose {
        Ok((turns, principal)) => Some(turns.take(&principal).await),
        Err(_) => None,
    };
    aside(move || {
        let _turn = turn;
        work()
    })
    .await
}

/// Has a thread do it that is no worker: what has a permit already, or is done for all.
///
/// # Errors
/// As [`run`].
pub(crate) async fn aside<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    let ends = REQUEST.try_with(|request| request.ends.interrupt()).ok();
    let work = move || match ends {
        Some(ends) => ends.run(work),
        None => work(),
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            let message = format!("a worker ended: {error}");
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorKind::Engine, message))
        }
    }
}

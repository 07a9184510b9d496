//! Work that blocks: a whole request at a time, on threads of its own. Where nobody waits for it any more, since its time
//! is over or the client has gone, it is ended.

use crate::problem::Problem;
use bobak_core::{ErrorKind, Interrupt};
use hyper::StatusCode;

tokio::task_local! {
    /// What ends the work of the request that the task answers.
    static REQUEST: Interrupt;
}

/// Interrupts when it is dropped.
struct Ends(Interrupt);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.interrupt();
    }
}

/// Answers a request; work that is still under way when the answer is there, or is not wanted any more, is ended.
pub(crate) async fn ending<R>(answer: impl Future<Output = R>) -> R {
    let ends = Ends(Interrupt::new());
    REQUEST.scope(ends.0.clone(), answer).await
}

/// Has a worker do it.
///
/// # Errors
/// Those of the work; 500 where it panicked.
pub(crate) async fn run<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    let request = REQUEST.try_with(Interrupt::clone).ok();
    let work = move || match request {
        Some(request) => request.run(work),
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

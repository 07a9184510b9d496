//! Work that blocks: a whole request at a time, on threads of its own.

use crate::problem::Problem;
use bobak_core::ErrorKind;
use hyper::StatusCode;

/// Has a worker do it.
///
/// # Errors
/// Those of the work; 500 where it panicked.
pub(crate) async fn run<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            let message = format!("a worker ended: {error}");
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorKind::Engine, message))
        }
    }
}

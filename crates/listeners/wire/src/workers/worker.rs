//! A worker thread.

use super::password_check::queue_password_check;
use crate::requests::{ServeOutcome, serve};
use crate::state::WireServerState;
use std::sync::{Arc, Weak};

/// A function that starts a worker thread, and returns whether it could. The pool holds it, and
/// belongs to the server's state: hence the weak reference.
pub(crate) fn start_worker(shared: &Weak<WireServerState>) -> Box<dyn Fn() -> bool + Send + Sync> {
    let shared = Weak::clone(shared);
    Box::new(move || {
        let Some(shared) = shared.upgrade() else { return false };
        let thread = std::thread::Builder::new().name("bobak worker".to_owned());
        thread.spawn(move || work(&shared)).is_ok()
    })
}

fn work(shared: &Arc<WireServerState>) {
    let _counted = shared.workers.count_worker();
    while let Some(mut connection) = shared.workers.next() {
        let quota = shared.workers.quota_of(&connection);
        let outcome = serve(&mut connection, shared);
        drop(quota);
        match outcome {
            ServeOutcome::Idle => shared.wait_for_request(connection),
            ServeOutcome::Authenticated => shared.resume(connection),
            ServeOutcome::PasswordPending => queue_password_check(connection, shared),
            ServeOutcome::Disconnected(reason) => shared.log_disconnect(&connection, &reason),
        }
    }
}

//! Password checks: one at a time, on a thread of their own, so that they occupy no worker.
//!
//! A client that sends a wrong password gets an error, the attempt is counted by the
//! [`LoginQueue`](bobak_serving::LoginQueue) and logged, and the connection is closed.

use crate::connection::Connection;
use crate::handshake::{authenticate, reject};
use crate::state::WireServerState;
use bobak_permissions::Credentials;
use std::sync::Arc;

/// Queues a connection that sent a password. If it is right, the connection goes on to the workers.
pub(super) fn queue_password_check(mut connection: Connection, shared: &Arc<WireServerState>) {
    let Some(hello) = connection.pending_hello.take() else { return };
    let name = match &hello.1.credentials {
        Credentials::User { name, .. } => name.as_str(),
        _ => "",
    };
    let attempt = match shared.passwords.limits.admit(connection.peer, name) {
        Ok(attempt) => attempt,
        Err((error, _)) => {
            reject(&mut connection, shared, hello.0, &error);
            return;
        }
    };
    shared.passwords.push((connection, hello, attempt), || {
        let shared = Arc::clone(shared);
        let thread = std::thread::Builder::new().name("bobak passwords".to_owned());
        thread.spawn(move || check_passwords(&shared)).is_ok()
    });
}

fn check_passwords(shared: &WireServerState) {
    while let Some((mut connection, hello, attempt)) = shared.passwords.pop(&shared.shutdown) {
        let wrong_password = || shared.passwords.limits.record_wrong_password(&attempt);
        // If it fails, the client has its error already.
        if authenticate(&mut connection, shared, &hello, wrong_password).is_ok() {
            shared.resume(connection);
        }
    }
}

//! Clients over pipes: the standard input and output of a child process, or any two pipe ends.

use crate::connection::Connection;
use crate::requests::{ServeOutcome, serve};
use crate::state::WireServerState;
use crate::transport::ClientStream;
use bobak_core::{Error, Result};
use std::os::fd::OwnedFd;

/// Serves one client on this thread, until it disconnects.
pub(crate) fn serve_pipes(shared: &WireServerState, input: OwnedFd, output: OwnedFd) -> Result<()> {
    let io = |error| Error::io("serve over pipes", error);
    let transport = ClientStream::pipes(input, output).map_err(io)?;
    let mut connection = Connection::new(transport, &shared.settings.limits(), None);
    loop {
        match serve(&mut connection, shared) {
            ServeOutcome::Disconnected(reason) => shared.log_disconnect(&connection, &reason),
            ServeOutcome::Authenticated => continue,
            ServeOutcome::Idle | ServeOutcome::PasswordPending => {}
        }
        return Ok(());
    }
}

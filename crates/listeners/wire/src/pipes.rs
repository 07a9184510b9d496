//! The door of a child process: standard input and output, or two other ends of pipes.

use crate::connection::Connection;
use crate::pool::log_end;
use crate::serve::{Ended, serve};
use crate::server::Shared;
use crate::transport::Transport;
use bobak_core::{Error, Result};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Serves one client through two ends, on this thread, until it leaves.
pub(crate) fn serve_pipes(shared: &Arc<Shared>, input: OwnedFd, output: OwnedFd) -> Result<()> {
    let io = |error| Error::io("serve through pipes", error);
    let transport = Transport::pipes(input, output).map_err(io)?;
    let mut connection = Connection::new(transport, &shared.settings.limits, None);
    loop {
        match serve(&mut connection, shared) {
            Ended::Gone(gone) => log_end(&gone, &connection, shared),
            Ended::Greeted => continue,
            Ended::Rests | Ended::LogsIn => {}
        }
        return Ok(());
    }
}

//! Serving a connection: the handshake, then request by request.

use super::client_session::ClientSession;
use crate::connection::{AuthenticatedClient, Connection, Disconnect, WRITE_THRESHOLD};
use crate::handshake::{HandshakeStatus, handshake};
use crate::request_monitor::cancelled;
use crate::state::WireServerState;
use bobak_core::statements::with_label;
use bobak_core::{Result, RowBuffer, WriteBatch};
use bobak_wire::{OutcomeWriter, encode_response};

/// Why [`serve`] returned.
#[derive(Debug)]
pub(crate) enum ServeOutcome {
    /// The connection has no more requests for now.
    Idle,
    /// The client has just been authenticated, so the quota of its name applies from here on.
    Authenticated,
    /// The client's password must be checked.
    PasswordPending,
    /// The connection has ended.
    Disconnected(Disconnect),
}

/// Serves a connection as long as it has requests.
pub(crate) fn serve(connection: &mut Connection, shared: &WireServerState) -> ServeOutcome {
    let ended = match handshake(connection, shared) {
        Ok(HandshakeStatus::AlreadyDone) => serve_client(connection, shared),
        Ok(HandshakeStatus::Done) => return ServeOutcome::Authenticated,
        Ok(HandshakeStatus::Incomplete) => return ServeOutcome::Idle,
        Ok(HandshakeStatus::PasswordPending) => return ServeOutcome::PasswordPending,
        Err(reason) => Err(reason),
    };
    let reason = match ended {
        Ok(()) => return ServeOutcome::Idle,
        Err(reason) => reason,
    };
    if let Disconnect::Protocol(error) = &reason {
        connection.dismiss(error);
    }
    ServeOutcome::Disconnected(reason)
}

/// Serves until the connection is idle. The session ends with it, and an open transaction is rolled
/// back with the session.
fn serve_client(connection: &mut Connection, shared: &WireServerState) -> Result<(), Disconnect> {
    let Some(client) = connection.client.clone() else { return Ok(()) };
    if client.database.protected.engine().statements().is_none() {
        return serve_requests(connection, shared, &client);
    }
    let label = format!("{}: over the binary protocol", client.caller.name());
    with_label(label, || serve_requests(connection, shared, &client))
}

fn serve_requests(
    connection: &mut Connection,
    shared: &WireServerState,
    client: &AuthenticatedClient,
) -> Result<(), Disconnect> {
    let session = client.engine.session()?;
    let mut client_session = ClientSession {
        shared,
        client,
        session: &*session,
        in_transaction: false,
        cursors: Vec::new(),
        next_cursor: 1,
        batch: WriteBatch::new(),
        outcomes: OutcomeWriter::default(),
        rows: RowBuffer::default(),
        was_interrupted: false,
    };
    loop {
        while let Some(frame) = connection.input.next_frame()? {
            if frame.cancelled && !frame.header.kind.has_no_response() {
                encode_response::error(&mut connection.output, frame.header.id, &cancelled());
            } else {
                client_session.run(connection, frame.header)?;
            }
            if std::mem::take(&mut client_session.was_interrupted) {
                // The client may have cancelled the requests that wait behind it, too.
                connection.look_ahead(frame.header.id, &shared.settings)?;
            }
            if connection.output.len() >= WRITE_THRESHOLD {
                connection.flush(&shared.settings)?;
            }
        }
        connection.flush(&shared.settings)?;
        if !client_session.wait(connection)? {
            return Ok(());
        }
    }
}

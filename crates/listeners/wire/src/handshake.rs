//! The handshake: the client's hello, authentication, and the server's welcome.

use crate::connection::{AuthenticatedClient, Connection, Disconnect, HelloRequest};
use crate::state::WireServerState;
use bobak_core::{Error, ErrorKind, Result};
use bobak_wire::{
    Credentials, ForeignProtocol, FrameHeader, Hello, Request, VERSION, Welcome, encode_response,
};
use std::sync::Arc;
use std::time::Duration;

/// How often a thread that waits on pipes checks for the server's shutdown.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// How far a handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeStatus {
    /// The client was authenticated before.
    AlreadyDone,
    /// The client has just been authenticated.
    Done,
    /// The hello has not arrived completely. The poller waits for the rest, and for the timeout.
    Incomplete,
    /// The hello has arrived; checking its password takes long.
    PasswordPending,
}

/// Performs the handshake, unless it is done.
pub(crate) fn handshake(
    connection: &mut Connection,
    shared: &WireServerState,
) -> Result<HandshakeStatus, Disconnect> {
    if connection.client.is_some() {
        return Ok(HandshakeStatus::AlreadyDone);
    }
    loop {
        let next = connection.input.next_frame();
        let Some(frame) = next.map_err(|error| explain_foreign_protocol(connection, error))? else {
            if connection.fill()? {
                continue;
            }
            if connection.transport.is_pollable() {
                return Ok(HandshakeStatus::Incomplete);
            }
            // The thread of a pipe has nothing else to do, so it waits here.
            if !connection.wait(CHECK_INTERVAL)? && shared.shutdown.has_started() {
                return Err(Disconnect::Closed);
            }
            continue;
        };
        let hello = match decode(connection, frame.header) {
            Ok(hello) => (frame.header.id, hello),
            Err(error) => return Err(reject(connection, shared, frame.header.id, &error)),
        };
        // Pipes have a thread of their own, which may check the password itself.
        let has_password = matches!(hello.1.credentials, Credentials::User { .. });
        if has_password && connection.transport.is_pollable() {
            connection.pending_hello = Some(hello);
            return Ok(HandshakeStatus::PasswordPending);
        }
        authenticate(connection, shared, &hello, || ())?;
        return Ok(HandshakeStatus::Done);
    }
}

/// Replaces the error of a client that speaks TLS or HTTP by one that says so.
fn explain_foreign_protocol(connection: &Connection, error: Error) -> Error {
    let message = match ForeignProtocol::of(connection.input.inbox.waiting()) {
        Some(ForeignProtocol::Tls) => {
            "received TLS on a listener without TLS: start the server with a certificate, or remove \
             tls=on from the client's URL"
        }
        Some(ForeignProtocol::Http) => {
            "received HTTP on a listener of the wire protocol: use the address of the HTTP listener"
        }
        None => return error,
    };
    Error::new(error.kind(), message).with_source(error)
}

/// Authenticates the client and sends the welcome, or the error. `on_failure` is called before the
/// error is sent.
pub(crate) fn authenticate(
    connection: &mut Connection,
    shared: &WireServerState,
    (id, hello): &HelloRequest,
    on_failure: impl FnOnce(),
) -> Result<(), Disconnect> {
    welcome(connection, shared, *id, hello).map_err(|error| {
        on_failure();
        reject(connection, shared, *id, &error)
    })?;
    // The client gets its welcome now, even if it has to wait for its quota of workers.
    connection.try_flush().map(|_| ())
}

/// Sends a client the error of its failed handshake, and logs it.
pub(crate) fn reject(
    connection: &mut Connection,
    shared: &WireServerState,
    id: u32,
    error: &Error,
) -> Disconnect {
    shared.log_client(connection, format_args!("was rejected: {error}"));
    encode_response::error(&mut connection.output, id, error);
    // A client that does not read misses the error.
    let _ = connection.try_flush();
    Disconnect::Closed
}

fn decode(connection: &Connection, header: FrameHeader) -> Result<Box<Hello>> {
    let request = Request::decode(header, connection.input.body(), &connection.handles)?;
    let Request::Hello(hello) = request else {
        return Err(Error::new(ErrorKind::Misuse, "the first request must be a hello"));
    };
    hello.version()?;
    Ok(hello)
}

fn welcome(
    connection: &mut Connection,
    shared: &WireServerState,
    id: u32,
    hello: &Hello,
) -> Result<()> {
    let trusted = connection.transport.is_trusted();
    let caller = shared.access.authenticate(&hello.credentials, trusted)?;
    let database = Arc::clone(shared.databases.find(&hello.database, &caller)?);
    let engine = database.protected.engine_for(&caller);
    let mut capabilities = engine.capabilities();
    // What the engine does not run, the session replaces by values.
    capabilities.subqueries = true;
    let welcome = Welcome {
        version: VERSION,
        limits: shared.settings.limits(),
        capabilities,
        column_blocks: true,
        joins: database.protected.engine().capabilities().subqueries,
        engine: engine.name().to_owned(),
        server: concat!("bobak ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    encode_response::welcome(&mut connection.output, id, &welcome)?;
    connection.input.inbox.set_limit(shared.settings.max_frame);
    connection.set_client(AuthenticatedClient { caller, database, engine });
    Ok(())
}

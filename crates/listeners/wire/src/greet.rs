//! How a client says who it is.

use crate::connection::{Connection, Gone, Guest};
use crate::server::Shared;
use bobak_core::{Error, ErrorKind, Result};
use bobak_wire::{
    Credentials, ForeignProtocol, FrameHeader, Hello, Request, VERSION, Welcome, encode_response,
};
use std::sync::Arc;
use std::time::Duration;

/// How often a worker that waits at a pipe looks whether the server stops.
const SLICE: Duration = Duration::from_millis(250);

/// How far a greeting has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// The client is known since before.
    Known,
    /// It has just said who it is.
    Done,
    /// It has not said all yet: it goes back to the poller, which has an eye on how long that takes.
    Waits,
    /// It has said all; its password is to be looked at, which takes long.
    Claims,
}

/// A client's word of who it is, and the number of the request in which it was said.
pub(crate) type Claim = (u32, Box<Hello>);

/// Hears who the client is, if it was not heard before.
pub(crate) fn greet(connection: &mut Connection, shared: &Shared) -> Result<Greeting, Gone> {
    if connection.guest.is_some() {
        return Ok(Greeting::Known);
    }
    loop {
        let next = connection.input.next_frame().map_err(|error| foreign(connection, error))?;
        let Some(turn) = next else {
            if connection.fill()? {
                continue;
            }
            if connection.transport.can_rest() {
                return Ok(Greeting::Waits);
            }
            // Pipes wait here: there is nothing else to do.
            if !connection.wait(SLICE)? && shared.is_stopping() {
                return Err(Gone::Left);
            }
            continue;
        };
        let claim = match read(connection, turn.head) {
            Ok(hello) => (turn.head.id, hello),
            Err(error) => return Err(turned_away(connection, shared, turn.head.id, &error)),
        };
        // Pipes have a worker of their own.
        let takes_long = matches!(claim.1.credentials, Credentials::User { .. });
        if takes_long && connection.transport.can_rest() {
            connection.claim = Some(claim);
            return Ok(Greeting::Claims);
        }
        check(connection, shared, &claim, || ())?;
        return Ok(Greeting::Done);
    }
}

/// Says which other protocol a stranger speaks, where that is what is wrong.
fn foreign(connection: &Connection, error: Error) -> Error {
    let message = match ForeignProtocol::of(connection.input.inbox.waiting()) {
        Some(ForeignProtocol::Tls) => {
            "TLS at a door without it: start the server with a certificate, or leave tls=on out \
             of the client's URL"
        }
        Some(ForeignProtocol::Http) => {
            "HTTP at a door of Bobak's own protocol: HTTP has another door"
        }
        None => return error,
    };
    Error::new(error.kind(), message).with_source(error)
}

/// Lets the client in, or not: it is told, after `refused` was called.
pub(crate) fn check(
    connection: &mut Connection,
    shared: &Shared,
    (id, hello): &Claim,
    refused: impl FnOnce(),
) -> Result<(), Gone> {
    welcome(connection, shared, *id, hello).map_err(|error| {
        refused();
        turned_away(connection, shared, *id, &error)
    })?;
    // Who has to wait for its share is known all the same.
    connection.try_flush().map(|_| ())
}

/// Tells a client that it is not let in.
pub(crate) fn turned_away(
    connection: &mut Connection,
    shared: &Shared,
    id: u32,
    error: &Error,
) -> Gone {
    shared
        .audit_log
        .client_event(connection.peer, format_args!("{connection} was refused: {error}"));
    encode_response::error(&mut connection.output, id, error);
    // Nobody waits for those who don't listen.
    let _ = connection.try_flush();
    Gone::Left
}

fn read(connection: &Connection, head: FrameHeader) -> Result<Box<Hello>> {
    let request = Request::decode(head, connection.input.body(), &connection.handles)?;
    let Request::Hello(hello) = request else {
        return Err(Error::new(ErrorKind::Misuse, "the first request is a hello"));
    };
    hello.version()?;
    Ok(hello)
}

fn welcome(connection: &mut Connection, shared: &Shared, id: u32, hello: &Hello) -> Result<()> {
    let trusted = connection.transport.is_trusted();
    let caller = shared.access.authenticate(&hello.credentials, trusted)?;
    let database = Arc::clone(shared.databases.find(&hello.database, &caller)?);
    let engine = database.protected.engine_for(&caller);
    let welcome = Welcome {
        version: VERSION,
        limits: shared.settings.limits,
        capabilities: engine.capabilities(),
        engine: engine.name().to_owned(),
        server: concat!("bobak ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    encode_response::welcome(&mut connection.output, id, &welcome)?;
    connection.input.inbox.set_limit(shared.settings.limits.frame);
    connection.let_in(Guest { caller, database, engine });
    Ok(())
}

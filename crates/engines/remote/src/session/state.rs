//! The state of a session, and what it sends on its connection.

use crate::broken::CallError;
use crate::link::Link;
use crate::pool::PooledLink;
use bobak_core::Result;
use bobak_wire::{FrameHeader, encode_request};

/// The state of the session's connection.
pub(super) enum SessionLink<'e> {
    /// In the pool.
    None,
    /// Kept by this session.
    Kept(PooledLink<'e>),
    /// In use by an operation further up the stack.
    Lent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionState {
    None,
    Open,
    /// The connection broke, and its transaction is lost.
    Lost,
}

/// A cursor, bound to the connection that opened it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RemoteCursor {
    pub id: u64,
    pub link: u64,
    pub number: u64,
}

/// Queues a request on a connection; returns its number. May be called twice.
pub(super) type Encoder<'r> = &'r dyn Fn(&mut Link) -> Result<u32>;

/// Closes cursors of this connection; the server sends no response.
pub(super) fn close(link: &mut Link, cursors: &[RemoteCursor]) -> Result<(), CallError> {
    let number = link.number();
    for open in cursors.iter().filter(|open| open.link == number) {
        link.put(|out, id| {
            encode_request::close(out, id, open.number);
            Ok(())
        })?;
    }
    Ok(link.send()?)
}

#[inline]
pub(super) fn exchange(link: &mut Link, put: Encoder<'_>) -> Result<(u32, FrameHeader), CallError> {
    let id = put(link)?;
    link.send()?;
    Ok((id, link.receive(id)?))
}

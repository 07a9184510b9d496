//! Joins, which the server runs.

use super::RemoteSession;
use super::response::{WINDOW, hand_out};
use crate::broken::CallError;
use crate::link::Link;
use bobak_core::{Error, ErrorKind, Join, Result, Row};
use bobak_wire::{FrameHeader, RequestSource, Response, ResultForm, encode_request};
use std::cell::Cell;

/// Encodes a request about a source.
type PutSource<'p> = &'p dyn Fn(&mut Vec<u8>, u32, RequestSource<'_>) -> Result<()>;

impl RemoteSession<'_> {
    /// See [`join`](bobak_core::Session::join). `false` if the server declines it, is too old for joins, or the protocol does not
    /// express this one.
    pub(super) fn run_join(
        &self,
        join: &Join,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<bool> {
        let put = |out: &mut Vec<u8>, id, source: RequestSource<'_>| {
            encode_request::query(out, id, WINDOW, ResultForm::default(), source)
        };
        let read = |link: &mut Link, id, head| hand_out(link, id, head, row).map(|_| ());
        self.call_joined(join, &put, read).map(|ran| ran.is_some())
    }

    /// Runs a request about a join; `None` if the server does not run it.
    pub(super) fn call_joined<R>(
        &self,
        join: &Join,
        put: PutSource<'_>,
        read: impl FnOnce(&mut Link, u32, FrameHeader) -> Result<R, CallError>,
    ) -> Result<Option<R>> {
        let is_unsent = Cell::new(false);
        let put = |link: &mut Link| {
            let sent = put_joined(link, join, put);
            is_unsent.set(sent.as_ref().is_err_and(|error| is_inexpressible(error.kind())));
            sent
        };
        let called =
            self.call(self.effect_of_read(), &put, |link, id, head| match link.response(head)? {
                Response::Declined => Ok(None),
                _ => read(link, id, head).map(Some),
            });
        if is_unsent.get() { Ok(None) } else { called }
    }
}

fn put_joined(link: &mut Link, join: &Join, put: PutSource<'_>) -> Result<u32> {
    if !link.welcome().joins {
        let message = "the server does not take queries over several tables";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let tables = link.joined_tables(join)?;
    link.put(|out, id| put(out, id, RequestSource::Join(join, &tables)))
}

/// Whether an error of an encoder says that a request cannot be expressed, or is too large.
const fn is_inexpressible(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Unsupported | ErrorKind::OutOfRange)
}

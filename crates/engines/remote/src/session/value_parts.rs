//! Requests about parts of one value, and about plans.

use super::response::one_part;
use super::{RemoteSession, search};
use crate::broken::{Broken, CallError};
use crate::link::{Link, unexpected};
use crate::pool::Purpose;
use bobak_core::engine::fallback;
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{
    Error, ErrorKind, Result, Session, ValueAddress, ValueInput, ValueRange, ValueState,
};
use bobak_wire::{Response, encode_request, plan_steps};
use std::io::Read;

/// How many bytes of a value are sent at once.
const PART: usize = 256 << 10;

impl RemoteSession<'_> {
    /// See [`read_part`](Session::read_part).
    pub(super) fn read_part_of(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        value.check()?;
        if !self.engine.capabilities.value_parts {
            let get = |row: &mut dyn FnMut(&dyn bobak_core::Row) -> Result<()>| {
                self.get(value.table, value.key, row)
            };
            return fallback::read_part(value, range, bytes, get);
        }
        let put = |link: &mut Link| {
            let handle = link.table(value.table)?;
            link.put(|out, id| encode_request::read_part(out, id, handle, value, range))
        };
        self.call(self.effect_of_read(), &put, |link, _, head| one_part(link, head, bytes))
    }

    /// See [`write_value`](Session::write_value). The value is sent while it is read.
    pub(super) fn write_value_of(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        value.check_written()?;
        if !self.engine.capabilities.value_parts {
            return fallback::write_value(value, length, source, |change| self.change(change));
        }
        let mut using = self.enter(Purpose::Operation)?;
        let sent = using
            .link()
            .and_then(|link| send(link, value, length, ValueInput::new(source, length)));
        using.finish(self.effect_of_write(), sent)
    }

    /// See [`explain`](Session::explain).
    pub(super) fn explain_query(
        &self,
        query: &ExplainedQuery<'_>,
    ) -> Result<Option<Vec<PlanStep>>> {
        if !self.engine.capabilities.explain {
            let message =
                format!("the {} engine does not show how it runs queries", self.engine.engine);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let read = |link: &mut Link, _, head| match link.response(head)? {
            Response::Rows(rows) => plan_steps(rows).map_err(|error| Broken::Garbled(error).into()),
            other => Err(unexpected(&other)),
        };
        let source = match query {
            ExplainedQuery::Source(source) => source,
            ExplainedQuery::Join(join) => {
                return self.call_joined(join, &encode_request::explain, read);
            }
        };
        search::check(&self.engine.engine, &self.engine.capabilities, source)?;
        let put = |link: &mut Link| {
            let others = link.others_of(source)?;
            let source = link.source(source, &others)?;
            link.put(|out, id| encode_request::explain(out, id, source))
        };
        self.call(self.effect_of_read(), &put, read).map(Some)
    }
}

/// Sends a value. If its source fails, the value ends too early, so that the server rejects it.
fn send(
    link: &mut Link,
    value: &ValueAddress<'_>,
    length: u64,
    mut source: ValueInput<'_>,
) -> Result<bool, CallError> {
    let handle = link.table(value.table)?;
    let (mut part, mut next) = (Vec::new(), Vec::new());
    let mut failed = None;
    source.next_part(&mut part, PART)?;
    let mut more = source.next_part(&mut next, PART)?;
    let id = link.put(|out, id| {
        encode_request::write_value(out, id, more, handle, value, (length, &part))
    })?;
    link.send()?;
    while more {
        std::mem::swap(&mut part, &mut next);
        next.clear();
        more = source.next_part(&mut next, PART).unwrap_or_else(|error| {
            // Without this part, the value is too short.
            part.clear();
            failed = Some(error);
            false
        });
        link.put_more(|out| {
            encode_request::write_value(out, id, more, handle, value, (length, &part))
        })?;
        link.send()?;
    }
    let head = link.receive(id)?;
    let response = match link.response(head) {
        Ok(Response::Count(rows)) => Ok(rows > 0),
        Ok(other) => Err(unexpected(&other)),
        Err(error) => Err(error),
    };
    match (response, failed) {
        (Err(CallError::Broken(broken)), _) => Err(CallError::Broken(broken)),
        (_, Some(error)) => Err(CallError::Rejected(error)),
        (response, None) => response,
    }
}

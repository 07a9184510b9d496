//! Reads the responses of the server.

use crate::broken::{Broken, CallError};
use crate::link::{Link, unexpected};
use crate::row::RenamedRow;
use bobak_core::{
    BrokenForeignKey, InvalidDates, Result, ResultColumn, Row, SchemaDetails, ValueRef, ValueState,
};
use bobak_wire::{FrameHeader, Response, encode_request};

/// How many bytes of rows the server may send before the client requests more.
pub(super) const WINDOW: u32 = 1 << 20;

/// Passes the rows of a response on as they arrive. Returns the columns if there were no rows, as far as the server sent them.
pub(super) fn hand_out(
    link: &mut Link,
    id: u32,
    mut head: FrameHeader,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<Vec<ResultColumn>, CallError> {
    let mut names = Vec::new();
    let (mut taken, mut is_empty) = (0, true);
    loop {
        let mut stopped = Ok(true);
        match link.response(head)? {
            Response::Columns { columns, .. } => names = columns,
            Response::Rows(rows) => {
                for found in rows {
                    let found = found.map_err(Broken::Garbled)?;
                    is_empty = false;
                    stopped = if names.is_empty() {
                        row(&found)
                    } else {
                        row(&RenamedRow { row: found, columns: &names })
                    };
                    if !matches!(stopped, Ok(true)) {
                        break;
                    }
                }
            }
            other => return Err(unexpected(&other)),
        }
        if !head.more {
            let columns = if is_empty { names } else { Vec::new() };
            return stopped.map(|_| columns).map_err(CallError::Rejected);
        }
        if !matches!(stopped, Ok(true)) {
            link.put_more(|out| {
                encode_request::cancel(out, id);
                Ok(())
            })?;
            link.send()?;
            link.drain(id)?;
            return stopped.map(|_| Vec::new()).map_err(CallError::Rejected);
        }
        taken += link.body_len();
        if taken >= WINDOW as usize / 2 {
            let credit = u32::try_from(taken).unwrap_or(u32::MAX);
            link.put_more(|out| {
                encode_request::credit(out, id, credit);
                Ok(())
            })?;
            link.send()?;
            taken = 0;
        }
        head = link.receive(id)?;
    }
}

pub(super) fn ok(link: &mut Link, head: FrameHeader) -> Result<(), CallError> {
    match link.response(head)? {
        Response::Ok => Ok(()),
        other => Err(unexpected(&other)),
    }
}

pub(super) fn count(link: &mut Link, _: u32, head: FrameHeader) -> Result<u64, CallError> {
    match link.response(head)? {
        Response::Count(rows) => Ok(rows),
        other => Err(unexpected(&other)),
    }
}

/// What the schemas lack, a row of two texts each; the foreign keys that rows break, a row of three texts and a
/// number each; the dates that do not exist, a row of two texts, NULL and a number for each column.
pub(super) fn losses(
    link: &mut Link,
    _: u32,
    head: FrameHeader,
) -> Result<SchemaDetails, CallError> {
    let rows = match link.response(head)? {
        Response::Rows(rows) => rows,
        other => return Err(unexpected(&other)),
    };
    let mut details = SchemaDetails::default();
    for row in rows {
        let row = row.map_err(Broken::Garbled)?;
        let (ValueRef::Text(table), ValueRef::Text(what)) = (row.value(0), row.value(1)) else {
            continue;
        };
        match (row.value(2), row.value(3)) {
            (ValueRef::Text(parent), ValueRef::Int(rows)) => {
                details.broken_keys.push(BrokenForeignKey {
                    table: table.to_owned(),
                    columns: what.to_owned(),
                    parent: parent.to_owned(),
                    rows: rows.unsigned_abs(),
                });
            }
            (ValueRef::Null, ValueRef::Int(rows)) => details.invalid_dates.push(InvalidDates {
                table: table.to_owned(),
                column: what.to_owned(),
                rows: rows.unsigned_abs(),
            }),
            _ => details.lose(table, what.to_owned()),
        }
    }
    Ok(details)
}

/// A part of a value: a row of the number of its bytes, the part, and the row's version; no row if there is none.
pub(super) fn one_part(
    link: &mut Link,
    head: FrameHeader,
    bytes: &mut Vec<u8>,
) -> Result<Option<ValueState>, CallError> {
    match link.response(head)? {
        Response::Rows(mut rows) => match rows.next() {
            Some(Ok(row)) => Ok(Some(ValueState::of_row(&row, bytes))),
            Some(Err(error)) => Err(Broken::Garbled(error).into()),
            None => Ok(None),
        },
        other => Err(unexpected(&other)),
    }
}

//! Batches: sent in parts, while the outcomes of earlier parts arrive.

use crate::broken::{Broken, CallError};
use crate::link::{Link, unexpected};
use bobak_core::codec::{self, FRAME};
use bobak_core::{Error, ErrorKind, OnError, Outcome, Result, Run, WriteBatch};
use bobak_wire::{Response, encode_request};
use std::collections::VecDeque;

/// The approximate size of a part: the server starts with the first part early, and a part fits into its processor's
/// cache.
const PART_BYTES: usize = 256 << 10;
/// The maximum number of rows of a part; a power of two, since engines split it into statements of such sizes.
const PART_ROWS: u64 = 1_024;

/// Some rows of a run.
struct Piece<'a> {
    run: Run<'a>,
    handle: u32,
    bytes: &'a [u8],
    rows: u64,
}

/// The state of a batch that is being sent.
struct BatchSender<'a> {
    link: &'a mut Link,
    id: u32,
    each: &'a mut dyn FnMut(Result<Outcome>),
    /// Parts without outcomes: the number of rows up to their end, and their bytes.
    pending: VecDeque<(u64, usize)>,
    sent: u64,
    finished: u64,
    /// Whether the last part was sent.
    whole: bool,
}

pub(crate) fn send(
    link: &mut Link,
    batch: &WriteBatch,
    on_error: OnError,
    each: &mut dyn FnMut(Result<Outcome>),
) -> Result<(), CallError> {
    check_rows(link, batch)?;
    let mut pieces = Vec::new();
    for run in batch.runs() {
        let handle = link.table(run.table)?;
        cut(run, handle, &mut pieces);
    }
    let mut parts = parts(&pieces).peekable();
    let first = parts.next().unwrap_or_default();
    let more = parts.peek().is_some();
    let id = link.put(|out, id| put_part(out, id, more, on_error, first))?;
    link.send()?;
    let (pending, sent, finished) = Default::default();
    let mut sending = BatchSender { link, id, each, pending, sent, finished, whole: !more };
    sending.note(first);
    while let Some(part) = parts.next() {
        if !sending.make_way(size(part))? {
            return Ok(());
        }
        let more = parts.peek().is_some();
        sending.link.put_more(|out| put_part(out, id, more, on_error, part))?;
        sending.link.send()?;
        sending.whole = !more;
        sending.note(part);
    }
    while sending.receive()? {}
    Ok(())
}

/// Rejects rows that the server would not accept here, where their number is known.
fn check_rows(link: &Link, batch: &WriteBatch) -> Result<()> {
    let limit = link.welcome().limits.row as usize;
    if batch.bytes() <= limit {
        return Ok(());
    }
    for run in batch.runs() {
        let long = |row: &codec::EncodedRow<'_>| row.as_bytes().len() > limit;
        if let Some(place) = run.iter().position(|row| long(&row)) {
            let message =
                format!("the row is larger than the {limit} bytes that the server accepts");
            return Err(Error::new(ErrorKind::OutOfRange, message)
                .in_table(run.table.name())
                .at_row(run.first + place as u64));
        }
    }
    Ok(())
}

/// Splits a run into pieces that fit a part, between rows.
fn cut<'a>(run: Run<'a>, handle: u32, pieces: &mut Vec<Piece<'a>>) {
    let bytes = run.as_bytes();
    if bytes.len() <= PART_BYTES && run.rows <= PART_ROWS {
        pieces.push(Piece { run, handle, bytes, rows: run.rows });
        return;
    }
    let (mut start, mut end, mut rows) = (0, 0, 0);
    for row in run.iter() {
        let next = end + FRAME + row.as_bytes().len();
        if rows == PART_ROWS || (next - start > PART_BYTES && rows > 0) {
            let bytes = bytes.get(start..end).unwrap_or_default();
            pieces.push(Piece { run, handle, bytes, rows });
            (start, rows) = (end, 0);
        }
        (end, rows) = (next, rows + 1);
    }
    let bytes = bytes.get(start..end).unwrap_or_default();
    pieces.push(Piece { run, handle, bytes, rows });
}

/// Combines pieces to parts of about the same size.
fn parts<'p, 'a>(pieces: &'p [Piece<'a>]) -> impl Iterator<Item = &'p [Piece<'a>]> {
    let mut rest = pieces;
    std::iter::from_fn(move || {
        let (mut bytes, mut rows) = (0, 0);
        let mut fits = |piece: &Piece<'_>| {
            bytes += piece.bytes.len();
            rows += piece.rows;
            bytes <= PART_BYTES && rows <= PART_ROWS
        };
        let count = rest.iter().take_while(|piece| fits(piece)).count().max(1).min(rest.len());
        let (part, after) = rest.split_at_checked(count).filter(|_| count > 0)?;
        rest = after;
        Some(part)
    })
}

fn put_part(
    out: &mut Vec<u8>,
    id: u32,
    more: bool,
    on_error: OnError,
    part: &[Piece<'_>],
) -> Result<()> {
    encode_request::batch(out, id, more, on_error, |out| {
        part.iter().try_for_each(|piece| {
            let what = (&**piece.run.table, piece.run.verb, piece.run.fields);
            encode_request::batch_run(out, piece.handle, what, piece.bytes)
        })
    })
}

fn size(part: &[Piece<'_>]) -> usize {
    part.iter().map(|piece| piece.bytes.len()).sum()
}

impl BatchSender<'_> {
    fn note(&mut self, part: &[Piece<'_>]) {
        self.sent += part.iter().map(|piece| piece.rows).sum::<u64>();
        self.pending.push_back((self.sent, size(part)));
    }

    /// Receives outcomes until the server has room for so many more bytes. The server does not read beyond its window
    /// while its replies are unread. `false` if the reply has ended.
    fn make_way(&mut self, bytes: usize) -> Result<bool, CallError> {
        let window = self.link.welcome().limits.window as usize;
        let under_way = |pending: &VecDeque<(u64, usize)>| -> usize {
            pending.iter().map(|(_, size)| size).sum()
        };
        while !self.pending.is_empty() && under_way(&self.pending) + bytes > window {
            if !self.receive()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Receives the next outcomes; `false` if they were the last.
    fn receive(&mut self) -> Result<bool, CallError> {
        let head = self.link.receive(self.id)?;
        let outcomes = match self.link.response(head) {
            Ok(Response::Outcomes(outcomes)) => outcomes,
            Ok(other) => return Err(unexpected(&other)),
            Err(failed) => {
                self.end()?;
                return Err(failed);
            }
        };
        for outcome in outcomes {
            (self.each)(outcome.map_err(Broken::Garbled)?);
            self.finished += 1;
        }
        while self.pending.front().is_some_and(|(end, _)| *end <= self.finished) {
            self.pending.pop_front();
        }
        Ok(head.more)
    }

    /// Tells the server that no further part of a failed batch follows.
    fn end(&mut self) -> Result<(), CallError> {
        let id = self.id;
        if self.whole {
            return Ok(());
        }
        self.link
            .put_more(|out| encode_request::batch(out, id, false, OnError::Stop, |_| Ok(())))?;
        Ok(self.link.send()?)
    }
}

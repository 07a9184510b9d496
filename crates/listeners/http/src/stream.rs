//! Bodies of any length: made, or read, by a worker while they cross the network, a part at a time,
//! so that memory stays flat however slow the other end is.

use crate::answer::{Answer, Body, Part};
use crate::call::Call;
use crate::coding::{Coded, Coding};
use crate::problem::Problem;
use crate::work::Ends;
use bobak_core::{Error, ErrorKind, Result};
use bobak_serving::Permit;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use std::io::{self, Read, Write};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The bytes of a part.
const PART: usize = 64 << 10;
/// How many parts may wait.
const WAITING: usize = 4;
/// Where a worker writes an answer's body.
pub(crate) struct Pipe {
    parts: mpsc::Sender<Part>,
    buffer: Vec<u8>,
    /// Told when the first part is on its way.
    begun: Option<oneshot::Sender<Result<()>>>,
}

/// Answers with a body that `work` writes on a thread of its own. What it fails with before its
/// first part is the answer; later the connection is broken off, since the head has gone.
///
/// # Errors
/// 503 where there are as many streams as may be; those of `work`.
pub(crate) async fn produce(
    call: &Call,
    media: &'static str,
    coding: Coding,
    work: impl FnOnce(&mut dyn Write) -> Result<()> + Send + 'static,
) -> Result<Answer, Problem> {
    let permit = permit(call)?;
    let (shared, visitor) = (Arc::clone(&call.shared), Arc::clone(&call.visitor));
    let tell = move |error| {
        let what = format_args!("has an answer that was broken off: {error}");
        shared.tell_of(&visitor, what);
    };
    let (body, first) = begin(permit, coding, work, tell);
    first.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Engine, "the worker ended")))?;
    let mut answer = Answer::new(StatusCode::OK, Body::Parts(body));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    coding.name_in(answer.headers_mut());
    Ok(answer)
}

/// Has a thread write a body; its parts, and whether the first is on its way. Where nobody takes the
/// parts any more the work is ended, also while it makes none.
fn begin(
    permit: Permit,
    coding: Coding,
    work: impl FnOnce(&mut dyn Write) -> Result<()> + Send + 'static,
    tell: impl FnOnce(Error) + Send + 'static,
) -> (mpsc::Receiver<Part>, oneshot::Receiver<Result<()>>) {
    let (parts, body) = mpsc::channel(WAITING);
    let (begun, first) = oneshot::channel();
    let (ends, taken) = (Ends::new(), parts.clone());
    let theirs = ends.interrupt();
    let worker = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let pipe = Pipe { parts, buffer: Vec::with_capacity(PART), begun: Some(begun) };
        theirs.run(|| write_through(pipe, coding, work, tell));
    });
    tokio::spawn(async move {
        let _ends = ends;
        tokio::select! {
            () = taken.closed() => {}
            _ = worker => {}
        }
    });
    (body, first)
}

fn write_through(
    pipe: Pipe,
    coding: Coding,
    work: impl FnOnce(&mut dyn Write) -> Result<()>,
    tell: impl FnOnce(Error),
) {
    let io = |error| Error::io("send the answer", error);
    let Ok(mut coded) = Coded::new(pipe, coding) else { return };
    let mut done = work(&mut coded);
    let mut pipe = match coded.finish() {
        Ok(pipe) => pipe,
        // The client has gone: there is nobody to tell.
        Err(_) => return,
    };
    if done.is_ok() {
        done = pipe.flush().map_err(io);
    }
    match (done, pipe.begun.take()) {
        (Ok(()), begun) => {
            begun.map(|begun| begun.send(Ok(())));
            let _ = pipe.parts.blocking_send(Part::End);
        }
        (Err(error), Some(begun)) => drop(begun.send(Err(error))),
        (Err(error), None) if pipe.parts.is_closed() => drop(error),
        (Err(error), None) => tell(error),
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PART {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if let Some(begun) = self.begun.take() {
            let _ = begun.send(Ok(()));
        }
        let part = std::mem::replace(&mut self.buffer, Vec::with_capacity(PART));
        let sent = self.parts.blocking_send(Part::Bytes(part.into()));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// A request's body, as a worker takes it in.
pub(crate) struct Inflow {
    parts: mpsc::Receiver<Result<Bytes, Problem>>,
    current: Bytes,
    /// Why the body did not come whole.
    pub broken: Option<Problem>,
}

impl Inflow {
    /// A body that came whole already, for [`decoders`](crate::decoders).
    pub fn of_parts(parts: Vec<Vec<u8>>) -> Self {
        let (sender, receiver) = mpsc::channel(parts.len() + 1);
        for part in parts.into_iter().filter(|part| !part.is_empty()).map(Bytes::from) {
            // There is room for all.
            let _ = sender.try_send(Ok(part));
        }
        let _ = sender.try_send(Ok(Bytes::new()));
        Self { parts: receiver, current: Bytes::new(), broken: None }
    }

    /// The next part, `None` at the end, and where the body is [broken](Self::broken) off.
    pub fn next_part(&mut self) -> Option<Bytes> {
        match self.parts.blocking_recv() {
            Some(Ok(part)) if part.is_empty() => None,
            Some(Ok(part)) => Some(part),
            Some(Err(problem)) => {
                self.broken = Some(problem);
                None
            }
            // Without its end: nobody may take it for whole.
            None => {
                self.broken = Some(Problem::bad_request("the body was broken off"));
                None
            }
        }
    }
}

impl Read for Inflow {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.current.is_empty() {
            match self.next_part() {
                Some(part) => self.current = part,
                None if self.broken.is_some() => return Err(io::ErrorKind::UnexpectedEof.into()),
                None => return Ok(0),
            }
        }
        let count = room.len().min(self.current.len());
        let part = self.current.split_to(count);
        room.get_mut(..count).unwrap_or_default().copy_from_slice(&part);
        Ok(count)
    }
}

/// Has a worker take in the request's body.
///
/// # Errors
/// 503 where there are as many streams as may be; those of `work`.
pub(crate) async fn consume<R: Send + 'static>(
    call: &mut Call,
    work: impl FnOnce(Inflow) -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    let permit = permit(call)?;
    let (sender, parts) = mpsc::channel(WAITING);
    let worker = crate::work::aside(move || {
        let _permit = permit;
        work(Inflow { parts, current: Bytes::new(), broken: None })
    });
    let (done, ()) = tokio::join!(worker, feed(call, sender));
    done
}

/// Hands the body's parts over, an empty one for its end.
async fn feed(call: &mut Call, parts: mpsc::Sender<Result<Bytes, Problem>>) {
    loop {
        let (part, last) = match call.next_part().await {
            Ok(Some(part)) => (Ok(part), false),
            Ok(None) => (Ok(Bytes::new()), true),
            Err(problem) => (Err(problem), true),
        };
        // Who needs no more of it has its answer.
        if parts.send(part).await.is_err() || last {
            return;
        }
    }
}

fn permit(call: &Call) -> Result<Permit, Problem> {
    let permit = call.shared.streams.acquire(&call.visitor.principal());
    permit.map_err(|scope| scope.quota_error("imports, exports and batches at a time").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::Interrupt;
    use bobak_serving::{Permits, Principal, QuotaLimits};

    #[tokio::test]
    async fn what_nobody_takes_is_ended_while_it_makes_nothing() {
        let permits = Permits::new(QuotaLimits::with_share(1, 50));
        let permit = permits.acquire(&Principal::from_address(None)).unwrap();
        let for_ever = |out: &mut dyn Write| -> Result<()> {
            out.write_all(&[0; PART]).unwrap();
            loop {
                Interrupt::check()?;
                std::thread::yield_now();
            }
        };
        let (mut body, first) = begin(permit, Coding::Plain, for_ever, |_| {});
        assert!(first.await.unwrap().is_ok());
        assert!(body.recv().await.is_some());
        assert_eq!(permits.in_use(), 1);
        drop(body);
        while permits.in_use() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

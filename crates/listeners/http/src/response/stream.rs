//! Streamed responses: a worker thread writes the body, chunk by chunk, while it is sent.
//!
//! Few chunks are buffered, so memory use stays constant however slowly the client reads.

use crate::problem::Problem;
use crate::response::builder::{Body, BodyChunk, ResponseBuilder};
use crate::response::compression::{CompressionWriter, ContentCoding};
use crate::workers::blocking::{self, InterruptOnDrop};
use bobak_core::{Error, ErrorKind, Result};
use bobak_serving::Permit;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use std::io::{self, Write};
use tokio::sync::{mpsc, oneshot};

/// The length of a chunk.
const CHUNK_LENGTH: usize = 64 << 10;
/// How many chunks may be buffered.
const CHANNEL_CAPACITY: usize = 4;

/// Sends what a worker thread writes as chunks of a body.
struct BodyWriter {
    chunks: mpsc::Sender<BodyChunk>,
    buffer: Vec<u8>,
    /// Sent `Ok` with the first chunk, or the error before it.
    started: Option<oneshot::Sender<Result<()>>>,
}

/// A response whose body `work` writes on a thread of its own.
///
/// An error before the first chunk becomes the response. After a later one the status is already
/// sent, so the server aborts the body and passes the error to `on_abort`.
///
/// # Errors
/// Those of `work` before the first chunk.
pub(crate) async fn stream(
    permit: Permit,
    media_type: &'static str,
    compression: ContentCoding,
    work: impl FnOnce(&mut dyn Write) -> Result<()> + Send + 'static,
    on_abort: impl FnOnce(Error) + Send + 'static,
) -> Result<ResponseBuilder, Problem> {
    let (chunks, started) = spawn(permit, compression, work, on_abort);
    let ended = |_| Err(Error::new(ErrorKind::Engine, "the worker thread ended"));
    started.await.unwrap_or_else(ended)?;
    let mut response = ResponseBuilder::new(StatusCode::OK, Body::Stream(chunks));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    compression.set_headers(response.headers_mut());
    Ok(response)
}

/// Runs `work` on a thread. Returns its chunks, and whether it has started successfully. Dropping the
/// chunks interrupts the work.
fn spawn(
    permit: Permit,
    compression: ContentCoding,
    work: impl FnOnce(&mut dyn Write) -> Result<()> + Send + 'static,
    on_abort: impl FnOnce(Error) + Send + 'static,
) -> (mpsc::Receiver<BodyChunk>, oneshot::Receiver<Result<()>>) {
    let (sender, receiver) = mpsc::channel(CHANNEL_CAPACITY);
    let (started, has_started) = oneshot::channel();
    let (interrupt_on_drop, closed) = (InterruptOnDrop::new(), sender.clone());
    let (interrupt, label) = (interrupt_on_drop.interrupt(), blocking::label());
    let worker = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let buffer = Vec::with_capacity(CHUNK_LENGTH);
        let writer = BodyWriter { chunks: sender, buffer, started: Some(started) };
        let write = || write_body(writer, compression, work, on_abort);
        interrupt.run(|| blocking::with_optional_label(label, write));
    });
    // A sender notices that the receiver is gone only when it sends; work that produces no output
    // for a long time would run on.
    tokio::spawn(async move {
        let _interrupt_on_drop = interrupt_on_drop;
        tokio::select! {
            () = closed.closed() => {}
            _ = worker => {}
        }
    });
    (receiver, has_started)
}

fn write_body(
    writer: BodyWriter,
    compression: ContentCoding,
    work: impl FnOnce(&mut dyn Write) -> Result<()>,
    on_abort: impl FnOnce(Error),
) {
    let Ok(mut compressor) = CompressionWriter::new(writer, compression) else { return };
    let mut result = work(&mut compressor);
    // Finishing fails only if the client has disconnected.
    let Ok(mut writer) = compressor.finish() else { return };
    if result.is_ok() {
        result = writer.flush().map_err(|error| Error::io("send the response", error));
    }
    match (result, writer.started.take()) {
        (Ok(()), started) => {
            started.map(|started| started.send(Ok(())));
            let _ = writer.chunks.blocking_send(BodyChunk::End);
        }
        (Err(error), Some(started)) => drop(started.send(Err(error))),
        (Err(error), None) if writer.chunks.is_closed() => drop(error),
        (Err(error), None) => on_abort(error),
    }
}

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_LENGTH {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if let Some(started) = self.started.take() {
            let _ = started.send(Ok(()));
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK_LENGTH));
        let sent = self.chunks.blocking_send(BodyChunk::Bytes(Bytes::from(chunk)));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::Interrupt;
    use bobak_serving::{Permits, Principal, QuotaLimits};

    #[tokio::test]
    async fn dropped_body_interrupts_work_without_output() {
        let permits = Permits::new(QuotaLimits::with_share(1, 50));
        let permit = permits.acquire(&Principal::from_address(None)).unwrap();
        let endless = |out: &mut dyn Write| -> Result<()> {
            out.write_all(&[0; CHUNK_LENGTH]).unwrap();
            loop {
                Interrupt::check()?;
                std::thread::yield_now();
            }
        };
        let (mut chunks, started) = spawn(permit, ContentCoding::Identity, endless, |_| {});
        assert!(started.await.unwrap().is_ok());
        assert!(chunks.recv().await.is_some());
        assert_eq!(permits.in_use(), 1);
        drop(chunks);
        while permits.in_use() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

//! Reads request bodies of any length on a worker thread, chunk by chunk, in constant memory.

use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::workers::blocking;
use bytes::Bytes;
use std::io::{self, Read};
use tokio::sync::mpsc;

/// How many chunks may be buffered.
const CHANNEL_CAPACITY: usize = 4;

/// A request's body, for blocking code.
pub(crate) struct BodyReader {
    /// An empty chunk marks the end.
    chunks: mpsc::Receiver<Result<Bytes, Problem>>,
    /// The rest of the chunk that [`Read`] has begun.
    current: Bytes,
    /// Why the body is incomplete; `None` if it is complete, or not yet at its end.
    pub failure: Option<Problem>,
}

impl BodyReader {
    const fn new(chunks: mpsc::Receiver<Result<Bytes, Problem>>) -> Self {
        Self { chunks, current: Bytes::new(), failure: None }
    }

    /// A body of these chunks, for [`decoders`](crate::decoders).
    pub fn from_chunks(chunks: Vec<Vec<u8>>) -> Self {
        let (sender, receiver) = mpsc::channel(chunks.len() + 1);
        for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()).map(Bytes::from) {
            // The channel has room for all of them.
            let _ = sender.try_send(Ok(chunk));
        }
        let _ = sender.try_send(Ok(Bytes::new()));
        Self::new(receiver)
    }

    /// The next chunk; `None` at the end, and if the body is incomplete: see
    /// [`failure`](Self::failure).
    pub fn next_chunk(&mut self) -> Option<Bytes> {
        match self.chunks.blocking_recv() {
            Some(Ok(chunk)) if chunk.is_empty() => None,
            Some(Ok(chunk)) => Some(chunk),
            Some(Err(problem)) => {
                self.failure = Some(problem);
                None
            }
            // Without the end mark the body must not be taken for complete.
            None => {
                self.failure = Some(Problem::bad_request("the request body was aborted"));
                None
            }
        }
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.current.is_empty() {
            match self.next_chunk() {
                Some(chunk) => self.current = chunk,
                None if self.failure.is_some() => return Err(io::ErrorKind::UnexpectedEof.into()),
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.current.len());
        let bytes = self.current.split_to(count);
        buffer.get_mut(..count).unwrap_or_default().copy_from_slice(&bytes);
        Ok(count)
    }
}

/// Runs `work` on a worker thread with the request's body.
///
/// # Errors
/// 503 if the quota of streams is used up; those of `work`.
pub(crate) async fn consume<R: Send + 'static>(
    request: &mut RequestContext,
    work: impl FnOnce(BodyReader) -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    let permit = request.stream_permit()?;
    let (sender, chunks) = mpsc::channel(CHANNEL_CAPACITY);
    let worker = blocking::run_unlimited(move || {
        let _permit = permit;
        work(BodyReader::new(chunks))
    });
    let (result, ()) = tokio::join!(worker, forward(request, sender));
    result
}

/// Sends the body's chunks, and an empty one at the end.
async fn forward(request: &mut RequestContext, chunks: mpsc::Sender<Result<Bytes, Problem>>) {
    loop {
        let (chunk, is_last) = match request.next_chunk().await {
            Ok(Some(chunk)) => (Ok(chunk), false),
            Ok(None) => (Ok(Bytes::new()), true),
            Err(problem) => (Err(problem), true),
        };
        // The receiver is gone if the worker has finished early.
        if chunks.send(chunk).await.is_err() || is_last {
            return;
        }
    }
}

//! A request's body as it arrives.

use bytes::Bytes;
use http_body::Body as _;
use hyper::body::{Frame, Incoming};
use hyper::header::{EXPECT, HeaderMap};
use std::pin::Pin;
use std::time::Duration;
use tokio::runtime::Handle;

/// The most unread bytes that are discarded.
const MAX_DISCARDED_BYTES: usize = 4 << 20;

/// A request's body.
///
/// Dropping it discards the unread rest in the background. Otherwise the server would close the
/// connection, and the client might lose the response.
#[derive(Debug)]
pub(crate) struct RequestBody {
    body: Option<Incoming>,
    /// A body that did not come from a connection.
    bytes: Option<Bytes>,
    was_read: bool,
    /// How long discarding the rest may take.
    discard_timeout: Duration,
}

impl RequestBody {
    pub fn new(body: Incoming, headers: &HeaderMap, timeout: Duration) -> Self {
        // A client that waits for "100 Continue" sends nothing, unless the body is read.
        let waits = headers.contains_key(EXPECT);
        let discard_timeout = if waits { Duration::ZERO } else { timeout };
        Self { body: Some(body), bytes: None, was_read: false, discard_timeout }
    }

    /// A body in memory, of a request that the server makes itself.
    pub const fn of_bytes(bytes: Bytes) -> Self {
        let discard_timeout = Duration::ZERO;
        Self { body: None, bytes: Some(bytes), was_read: false, discard_timeout }
    }

    /// The least number of bytes that are still to come, as far as the headers tell.
    pub fn min_length(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.size_hint().lower())
    }

    /// Whether any of it was read.
    pub const fn was_read(&self) -> bool {
        self.was_read
    }

    /// The next frame; `None` at the end.
    pub async fn next(&mut self) -> Option<hyper::Result<Frame<Bytes>>> {
        self.was_read = true;
        if let Some(bytes) = self.bytes.take() {
            return Some(Ok(Frame::data(bytes)));
        }
        let next = next_frame(self.body.as_mut()?).await;
        if !matches!(next, Some(Ok(_))) {
            self.body = None;
        }
        next
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let Some(body) = self.body.take() else { return };
        if body.is_end_stream() || self.discard_timeout.is_zero() {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(tokio::time::timeout(self.discard_timeout, discard(body)));
        }
    }
}

async fn discard(mut body: Incoming) {
    let mut discarded = 0;
    while let Some(Ok(frame)) = next_frame(&mut body).await {
        discarded += frame.data_ref().map_or(0, Bytes::len);
        if discarded > MAX_DISCARDED_BYTES {
            return;
        }
    }
}

async fn next_frame(body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
    std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await
}

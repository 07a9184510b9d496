//! A request's body, and what becomes of the part of it that nobody reads.

use bytes::Bytes;
use http_body::Body as _;
use hyper::body::{Frame, Incoming};
use hyper::header::{EXPECT, HeaderMap};
use std::pin::Pin;
use std::time::Duration;
use tokio::runtime::Handle;

/// The most that is passed over.
const REST: usize = 4 << 20;

/// A request's body. What is left of it at the end is read all the same, and passed over: the client
/// would else find its connection closed, perhaps before it has seen the answer.
#[derive(Debug)]
pub(crate) struct Upload {
    body: Option<Incoming>,
    touched: bool,
    /// How long the rest may take.
    patience: Duration,
}

impl Upload {
    pub fn new(body: Incoming, headers: &HeaderMap, patience: Duration) -> Self {
        // Who asks first whether to send is not told to: nothing will come.
        let waits = headers.contains_key(EXPECT);
        Self {
            body: Some(body),
            touched: false,
            patience: if waits { Duration::ZERO } else { patience },
        }
    }

    /// About how many bytes come, at least.
    pub fn least(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.size_hint().lower())
    }

    /// Whether any of it was read.
    pub const fn is_touched(&self) -> bool {
        self.touched
    }

    /// What comes next; `None` at the end.
    pub async fn next(&mut self) -> Option<hyper::Result<Frame<Bytes>>> {
        self.touched = true;
        let next = frame(self.body.as_mut()?).await;
        if !matches!(next, Some(Ok(_))) {
            self.body = None;
        }
        next
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let Some(body) = self.body.take() else { return };
        if body.is_end_stream() || self.patience.is_zero() {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(tokio::time::timeout(self.patience, pass_over(body)));
        }
    }
}

async fn pass_over(mut body: Incoming) {
    let mut rest = 0;
    while let Some(Ok(frame)) = frame(&mut body).await {
        rest += frame.data_ref().map_or(0, Bytes::len);
        if rest > REST {
            return;
        }
    }
}

async fn frame(body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
    std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await
}

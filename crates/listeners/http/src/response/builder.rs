//! A response: status, headers, and a body that is complete or streamed.

use crate::problem::Problem;
use bobak_core::ErrorKind;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// A response's body.
#[derive(Debug)]
pub(crate) enum Body {
    /// The complete body; `None` if it is empty or was handed over.
    Full(Option<Bytes>),
    /// Chunks, as they are produced.
    Stream(mpsc::Receiver<BodyChunk>),
}

/// A chunk of a streamed body.
#[derive(Debug)]
pub(crate) enum BodyChunk {
    Bytes(Bytes),
    /// The body is complete. If the channel closes without it, the body was aborted, and the server
    /// closes the connection so that the client notices.
    End,
}

/// A response that is still being built.
#[derive(Debug)]
pub(crate) struct ResponseBuilder(hyper::Response<Body>);

impl ResponseBuilder {
    pub fn new(status: StatusCode, body: Body) -> Self {
        let mut response = hyper::Response::new(body);
        *response.status_mut() = status;
        Self(response)
    }

    pub fn empty(status: StatusCode) -> Self {
        Self::new(status, Body::Full(None))
    }

    pub fn text(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut response = Self::new(status, Body::Full(Some(body.into())));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        response
    }

    pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self::text(status, "application/json", body)
    }

    pub fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        self.0.headers_mut()
    }

    pub fn body_mut(&mut self) -> &mut Body {
        self.0.body_mut()
    }

    /// Replaces the status.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        *self.0.status_mut() = status;
        self
    }

    /// Adds a header. `value` must be valid in a header; otherwise the header is left out.
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers_mut().insert(name, value);
        }
        self
    }

    pub fn into_hyper(self) -> hyper::Response<Body> {
        self.0
    }
}

impl From<Problem> for ResponseBuilder {
    fn from(problem: Problem) -> Self {
        let mut body = String::with_capacity(256);
        problem.write(&mut body);
        body.push('\n');
        let can_retry =
            matches!(problem.error().kind(), ErrorKind::Busy | ErrorKind::Serialization);
        let mut response = Self::text(problem.status(), "application/problem+json", body);
        let headers = response.headers_mut();
        for (name, value) in problem.into_headers() {
            headers.append(name, value);
        }
        if can_retry {
            headers.entry(RETRY_AFTER).or_insert(HeaderValue::from_static("1"));
        }
        response
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(chunks) => chunks.poll_recv(context).map(|chunk| match chunk {
                Some(BodyChunk::Bytes(bytes)) => Some(Ok(Frame::data(bytes))),
                Some(BodyChunk::End) => None,
                None => Some(Err(io::Error::other("the response was aborted"))),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

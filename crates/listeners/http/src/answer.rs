//! What comes back: a head, and a body that is there or streams.

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// A response's body.
#[derive(Debug)]
pub(crate) enum Body {
    /// The whole of it; `None` once it is handed over.
    Whole(Option<Bytes>),
    /// Parts, as they are made.
    Parts(mpsc::Receiver<Part>),
}

/// A part of a body that streams.
#[derive(Debug)]
pub(crate) enum Part {
    Bytes(Bytes),
    /// All is told. A body that ends without it was broken off, and so is its connection.
    End,
}

/// An answer on its way.
#[derive(Debug)]
pub(crate) struct Answer(Response<Body>);

impl Answer {
    pub fn new(status: StatusCode, body: Body) -> Self {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        Self(response)
    }

    pub fn empty(status: StatusCode) -> Self {
        Self::new(status, Body::Whole(None))
    }

    pub fn text(status: StatusCode, media: &'static str, body: impl Into<Bytes>) -> Self {
        let mut answer = Self::new(status, Body::Whole(Some(body.into())));
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
        answer
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

    /// Adds a header whose value was made of what is surely a header's value.
    pub fn with(mut self, name: hyper::header::HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers_mut().insert(name, value);
        }
        self
    }

    pub fn into_response(self) -> Response<Body> {
        self.0
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
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Parts(parts) => parts.poll_recv(context).map(|part| match part {
                Some(Part::Bytes(bytes)) => Some(Ok(Frame::data(bytes))),
                Some(Part::End) => None,
                None => Some(Err(io::Error::other("the answer could not be finished"))),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Self::Parts(_) => SizeHint::default(),
        }
    }
}

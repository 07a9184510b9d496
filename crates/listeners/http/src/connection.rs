//! What a connection runs on: requests are answered until one of both ends has had enough.

use crate::patient::Patient;
use crate::server::Shared;
use crate::service;
use crate::visitor::Visitor;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

/// The most bytes of a request's head that are read; `head.rs` refuses what is much shorter, with a
/// document.
const LONGEST_HEAD: usize = 64 << 10;
/// How long, and for how many bytes, a client that was told that it speaks no HTTP is heard out.
const LAST: Duration = Duration::from_secs(2);
const REST: u64 = 1 << 20;

/// Serves a connection.
///
/// Answers are sent as they are made, one after the other: nothing is kept back for requests that
/// come at once (hyper's `pipeline_flush`), since that would have no bound.
pub(crate) async fn talk<S>(shared: &Arc<Shared>, visitor: &Arc<Visitor>, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| {
        let (shared, visitor) = (Arc::clone(shared), Arc::clone(visitor));
        async move { Ok::<_, Infallible>(service::serve(&shared, &visitor, request).await) }
    });
    let stream = TokioIo::new(Patient::new(stream, shared.settings.write_timeout));
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.settings.head_timeout)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(stream, service);
    let mut stopping = shared.stopping();
    let mut running = Pin::new(&mut connection);
    let ended = tokio::select! {
        biased;
        ended = running.as_mut() => ended,
        _ = stopping.changed() => {
            running.as_mut().graceful_shutdown();
            running.await
        }
    };
    let Err(error) = ended else { return };
    let rest = connection.into_parts();
    if let Some(what) = complaint(&error, !rest.read_buf.is_empty()) {
        shared.tell_of(visitor, what);
    }
    if error.is_parse() {
        hear_out(rest.io.into_inner()).await;
    }
}

/// What the log hears of a connection that broke; nothing of one that only rested for too long, or
/// whose answer was broken off by this end, which has told why.
fn complaint(error: &hyper::Error, in_a_head: bool) -> Option<String> {
    if error.is_parse() {
        return Some(format!("sent what is no HTTP: {error}"));
    }
    if error.is_timeout() {
        return in_a_head.then(|| "was cut off: no whole head came in time".to_owned());
    }
    if error.is_incomplete_message() {
        return Some("left before it had its answer".to_owned());
    }
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>())?;
    let late = cause.kind() == io::ErrorKind::TimedOut;
    late.then(|| format!("was cut off: {cause}"))
}

/// Reads on for a while: a connection that is closed with bytes unread takes the answer with it.
async fn hear_out(stream: impl AsyncRead + Unpin) {
    let mut rest = stream.take(REST);
    let mut room = vec![0; 4 << 10];
    let all = async { while rest.read(&mut room).await.is_ok_and(|count| count > 0) {} };
    let _ = tokio::time::timeout(LAST, all).await;
}

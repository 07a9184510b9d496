//! Serves HTTP/1.1 on one connection, until it closes.

use crate::connection::write_timeout::WriteTimeout;
use crate::peer::Peer;
use crate::service;
use crate::state::shared::ServerState;
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

/// The buffer for a request's headers. The limits in `request/headers.rs` are far lower, so that a
/// client with long headers gets a problem document rather than hyper's bare error.
const HEADER_BUFFER: usize = 64 << 10;
/// For how long, and for how many bytes, the server reads on after a request that is no HTTP.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_DRAINED_BYTES: u64 = 1 << 20;

/// Serves a connection.
///
/// hyper's `pipeline_flush` stays off: it would buffer the responses to pipelined requests without
/// a bound.
pub(crate) async fn serve<S>(state: &Arc<ServerState>, peer: &Arc<Peer>, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| {
        let (state, peer) = (Arc::clone(state), Arc::clone(peer));
        async move { Ok::<_, Infallible>(service::respond(&state, &peer, request).await) }
    });
    let stream = TokioIo::new(WriteTimeout::new(stream, state.settings.write_timeout));
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(state.settings.header_timeout)
        .max_buf_size(HEADER_BUFFER)
        .serve_connection(stream, service);
    let mut stopping = state.stopping();
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
    if let Some(event) = log_event(&error, !rest.read_buf.is_empty()) {
        state.log_peer(peer, event);
    }
    if error.is_parse() {
        drain(rest.io.into_inner()).await;
    }
}

/// What to log about a connection that failed. Idle connections that time out are not worth a line;
/// responses that the server itself aborted are already logged.
fn log_event(error: &hyper::Error, in_headers: bool) -> Option<String> {
    if error.is_parse() {
        return Some(format!("sent a request that is not HTTP/1.1: {error}"));
    }
    if error.is_timeout() {
        return in_headers.then(|| "was disconnected: request headers timed out".to_owned());
    }
    if error.is_incomplete_message() {
        return Some("disconnected during a request".to_owned());
    }
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>())?;
    let timed_out = cause.kind() == io::ErrorKind::TimedOut;
    timed_out.then(|| format!("was disconnected: {cause}"))
}

/// Reads and discards input for a while. If a connection closes with unread input, the kernel resets
/// it, and the client may lose the response.
async fn drain(stream: impl AsyncRead + Unpin) {
    let mut rest = stream.take(MAX_DRAINED_BYTES);
    let mut buffer = vec![0; 4 << 10];
    let all = async { while rest.read(&mut buffer).await.is_ok_and(|count| count > 0) {} };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, all).await;
}

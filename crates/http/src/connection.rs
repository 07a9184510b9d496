//! What a connection runs on: requests are answered until one of both ends has had enough.

use crate::listener::Door;
use crate::patient::Patient;
use crate::server::Shared;
use crate::service;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

/// The most bytes of a request's head.
const LONGEST_HEAD: usize = 64 << 10;
/// How long, and for how many bytes, a client that was told that it speaks no HTTP is heard out.
const LAST: Duration = Duration::from_secs(2);
const REST: u64 = 1 << 20;

/// Serves a connection.
///
/// Answers are sent as they are made, one after the other: nothing is kept back for requests that
/// come at once (hyper's `pipeline_flush`), since that would have no bound.
pub(crate) async fn talk<S>(shared: &Arc<Shared>, door: Door, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| {
        let shared = Arc::clone(shared);
        async move { Ok::<_, Infallible>(service::serve(&shared, &door, request).await) }
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
    // How else a connection ends is the client's matter: what it asked for was done, or answered.
    if ended.is_err_and(|error| error.is_parse()) {
        hear_out(connection.into_parts().io.into_inner()).await;
    }
}

/// Reads on for a while: a connection that is closed with bytes unread takes the answer with it.
async fn hear_out(stream: impl AsyncRead + Unpin) {
    let mut rest = stream.take(REST);
    let mut room = vec![0; 4 << 10];
    let all = async { while rest.read(&mut room).await.is_ok_and(|count| count > 0) {} };
    let _ = tokio::time::timeout(LAST, all).await;
}

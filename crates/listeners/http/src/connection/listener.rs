//! Accepts connections and serves each on a task of its own.

use crate::connection::http1;
use crate::peer::Peer;
use crate::state::shared::ServerState;
use bobak_core::{Error, ErrorKind, Result};
use bobak_serving::Listener;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

/// How long to wait after a failed accept, which most often fails for lack of file descriptors.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A listener on the reactor.
pub(crate) enum AsyncListener {
    Tcp(TcpListener),
    #[cfg(feature = "tls")]
    Tls(TcpListener, tokio_rustls::TlsAcceptor),
    /// With the listener that removes the socket file when dropped.
    Unix(UnixListener, #[expect(dead_code, reason = "for its drop")] Listener),
}

impl AsyncListener {
    /// Registers a listener with the reactor of the current runtime.
    ///
    /// # Errors
    /// `Io`.
    pub fn new(listener: Listener) -> Result<Self> {
        let io = |error| Error::io("listen", error);
        Ok(match listener {
            Listener::Unix(ref socket, _) => {
                let socket = socket.try_clone().map_err(io)?;
                Self::Unix(UnixListener::from_std(socket).map_err(io)?, listener)
            }
            Listener::Tcp(ref socket) => {
                let socket = socket.try_clone().map_err(io)?;
                Self::Tcp(TcpListener::from_std(socket).map_err(io)?)
            }
            #[cfg(feature = "tls")]
            Listener::Tls(ref socket, ref config) => {
                let socket = socket.try_clone().map_err(io)?;
                let acceptor = tokio_rustls::TlsAcceptor::from(Arc::clone(config));
                Self::Tls(TcpListener::from_std(socket).map_err(io)?, acceptor)
            }
            // Another crate of the program may bring TLS to `Listener`, without the feature of this one.
            _ => {
                let message = "this program has no HTTPS: enable the feature `tls` of bobak-http";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        })
    }

    /// Accepts connections until the server stops.
    pub async fn run(self, state: Arc<ServerState>) {
        let mut stopping = state.stopping();
        loop {
            tokio::select! {
                biased;
                _ = stopping.changed() => return,
                accepted = self.accept(&state) => if let Err(error) = accepted {
                    // The error repeats until, for example, file descriptors become available.
                    let line = format!("a connection could not be accepted: {error}");
                    state.log.client_event(None, line);
                    tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
                },
            }
        }
    }

    async fn accept(&self, state: &Arc<ServerState>) -> io::Result<()> {
        match self {
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                spawn(state, Peer::new(true, None), async { Ok(stream) });
            }
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                stream.set_nodelay(true)?;
                spawn(state, remote(address.ip()), async { Ok(stream) });
            }
            #[cfg(feature = "tls")]
            Self::Tls(listener, acceptor) => {
                let (stream, address) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let (acceptor, timeout) = (acceptor.clone(), state.settings.header_timeout);
                let handshake = async move {
                    tokio::time::timeout(timeout, shake_hands(stream, acceptor))
                        .await
                        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
                };
                spawn(state, remote(address.ip()), handshake);
            }
        }
        Ok(())
    }
}

/// What a client gets that sends plain HTTP to a port for HTTPS.
#[cfg(feature = "tls")]
const HTTPS_ONLY: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\
    content-length: 49\r\nconnection: close\r\n\r\nthis port speaks HTTPS: use a URL with https://\r\n";

/// A TLS handshake. A client that begins with a letter speaks HTTP, and gets a sentence instead of a TLS alert.
#[cfg(feature = "tls")]
async fn shake_hands(
    mut stream: tokio::net::TcpStream,
    acceptor: tokio_rustls::TlsAcceptor,
) -> io::Result<tokio_rustls::server::TlsStream<tokio::net::TcpStream>> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 || !first[0].is_ascii_alphabetic() {
        return acceptor.accept(stream).await;
    }
    // Unread bytes would reset the connection before the client has read the reply.
    let mut head = vec![0; 1 << 14];
    let _ = stream.read(&mut head).await?;
    stream.write_all(HTTPS_ONLY.as_bytes()).await?;
    stream.shutdown().await?;
    Err(io::Error::new(io::ErrorKind::InvalidData, "the client speaks HTTP without TLS"))
}

const fn remote(address: IpAddr) -> Peer {
    Peer::new(false, Some(address))
}

/// Serves a connection on a task of its own, once its handshake is done.
fn spawn<S>(
    state: &Arc<ServerState>,
    peer: Peer,
    handshake: impl Future<Output = io::Result<S>> + Send + 'static,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (state, peer) = (Arc::clone(state), Arc::new(peer));
    tokio::spawn(async move {
        let _slot = match state.connections.acquire(peer.address, peer.is_trusted) {
            Ok(slot) => slot,
            Err(error) => return state.log_peer(&peer, format_args!("was rejected: {error}")),
        };
        match handshake.await {
            Ok(stream) => http1::serve(&state, &peer, stream).await,
            Err(error) => state.log_peer(&peer, format_args!("failed the TLS handshake: {error}")),
        }
    });
}

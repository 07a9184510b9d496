//! Where connections come in.

use crate::connection;
use crate::server::Shared;
use crate::visitor::Visitor;
use bobak_core::{Error, Result};
use bobak_serving::Listener;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

/// How long a door rests that can't take a connection: most often there are no more files.
const REST: Duration = Duration::from_millis(100);

/// The door that a connection came through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Door {
    /// The operating system guards it: who comes needs to show nothing.
    pub trusted: bool,
    pub peer: Option<IpAddr>,
}

/// A door on the reactor.
pub(crate) enum Entrance {
    Tcp(TcpListener),
    #[cfg(feature = "tls")]
    Tls(TcpListener, tokio_rustls::TlsAcceptor),
    /// With the listener that removes its file at the end.
    Unix(UnixListener, #[expect(dead_code, reason = "for its drop")] Listener),
}

impl Entrance {
    /// Brings a door to the reactor, in which this is called.
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
        })
    }

    /// Takes connections in until the server stops.
    pub async fn run(self, shared: Arc<Shared>) {
        let mut stopping = shared.stopping();
        loop {
            tokio::select! {
                biased;
                _ = stopping.changed() => return,
                accepted = self.accept(&shared) => if let Err(error) = accepted {
                    // As long as there are no more files, say, it is so again and again.
                    let line = format!("a connection could not be accepted: {error}");
                    shared.audit_log.client_event(None, line);
                    tokio::time::sleep(REST).await;
                },
            }
        }
    }

    async fn accept(&self, shared: &Arc<Shared>) -> io::Result<()> {
        match self {
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                spawn(shared, Door { trusted: true, peer: None }, async { Ok(stream) });
            }
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                spawn(shared, Door { trusted: false, peer: Some(peer.ip()) }, async { Ok(stream) });
            }
            #[cfg(feature = "tls")]
            Self::Tls(listener, acceptor) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let (acceptor, patience) = (acceptor.clone(), shared.settings.head_timeout);
                let greets = async move {
                    tokio::time::timeout(patience, acceptor.accept(stream))
                        .await
                        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
                };
                spawn(shared, Door { trusted: false, peer: Some(peer.ip()) }, greets);
            }
        }
        Ok(())
    }
}

/// Serves a connection on a task of its own.
fn spawn<S>(
    shared: &Arc<Shared>,
    door: Door,
    greets: impl Future<Output = io::Result<S>> + Send + 'static,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (shared, visitor) = (Arc::clone(shared), Arc::new(Visitor::new(door)));
    tokio::spawn(async move {
        let _seat = match shared.seats.acquire(door.peer, door.trusted) {
            Ok(seat) => seat,
            Err(error) => return shared.tell_of(&visitor, format_args!("was refused: {error}")),
        };
        match greets.await {
            Ok(stream) => connection::talk(&shared, &visitor, stream).await,
            Err(error) => shared.tell_of(&visitor, format_args!("speaks no TLS: {error}")),
        }
    });
}

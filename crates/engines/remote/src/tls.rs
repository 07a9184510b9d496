//! TLS over a TCP stream.

use crate::stream::{Second, Stream, is_idle};
use bobak_core::{Error, ErrorKind, Result};
use bobak_engine_common::tls::{CertificateCheck, client_config};
use rustls::pki_types::ServerName;
use rustls::{ALL_VERSIONS, ClientConfig, ClientConnection};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The certificates that the client trusts: loaded once for all connections.
pub(crate) type Trust = Arc<ClientConfig>;

/// A TLS stream. No thread holds the session keys while it waits, so another one can cancel its request.
pub(crate) struct TlsStream {
    sealed: Arc<Mutex<TlsState>>,
    socket: Arc<TcpStream>,
}

/// The session keys, and encrypted bytes that wait to be sent.
struct TlsState {
    connection: ClientConnection,
    socket: Arc<TcpStream>,
}

/// Trusts the certificates of a PEM file, or else those of the system.
pub(crate) fn trust(authorities: Option<&Path>) -> Result<Trust> {
    client_config(CertificateCheck::Name, authorities, ALL_VERSIONS).map(Arc::new)
}

/// Starts TLS with the server of this name. The handshake is done with the first bytes.
pub(crate) fn begin(trust: &Trust, host: &str, stream: TcpStream) -> io::Result<TlsStream> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let connection = ClientConnection::new(Arc::clone(trust), name).map_err(io::Error::other)?;
    let socket = Arc::new(stream);
    let sealed = Arc::new(Mutex::new(TlsState { connection, socket: Arc::clone(&socket) }));
    Ok(TlsStream { sealed, socket })
}

impl TlsStream {
    fn with<R>(&self, work: impl FnOnce(&mut TlsState) -> R) -> R {
        work(&mut self.sealed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TlsState {
    /// Reads encrypted bytes; blocks if there are none.
    fn take_in(&mut self) -> io::Result<()> {
        self.connection.read_tls(&mut &*self.socket)?;
        if let Err(error) = self.connection.process_new_packets() {
            // Sends the TLS alert, if the peer still reads.
            let _ = self.flush();
            if self.connection.is_handshaking() && matches!(error, rustls::Error::InvalidMessage(_))
            {
                return Err(io::Error::other(not_tls(error)));
            }
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        // Replies of the handshake.
        self.flush()
    }
}

fn not_tls(error: rustls::Error) -> Error {
    let message =
        "the server does not speak TLS: remove tls=on, or start the server with a certificate";
    Error::new(ErrorKind::Config, message).with_source(error)
}

impl Write for TlsState {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.connection.writer().write(bytes)?;
        self.flush()?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut &*self.socket)?;
        }
        Ok(())
    }
}

impl Read for TlsStream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.with(|sealed| sealed.connection.reader().read(room)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            // Wait without holding the keys.
            self.socket.peek(&mut [0])?;
            self.with(TlsState::take_in)?;
        }
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|sealed| sealed.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(TlsState::flush)
    }
}

impl Stream for TlsStream {
    fn is_alive(&mut self) -> bool {
        // Session tickets may be waiting: they are read, and are no message of the server.
        let idle = self.socket.set_nonblocking(true).is_ok() && is_idle(self);
        self.socket.set_nonblocking(false).is_ok() && idle
    }

    fn second(&self) -> Option<Second> {
        Some(Arc::clone(&self.sealed) as Second)
    }
}

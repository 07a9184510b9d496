//! TLS over a non-blocking TCP stream.

use rustls::{ServerConfig, ServerConnection};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// A TLS stream.
pub(crate) struct TlsStream {
    connection: ServerConnection,
    stream: Arc<TcpStream>,
    /// How many decrypted bytes are not read yet: polling the socket does not show them.
    decrypted: usize,
}

impl TlsStream {
    pub fn new(config: Arc<ServerConfig>, stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        Ok(Self { connection, stream: Arc::new(stream), decrypted: 0 })
    }

    /// The underlying socket.
    pub fn socket(&self) -> Arc<TcpStream> {
        Arc::clone(&self.stream)
    }

    /// Whether it can be read without new data on the socket.
    pub const fn is_readable(&self) -> bool {
        self.decrypted > 0
    }
}

impl Read for TlsStream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A connection closed without TLS's closing message has ended, too.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Ok(count) => {
                    self.decrypted = self.decrypted.saturating_sub(count);
                    return Ok(count);
                }
                Err(error) => return Err(error),
            }
            // Handshake messages are sent before more is read.
            match self.flush() {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
            self.connection.read_tls(&mut &*self.stream)?;
            match self.connection.process_new_packets() {
                Ok(state) => self.decrypted = state.plaintext_bytes_to_read(),
                Err(error) => {
                    // Sends the TLS alert, if the client still reads.
                    let _ = self.flush();
                    if self.connection.is_handshaking()
                        && matches!(error, rustls::Error::InvalidMessage(_))
                    {
                        let what = "received no TLS on a listener with TLS: add tls=on to the client's URL";
                        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                    }
                    return Err(io::Error::new(io::ErrorKind::InvalidData, error));
                }
            }
        }
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.connection.writer().write(bytes)?;
        match self.flush() {
            // The rest is written later.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && count > 0 => Ok(count),
            Err(error) => Err(error),
            Ok(()) => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut &*self.stream)?;
        }
        Ok(())
    }
}

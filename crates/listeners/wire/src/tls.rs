//! TLS over a TCP stream that does not block.

use rustls::{ServerConfig, ServerConnection};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// A stream under TLS.
pub(crate) struct TlsStream {
    connection: ServerConnection,
    stream: Arc<TcpStream>,
    /// Bytes that are decrypted and not read yet: the socket does not tell of them.
    decrypted: usize,
}

impl TlsStream {
    pub fn new(config: Arc<ServerConfig>, stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        Ok(Self { connection, stream: Arc::new(stream), decrypted: 0 })
    }

    /// What carries it.
    pub fn socket(&self) -> Arc<TcpStream> {
        Arc::clone(&self.stream)
    }

    /// Whether it can be read though nothing comes.
    pub const fn is_readable(&self) -> bool {
        self.decrypted > 0
    }
}

impl Read for TlsStream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A line that was cut without TLS's word of farewell has ended too.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Ok(count) => {
                    self.decrypted = self.decrypted.saturating_sub(count);
                    return Ok(count);
                }
                Err(error) => return Err(error),
            }
            // The handshake's answers go out before more comes in.
            match self.flush() {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
            self.connection.read_tls(&mut &*self.stream)?;
            match self.connection.process_new_packets() {
                Ok(state) => self.decrypted = state.plaintext_bytes_to_read(),
                Err(error) => {
                    // The other end is told what is wrong, if it still listens.
                    let _ = self.flush();
                    if self.connection.is_handshaking()
                        && matches!(error, rustls::Error::InvalidMessage(_))
                    {
                        let what = "no TLS at a door with it: say tls=on in the client's URL";
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
            // What was taken in is written later.
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

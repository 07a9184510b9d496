//! One connection: sends a request and receives its response.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::response::Response;
use crate::contender::Failure;

/// Room for an answer; it grows where one is longer.
const ROOM: usize = 16 << 10;

/// A connection that is kept alive, with at most one request under way.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    output: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
    filled: usize,
    /// The number of the request under way.
    request: Option<usize>,
}

impl Connection {
    /// Connects, without waiting for the other side to accept.
    pub fn new(address: SocketAddr, registry: &Registry, token: Token) -> Result<Self, Failure> {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let mut stream = TcpStream::from_std(stream);
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        let (output, input) = (Vec::new(), vec![0; ROOM]);
        Ok(Self { stream, output, sent: 0, input, filled: 0, request: None })
    }

    /// Sends the request with this number, as far as the socket takes it.
    pub fn ask(&mut self, number: usize, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Failure> {
        (self.sent, self.request) = (0, Some(number));
        self.output.clear();
        write(&mut self.output);
        self.flush()
    }

    /// Goes on when the socket is ready. With the whole answer `check` is called, and the number of
    /// its request is given back.
    pub fn go_on(
        &mut self,
        check: impl FnOnce(usize, Response<'_>) -> Result<(), Failure>,
    ) -> Result<Option<usize>, Failure> {
        let Some(number) = self.request else { return Ok(None) };
        self.flush()?;
        loop {
            // The socket has been emptied where a read does not fill the room.
            let drained = match self.fill()? {
                None => return Ok(None),
                Some(drained) => drained,
            };
            let bytes = self.input.get(..self.filled).unwrap_or_default();
            if let Some((response, length)) = Response::of(bytes)? {
                if length != bytes.len() {
                    return Err(Failure::new("the server sent bytes without a request"));
                }
                check(number, response)?;
                (self.filled, self.request) = (0, None);
                return Ok(Some(number));
            }
            if drained {
                return Ok(None);
            }
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        while let Some(rest) = self.output.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads once. Returns whether the stream has no more bytes for now; `None` if nothing was read.
    fn fill(&mut self) -> Result<Option<bool>, Failure> {
        if self.filled == self.input.len() {
            self.input.resize(2 * self.filled, 0);
        }
        let room = self.input.get_mut(self.filled..).unwrap_or_default();
        loop {
            match self.stream.read(room) {
                Ok(0) => return Err(Failure::new("the server has closed a connection")),
                Ok(count) => {
                    let drained = count < room.len();
                    self.filled += count;
                    return Ok(Some(drained));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

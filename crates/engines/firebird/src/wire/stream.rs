//! The bytes of the protocol: XDR over TCP, encrypted after the login.

use super::srp::Arc4;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

/// What is sent, in XDR: numbers of four bytes, and bytes padded to a multiple of four.
#[derive(Debug, Default)]
pub(crate) struct Packet {
    pub bytes: Vec<u8>,
}

impl Packet {
    pub fn int(&mut self, value: i32) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub fn long(&mut self, value: i64) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Bytes after their length.
    pub fn counted(&mut self, bytes: &[u8]) -> &mut Self {
        self.int(i32::try_from(bytes.len()).unwrap_or(i32::MAX)).padded(bytes)
    }

    /// Bytes whose length the reader knows.
    pub fn padded(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len() + padding(bytes.len()), 0);
        self
    }
}

/// The bytes that follow so many others.
pub(super) const fn padding(length: usize) -> usize {
    (4 - length % 4) % 4
}

/// The half of a connection that sends. Another thread may use it to cancel a call.
#[derive(Clone, Debug)]
pub(crate) struct ChannelSender(Arc<Mutex<(TcpStream, Option<Arc4>)>>);

impl ChannelSender {
    /// Sends bytes, and leaves none behind.
    pub fn send(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (stream, cipher) = &mut *inner;
        if let Some(cipher) = cipher {
            cipher.apply(bytes);
        }
        let sent = stream.write_all(bytes);
        bytes.clear();
        sent
    }

    /// Closes the connection in both directions.
    pub fn shut_down(&self) {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection that is gone cannot be closed.
        let _ = inner.0.shutdown(std::net::Shutdown::Both);
    }
}

/// The half of a connection that receives.
#[derive(Debug)]
pub(crate) struct Receiver {
    stream: TcpStream,
    cipher: Option<Arc4>,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
}

/// The bytes that are read at once.
const BUFFER: usize = 64 << 10;
/// More bytes in one value than any server sends.
const LONGEST: usize = 256 << 20;

impl Receiver {
    pub fn split(stream: TcpStream) -> io::Result<(Self, ChannelSender)> {
        let sender = ChannelSender(Arc::new(Mutex::new((stream.try_clone()?, None))));
        let buffer = vec![0; BUFFER];
        Ok((Self { stream, cipher: None, buffer, at: 0, end: 0 }, sender))
    }

    /// Encrypts both directions from now on.
    pub fn encrypt(&mut self, sender: &ChannelSender, key: &[u8]) {
        self.cipher = Some(Arc4::new(key));
        sender.0.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(Arc4::new(key));
    }

    /// How long reading may take; `None` for no limit.
    pub fn limit(&self, time: Option<std::time::Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(time)
    }

    /// Whether nothing has arrived that nobody asked for, such as the end of the connection.
    pub fn seems_open(&self) -> bool {
        let mut byte = [0];
        let is_set = self.stream.set_nonblocking(true).is_ok();
        let peeked = self.stream.peek(&mut byte);
        let is_reset = self.stream.set_nonblocking(false).is_ok();
        let is_waiting = matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        is_set && is_reset && is_waiting && self.at == self.end
    }

    /// Waits until something has arrived.
    pub fn wait(&mut self) -> io::Result<()> {
        self.fill().map(drop)
    }

    pub fn int(&mut self) -> io::Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub fn long(&mut self) -> io::Result<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// Bytes after their length.
    pub fn counted(&mut self) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.int()?).unwrap_or(usize::MAX);
        if length > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a value is too long"));
        }
        let mut bytes = Vec::new();
        self.padded(length, &mut bytes)?;
        Ok(bytes)
    }

    /// Bytes of a known length, added to others.
    pub fn padded(&mut self, length: usize, to: &mut Vec<u8>) -> io::Result<()> {
        let mut left = length;
        while left > 0 {
            let there = self.fill()?.get(..).unwrap_or_default();
            let taken = there.len().min(left);
            to.extend_from_slice(there.get(..taken).unwrap_or_default());
            self.at += taken;
            left -= taken;
        }
        let mut padded = [0; 3];
        self.exact(padded.get_mut(..padding(length)).unwrap_or_default())
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut array = [0; N];
        self.exact(&mut array)?;
        Ok(array)
    }

    fn exact(&mut self, mut to: &mut [u8]) -> io::Result<()> {
        while !to.is_empty() {
            let there = self.fill()?;
            let taken = there.len().min(to.len());
            let (now, later) = to.split_at_mut(taken);
            now.copy_from_slice(there.get(..taken).unwrap_or_default());
            self.at += taken;
            to = later;
        }
        Ok(())
    }

    /// What has arrived and was not taken: at least one byte.
    fn fill(&mut self) -> io::Result<&[u8]> {
        if self.at == self.end {
            let read = self.stream.read(&mut self.buffer)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            (self.at, self.end) = (0, read);
            if let Some(cipher) = &mut self.cipher {
                cipher.apply(self.buffer.get_mut(..read).unwrap_or_default());
            }
        }
        Ok(self.buffer.get(self.at..self.end).unwrap_or_default())
    }
}

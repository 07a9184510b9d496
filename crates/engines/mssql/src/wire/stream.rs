//! Packets over a socket: a header of eight bytes, and a part of a message. After the pre-login they may be encrypted.

use super::bytes::ByteSource;
use super::status::{TdsError, TdsResult, invalid};
use rustls::ClientConnection;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The kinds of messages.
pub(super) mod kind {
    pub(in super::super) const BATCH: u8 = 1;
    pub(in super::super) const CALL: u8 = 3;
    pub(in super::super) const RESPONSE: u8 = 4;
    pub(in super::super) const ATTENTION: u8 = 6;
    pub(in super::super) const BULK: u8 = 7;
    pub(in super::super) const TRANSACTION: u8 = 14;
    pub(in super::super) const LOGIN: u8 = 16;
    pub(in super::super) const PRELOGIN: u8 = 18;
}

/// The bytes of a packet's header.
const HEADER: usize = 8;
/// The bytes that are read at once.
const BUFFER: usize = 32 << 10;
/// In a header: the message ends with this packet.
const LAST: u8 = 1;

#[derive(Debug)]
struct SharedSocket {
    socket: TcpStream,
    tls: Option<ClientConnection>,
}

impl SharedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return self.socket.write_all(bytes) };
        for part in bytes.chunks(16 << 10) {
            tls.writer().write_all(part)?;
            while tls.wants_write() {
                tls.write_tls(&mut self.socket)?;
            }
        }
        Ok(())
    }
}

/// The half of a connection that sends. Another thread may use it to cancel a request.
#[derive(Clone, Debug)]
pub(crate) struct TdsSender(Arc<Mutex<SharedSocket>>);

impl TdsSender {
    fn lock(&self) -> MutexGuard<'_, SharedSocket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message in packets of at most `size` bytes.
    pub fn send(&self, kind: u8, message: &[u8], size: usize) -> io::Result<()> {
        self.lock().write(&packets(kind, message, size))
    }

    /// Cancels the request that the server works on.
    pub fn attention(&self) {
        // If it cannot be sent, the connection is broken, which ends the request, too.
        let _ = self.send(kind::ATTENTION, &[], BUFFER);
    }

    /// Closes the connection in both directions.
    pub fn shut_down(&self) {
        // A connection that is gone cannot be closed.
        let _ = self.lock().socket.shutdown(std::net::Shutdown::Both);
    }
}

fn packets(kind: u8, message: &[u8], size: usize) -> Vec<u8> {
    let part = size.clamp(512, 32_767) - HEADER;
    let count = message.len().div_ceil(part).max(1);
    let mut bytes = Vec::with_capacity(message.len() + count * HEADER);
    for number in 0..count {
        let from = number * part;
        let body = message.get(from..(from + part).min(message.len())).unwrap_or_default();
        let length = u16::try_from(body.len() + HEADER).unwrap_or(u16::MAX).to_be_bytes();
        let status = if number + 1 == count { LAST } else { 0 };
        let id = (number % 256) as u8;
        bytes.extend([kind, status, length[0], length[1], 0, 0, id.wrapping_add(1), 0]);
        bytes.extend_from_slice(body);
    }
    bytes
}

/// The half of a connection that receives: the bytes of one message after the other.
#[derive(Debug)]
pub(crate) struct TdsReceiver {
    socket: TcpStream,
    shared: TdsSender,
    is_encrypted: bool,
    received: Vec<u8>,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    /// What is missing of the current packet, and whether the message ends with it.
    left: usize,
    is_last: bool,
}

impl TdsReceiver {
    pub fn split(socket: TcpStream) -> io::Result<(Self, TdsSender)> {
        let shared = SharedSocket { socket: socket.try_clone()?, tls: None };
        let sender = TdsSender(Arc::new(Mutex::new(shared)));
        let receiver = Self {
            socket,
            shared: sender.clone(),
            is_encrypted: false,
            received: vec![0; BUFFER],
            buffer: vec![0; BUFFER],
            at: 0,
            end: 0,
            left: 0,
            is_last: true,
        };
        Ok((receiver, sender))
    }

    /// How long reading may take; `None` for no limit.
    pub fn limit(&self, time: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(time)
    }

    /// Whether nothing has arrived that nobody requested, such as the end of the connection.
    pub fn seems_open(&self) -> bool {
        let mut byte = [0];
        let is_set = self.socket.set_nonblocking(true).is_ok();
        let peeked = self.socket.peek(&mut byte);
        let is_reset = self.socket.set_nonblocking(false).is_ok();
        let is_waiting = matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        is_set && is_reset && is_waiting && self.at == self.end
    }

    /// Shakes hands; both directions are encrypted from then on.
    pub fn encrypt(&mut self, mut tls: ClientConnection, size: usize) -> TdsResult<()> {
        let failed = |error: rustls::Error| {
            TdsError::Tls(format!("could not start TLS with the server: {error}"))
        };
        while tls.is_handshaking() {
            let mut message = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut message)?;
            }
            if !message.is_empty() {
                self.shared.send(kind::PRELOGIN, &message, size)?;
            }
            if !tls.is_handshaking() || !tls.wants_read() {
                continue;
            }
            let mut arrived = self.fill()?;
            let count = tls.read_tls(&mut arrived)?;
            self.consume(count);
            tls.process_new_packets().map_err(failed)?;
        }
        self.shared.lock().tls = Some(tls);
        self.is_encrypted = true;
        (self.left, self.is_last) = (0, true);
        Ok(())
    }

    /// Whether the message goes on.
    pub fn is_at_end(&self) -> bool {
        self.left == 0 && self.is_last
    }

    /// Skips what is left of a message.
    pub fn finish(&mut self) -> io::Result<()> {
        while !self.is_at_end() {
            let count = self.fill()?.len();
            self.consume(count);
        }
        Ok(())
    }

    /// Reads what has arrived, decrypted.
    fn read(&mut self) -> io::Result<usize> {
        if !self.is_encrypted {
            return self.socket.read(&mut self.buffer);
        }
        loop {
            if let Some(tls) = &mut self.shared.lock().tls {
                match tls.reader().read(&mut self.buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    other => return other,
                }
            }
            // The lock is free while this thread waits, so that another one can send an attention.
            let count = self.socket.read(&mut self.received)?;
            if count == 0 {
                return Ok(0);
            }
            let mut arrived = self.received.get(..count).unwrap_or_default();
            if let Some(tls) = &mut self.shared.lock().tls {
                while !arrived.is_empty() {
                    tls.read_tls(&mut arrived)?;
                    tls.process_new_packets().map_err(io::Error::other)?;
                }
            }
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        if self.at == self.end {
            let count = self.read()?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            (self.at, self.end) = (0, count);
        }
        Ok(())
    }

    fn header(&mut self) -> io::Result<()> {
        let mut header = [0; HEADER];
        for byte in &mut header {
            self.refill()?;
            *byte = self.buffer.get(self.at).copied().unwrap_or(0);
            self.at += 1;
        }
        let [kind, status, high, low, ..] = header;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if !matches!(kind, kind::RESPONSE | kind::PRELOGIN) || length < HEADER {
            return Err(invalid("what listens there does not speak SQL Server's protocol"));
        }
        (self.left, self.is_last) = (length - HEADER, status & LAST != 0);
        Ok(())
    }
}

impl ByteSource for TdsReceiver {
    fn fill(&mut self) -> io::Result<&[u8]> {
        while self.left == 0 {
            self.header()?;
        }
        self.refill()?;
        let end = self.end.min(self.at + self.left);
        Ok(self.buffer.get(self.at..end).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
        self.left -= count.min(self.left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_into_packets() {
        let bytes = packets(kind::BATCH, &[7; 1_000], 512);
        assert_eq!(bytes.len(), 1_000 + 2 * HEADER);
        assert_eq!(bytes.get(..8), Some(&[1, 0, 2, 0, 0, 0, 1, 0][..]));
        assert_eq!(bytes.get(512..520), Some(&[1, 1, 1, 248, 0, 0, 2, 0][..]));
        assert_eq!(packets(kind::ATTENTION, &[], 4_096), [6, 1, 0, 8, 0, 0, 1, 0]);
    }
}

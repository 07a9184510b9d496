//! A client that sends arbitrary bytes.

use crate::transports::TOKEN;
use bobak_core::{Error, ErrorKind};
use bobak_wire::{Credentials, FrameHeader, Hello, Inbox, Response};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

pub struct Raw {
    pub stream: TcpStream,
    pub inbox: Inbox,
}

impl Raw {
    pub fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        // A limit for failing tests.
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self { stream, inbox: Inbox::new(u32::MAX) }
    }

    /// Connects and authenticates.
    pub fn known(address: &str) -> Self {
        Self::known_by(address, TOKEN)
    }

    /// Connects and authenticates with a token.
    pub fn known_by(address: &str, token: &str) -> Self {
        let mut raw = Self::connect(address);
        raw.put(|out| {
            Hello::new("", "raw", Credentials::Token(token.into())).encode(out, 1).unwrap()
        });
        assert!(matches!(raw.response(), (_, Ok(()))));
        raw
    }

    pub fn put(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        put(&mut bytes);
        self.stream.write_all(&bytes).unwrap();
    }

    /// The next frame; `None` if the connection is closed.
    pub fn frame(&mut self) -> Option<FrameHeader> {
        loop {
            if let Some(head) = self.inbox.next_frame().unwrap() {
                return Some(head);
            }
            match self.inbox.read_from(|room| self.stream.read(room)) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The number of rows that the next frame has or counts, or the kind of its error.
    pub fn outcome(&mut self) -> Result<u64, ErrorKind> {
        let head = self.frame().expect("a response");
        match Response::decode(head, self.inbox.body()).unwrap() {
            Response::Rows(rows) => Ok(rows.count() as u64),
            Response::Count(count) => Ok(count),
            Response::Error(error) => Err(error.kind()),
            other => panic!("{other:?}"),
        }
    }

    /// The next frame's id, and its error if it is one.
    pub fn response(&mut self) -> (u32, Result<(), Error>) {
        let head = self.frame().expect("a response");
        match Response::decode(head, self.inbox.body()).unwrap() {
            Response::Error(error) => (head.id, Err(error)),
            _ => (head.id, Ok(())),
        }
    }
}

/// Sends a hello, and waits for the welcome.
pub fn welcomed(mut stream: &UnixStream) {
    let mut bytes = Vec::new();
    Hello::new("", "raw", Credentials::None).encode(&mut bytes, 1).unwrap();
    stream.write_all(&bytes).unwrap();
    let mut inbox = Inbox::new(1 << 20);
    while inbox.next_frame().unwrap().is_none() {
        assert!(inbox.read_from(|room| stream.read(room)).unwrap() > 0, "the welcome arrives");
    }
}

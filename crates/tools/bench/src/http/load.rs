//! Requests over many connections, one at a time on each.

use std::net::SocketAddr;
use std::time::Duration;

use mio::{Events, Poll, Token};

use super::connection::Connection;
use super::response::Response;
use crate::contender::Failure;

/// How long the server may say nothing on any connection.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Connections that wait for work.
#[derive(Debug)]
pub struct Load {
    poll: Poll,
    events: Events,
    connections: Vec<Connection>,
}

impl Load {
    /// Opens connections, one at least.
    ///
    /// # Errors
    /// Where the server is not there.
    pub fn connect(address: SocketAddr, count: usize) -> Result<Self, Failure> {
        let poll = Poll::new()?;
        let connect = |place| Connection::new(address, poll.registry(), Token(place));
        let connections = (0..count.max(1)).map(connect).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { events: Events::with_capacity(connections.len()), poll, connections })
    }

    /// Sends `count` requests: whichever connection is free takes the next. `write` writes the
    /// request of a number, `check` looks at its answer.
    ///
    /// # Errors
    /// The first that `check` finds; a server that falls silent or goes away.
    pub fn run(
        &mut self,
        count: usize,
        mut write: impl FnMut(usize, &mut Vec<u8>),
        mut check: impl FnMut(usize, Response<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut next = 0;
        for connection in self.connections.iter_mut().take(count) {
            connection.ask(next, |output| write(next, output))?;
            next += 1;
        }
        let mut finished = 0;
        while finished < count {
            self.poll.poll(&mut self.events, Some(RESPONSE_TIMEOUT))?;
            if self.events.is_empty() {
                return Err(Failure::new("the server does not answer"));
            }
            for event in &self.events {
                let Some(connection) = self.connections.get_mut(event.token().0) else { continue };
                if connection.go_on(&mut check)?.is_none() {
                    continue;
                }
                finished += 1;
                if next < count {
                    connection.ask(next, |output| write(next, output))?;
                    next += 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// A server that echoes each request of two connections, in two pieces.
    fn echo(listener: TcpListener, connections: usize) {
        std::thread::scope(|scope| {
            for _ in 0..connections {
                let (mut stream, _) = listener.accept().expect("a client connects");
                scope.spawn(move || {
                    let mut request = [0; 64];
                    loop {
                        let count = stream.read(&mut request).expect("is open");
                        if count == 0 {
                            return;
                        }
                        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {count}\r\n\r\n");
                        stream.write_all(head.as_bytes()).expect("is taken");
                        stream.write_all(&request[..count]).expect("is taken");
                    }
                });
            }
        });
    }

    #[test]
    fn every_request_gets_its_own_response() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has one");
        let server = std::thread::spawn(move || echo(listener, 2));
        let mut load = Load::connect(address, 2).expect("it listens");
        let mut seen = [false; 25];
        let text = |number: usize| format!("request {number}");
        load.run(
            seen.len(),
            |number, output| output.extend_from_slice(text(number).as_bytes()),
            |number, response| {
                assert_eq!(response.body, text(number).as_bytes());
                assert!(!std::mem::replace(&mut seen[number], true));
                response.expect(200)
            },
        )
        .expect("all are answered");
        assert!(seen.iter().all(|seen| *seen));
        drop(load);
        server.join().expect("it ends when nobody is left");
    }
}

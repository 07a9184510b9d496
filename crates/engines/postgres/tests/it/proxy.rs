//! A line that can be cut: a proxy between the engine and the server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// What is done with the bytes.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum ProxyMode {
    /// They pass.
    Whole = 0,
    /// Requests reach the server. Their replies are lost, and the connection breaks.
    RepliesLost = 1,
    /// The connection breaks before requests reach the server.
    Cut = 2,
}

/// Passes bytes to a port of this machine.
pub struct Proxy {
    pub port: u16,
    line: Arc<AtomicU8>,
    trips: Arc<RoundTrips>,
}

/// Requests that followed a reply.
#[derive(Default)]
struct RoundTrips {
    count: AtomicU64,
    /// Whether a request is on its way.
    pending: AtomicBool,
    /// The savepoints that the server has set.
    savepoints: AtomicU64,
}

impl Proxy {
    pub fn start(server: u16) -> Self {
        Self::start_at("127.0.0.1:0", server)
    }

    /// At another address of this machine.
    pub fn start_at(address: &str, server: u16) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let port = listener.local_addr().unwrap().port();
        let line = Arc::new(AtomicU8::new(0));
        let trips = Arc::new(RoundTrips::default());
        let (seen, counted) = (Arc::clone(&line), Arc::clone(&trips));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (line, trips) = (Arc::clone(&seen), Arc::clone(&counted));
                thread::spawn(move || pass(from, to, &line, &trips, true));
                let (line, trips) = (Arc::clone(&seen), Arc::clone(&counted));
                thread::spawn(move || pass(server, client, &line, &trips, false));
            }
        });
        Self { port, line, trips }
    }

    /// The round trips so far, of one connection at a time.
    pub fn round_trips(&self) -> u64 {
        self.trips.count.load(Ordering::SeqCst)
    }

    /// The savepoints that the server has set so far.
    pub fn savepoints(&self) -> u64 {
        self.trips.savepoints.load(Ordering::SeqCst)
    }

    pub fn set(&self, line: ProxyMode) {
        self.line.store(line as u8, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, line: &AtomicU8, trips: &RoundTrips, asks: bool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..read];
        let was_pending = trips.pending.swap(asks, Ordering::SeqCst);
        trips.count.fetch_add(u64::from(asks && !was_pending), Ordering::SeqCst);
        if !asks {
            let tag = b"SAVEPOINT\0";
            let set = bytes.windows(tag.len()).filter(|part| part == tag).count();
            trips.savepoints.fetch_add(set as u64, Ordering::SeqCst);
        }
        match line.load(Ordering::SeqCst) {
            1 if !asks => {
                // Long enough for the server to run the request.
                thread::sleep(Duration::from_millis(200));
                break;
            }
            2 if asks => break,
            _ => {}
        }
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

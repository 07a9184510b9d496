//! A line to the server that can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// When the line is cut by itself.
#[derive(Clone, Copy, PartialEq)]
pub enum Cut {
    /// Before the server gets a message with these words.
    Before(&'static str),
    /// After it got one, before its answer.
    After(&'static str),
}

/// Passes all bytes on until it is cut. Then it closes all connections, and rejects new ones until it is restored.
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<State>,
}

struct State {
    down: AtomicBool,
    cut: Mutex<Option<Cut>>,
    lines: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    pub fn new(server: String) -> Self {
        Self::at("127.0.0.1:0", server)
    }

    /// At another address of this machine.
    pub fn at(address: &str, server: String) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            down: AtomicBool::new(false),
            cut: Mutex::new(None),
            lines: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.down.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&server) else { continue };
                pass(&shared, client, server);
            }
        });
        Self { address, state }
    }

    /// Cuts the line at the next such message.
    pub fn cut_at(&self, cut: Cut) {
        *self.state.cut.lock().unwrap() = Some(cut);
    }

    pub fn cut(&self) {
        self.state.end();
    }

    pub fn restore(&self) {
        self.state.down.store(false, Ordering::SeqCst);
    }
}

impl State {
    fn end(&self) {
        self.down.store(true, Ordering::SeqCst);
        for line in self.lines.lock().unwrap().drain(..) {
            let _ = line.shutdown(Shutdown::Both);
        }
    }
}

fn pass(state: &Arc<State>, client: TcpStream, server: TcpStream) {
    let mut lines = state.lines.lock().unwrap();
    lines.extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
    drop(lines);
    let (mut from_client, mut to_server) =
        (client.try_clone().unwrap(), server.try_clone().unwrap());
    let shared = Arc::clone(state);
    std::thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while let Ok(count @ 1..) = from_client.read(&mut bytes) {
            let message = String::from_utf8_lossy(&bytes[..count]).into_owned();
            let cut = *shared.cut.lock().unwrap();
            let hit = match cut {
                Some(Cut::Before(words) | Cut::After(words)) => message.contains(words),
                None => false,
            };
            if hit && matches!(cut, Some(Cut::Before(_))) {
                *shared.cut.lock().unwrap() = None;
                return shared.end();
            }
            if hit {
                // Nobody receives the reply; the server has time to run the request.
                *shared.cut.lock().unwrap() = None;
                let _ = from_client.shutdown(Shutdown::Both);
                let _ = to_server.write_all(&bytes[..count]);
                let _ = to_server.read(&mut bytes);
                return shared.end();
            }
            if to_server.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to_server.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        let (mut server, mut client) = (server, client);
        let _ = std::io::copy(&mut server, &mut client);
        let _ = client.shutdown(Shutdown::Both);
    });
}

//! A proxy that can disconnect both of its ends while they are busy.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Forwards bytes in both directions until it disconnects.
pub struct Proxy {
    pub address: String,
    lines: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// A proxy of the server at an address. It accepts connections until the process ends.
    pub fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (server, lines) = (server.to_owned(), Arc::new(Mutex::new(Vec::new())));
        let theirs = Arc::clone(&lines);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
                let ends = [&client, &server].map(|end| end.try_clone().unwrap());
                theirs.lock().unwrap().extend(ends);
                pass(client.try_clone().unwrap(), server.try_clone().unwrap());
                pass(server, client);
            }
        });
        Self { address, lines }
    }

    /// Disconnects all clients.
    pub fn cut(&self) {
        for line in self.lines.lock().unwrap().drain(..) {
            // The other direction may have disconnected already.
            let _ = line.shutdown(Shutdown::Both);
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}

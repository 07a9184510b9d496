//! A line that can be cut while both of its ends are busy.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Passes bytes on, to and fro, until it is cut.
pub struct Proxy {
    pub address: String,
    lines: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// In front of the server at an address. It takes connections until the process ends.
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

    /// Cuts all lines.
    pub fn cut(&self) {
        for line in self.lines.lock().unwrap().drain(..) {
            // The other direction may have cut it already.
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

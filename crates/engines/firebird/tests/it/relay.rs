//! A way to the server that ends after so many packets, as it does when a client is killed.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Where the connections are cut.
#[derive(Default)]
struct Cut {
    packets: u64,
    at: Option<u64>,
    /// Whether the server gets the last packet.
    sends_last: bool,
}

/// A listener that passes on what clients send to the server, and back.
pub struct Relay {
    port: u16,
    cut: Arc<Mutex<Cut>>,
}

impl Relay {
    /// A relay to the server of a URL, and the URL through it.
    pub fn start(url: &str) -> (Self, String) {
        let (login, rest) = url.split_once('@').unwrap();
        let (server, database) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Self { port: listener.local_addr().unwrap().port(), cut: Arc::default() };
        let (server, cut) = (server.to_owned(), Arc::clone(&relay.cut));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                pass_on(client.unwrap(), TcpStream::connect(&server).unwrap(), &cut);
            }
        });
        let url = format!("{login}@127.0.0.1:{}/{database}", relay.port);
        (relay, url)
    }

    /// Cuts the connections at this packet of the client's, 1 being the next.
    pub fn cut_at(&self, packet: u64, sends_last: bool) {
        *self.cut.lock().unwrap() = Cut { packets: 0, at: Some(packet), sends_last };
    }
}

fn pass_on(mut client: TcpStream, mut server: TcpStream, cut: &Arc<Mutex<Cut>>) {
    let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let cut = Arc::clone(cut);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = client.read(&mut buffer) {
            let mut plan = cut.lock().unwrap();
            plan.packets += 1;
            let is_last = plan.at.is_some_and(|at| plan.packets >= at);
            if !is_last || plan.sends_last && plan.at == Some(plan.packets) {
                let _ = server.write_all(&buffer[..length]);
            }
            if is_last {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    });
}

//! Pebble, the small certificate authority with which Let's Encrypt tests clients of ACME.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use rustix::process::Signal;

use crate::account::Account;
use crate::server::{Plan, START_TIMEOUT, Server};
use crate::{Authority, Error, Result, find, folder, port};

/// An authority that rejects names that end with this.
const REJECTED: &str = "rejected.example";

/// A private Pebble. Every name that it looks up is this machine. Stops, and is removed, when it is dropped.
#[derive(Debug)]
pub struct Pebble {
    server: Server,
    authority: Authority,
}

impl Pebble {
    /// Starts one. It connects to `tls_port` of 127.0.0.1, in place of 443, to check a name.
    ///
    /// # Errors
    /// If Pebble is not installed, with what to install; if it does not start, with its last log lines.
    pub fn start(tls_port: u16) -> Result<Self> {
        let pebble = find::pebble()?.display().to_string();
        let account = Account::current();
        let folder = folder::make(account)?;
        let authority = Authority::new()?;
        authority.sign_into(folder.path(), account)?;
        let names = names()?;
        let plan = Plan {
            name: "pebble",
            account,
            program: "/usr/bin/env".into(),
            configure: Some(Box::new(move |folder, port| configure(folder, port, tls_port))),
            arguments: Box::new(move |folder, _| {
                let config = folder.join("pebble.json").display().to_string();
                // It would wait some seconds before each check.
                let fast = "PEBBLE_VA_NOSLEEP=1".to_owned();
                let mut words = vec![fast, pebble.clone(), "-config".to_owned(), config];
                words.extend(["-dnsserver".to_owned(), format!("127.0.0.1:{names}")]);
                words
            }),
            is_ready: |_, port, _| TcpStream::connect(("127.0.0.1", port)).is_ok(),
            stop: Signal::INT,
            stop_timeout: START_TIMEOUT,
            quit: Signal::KILL,
        };
        Ok(Self { server: Server::start(plan, folder)?, authority })
    }

    /// The URL of its directory.
    #[must_use]
    pub fn directory(&self) -> String {
        format!("https://localhost:{}/dir", self.server.port())
    }

    /// The certificate, as PEM, with which its own server is trusted.
    #[must_use]
    pub fn pem(&self) -> &str {
        self.authority.pem()
    }

    /// A name for which it gives no certificate.
    #[must_use]
    pub const fn rejected_name() -> &'static str {
        REJECTED
    }
}

fn configure(folder: &Path, port: u16, tls_port: u16) -> Result<()> {
    let management = port::free()?;
    let [certificate, key] = ["server.pem", "server.key"].map(|name| folder.join(name));
    let text = format!(
        r#"{{"pebble": {{
            "listenAddress": "127.0.0.1:{port}", "managementListenAddress": "127.0.0.1:{management}",
            "certificate": {certificate:?}, "privateKey": {key:?},
            "httpPort": 1, "tlsPort": {tls_port}, "domainBlocklist": ["{REJECTED}"]
        }}}}"#
    );
    let file = folder.join("pebble.json");
    fs::write(&file, text).map_err(|e| Error::io("write", &file, &e))
}

/// A name server for which every name is this machine, until the process ends; its port. Pebble asks over TCP.
fn names() -> Result<u16> {
    let failed = |error| Error::new(format!("could not start a name server: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || serve_names(client));
        }
    });
    Ok(port)
}

/// Replies to the queries of a client, each after its length, until it disconnects.
fn serve_names(mut client: TcpStream) -> Option<()> {
    loop {
        let mut length = [0; 2];
        client.read_exact(&mut length).ok()?;
        let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
        client.read_exact(&mut query).ok()?;
        let reply = reply(&query)?;
        let length = u16::try_from(reply.len()).ok()?.to_be_bytes();
        client.write_all(&[&length, &reply[..]].concat()).ok()?;
    }
}

/// The reply to a query: 127.0.0.1 for an IPv4 address, nothing for all else.
fn reply(query: &[u8]) -> Option<Vec<u8>> {
    const HEADER: usize = 12;
    const IPV4: [u8; 2] = [0, 1];
    let mut end = HEADER;
    while *query.get(end)? != 0 {
        end += usize::from(*query.get(end)?) + 1;
    }
    // After the name, its type and its class.
    let question = query.get(HEADER..end + 5)?;
    let is_ipv4 = query.get(end + 1..end + 3)? == IPV4;
    let mut reply = query.get(..2)?.to_vec();
    // A reply without error, with one question, and one record or none.
    reply.extend([0x81, 0x80, 0, 1, 0, u8::from(is_ipv4), 0, 0, 0, 0]);
    reply.extend(question);
    if is_ipv4 {
        // The name of the question; type and class; for a minute; four bytes.
        reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    }
    Some(reply)
}

//! Where the server is, and how connections to it are made.

use crate::link::Link;
use crate::pipes::Pipes;
use crate::stream::{self, Stream};
use bobak_core::{Error, ErrorKind, Result};
use bobak_wire::{Credentials, Hello};
use std::io::{Read, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Two streams that are connected to a server.
type Pair = (Box<dyn Read + Send>, Box<dyn Write + Send>);

/// The way to a server.
pub(crate) enum Door {
    /// `host:port`.
    Tcp(String),
    /// `host:port`, and whom to trust.
    #[cfg(feature = "tls")]
    Tls(String, crate::tls::Trust),
    /// The socket's path.
    #[cfg(unix)]
    Unix(std::path::PathBuf),
    /// A program that is started, with its arguments.
    Program(Vec<String>),
    /// Streams that are there already: for one connection.
    Pipes(Mutex<Option<Pair>>),
}

/// Makes connections.
pub(crate) struct Connector {
    pub door: Door,
    pub database: String,
    pub credentials: Credentials,
    pub connect_timeout: Duration,
    pub timeout: Option<Duration>,
}

impl Door {
    /// Whether there is one connection for all sessions.
    pub const fn is_shared(&self) -> bool {
        matches!(self, Self::Program(_) | Self::Pipes(_))
    }
}

impl Connector {
    /// Connects, and is let in.
    pub fn connect(&self) -> Result<Box<Link>> {
        let stream = self.stream().map_err(|error| {
            let message = format!("could not reach {}: {error}", self.place());
            Error::new(ErrorKind::Unreachable, message).with_source(error)
        })?;
        let client = concat!("bobak-remote ", env!("CARGO_PKG_VERSION"));
        let hello = Hello::new(&self.database, client, self.credentials.clone());
        Link::open(stream, &hello).map(Box::new)
    }

    fn stream(&self) -> std::io::Result<Box<dyn Stream>> {
        Ok(match &self.door {
            Door::Tcp(address) => {
                Box::new(stream::tcp(address, self.connect_timeout, self.timeout)?)
            }
            #[cfg(feature = "tls")]
            Door::Tls(address, trust) => {
                let stream = stream::tcp(address, self.connect_timeout, self.timeout)?;
                Box::new(crate::tls::begin(trust, host_of(address), stream)?)
            }
            #[cfg(unix)]
            Door::Unix(path) => Box::new(stream::unix(path, self.timeout)?),
            Door::Program(program) => Box::new(Pipes::start(program)?),
            Door::Pipes(pair) => {
                let pair = pair.lock().unwrap_or_else(PoisonError::into_inner).take();
                let (reader, writer) =
                    pair.ok_or_else(|| std::io::Error::other("its streams have ended"))?;
                Box::new(Pipes::new(reader, writer))
            }
        })
    }

    fn place(&self) -> String {
        match &self.door {
            Door::Tcp(address) => address.clone(),
            #[cfg(feature = "tls")]
            Door::Tls(address, _) => address.clone(),
            #[cfg(unix)]
            Door::Unix(path) => path.display().to_string(),
            Door::Program(program) => program.first().cloned().unwrap_or_default(),
            Door::Pipes(_) => "the server behind the pipes".to_owned(),
        }
    }
}

/// The name without its port, and without the brackets of an IPv6 address.
#[cfg(feature = "tls")]
fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

//! Transports: the ways to reach a server.

use crate::link::Link;
use crate::pipes::Pipes;
use crate::stream::{self, Stream};
use bobak_core::{Error, ErrorKind, Result};
use bobak_wire::{Credentials, Hello};
use std::io::{Read, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Two streams that are connected to a server.
type StreamPair = (Box<dyn Read + Send>, Box<dyn Write + Send>);

/// How a server is reached.
pub(crate) enum Transport {
    /// `host:port`.
    Tcp(String),
    /// `host:port`, and the trusted certificates.
    #[cfg(feature = "tls")]
    Tls(String, crate::tls::Trust),
    /// The socket's path.
    #[cfg(unix)]
    Unix(std::path::PathBuf),
    /// The program to start, with its arguments.
    Program(Vec<String>),
    /// Connected streams: enough for one connection.
    Pipes(Mutex<Option<StreamPair>>),
}

/// Opens connections over a transport.
pub(crate) struct TransportConnector {
    pub transport: Transport,
    pub database: String,
    pub credentials: Credentials,
    pub connect_timeout: Duration,
    pub timeout: Option<Duration>,
}

impl Transport {
    /// Whether all sessions share one connection.
    pub const fn is_shared(&self) -> bool {
        matches!(self, Self::Program(_) | Self::Pipes(_))
    }
}

impl TransportConnector {
    /// Connects and authenticates.
    pub fn connect(&self) -> Result<Link> {
        let stream = self.stream().map_err(|error| {
            let message = format!("could not reach {}: {error}", self.address());
            Error::new(ErrorKind::Unreachable, message).with_source(error)
        })?;
        let client = concat!("bobak-remote ", env!("CARGO_PKG_VERSION"));
        let hello = Hello::new(&self.database, client, self.credentials.clone());
        Link::open(stream, &hello)
    }

    fn stream(&self) -> std::io::Result<Box<dyn Stream>> {
        Ok(match &self.transport {
            Transport::Tcp(address) => {
                Box::new(stream::tcp(address, self.connect_timeout, self.timeout)?)
            }
            #[cfg(feature = "tls")]
            Transport::Tls(address, trust) => {
                let stream = stream::tcp(address, self.connect_timeout, self.timeout)?;
                Box::new(crate::tls::begin(trust, host_of(address), stream)?)
            }
            #[cfg(unix)]
            Transport::Unix(path) => Box::new(stream::unix(path, self.timeout)?),
            Transport::Program(program) => Box::new(Pipes::start(program)?),
            Transport::Pipes(pair) => {
                let pair = pair.lock().unwrap_or_else(PoisonError::into_inner).take();
                let (reader, writer) =
                    pair.ok_or_else(|| std::io::Error::other("its streams are closed"))?;
                Box::new(Pipes::new(reader, writer))
            }
        })
    }

    fn address(&self) -> String {
        match &self.transport {
            Transport::Tcp(address) => address.clone(),
            #[cfg(feature = "tls")]
            Transport::Tls(address, _) => address.clone(),
            #[cfg(unix)]
            Transport::Unix(path) => path.display().to_string(),
            Transport::Program(program) => program.first().cloned().unwrap_or_default(),
            Transport::Pipes(_) => "the server behind the pipes".to_owned(),
        }
    }
}

/// The name without its port, and without the brackets of an IPv6 address.
#[cfg(feature = "tls")]
fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

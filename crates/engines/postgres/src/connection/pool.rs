//! How the pool opens connections, and when it checks them.

use crate::connection::Connection;
use crate::settings::{Host, Settings, TargetServer};
use bobak_core::{Error, ErrorKind, Result};
use bobak_engine_common::{Connector, PoolSettings};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The connections of an engine.
pub(crate) type Pool = bobak_engine_common::Pool<HostConnector>;

/// A connection in use.
pub(crate) type PooledConnection<'p> =
    bobak_engine_common::PooledConnection<&'p Pool, HostConnector>;

/// After this long without use, the socket is checked: a closed one shows without a round trip.
const SOCKET_CHECK_THRESHOLD: Duration = Duration::from_millis(500);

/// After this idle time the pool checks the connection with a round trip: a network that lost its state shows only then.
const SERVER_CHECK_THRESHOLD: Duration = Duration::from_secs(30);

/// Opens connections to the first host that accepts one.
pub(crate) struct HostConnector {
    settings: Arc<Settings>,
    /// The index of the host that accepted the last connection; it is tried first.
    last_host: AtomicUsize,
}

/// A pool without connections.
pub(crate) fn pool(settings: &Arc<Settings>) -> Pool {
    let connector =
        HostConnector { settings: Arc::clone(settings), last_host: AtomicUsize::new(0) };
    let limits = PoolSettings {
        max_connections: settings.connections,
        acquire_timeout: settings.acquire_timeout,
        idle_timeout: Some(settings.idle_timeout),
    };
    Pool::new(connector, limits)
}

impl Connector for HostConnector {
    type Connection = Connection;

    fn connect(&self) -> Result<Connection> {
        let hosts = &self.settings.hosts;
        let first = self.last_host.load(Ordering::Relaxed);
        let mut failed: Option<Error> = None;
        for step in 0..hosts.len() {
            let index = (first + step) % hosts.len();
            let Some(host) = hosts.get(index) else { continue };
            match Connection::open(host, &self.settings) {
                Ok(connection) => {
                    self.last_host.store(index, Ordering::Relaxed);
                    return Ok(connection);
                }
                Err(error) => {
                    let error = at_host(error, host);
                    // A rejected password says more than a host that is down.
                    let keep =
                        failed.as_ref().is_some_and(|old| old.kind() != ErrorKind::Unreachable);
                    failed = failed.filter(|_| keep).or(Some(error));
                }
            }
        }
        let none = || Error::new(ErrorKind::Config, "the host is missing");
        let error = failed.unwrap_or_else(none);
        if self.settings.target != TargetServer::Any && error.kind() == ErrorKind::ReadOnly {
            // Another host may become the primary, so callers may retry.
            let message = error.message().to_owned();
            return Err(Error::new(ErrorKind::Unreachable, message).with_source(error));
        }
        Err(error)
    }

    fn is_usable(&self, connection: &mut Connection, idle: Duration) -> bool {
        let is_usable = if idle > SERVER_CHECK_THRESHOLD {
            connection.is_responsive()
        } else {
            idle < SOCKET_CHECK_THRESHOLD || !connection.stream.has_ended()
        };
        connection.is_broken |= !is_usable;
        is_usable
    }

    fn is_reusable(&self, connection: &mut Connection) -> bool {
        connection.is_idle() && connection.status == b'I' && !connection.session_changed
    }
}

/// Adds the host to an error that does not name it.
fn at_host(error: Error, host: &Host) -> Error {
    let host = host.to_string();
    if error.message().contains(&host) {
        return error;
    }
    let message = format!("{} (at {host})", error.message());
    Error::new(error.kind(), message).with_source(error)
}

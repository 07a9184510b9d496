//! The HTTP server: starts its listeners, and stops them in order.

use crate::connection::listener::AsyncListener;
use crate::settings::Settings;
use crate::state::authentication::Authenticator;
use crate::state::shared::ServerState;
use crate::workers::blocking;
use bobak_core::{Error, Result};
use bobak_serving::{AuditLog, Listener, ProtocolServer, ServerBuilder, ServerParts};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{self, Runtime};

/// How often a stopping server checks whether all connections have closed.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long a stopping server waits for blocking work after [`Settings::shutdown_timeout`].
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// An HTTP server. Dropping it stops it.
pub struct HttpServer {
    state: Arc<ServerState>,
    addresses: Vec<SocketAddr>,
    /// `None` after the server has stopped.
    runtime: Mutex<Option<Runtime>>,
}

impl HttpServer {
    /// Configures a server.
    pub fn builder() -> ServerBuilder<Self> {
        ServerBuilder::default()
    }

    /// The addresses of the TCP listeners, in the order of their configuration.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Starts to stop the server, and returns at once. The server accepts no more connections and
    /// finishes the requests in progress.
    pub fn begin_stop(&self) {
        self.state.begin_stop();
    }

    /// Stops the server and waits until it has stopped; committed changes are then durable. Returns
    /// whether all requests finished within [`Settings::shutdown_timeout`].
    pub fn stop(&self) -> bool {
        self.begin_stop();
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(runtime) = runtime else { return true };
        let end = Instant::now() + self.state.settings.shutdown_timeout;
        let open = || self.state.connections.in_use();
        while open() > 0 && Instant::now() < end {
            std::thread::sleep(STOP_POLL_INTERVAL);
        }
        let all_finished = open() == 0;
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        for database in self.state.authenticator.databases() {
            if let Err(error) = database.engine.flush() {
                self.state.log.server_event(&format!("a database could not be flushed: {error}"));
            }
        }
        all_finished
    }
}

impl ProtocolServer for HttpServer {
    type Settings = Settings;

    fn serve(parts: ServerParts<Settings>) -> Result<Self> {
        let ServerParts { databases, access, settings, log, listeners, backups } = parts;
        let authenticator = Authenticator::new(access, &databases, &settings)?;
        let io = |error| Error::io("start the server", error);
        let runtime = runtime::Builder::new_multi_thread()
            .thread_name("bobak http")
            .max_blocking_threads(blocking::max_threads(&settings, databases.len()))
            .enable_all()
            .build()
            .map_err(io)?;
        let addresses = listeners.iter().filter_map(Listener::address).collect();
        let state =
            Arc::new(ServerState::new(settings, authenticator, AuditLog::new(log), backups));
        let entered = runtime.enter();
        for listener in listeners {
            tokio::spawn(AsyncListener::new(listener)?.run(Arc::clone(&state)));
        }
        drop(entered);
        Ok(Self { state, addresses, runtime: Mutex::new(Some(runtime)) })
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop();
    }
}

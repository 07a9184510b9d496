//! The HTTP server: starts its listeners, and stops them in order.

use crate::connection::listener::AsyncListener;
use crate::mcp::endpoint::McpClient;
use crate::mcp::stdio;
use crate::peer::{Peer, PeerIdentity};
use crate::service;
use crate::settings::Settings;
use crate::state::authentication::Authenticator;
use crate::state::shared::ServerState;
use crate::workers::blocking;
use bobak_core::{Error, ErrorKind, Result};
use bobak_serving::{AuditLog, Listener, ProtocolServer, ServerBuilder, ServerParts};
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{self, Handle, Runtime};

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

    /// Serves the Model Context Protocol to the process that started this one: a message per line of `input`, a response
    /// per line of `output`. The process may do what the operator may. Returns at the end of `input`, when all requests
    /// are answered.
    ///
    /// # Errors
    /// `Io` if `input` fails; `Interrupted` after [`stop`](Self::stop).
    pub fn serve_mcp(
        &self,
        input: impl BufRead,
        output: impl Write + Send + 'static,
    ) -> Result<()> {
        let (runtime, client) = self.mcp_client()?;
        stdio::serve(client, &runtime, input, output)
    }

    /// The operator as a client of the default database, with the threads that serve them.
    fn mcp_client(&self) -> Result<(Handle, McpClient)> {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = runtime.as_ref().map(|runtime| runtime.handle().clone());
        let stopped = || Error::new(ErrorKind::Interrupted, "the server has stopped");
        let (handle, state) = (handle.ok_or_else(stopped)?, Arc::clone(&self.state));
        let client = state.authenticator.operator();
        let database = client.databases.first().map(Arc::clone).ok_or_else(stopped)?;
        let peer = Arc::new(Peer::new(true, None));
        peer.set_identity(Some(PeerIdentity { name: Arc::clone(&client.name), is_operator: true }));
        let dispatch = service::dispatch_tool;
        Ok((handle, McpClient { state, peer, client, database, dispatch }))
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

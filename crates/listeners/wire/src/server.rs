//! A running server.

use crate::database::Databases;
use crate::pipes::serve_pipes;
use crate::poller::Poller;
use crate::request_monitor::RequestMonitor;
use crate::settings::Settings;
use crate::state::{PasswordQueue, PollerHandle, RequestWorkers, Shutdown, WireServerState};
use crate::workers::start_worker;
use bobak_core::{Error, Result};
use bobak_serving::{
    AuditLog, ConnectionLimiter, Listener, ProtocolServer, ServerBuilder, ServerParts,
};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long workers have to end after their requests were interrupted.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server. It stops when it is dropped.
pub struct Server {
    shared: Arc<WireServerState>,
    addresses: Vec<SocketAddr>,
    poller: Mutex<Option<JoinHandle<()>>>,
    is_flushed: AtomicBool,
}

impl Server {
    /// Collects the parts of a server.
    pub fn builder() -> ServerBuilder<Self> {
        ServerBuilder::default()
    }

    /// The addresses of the TCP listeners, in the order in which the builder got them.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Serves one client over a pair of pipes, on this thread, until it disconnects. The client needs
    /// no token.
    ///
    /// # Errors
    /// `Io` if the pipes cannot be used.
    pub fn serve_pipes(&self, input: impl Into<OwnedFd>, output: impl Into<OwnedFd>) -> Result<()> {
        serve_pipes(&self.shared, input.into(), output.into())
    }

    /// Serves one client over this process's standard input and output, until it disconnects.
    ///
    /// # Errors
    /// As [`serve_pipes`](Self::serve_pipes).
    pub fn serve_stdio(&self) -> Result<()> {
        let io = |error| Error::io("serve over standard input and output", error);
        let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(io)?;
        let output = std::io::stdout().as_fd().try_clone_to_owned().map_err(io)?;
        self.serve_pipes(input, output)
    }

    /// Starts to shut down and returns at once: no further connections are accepted, running requests
    /// get their responses, open transactions have [`Settings::shutdown_timeout`] to end.
    pub fn begin_stop(&self) {
        self.shared.shutdown.start(self.shared.settings.shutdown_timeout);
        if let Some(poller) = self.shared.poller.get() {
            poller.wake();
        }
    }

    /// Waits until the server starts to shut down.
    pub fn wait(&self) {
        let poller = self.poller.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A poller that panicked has ended as well.
        let _ = poller.map(JoinHandle::join);
    }

    /// Shuts down and waits for the end. What was committed is durable then. Returns whether all
    /// requests ended: one that ignores interrupts may still be running.
    pub fn stop(&self) -> bool {
        self.begin_stop();
        self.wait();
        let mut all_ended = self.shared.workers.wait_for_end(self.shared.settings.shutdown_timeout);
        if !all_ended {
            self.shared.monitor.abort_all();
            all_ended = self.shared.workers.wait_for_end(INTERRUPT_TIMEOUT);
        }
        if !self.is_flushed.swap(true, Ordering::Relaxed)
            && let Err(error) = self.shared.databases.flush()
        {
            let line = format!("a database could not be flushed: {error}");
            self.shared.audit_log.server_event(&line);
        }
        all_ended
    }
}

impl ProtocolServer for Server {
    type Settings = Settings;

    fn serve(parts: ServerParts<Settings>) -> Result<Self> {
        let ServerParts { databases, access, settings, log, listeners, .. } = parts;
        let io = |error| Error::io("start the server", error);
        let addresses = listeners.iter().filter_map(Listener::address).collect();
        let shutdown = Arc::new(Shutdown::default());
        let shared = Arc::new_cyclic(|shared| WireServerState {
            databases: Databases::new(databases),
            access,
            workers: RequestWorkers::new(&settings, Arc::clone(&shutdown), start_worker(shared)),
            passwords: PasswordQueue::new(settings.max_failed_logins),
            poller: OnceLock::new(),
            connections: ConnectionLimiter::new(settings.max_connections, settings.client_quota),
            monitor: RequestMonitor::default(),
            audit_log: AuditLog::new(log),
            settings,
            shutdown,
        });
        let mut poller = None;
        if !listeners.is_empty() {
            let (poll, waker) = Poller::poll().map_err(io)?;
            let (sender, returned) = mpsc::channel();
            shared.poller.get_or_init(|| PollerHandle::new(waker, sender));
            let poll_loop =
                Poller::new(poll, listeners, returned, Arc::clone(&shared)).map_err(io)?;
            let thread = std::thread::Builder::new().name("bobak poller".to_owned());
            poller = Some(thread.spawn(move || poll_loop.run()).map_err(io)?);
        }
        let (poller, is_flushed) = (Mutex::new(poller), AtomicBool::new(false));
        Ok(Self { shared, addresses, poller, is_flushed })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

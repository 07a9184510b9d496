//! A server that runs, and what all of its threads share.

use crate::database::Databases;
use crate::lobby::{Lobby, Return};
use crate::login_thread::LoginThread;
use crate::pipes::serve_pipes;
use crate::pool::Pool;
use crate::settings::Settings;
use crate::watch::Watch;
use bobak_core::{Error, Result};
use bobak_permissions::Access;
use bobak_serving::{
    AuditLog, ConnectionLimiter, Listener, Principal, ProtocolServer, ServerBuilder, ServerParts,
};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long statements may still run after the time for transactions is over.
const LAST: Duration = Duration::from_secs(5);

/// A server. It stops when it is dropped.
pub struct Server {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    lobby: Mutex<Option<JoinHandle<()>>>,
}

/// What all threads of a server share.
pub(crate) struct Shared {
    pub databases: Databases,
    pub access: Access,
    pub settings: Settings,
    pub pool: Pool,
    pub back: OnceLock<Return>,
    pub seats: ConnectionLimiter,
    pub watch: Watch,
    pub logins: LoginThread,
    pub audit_log: AuditLog,
    stopping: AtomicBool,
    stopped: AtomicBool,
    out_of_grace: OnceLock<Instant>,
}

impl Shared {
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Whether transactions have had their time to end.
    pub fn is_out_of_grace(&self) -> bool {
        self.out_of_grace.get().is_some_and(|end| Instant::now() >= *end)
    }

    /// Whether connections wait for what this one has.
    #[inline]
    pub fn others_wait(&self, principal: &Principal) -> bool {
        self.pool.is_wanted(principal)
    }

    pub fn log(&self, line: &str) {
        self.audit_log.server_event(line);
    }
}

impl Server {
    /// Collects the parts of a server.
    pub fn builder() -> ServerBuilder<Self> {
        ServerBuilder::default()
    }

    /// The addresses of the doors over TCP, in the order in which they were named.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Serves one client through two ends of pipes, on this thread, until it leaves. Who holds the
    /// other ends needs no token.
    ///
    /// # Errors
    /// `Io` where the ends are of no use.
    pub fn serve_pipes(&self, input: impl Into<OwnedFd>, output: impl Into<OwnedFd>) -> Result<()> {
        serve_pipes(&self.shared, input.into(), output.into())
    }

    /// Serves one client through this process's standard input and output, until it leaves.
    ///
    /// # Errors
    /// As [`serve_pipes`](Self::serve_pipes).
    pub fn serve_stdio(&self) -> Result<()> {
        let io = |error| Error::io("serve through standard input and output", error);
        let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(io)?;
        let output = std::io::stdout().as_fd().try_clone_to_owned().map_err(io)?;
        self.serve_pipes(input, output)
    }

    /// Tells the server to stop: no door opens any more, requests under way are answered, open
    /// transactions have [`Settings::grace`] to end. Returns at once.
    pub fn begin_stop(&self) {
        let end = Instant::now() + self.shared.settings.grace;
        self.shared.out_of_grace.get_or_init(|| end);
        self.shared.stopping.store(true, Ordering::Relaxed);
        if let Some(back) = self.shared.back.get() {
            // Where it can't be woken, it is gone.
            let _ = back.waker.wake();
        }
    }

    /// Waits until the server is told to stop.
    pub fn wait(&self) {
        let lobby = self.lobby.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A lobby that panicked is no longer there either.
        let _ = lobby.map(JoinHandle::join);
    }

    /// Stops, and waits for the end; what was committed is then durable. Whether all ended by
    /// themselves: a statement that runs for long may not.
    pub fn stop(&self) -> bool {
        self.begin_stop();
        self.wait();
        let mut all = self.shared.pool.wait_for_end(self.shared.settings.grace);
        if !all {
            self.shared.watch.end_all();
            all = self.shared.pool.wait_for_end(LAST);
        }
        if !self.shared.stopped.swap(true, Ordering::Relaxed)
            && let Err(error) = self.shared.databases.flush()
        {
            self.shared.log(&format!("a database could not be flushed: {error}"));
        }
        all
    }
}

impl ProtocolServer for Server {
    type Settings = Settings;

    fn serve(parts: ServerParts<Settings>) -> Result<Self> {
        let ServerParts { databases, access, settings, log, listeners } = parts;
        let io = |error| Error::io("start the server", error);
        let addresses = listeners.iter().filter_map(Listener::address).collect();
        let shared = Arc::new(Shared {
            databases: Databases::new(databases),
            access,
            pool: Pool::new(&settings),
            logins: LoginThread::new(settings.refusals),
            audit_log: AuditLog::new(log),
            back: OnceLock::new(),
            seats: ConnectionLimiter::new(settings.connections, settings.share),
            watch: Watch::default(),
            stopping: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            out_of_grace: OnceLock::new(),
            settings,
        });
        let mut lobby = None;
        if !listeners.is_empty() {
            let (poll, waker) = Lobby::poll().map_err(io)?;
            let (sender, returned) = mpsc::channel();
            shared.back.get_or_init(|| Return { waker, sender: Mutex::new(sender) });
            let room = Lobby::new(poll, listeners, returned, Arc::clone(&shared)).map_err(io)?;
            let thread = std::thread::Builder::new().name("bobak lobby".to_owned());
            lobby = Some(thread.spawn(move || room.run()).map_err(io)?);
        }
        Ok(Self { shared, addresses, lobby: Mutex::new(lobby) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

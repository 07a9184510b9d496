//! A server that runs, and what all of its requests share.

use crate::guests::Guests;
use crate::listener::Entrance;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::settings::Settings;
use crate::turns::Turns;
use crate::visitor::Visitor;
use crate::work;
use bobak_core::{Error, Result};
use bobak_serving::{
    AuditLog, ConnectionLimiter, Listener, Permits, ProtocolServer, QuotaLimits, ServerBuilder,
    ServerParts,
};
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{self, Runtime};
use tokio::sync::watch;

/// How often a server that stops looks whether all have gone.
const LOOK: Duration = Duration::from_millis(10);
/// How long work that outlasts its grace is waited for.
const LAST: Duration = Duration::from_secs(5);

/// An HTTP door. It closes when it is dropped.
pub struct HttpServer {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    runtime: Mutex<Option<Runtime>>,
}

/// What all requests share.
pub(crate) struct Shared {
    pub settings: Settings,
    pub guests: Arc<Guests>,
    pub seats: ConnectionLimiter,
    /// The workers' shares.
    pub turns: Turns,
    /// The memory of bodies that come, and of answers that go.
    pub bodies: Memory,
    pub answers: Memory,
    /// Permits for imports, exports and batches.
    pub streams: Permits,
    /// Permits for those who listen to changes.
    pub listeners: Permits,
    pub metrics: Metrics,
    pub audit_log: AuditLog,
    stop: watch::Sender<bool>,
}

impl Shared {
    /// Tells the log what became of a client.
    pub fn tell_of(&self, visitor: &Visitor, what: impl Display) {
        self.audit_log.client_event(visitor.door.peer, format_args!("{visitor} {what}"));
    }

    /// Changes when the server stops.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        let mut receiver = self.stop.subscribe();
        if *receiver.borrow() {
            receiver.mark_changed();
        }
        receiver
    }
}

impl HttpServer {
    /// Collects the parts of a server.
    pub fn builder() -> ServerBuilder<Self> {
        ServerBuilder::default()
    }

    /// The addresses of the doors over TCP, in the order in which they were named.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Tells the server to stop: no connection is taken in any more, requests under way are
    /// answered. Returns at once.
    pub fn begin_stop(&self) {
        self.shared.stop.send_replace(true);
    }

    /// Stops, and waits for the end; what was committed is then durable. Whether all requests ended
    /// within [`Settings::grace`].
    pub fn stop(&self) -> bool {
        self.begin_stop();
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(runtime) = runtime else { return true };
        let end = Instant::now() + self.shared.settings.grace;
        let left = || self.shared.seats.in_use();
        while left() > 0 && Instant::now() < end {
            std::thread::sleep(LOOK);
        }
        let all = left() == 0;
        runtime.shutdown_timeout(LAST);
        for base in self.shared.guests.bases() {
            if let Err(error) = base.engine.flush() {
                self.shared
                    .audit_log
                    .server_event(&format!("a database could not be flushed: {error}"));
            }
        }
        all
    }
}

impl ProtocolServer for HttpServer {
    type Settings = Settings;

    fn serve(parts: ServerParts<Settings>) -> Result<Self> {
        let ServerParts { databases, access, settings, log, listeners } = parts;
        let guests = Guests::new(access, &databases, &settings)?;
        let io = |error| Error::io("start the server", error);
        let runtime = runtime::Builder::new_multi_thread()
            .thread_name("bobak http")
            .max_blocking_threads(work::threads(&settings, databases.len()))
            .enable_all()
            .build()
            .map_err(io)?;
        let addresses = listeners.iter().filter_map(Listener::address).collect();
        let permits = |most| Permits::new(QuotaLimits::with_share(most, settings.share));
        let seats = ConnectionLimiter::new(settings.connections, settings.share);
        let memory = || Memory::new(settings.memory, settings.share);
        let (bodies, answers) = (memory(), memory());
        let turns = Turns::new(QuotaLimits::with_share(settings.workers.max(1), settings.share));
        let (streams, followers) = (permits(settings.streams), permits(settings.listeners));
        let shared = Arc::new(Shared {
            settings,
            guests: Arc::new(guests),
            seats,
            turns,
            bodies,
            answers,
            streams,
            listeners: followers,
            metrics: Metrics::default(),
            audit_log: AuditLog::new(log),
            stop: watch::Sender::new(false),
        });
        let inside = runtime.enter();
        for listener in listeners {
            tokio::spawn(Entrance::new(listener)?.run(Arc::clone(&shared)));
        }
        drop(inside);
        Ok(Self { shared, addresses, runtime: Mutex::new(Some(runtime)) })
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop();
    }
}

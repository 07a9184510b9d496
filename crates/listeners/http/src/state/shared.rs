//! What all requests of a server share.

use crate::memory_budget::MemoryBudget;
use crate::peer::Peer;
use crate::route::Resource;
use crate::settings::Settings;
use crate::state::authentication::Authenticator;
use crate::state::metrics::Metrics;
use crate::workers::permits::WorkerPermits;
use bobak_serving::{AuditLog, BackupFolders, ConnectionLimiter, Permits, QuotaLimits};
use std::fmt::Display;
use std::time::Instant;
use tokio::sync::watch;

/// A running server: its settings, clients, quotas, metrics and log.
pub(crate) struct ServerState {
    pub settings: Settings,
    pub authenticator: Authenticator,
    pub connections: ConnectionLimiter,
    pub worker_permits: WorkerPermits,
    /// The memory of request bodies.
    pub request_memory: MemoryBudget,
    /// The memory of response bodies.
    pub response_memory: MemoryBudget,
    /// Permits for imports, exports and batches.
    pub streams: Permits,
    /// Permits for subscribers of change feeds.
    pub subscribers: Permits,
    pub metrics: Metrics,
    pub log: AuditLog,
    /// Whether a database has a monitor.
    is_monitored: bool,
    /// Where backups go.
    pub backups: BackupFolders,
    pub started: Instant,
    stop: watch::Sender<bool>,
}

impl ServerState {
    pub fn new(
        settings: Settings,
        authenticator: Authenticator,
        log: AuditLog,
        backups: BackupFolders,
    ) -> Self {
        let limits = |most| QuotaLimits::with_share(most, settings.client_quota);
        let memory = || MemoryBudget::new(settings.max_memory, settings.client_quota);
        let mut databases = authenticator.databases().iter();
        let is_monitored =
            databases.any(|database| database.protected.engine().statements().is_some());
        Self {
            is_monitored,
            authenticator,
            connections: ConnectionLimiter::new(settings.max_connections, settings.client_quota),
            worker_permits: WorkerPermits::new(limits(settings.max_workers.max(1))),
            request_memory: memory(),
            response_memory: memory(),
            streams: Permits::new(limits(settings.max_streams)),
            subscribers: Permits::new(limits(settings.max_subscriptions)),
            metrics: Metrics::default(),
            log,
            backups,
            started: Instant::now(),
            stop: watch::Sender::new(false),
            settings,
        }
    }

    /// Where the statements of a request come from; `None` if no database is monitored.
    pub fn route_label(&self, method: &str, template: usize) -> Option<String> {
        let template = Resource::TEMPLATES.get(template).filter(|_| self.is_monitored)?;
        Some(format!("{method} {template}"))
    }

    /// Logs an event of a client.
    pub fn log_peer(&self, peer: &Peer, event: impl Display) {
        self.log.client_event(peer.address, format_args!("{peer} {event}"));
    }

    /// Tells all connections and listeners to stop.
    pub fn begin_stop(&self) {
        self.stop.send_replace(true);
    }

    /// A receiver that changes when the server stops, also if it already has.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        let mut receiver = self.stop.subscribe();
        if *receiver.borrow() {
            receiver.mark_changed();
        }
        receiver
    }
}

//! The engine: its connections, and what the server reported about itself.

use crate::RemoteBuilder;
use crate::broken::Effect;
use crate::pool::{LinkPool, Purpose};
use crate::session::RemoteSession;
use crate::transport::TransportConnector;
use bobak_core::{Capabilities, Engine, Outcome, Result, Row, Session, TableSchema, Value, Write};
use bobak_wire::encode_request;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A database on a Bobak server. Cheap to clone; its connections close when the last clone is dropped.
#[derive(Clone)]
pub struct Remote {
    inner: Arc<RemoteState>,
}

pub(crate) struct RemoteState {
    pub pool: LinkPool,
    pub capabilities: Capabilities,
    server: String,
    pub engine: String,
    next_session: AtomicU64,
}

impl Remote {
    /// Settings to reach a server with.
    pub fn builder() -> RemoteBuilder {
        RemoteBuilder::default()
    }

    /// The name and version of the server program.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.inner.server
    }

    /// The name of the engine that stores the database: `sqlite`, `memory`.
    #[must_use]
    pub fn engine(&self) -> &str {
        &self.inner.engine
    }

    pub(crate) fn with(
        connector: TransportConnector,
        connections: usize,
        acquire_timeout: Duration,
    ) -> Result<Self> {
        let pool = LinkPool::new(connector, connections, acquire_timeout);
        let welcome = pool.acquire(0, Purpose::Operation)?.welcome().clone();
        let mut capabilities = welcome.capabilities;
        // The client does not prepare the next part while the server writes one.
        capabilities.large_batches = true;
        capabilities.served = true;
        if pool.is_shared() {
            // A transaction has the only connection to itself.
            capabilities.concurrent_readers = false;
            capabilities.concurrent_writers = false;
        }
        let (server, engine) = (welcome.server, welcome.engine);
        let next_session = AtomicU64::new(1);
        let inner = RemoteState { pool, capabilities, server, engine, next_session };
        Ok(Self { inner: Arc::new(inner) })
    }

    fn open_session(&self) -> RemoteSession<'_> {
        let number = self.inner.next_session.fetch_add(1, Ordering::Relaxed);
        RemoteSession::new(&self.inner, number)
    }
}

impl Engine for Remote {
    fn name(&self) -> &'static str {
        "remote"
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(self.open_session()))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.open_session().write(write)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.open_session().get(table, key, row)
    }

    fn flush(&self) -> Result<()> {
        let flush = |out: &mut Vec<u8>, id| {
            encode_request::flush(out, id);
            Ok(())
        };
        self.open_session().done(Effect::Nothing, &flush)
    }
}

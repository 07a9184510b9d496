//! The pool of connections.

use crate::connection::Connection;
use crate::settings::Settings;
use bobak_core::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) type Pool = bobak_engine_common::Pool<FirebirdConnector>;

/// A pool without connections.
pub(crate) fn pool(settings: Settings) -> Arc<Pool> {
    let (connections, busy_timeout) = (settings.connections, settings.busy_timeout);
    let connector = FirebirdConnector { settings, schema_changes: AtomicU64::new(0) };
    Pool::shared(connector, connections, busy_timeout)
}

/// Opens connections.
#[derive(Debug)]
pub(crate) struct FirebirdConnector {
    pub settings: Settings,
    schema_changes: AtomicU64,
}

impl bobak_engine_common::Connector for FirebirdConnector {
    type Connection = Connection;

    fn connect(&self) -> Result<Connection> {
        let schema_changes = self.schema_changes.load(Ordering::Relaxed);
        let mut connection = Connection::open(&self.settings)?;
        connection.schema_changes = schema_changes;
        Ok(connection)
    }

    fn is_usable(&self, connection: &mut Connection, _: Duration) -> bool {
        connection.schema_changes == self.schema_changes.load(Ordering::Relaxed)
            && connection.seems_open()
    }

    fn is_reusable(&self, connection: &mut Connection) -> bool {
        !connection.is_broken() && !connection.in_transaction()
    }

    /// Replaces connections from before a change of the schema when they are next used: Firebird does not tell their
    /// prepared statements of it.
    fn note_schema_change(&self) {
        self.schema_changes.fetch_add(1, Ordering::Relaxed);
    }
}

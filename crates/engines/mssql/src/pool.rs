//! The pool of connections.

use crate::connection::Connection;
use crate::settings::Settings;
use bobak_core::Result;
use bobak_engine_common::{PoolSettings, TransactionConnection};
use std::sync::Arc;
use std::time::Duration;

pub(crate) type Pool = bobak_engine_common::Pool<MssqlConnector>;

/// A pool without connections.
pub(crate) fn pool(settings: Settings) -> Arc<Pool> {
    let limits = PoolSettings {
        max_connections: settings.connections,
        acquire_timeout: settings.busy_timeout,
        idle_timeout: Some(Duration::from_secs(300)),
    };
    Arc::new(Pool::new(MssqlConnector { settings }, limits))
}

/// Opens connections.
#[derive(Debug)]
pub(crate) struct MssqlConnector {
    pub settings: Settings,
}

impl bobak_engine_common::Connector for MssqlConnector {
    type Connection = Connection;

    fn connect(&self) -> Result<Connection> {
        Connection::open(&self.settings)
    }

    fn is_usable(&self, connection: &mut Connection, _: Duration) -> bool {
        connection.seems_open()
    }

    fn is_reusable(&self, connection: &mut Connection) -> bool {
        !connection.is_broken() && !connection.in_transaction()
    }
}

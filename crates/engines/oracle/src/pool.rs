//! The pool of connections.

use crate::connection::Connection;
use crate::driver::OracleConnect;
use crate::settings::OracleBuilder;
use bobak_core::Result;
use bobak_engine_common::TransactionConnection;
use std::sync::Arc;
use std::time::Duration;

pub(crate) type Pool = bobak_engine_common::Pool<OracleConnector>;

/// The pool tests a connection that was idle for so long.
const IDLE: Duration = Duration::from_secs(5);

/// A pool without connections.
pub(crate) fn pool(settings: OracleBuilder, driver: Arc<dyn OracleConnect>) -> Arc<Pool> {
    let (connections, busy_timeout) = (settings.connections, settings.busy_timeout);
    Pool::shared(OracleConnector { settings, driver }, connections, busy_timeout)
}

/// Opens connections.
#[derive(Clone, Debug)]
pub(crate) struct OracleConnector {
    pub settings: OracleBuilder,
    pub driver: Arc<dyn OracleConnect>,
}

impl bobak_engine_common::Connector for OracleConnector {
    type Connection = Connection;

    fn connect(&self) -> Result<Connection> {
        Connection::open(self)
    }

    fn is_usable(&self, connection: &mut Connection, idle: Duration) -> bool {
        idle < IDLE || connection.is_alive()
    }

    fn is_reusable(&self, connection: &mut Connection) -> bool {
        !connection.is_broken() && !connection.in_transaction
    }
}

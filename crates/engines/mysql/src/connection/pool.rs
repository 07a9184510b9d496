//! How the pool opens connections, and when it checks them.

use crate::connection::Connection;
use crate::connection::connector::ServerConnector;
use bobak_core::Result;
use std::sync::Arc;
use std::time::Duration;

/// The connections of an engine.
pub(crate) type Pool = bobak_engine_common::Pool<PoolConnector>;

/// A connection in use. It owns its share of the pool, since a cursor keeps it together with a result
/// that borrows from the connection.
pub(crate) type PooledConnection = bobak_engine_common::PooledConnection<Arc<Pool>, PoolConnector>;

/// After this idle time the pool checks with a round trip whether the connection still exists.
const CHECK_THRESHOLD: Duration = Duration::from_millis(500);

/// Opens connections for the pool; each keeps the connector, to cancel its statements.
#[derive(Debug)]
pub(crate) struct PoolConnector(pub Arc<ServerConnector>);

/// A pool without connections.
pub(crate) fn pool(connector: ServerConnector) -> Arc<Pool> {
    let (connections, busy_timeout) =
        (connector.settings.connections, connector.settings.busy_timeout);
    Pool::shared(PoolConnector(Arc::new(connector)), connections, busy_timeout)
}

impl bobak_engine_common::Connector for PoolConnector {
    type Connection = Connection;

    fn connect(&self) -> Result<Connection> {
        self.0.connect()
    }

    fn is_usable(&self, connection: &mut Connection, idle: Duration) -> bool {
        idle < CHECK_THRESHOLD || connection.is_responsive()
    }

    fn is_reusable(&self, connection: &mut Connection) -> bool {
        !connection.broken && !connection.session_changed
    }
}

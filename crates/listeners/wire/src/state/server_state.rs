//! What all threads of a server share.

use super::password_queue::PasswordQueue;
use super::poller_handle::PollerHandle;
use super::request_workers::RequestWorkers;
use super::shutdown::Shutdown;
use crate::connection::{Connection, Disconnect};
use crate::database::Databases;
use crate::request_monitor::RequestMonitor;
use crate::settings::Settings;
use bobak_permissions::Access;
use bobak_serving::{AuditLog, ConnectionLimiter, Principal};
use std::fmt::Display;
use std::sync::{Arc, OnceLock};

/// The state of a server. It knows none of the threads that use it.
pub(crate) struct WireServerState {
    pub databases: Databases,
    pub access: Access,
    pub settings: Settings,
    pub workers: RequestWorkers,
    pub passwords: PasswordQueue,
    /// Set if there are listeners.
    pub poller: OnceLock<PollerHandle>,
    pub connections: ConnectionLimiter,
    pub monitor: RequestMonitor,
    pub audit_log: AuditLog,
    pub shutdown: Arc<Shutdown>,
}

impl WireServerState {
    /// Whether other connections wait for the worker or the quota of this one.
    #[inline]
    pub fn is_contended(&self, principal: &Principal) -> bool {
        self.workers.is_contended(principal)
    }

    /// Logs an event of a connection's client.
    pub fn log_client(&self, connection: &Connection, event: impl Display) {
        self.audit_log.client_event(connection.peer, format_args!("{connection} {event}"));
    }

    /// Logs why a connection ended, unless the client closed it in good order.
    pub fn log_disconnect(&self, connection: &Connection, reason: &Disconnect) {
        match reason {
            // The system's error, a broken pipe or a reset, says nothing about the server.
            reason if reason.is_by_client() => {
                if connection.has_unread_responses() {
                    self.log_client(connection, "disconnected before it received its response");
                }
            }
            Disconnect::Closed => {}
            Disconnect::Io(error) => {
                self.log_client(connection, format_args!("was disconnected: {error}"));
            }
            Disconnect::Protocol(error) => {
                self.log_client(connection, format_args!("was disconnected: {error}"));
            }
        }
    }

    /// Passes an authenticated or idle connection on: to a worker if it has sent a request, else to
    /// the poller.
    pub fn resume(&self, mut connection: Connection) {
        match connection.has_input() {
            Ok(true) => {
                self.workers.submit(connection);
                // The poller checks how long connections wait for a worker.
                if let Some(poller) = self.poller.get() {
                    poller.wake();
                }
            }
            Ok(false) => self.wait_for_request(connection),
            Err(reason) => self.log_disconnect(&connection, &reason),
        }
    }

    /// Passes an idle connection to the poller.
    pub fn wait_for_request(&self, mut connection: Connection) {
        connection.release_memory();
        if let Some(poller) = self.poller.get() {
            poller.give_back(connection);
        }
    }
}

//! What all listeners of `bobak serve` share.

use bobak::engine::Engine;
use bobak_permissions::Access;
use bobak_serving::{ProtocolServer, ServerBuilder};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The databases and the access rules of all listeners.
pub struct ListenerConfig<'s> {
    /// The databases by name.
    pub databases: &'s [(String, Arc<dyn Engine>)],
    /// Authentication and permissions of clients.
    pub access: &'s Access,
    /// The certificate and key files.
    pub tls: Option<(&'s Path, &'s Path)>,
    /// Whether clients on other machines may connect without TLS.
    pub without_tls: bool,
}

impl ListenerConfig<'_> {
    /// Configures a server with these TCP and Unix-socket listeners.
    pub fn configure<S: ProtocolServer>(
        &self,
        mut builder: ServerBuilder<S>,
        tcp: &[String],
        unix: &[PathBuf],
    ) -> ServerBuilder<S> {
        builder = builder.access(self.access.clone());
        for (name, engine) in self.databases {
            builder = builder.shared_database(name, Arc::clone(engine));
        }
        for address in tcp {
            builder = builder.tcp(address);
        }
        for path in unix {
            builder = builder.unix(path);
        }
        if let Some((chain, key)) = self.tls {
            builder = builder.tls(chain, key);
        }
        if self.without_tls { builder.without_tls() } else { builder }
    }
}

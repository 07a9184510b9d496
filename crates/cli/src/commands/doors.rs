//! What the doors of `bobak serve` share, whatever protocol they speak.

use bobak::engine::Engine;
use bobak_permissions::Access;
use bobak_serving::{ProtocolServer, ServerBuilder};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is behind the doors, and who may come in.
pub struct Shared<'s> {
    /// The databases, by name.
    pub databases: &'s [(String, Arc<dyn Engine>)],
    /// Who may come over a network, and do what.
    pub access: &'s Access,
    /// The files of certificates and key.
    pub tls: Option<(&'s Path, &'s Path)>,
    /// Whether other machines may come without TLS.
    pub without_tls: bool,
}

impl Shared<'_> {
    /// Adds them to a server, with doors at these addresses and on these sockets.
    pub fn doors<S: ProtocolServer>(
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

//! What all listeners of `bobak serve` share.

use super::tls::TlsCertificate;
use crate::error::Result;
use bobak::engine::Engine;
use bobak_permissions::Access;
use bobak_serving::{ProtocolServer, ServerBuilder};
use std::path::PathBuf;
use std::sync::Arc;

/// The databases and the access rules of all listeners.
pub struct ListenerConfig<'s> {
    /// The databases by name.
    pub databases: &'s [(String, Arc<dyn Engine>)],
    /// Authentication and permissions of clients.
    pub access: &'s Access,
    /// Where the certificate comes from.
    pub tls: &'s TlsCertificate<'s>,
}

impl ListenerConfig<'_> {
    /// Configures a server with these TCP and Unix-socket listeners.
    ///
    /// # Errors
    /// As [`TlsCertificate::configure`].
    pub fn configure<S: ProtocolServer>(
        &self,
        mut builder: ServerBuilder<S>,
        tcp: &[String],
        unix: &[PathBuf],
    ) -> Result<ServerBuilder<S>> {
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
        self.tls.configure(builder)
    }
}

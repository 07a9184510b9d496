//! The certificate and key of a server.

mod certificate_files;
mod validity;

pub use certificate_files::CertificateFiles;
pub use validity::certificate_validity;
pub(crate) use validity::time_warning;

use bobak_core::{Error, ErrorKind, Result};
use rustls::ServerConfig;
use rustls::server::ResolvesServerCert;
use std::sync::Arc;

/// The configuration of a server whose certificate comes from `resolver`: TLS 1.2 and 1.3, no certificates of clients.
///
/// # Errors
/// `Config` if the cryptography of this build lacks these versions.
pub fn tls_config(resolver: Arc<dyn ResolvesServerCert>) -> Result<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorKind::Config, format!("TLS cannot be used: {error}")))?;
    Ok(builder.with_no_client_auth().with_cert_resolver(resolver))
}

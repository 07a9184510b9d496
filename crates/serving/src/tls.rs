//! The certificate and key of a server.

use bobak_core::{Error, ErrorKind, Result};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;

/// Reads a certificate chain and its private key from PEM files.
///
/// # Errors
/// `Config` if a file cannot be read, or the key does not belong to the certificate.
pub(crate) fn server_config(chain: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let bad = |path: &Path, error: &dyn std::fmt::Display| {
        let message = format!("could not use {} for TLS: {error}", path.display());
        Error::new(ErrorKind::Config, message)
    };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|error| bad(chain, &error))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(chain, &error))?
        .with_no_client_auth()
        .with_single_cert(certificates, secret)
        .map_err(|error| bad(key, &error))?;
    Ok(Arc::new(config))
}

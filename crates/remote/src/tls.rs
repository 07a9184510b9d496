//! TLS over a TCP stream.

use crate::stream::{Stream, is_quiet};
use bobak_core::{Error, ErrorKind, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

/// Whom the client trusts: made once for all connections.
pub(crate) type Trust = Arc<ClientConfig>;

/// A stream under TLS.
pub(crate) type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// Trusts the certificates of a PEM file, or else those that the system trusts.
pub(crate) fn trust(authorities: Option<&Path>) -> Result<Trust> {
    let config = |message: String| Error::new(ErrorKind::Config, message);
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(path) => {
            let bad = |error: &dyn std::fmt::Display| {
                config(format!("could not read certificates from {}: {error}", path.display()))
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(|e| bad(&e))? {
                let certificate = certificate.map_err(|e| bad(&e))?;
                roots.add(certificate).map_err(|e| bad(&e))?;
            }
        }
        None => {
            // Some that a system has may be malformed: the others do.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err(config("no certificate to trust was found: name a file of some".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| config(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Begins TLS with the server of this name. The handshake comes with the first bytes.
pub(crate) fn begin(trust: &Trust, host: &str, stream: TcpStream) -> io::Result<TlsStream> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let connection = ClientConnection::new(Arc::clone(trust), name).map_err(io::Error::other)?;
    Ok(StreamOwned::new(connection, stream))
}

impl Stream for TlsStream {
    fn is_alive(&mut self) -> bool {
        // Tickets for a later session may wait: they are read, and are no words of the server.
        let quiet = self.sock.set_nonblocking(true).is_ok() && is_quiet(self);
        self.sock.set_nonblocking(false).is_ok() && quiet
    }
}

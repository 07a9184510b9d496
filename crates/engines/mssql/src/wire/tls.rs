//! TLS inside the protocol: the handshake travels in packets of the pre-login, what follows is encrypted as a whole.

use super::status::{TdsError, TdsResult};
use bobak_engine_common::tls::{CertificateCheck, client_config};
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use rustls::version::TLS12;
use std::path::Path;
use std::sync::Arc;

/// What the server must prove.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TlsSettings<'s> {
    /// Whether an authority that is trusted must have signed the certificate, for the host's name.
    pub verifies: bool,
    /// The file with the authorities, instead of the system's.
    pub root_file: Option<&'s Path>,
}

/// A client's side of a handshake. SQL Server wraps no newer version than 1.2 in its own packets.
pub(super) fn client(host: &str, settings: TlsSettings<'_>) -> TdsResult<ClientConnection> {
    let check = match settings.verifies || settings.root_file.is_some() {
        true => CertificateCheck::Name,
        false => CertificateCheck::Nothing,
    };
    let config = client_config(check, settings.root_file, &[&TLS12])
        .map_err(|error| TdsError::Tls(error.message().to_owned()))?;
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| TdsError::Tls(format!("'{host}' is not a valid host name for TLS")))?;
    ClientConnection::new(Arc::new(config), name)
        .map_err(|error| TdsError::Tls(format!("could not set up TLS: {error}")))
}

//! TLS over a socket.

use crate::settings::{Settings, SslMode};
use bobak_core::{Error, ErrorKind, Result};
use bobak_engine_common::tls::{CertificateCheck, client_config};
use rustls::pki_types::ServerName;
use rustls::{ALL_VERSIONS, ClientConfig, ClientConnection, StreamOwned};
use std::net::TcpStream;
use std::sync::Arc;

/// Starts TLS on a socket whose server has agreed to it.
///
/// # Errors
/// `Config` for a certificate file that can't be read; `Denied` if the server's certificate is not trusted;
/// `Unreachable`, `Timeout`.
pub(crate) fn wrap(
    socket: TcpStream,
    host: &str,
    settings: &Settings,
) -> Result<StreamOwned<ClientConnection, TcpStream>> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| {
        Error::new(ErrorKind::Config, format!("'{host}' is not a valid host name for TLS"))
    })?;
    let config = Arc::new(config(settings)?);
    let failed = |error: rustls::Error| {
        Error::new(ErrorKind::Denied, format!("could not start TLS with {host}: {error}"))
            .with_source(error)
    };
    let connection = ClientConnection::new(config, name).map_err(failed)?;
    let mut stream = StreamOwned::new(connection, socket);
    // Now, so that a certificate that is rejected shows as that.
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(|error| {
            let rejected = error.get_ref().is_some_and(|database| database.is::<rustls::Error>());
            let kind = match error.kind() {
                _ if rejected => ErrorKind::Denied,
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => ErrorKind::Timeout,
                _ => ErrorKind::Unreachable,
            };
            Error::new(kind, format!("could not start TLS with {host}: {error}")).with_source(error)
        })?;
    }
    Ok(stream)
}

fn config(settings: &Settings) -> Result<ClientConfig> {
    let check = match (settings.sslmode, &settings.sslrootcert) {
        (SslMode::VerifyCa, _) => CertificateCheck::Authority,
        (SslMode::VerifyFull, _) | (_, Some(_)) => CertificateCheck::Name,
        _ => CertificateCheck::Nothing,
    };
    client_config(check, settings.sslrootcert.as_deref(), ALL_VERSIONS)
}

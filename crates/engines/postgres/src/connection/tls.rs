//! TLS over a socket.

use crate::settings::{Settings, SslMode};
use bobak_core::{Error, ErrorKind, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
    StreamOwned,
};
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
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorKind::Config, format!("could not set up TLS: {error}")))?;
    let roots = match (settings.sslmode, &settings.sslrootcert) {
        (SslMode::VerifyCa, _) => Some(roots(settings)?),
        (SslMode::VerifyFull, _) | (_, Some(_)) => {
            return Ok(builder.with_root_certificates(roots(settings)?).with_no_client_auth());
        }
        _ => None,
    };
    let verifier = Arc::new(AnyName { provider, roots });
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    Ok(builder.with_no_client_auth())
}

fn roots(settings: &Settings) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(file) = &settings.sslrootcert else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let bad = |error: String| {
        Error::new(
            ErrorKind::Config,
            format!("could not read the certificates in {}: {error}", file.display()),
        )
    };
    let all = CertificateDer::pem_file_iter(file).map_err(|error| bad(error.to_string()))?;
    for certificate in all {
        let certificate = certificate.map_err(|error| bad(error.to_string()))?;
        roots.add(certificate).map_err(|error| bad(error.to_string()))?;
    }
    Ok(roots)
}

/// Takes certificates for any name: every one, as `sslmode=require` does, which keeps listeners
/// out, not impostors; or, as `verify-ca` does, one that an authority has signed that is trusted.
#[derive(Debug)]
struct AnyName {
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let end = ParsedCertificate::try_from(end)?;
            let known = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&end, roots, between, now, known)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

//! TLS inside the protocol: the handshake travels in packets of the pre-login, what follows is encrypted as a whole.

use super::status::{TdsError, TdsResult};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
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
    let failed = |error: rustls::Error| TdsError::Tls(format!("could not set up TLS: {error}"));
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS12])
        .map_err(failed)?;
    let config = match settings.verifies || settings.root_file.is_some() {
        true => builder.with_root_certificates(roots(settings.root_file)?).with_no_client_auth(),
        false => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate { provider }))
            .with_no_client_auth(),
    };
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| TdsError::Tls(format!("'{host}' is not a valid host name for TLS")))?;
    ClientConnection::new(Arc::new(config), name).map_err(failed)
}

fn roots(file: Option<&Path>) -> TdsResult<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let bad = |error: String| {
        TdsError::Tls(format!("could not read the certificates in {}: {error}", file.display()))
    };
    for certificate in
        CertificateDer::pem_file_iter(file).map_err(|error| bad(error.to_string()))?
    {
        let certificate = certificate.map_err(|error| bad(error.to_string()))?;
        roots.add(certificate).map_err(|error| bad(error.to_string()))?;
    }
    Ok(roots)
}

/// Takes every certificate, as servers make their own by default: it keeps listeners out, not impostors.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
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

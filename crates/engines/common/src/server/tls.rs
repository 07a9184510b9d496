//! TLS of clients: which certificates of a server they accept.

use bobak_core::{Error, ErrorKind, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, SupportedProtocolVersion,
};
use std::path::Path;
use std::sync::Arc;

/// What is checked of a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateCheck {
    /// Nothing: servers make their own by default. It keeps listeners out, not impostors.
    Nothing,
    /// A trusted authority has signed it, for whichever name.
    Authority,
    /// A trusted authority has signed it for the host's name.
    Name,
}

/// The settings of a client that checks so much of a server's certificate. The authorities are those of a PEM file, or else
/// those of the system.
///
/// # Errors
/// `Config` if the file cannot be read, or no authority is trusted.
pub fn client_config(
    check: CertificateCheck,
    authorities: Option<&Path>,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|error| config(format!("could not set up TLS: {error}")))?;
    let roots = match check {
        CertificateCheck::Nothing => None,
        CertificateCheck::Authority => Some(roots(authorities)?),
        CertificateCheck::Name => {
            return Ok(builder.with_root_certificates(roots(authorities)?).with_no_client_auth());
        }
    };
    let verifier = Arc::new(AnyName { provider, roots });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

fn config(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}

fn roots(file: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(file) => {
            let bad = |error: &dyn std::fmt::Display| {
                config(format!("could not read the certificates in {}: {error}", file.display()))
            };
            for certificate in CertificateDer::pem_file_iter(file).map_err(|error| bad(&error))? {
                let certificate = certificate.map_err(|error| bad(&error))?;
                roots.add(certificate).map_err(|error| bad(&error))?;
            }
        }
        None => {
            // Some certificates of a system may be malformed. The others count.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        let message = "no trusted certificate was found: name a file that contains one";
        return Err(config(message.to_owned()));
    }
    Ok(roots)
}

/// Takes certificates for any name: every one, or those that a trusted authority has signed.
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

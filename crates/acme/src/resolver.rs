//! The certificate of a connection.

use bobak_core::{Error, ErrorKind, Result};
use bobak_serving::CertificateFiles;
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The application protocol of a connection by which an authority checks a name (RFC 8737).
pub const CHALLENGE_PROTOCOL: &[u8] = b"acme-tls/1";

/// Gives the authority the certificates that are the responses to its challenges, and all others the server's certificate.
#[derive(Debug)]
pub struct Resolver {
    files: CertificateFiles,
    /// By the server name that the authority asks for.
    responses: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl Resolver {
    /// A resolver without responses.
    pub fn new(files: CertificateFiles) -> Self {
        Self { files, responses: Mutex::default() }
    }

    /// Adds the response to the challenge for a name, which has this digest.
    ///
    /// # Errors
    /// `Config` if the name cannot be in a certificate.
    pub fn respond(&self, name: &str, digest: &[u8]) -> Result<()> {
        let wrong = |error: &dyn std::fmt::Display| {
            let message = format!("'{name}' cannot be in a certificate: {error}");
            Error::new(ErrorKind::Config, message)
        };
        let key = KeyPair::generate().map_err(|error| wrong(&error))?;
        let mut parameters =
            CertificateParams::new([name.to_owned()]).map_err(|error| wrong(&error))?;
        parameters.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
        let certificate = parameters.self_signed(&key).map_err(|error| wrong(&error))?;
        let secret = PrivateKeyDer::try_from(key.serialize_der()).map_err(|error| wrong(&error))?;
        // Not `CertifiedKey::from_der`: it rejects the critical extension that the response must have.
        let provider = rustls::crypto::ring::default_provider();
        let secret = provider.key_provider.load_private_key(secret);
        let secret = secret.map_err(|error| wrong(&error))?;
        let response = CertifiedKey::new(vec![certificate.der().clone()], secret);
        self.responses().insert(server_name(name), Arc::new(response));
        Ok(())
    }

    /// Removes all responses.
    pub fn remove_responses(&self) {
        self.responses().clear();
    }

    fn responses(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<CertifiedKey>>> {
        self.responses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut protocols = hello.alpn().into_iter().flatten();
        match (protocols.next(), protocols.next()) {
            (Some(CHALLENGE_PROTOCOL), None) => {
                self.responses().get(&hello.server_name()?.to_ascii_lowercase()).cloned()
            }
            _ => self.files.current(),
        }
    }
}

/// The name that the authority asks for: an IP address has a name for the reverse lookup (RFC 8738).
fn server_name(name: &str) -> String {
    match name.parse() {
        Ok(std::net::IpAddr::V4(address)) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        Ok(std::net::IpAddr::V6(address)) => {
            let bytes = address.octets().into_iter().rev();
            let digits = bytes.map(|byte| format!("{:x}.{:x}.", byte & 15, byte >> 4));
            digits.collect::<String>() + "ip6.arpa"
        }
        Err(_) => name.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_names_for_the_reverse_lookup() {
        assert_eq!(server_name("DB.example.org"), "db.example.org");
        assert_eq!(server_name("192.0.2.7"), "7.2.0.192.in-addr.arpa");
        let name = "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa";
        assert_eq!(server_name("2001:db8::567:89ab"), name);
    }
}

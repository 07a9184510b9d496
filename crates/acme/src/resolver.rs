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

/// Gives the authority the certificates that answer its challenges, and all others the server's certificate.
#[derive(Debug)]
pub struct Resolver {
    files: CertificateFiles,
    /// By the server name that the authority asks for.
    answers: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl Resolver {
    /// A resolver without answers.
    pub fn new(files: CertificateFiles) -> Self {
        Self { files, answers: Mutex::default() }
    }

    /// Answers the challenge for a name, which must have this digest.
    ///
    /// # Errors
    /// `Config` if the name cannot be in a certificate.
    pub fn answer(&self, name: &str, digest: &[u8]) -> Result<()> {
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
        // Not `CertifiedKey::from_der`: it rejects the critical extension that the answer must have.
        let provider = rustls::crypto::ring::default_provider();
        let secret = provider.key_provider.load_private_key(secret);
        let secret = secret.map_err(|error| wrong(&error))?;
        let answer = CertifiedKey::new(vec![certificate.der().clone()], secret);
        self.answers().insert(server_name(name), Arc::new(answer));
        Ok(())
    }

    /// Forgets all answers.
    pub fn forget_answers(&self) {
        self.answers().clear();
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<CertifiedKey>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut protocols = hello.alpn().into_iter().flatten();
        match (protocols.next(), protocols.next()) {
            (Some(CHALLENGE_PROTOCOL), None) => {
                self.answers().get(&hello.server_name()?.to_ascii_lowercase()).cloned()
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

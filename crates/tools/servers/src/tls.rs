//! Certificates for servers, from an authority that is made for the purpose.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};

use crate::account::Account;
use crate::{Error, Result};

/// A private certificate authority for clients to trust. Two authorities are independent of each other.
#[derive(Clone, Debug)]
pub struct Authority {
    certificate: String,
    key: String,
}

impl Authority {
    /// Creates a new one.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn new() -> Result<Self> {
        let key = KeyPair::generate().map_err(failed)?;
        let key_pem = key.serialize_pem();
        let authority = CertifiedIssuer::self_signed(params()?, key).map_err(failed)?;
        Ok(Self { certificate: authority.pem(), key: key_pem })
    }

    /// Its certificate as PEM, for clients to trust.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.certificate
    }

    /// Writes `server.pem` and `server.key`; servers require that others cannot read the key.
    pub(crate) fn sign_into(&self, folder: &Path, account: Account) -> Result<()> {
        let issuer_key = KeyPair::from_pem(&self.key).map_err(failed)?;
        let issuer = rcgen::Issuer::new(params()?, issuer_key);
        let key = KeyPair::generate().map_err(failed)?;
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let leaf = CertificateParams::new(names).map_err(failed)?;
        let certificate = leaf.signed_by(&key, &issuer).map_err(failed)?;
        write(&folder.join("server.pem"), &certificate.pem(), account)?;
        write(&folder.join("server.key"), &key.serialize_pem(), account)
    }
}

fn params() -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new()).map_err(failed)?;
    params.distinguished_name.push(rcgen::DnType::CommonName, "Bobak's tests");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

fn write(path: &Path, text: &str, account: Account) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|e| Error::io("write", path, &e))?;
    account.own(path)
}

fn failed(error: rcgen::Error) -> Error {
    Error::new(format!("could not make a certificate: {error}"))
}

//! The certificate and key of a server.

use bobak_core::{Error, ErrorKind, Result, Timestamp};
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

/// What is wrong with the time of a certificate now: clients reject one that has expired, or is not valid yet.
/// `None` if nothing is, or the certificate cannot be read.
pub(crate) fn time_warning(chain: &Path) -> Option<String> {
    let certificate = CertificateDer::pem_file_iter(chain).ok()?.next()?.ok()?;
    let [from, to] = validity(&certificate)?;
    let now = Timestamp::now().to_string();
    let now: String = now.chars().filter(char::is_ascii_digit).take(DIGITS).collect();
    let what = match () {
        () if now > to => format!("expired on {}", date(&to)),
        () if now < from => format!("is not valid before {}", date(&from)),
        () => return None,
    };
    Some(format!("the certificate {} {what}: clients will reject it", chain.display()))
}

/// `YYYYMMDDHHMMSS`
const DIGITS: usize = 14;

fn date(digits: &str) -> String {
    let part = |range| digits.get(range).unwrap_or_default();
    format!("{}-{}-{}", part(0..4), part(4..6), part(6..8))
}

/// From when and to when a certificate is valid, in UTC, as digits.
fn validity(certificate: &[u8]) -> Option<[String; 2]> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut rest, _) = element(certificate)?;
    // Before it are the version, which may be left out, the serial number, the algorithm and the issuer.
    let has_version = rest.first() == Some(&0xa0);
    for _ in 0..3 + usize::from(has_version) {
        rest = element(rest)?.2;
    }
    let (_, validity, _) = element(rest)?;
    let (from_tag, from, rest) = element(validity)?;
    let (to_tag, to, _) = element(rest)?;
    Some([digits(from_tag, from)?, digits(to_tag, to)?])
}

/// A time as digits. X.509 times of two-digit years are from 1950 to 2049.
fn digits(tag: u8, time: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(time).ok()?.strip_suffix('Z')?;
    let century = match (tag, text.get(..2)?) {
        (0x18, _) => "",
        (_, year) if year < "50" => "20",
        _ => "19",
    };
    let digits = format!("{century}{text}");
    (digits.len() >= DIGITS).then(|| digits.chars().take(DIGITS).collect())
}

/// The tag and the content of the first DER element, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, short], mut rest) = bytes.split_first_chunk()?;
    let mut length = usize::from(short);
    if short >= 0x80 {
        let (long, after) = rest.split_at_checked(usize::from(short & 0x7f))?;
        let mut bytes = [0; 8];
        bytes.get_mut(8_usize.checked_sub(long.len())?..)?.copy_from_slice(long);
        (length, rest) = (usize::try_from(u64::from_be_bytes(bytes)).ok()?, after);
    }
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

//! When a certificate is valid.

use bobak_core::Timestamp;
use jiff::tz::TimeZone;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::Path;

/// What is wrong with the time of a certificate now: clients reject one that has expired, or is not valid yet.
/// `None` if nothing is, or the certificate cannot be read.
pub(crate) fn time_warning(chain: &Path) -> Option<String> {
    let [from, to] = certificate_validity(chain)?;
    let now = Timestamp::now();
    let date = |at: Timestamp| at.to_zoned(TimeZone::UTC).date();
    let what = match () {
        () if now > to => format!("expired on {}", date(to)),
        () if now < from => format!("is not valid before {}", date(from)),
        () => return None,
    };
    Some(format!("the certificate {} {what}: clients will reject it", chain.display()))
}

/// From when and to when the first certificate of a PEM file is valid; `None` if it cannot be read.
#[must_use]
pub fn certificate_validity(chain: &Path) -> Option<[Timestamp; 2]> {
    let certificate = CertificateDer::pem_file_iter(chain).ok()?.next()?.ok()?;
    let (_, certificate, _) = element(&certificate)?;
    let (_, mut rest, _) = element(certificate)?;
    // Before it are the version, which may be left out, the serial number, the algorithm and the issuer.
    let has_version = rest.first() == Some(&0xa0);
    for _ in 0..3 + usize::from(has_version) {
        rest = element(rest)?.2;
    }
    let (_, validity, _) = element(rest)?;
    let (from_tag, from, rest) = element(validity)?;
    let (to_tag, to, _) = element(rest)?;
    Some([time(from_tag, from)?, time(to_tag, to)?])
}

/// A time in UTC. X.509 times of two-digit years are from 1950 to 2049.
fn time(tag: u8, text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let century = match (tag, text.get(..2)?) {
        (0x18, _) => "",
        (_, year) if year < "50" => "20",
        _ => "19",
    };
    let digits = format!("{century}{text}");
    let (date, time) = digits.split_at_checked(8)?;
    format!("{date}T{}Z", time.get(..6)?).parse().ok()
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

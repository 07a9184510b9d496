//! What speaks otherwise at the other end: so that who has taken the wrong port is told which.

/// Another protocol, as far as its first bytes show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignProtocol {
    /// TLS: a greeting, or an alert.
    Tls,
    /// HTTP: a request, or an answer.
    Http,
}

impl ForeignProtocol {
    /// Looks at the first bytes that came over a connection. No first frame of this protocol begins so: it would be
    /// longer than one may be.
    #[must_use]
    pub fn of(first: &[u8]) -> Option<Self> {
        const METHODS: [&[u8]; 8] =
            [b"GET ", b"HEAD", b"POST", b"PUT ", b"PATC", b"DELE", b"OPTI", b"CONN"];
        match first {
            // A record's kind, and a version of TLS.
            [0x14..=0x17, 3, 1..=4, ..] => Some(Self::Tls),
            [b'H', b'T', b'T', b'P', b'/', ..] => Some(Self::Http),
            _ => METHODS.iter().any(|method| first.starts_with(method)).then_some(Self::Http),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Credentials, Hello, Limits};

    #[test]
    fn others_are_known_by_their_first_bytes() {
        for alert in [&[0x15, 3, 1, 0, 2, 2, 10][..], &[0x15, 3, 3], &[0x16, 3, 1, 2, 0, 1]] {
            assert_eq!(ForeignProtocol::of(alert), Some(ForeignProtocol::Tls));
        }
        for text in ["GET / HTTP/1.1\r\n", "HTTP/1.1 400 Bad Request\r\n", "OPTIONS * HTTP/1.1"] {
            assert_eq!(ForeignProtocol::of(text.as_bytes()), Some(ForeignProtocol::Http));
        }
        assert_eq!(ForeignProtocol::of(&[0x15]), None);
        assert_eq!(ForeignProtocol::of(b""), None);
        // Frames of any length that a first one may have.
        for length in 0..=Limits::BEFORE_HELLO {
            assert_eq!(ForeignProtocol::of(&length.to_le_bytes()), None, "{length}");
        }
        let mut hello = Vec::new();
        Hello::new("main", "x", Credentials::None).encode(&mut hello, 1).unwrap();
        assert_eq!(ForeignProtocol::of(&hello), None);
    }
}

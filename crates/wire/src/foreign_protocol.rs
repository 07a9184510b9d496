//! Recognizes other protocols, so that a client at the wrong port gets a helpful error.

/// A protocol that the other end speaks instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignProtocol {
    /// TLS: a handshake record or an alert.
    Tls,
    /// HTTP: a request or a response.
    Http,
}

impl ForeignProtocol {
    /// Recognizes a protocol by the first bytes of a connection. They cannot be a hello, since read as the length
    /// of a frame they exceed [`Limits::BEFORE_HELLO`](crate::Limits::BEFORE_HELLO).
    #[must_use]
    pub fn of(first: &[u8]) -> Option<Self> {
        const METHODS: [&[u8]; 8] =
            [b"GET ", b"HEAD", b"POST", b"PUT ", b"PATC", b"DELE", b"OPTI", b"CONN"];
        match first {
            // The type of a record, and a version of TLS.
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
    fn other_protocols_are_recognized_by_their_first_bytes() {
        for alert in [&[0x15, 3, 1, 0, 2, 2, 10][..], &[0x15, 3, 3], &[0x16, 3, 1, 2, 0, 1]] {
            assert_eq!(ForeignProtocol::of(alert), Some(ForeignProtocol::Tls));
        }
        for text in ["GET / HTTP/1.1\r\n", "HTTP/1.1 400 Bad Request\r\n", "OPTIONS * HTTP/1.1"] {
            assert_eq!(ForeignProtocol::of(text.as_bytes()), Some(ForeignProtocol::Http));
        }
        assert_eq!(ForeignProtocol::of(&[0x15]), None);
        assert_eq!(ForeignProtocol::of(b""), None);
        // All lengths that a hello can have.
        for length in 0..=Limits::BEFORE_HELLO {
            assert_eq!(ForeignProtocol::of(&length.to_le_bytes()), None, "{length}");
        }
        let mut hello = Vec::new();
        Hello::new("main", "x", Credentials::None).encode(&mut hello, 1).unwrap();
        assert_eq!(ForeignProtocol::of(&hello), None);
    }
}

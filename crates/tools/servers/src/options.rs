//! The options of a private server.

/// The options of a private server: by default fast, without a password, without TLS.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) durable: bool,
    pub(crate) password: Option<String>,
    pub(crate) settings: Vec<(String, String)>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<crate::Authority>,
    #[cfg(feature = "tls")]
    pub(crate) tls_only: bool,
}

impl Options {
    /// The default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Commits are synced to the disk, as on a server out of the box. Without it they reach the kernel: they survive
    /// SIGKILL, but not a power cut.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// The password of the user `bobak`, also required on the socket. Default: none.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// One of the server's own settings, as its manual spells it: `max_connections`, `10`. Of two for the same name
    /// the later counts.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Offers TLS over TCP, with a certificate for `localhost` and `127.0.0.1` that `authority` signs.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, authority: &crate::Authority) -> Self {
        self.tls = Some(authority.clone());
        self
    }

    /// As [`tls`](Self::tls), and rejects TCP connections without it.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls_only(mut self, authority: &crate::Authority) -> Self {
        self.tls_only = true;
        self.tls(authority)
    }
}

/// A password as part of a URL: all but letters, digits and `-._~` as `%` and two digits.
pub(crate) fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_password_survives_a_url() {
        assert_eq!(percent("a-b.c_d~9"), "a-b.c_d~9");
        assert_eq!(percent("p@ss:w/ö?"), "p%40ss%3Aw%2F%C3%B6%3F");
    }
}

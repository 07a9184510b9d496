//! One-time codes, with which the user who started a server signs in to it from a browser.

use super::caller::Caller;
use crate::secret::{hash_token, is_equal, new_token};
use bobak_core::{Error, ErrorKind, Result};

/// The codes of a server, as hashes. They end with the process.
#[derive(Default)]
pub(crate) struct SignInCodes {
    unused: Vec<String>,
    /// Those that were used, for a better message: each use of a code adds one.
    used: Vec<String>,
}

impl SignInCodes {
    /// Whether no code can be used.
    pub const fn is_empty(&self) -> bool {
        self.unused.is_empty()
    }

    /// Creates a code.
    ///
    /// # Errors
    /// `Engine` if the system provides no random bytes.
    pub fn create(&mut self) -> Result<String> {
        let (code, hash) = new_token()?;
        self.unused.push(hash);
        Ok(code)
    }

    /// Uses a code up, and returns the operator.
    ///
    /// # Errors
    /// `Denied` for a code that was used before, or that this process did not create.
    pub fn redeem(&mut self, code: &str) -> Result<Caller> {
        let hash = hash_token(code);
        let denied = |message: &str| Err(Error::new(ErrorKind::Denied, message));
        if let Some(position) = self.unused.iter().position(|other| is_equal(other, &hash)) {
            self.used.push(self.unused.swap_remove(position));
            return Ok(Caller::operator());
        }
        if self.used.iter().any(|other| is_equal(other, &hash)) {
            return denied(
                "this sign-in link was used already, and each works once: open the new link that `bobak serve` shows in its \
                 terminal",
            );
        }
        denied(
            "this sign-in link is not valid, perhaps because the server was restarted: open the link that `bobak serve` shows in \
             its terminal",
        )
    }
}

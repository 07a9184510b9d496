//! What somebody who was let in may do.
//!
//! One place: each request is asked about here, before anything of it is done.

use bobak_core::Result;
use bobak_wire::Request;

/// The rights of one user or token.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    _everything: (),
}

impl Rights {
    /// Those of an operator.
    pub const fn everything() -> Self {
        Self { _everything: () }
    }

    /// Whether the request may be done.
    ///
    /// # Errors
    /// `Denied`. For now whoever was let in may do everything.
    #[inline]
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the place for rights")]
    pub const fn check(&self, _request: &Request<'_>) -> Result<()> {
        Ok(())
    }
}

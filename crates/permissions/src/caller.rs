//! Somebody who was let in.

use crate::access::Shared;
use crate::policy::{Account, Rights};
use bobak_core::{Error, ErrorKind, Result};
use jiff::Timestamp;
use std::sync::{Arc, Mutex, PoisonError};

/// Somebody who was let in. What it may do is looked up again whenever the file changes: who is
/// taken out of it, or gets another secret there, or whose time is over, is refused from then on. Cheap to clone.
#[derive(Clone)]
pub struct Caller(Arc<Inner>);

enum Inner {
    Operator,
    Guest {
        name: String,
        /// Of the secret that it showed.
        hash: String,
        kind: Kind,
        access: Arc<Shared>,
        known: Mutex<Known>,
    },
}

/// By what it was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    Token,
}

/// What was found last, and in which version of the file.
struct Known {
    version: u64,
    rights: Option<Arc<Rights>>,
}

impl Caller {
    /// One who may do everything: who started the server, and who comes by a door that the
    /// operating system guards.
    #[must_use]
    pub fn operator() -> Self {
        Self(Arc::new(Inner::Operator))
    }

    pub(crate) fn guest(account: &Account, kind: Kind, access: &Arc<Shared>) -> Self {
        let known = Mutex::new(Known { version: u64::MAX, rights: None });
        let (name, hash) = (account.name.clone(), account.hash.clone());
        Self(Arc::new(Inner::Guest { name, hash, kind, access: Arc::clone(access), known }))
    }

    /// The user's or token's name; `operator`.
    #[must_use]
    pub fn name(&self) -> &str {
        match &*self.0 {
            Inner::Operator => "operator",
            Inner::Guest { name, .. } => name,
        }
    }

    /// Whether it may do everything, whatever the file says.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        matches!(*self.0, Inner::Operator)
    }

    /// Whether it would be let in now: it is in the file, with the secret that it showed, and its
    /// time is not over.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.rights().is_ok()
    }

    /// Whether it has any right on this database. One that it has none on must look as if it were
    /// not there.
    #[must_use]
    pub fn sees(&self, database: &str) -> bool {
        match self.rights() {
            Ok(Some(rights)) => rights.sees(database),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Its rights at this moment; `None` for the operator.
    ///
    /// # Errors
    /// `Denied` where it is not let in any more.
    pub(crate) fn rights(&self) -> Result<Option<Arc<Rights>>> {
        let Inner::Guest { name, hash, kind, access, known } = &*self.0 else { return Ok(None) };
        let version = access.version();
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.version != version {
            known.rights = access.rights_of(*kind, name, hash).map(Arc::new);
            known.version = version;
        }
        let rights = known.rights.clone();
        drop(known);
        let rights =
            rights.filter(|rights| rights.expires().is_none_or(|end| Timestamp::now() < end));
        rights.map(Some).ok_or_else(|| {
            let message = "the user or token is not let in any more";
            Error::new(ErrorKind::Denied, message)
        })
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Caller").field(&self.name()).finish()
    }
}

//! An authenticated client.

use super::access::AccessState;
use crate::policy::{Account, CallerPermissions};
use bobak_core::{Error, ErrorKind, Result};
use jiff::Timestamp;
use std::sync::{Arc, Mutex, PoisonError};

/// An authenticated client. Cheap to clone.
///
/// Its permissions are looked up again whenever the access file changes. Once its account is removed,
/// gets another password or token, or expires, every call fails.
#[derive(Clone)]
pub struct Caller(Arc<Identity>);

enum Identity {
    Operator,
    Account {
        name: String,
        /// Of the password or token that it authenticated with.
        hash: String,
        kind: AccountKind,
        access: Arc<AccessState>,
        cached: Mutex<CachedPermissions>,
    },
}

/// What a caller authenticated with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountKind {
    User,
    Token,
}

/// The permissions as last looked up, and in which version of the access file.
struct CachedPermissions {
    version: u64,
    /// `None` if the account does not exist any more.
    permissions: Option<Arc<CallerPermissions>>,
}

impl Caller {
    /// The operator, who has all permissions: the process that started the server, and any user who
    /// connects over a transport that the operating system protects.
    #[must_use]
    pub fn operator() -> Self {
        Self(Arc::new(Identity::Operator))
    }

    pub(super) fn from_account(
        account: &Account,
        kind: AccountKind,
        access: &Arc<AccessState>,
    ) -> Self {
        let cached = Mutex::new(CachedPermissions { version: u64::MAX, permissions: None });
        let (name, hash) = (account.name.clone(), account.hash.clone());
        Self(Arc::new(Identity::Account { name, hash, kind, access: Arc::clone(access), cached }))
    }

    /// The user's or token's name; `operator` for the operator.
    #[must_use]
    pub fn name(&self) -> &str {
        match &*self.0 {
            Identity::Operator => "operator",
            Identity::Account { name, .. } => name,
        }
    }

    /// Whether it is the operator. The access file does not apply to the operator.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        matches!(*self.0, Identity::Operator)
    }

    /// Whether its credentials are still valid: the account exists with the same password or token,
    /// and has not expired.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.permissions().is_ok()
    }

    /// Whether it has any permission in this database. One in which it has none must look as if it
    /// did not exist.
    #[must_use]
    pub fn can_see(&self, database: &str) -> bool {
        match self.permissions() {
            Ok(Some(permissions)) => permissions.can_see(database),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Its permissions at this moment; `None` for the operator.
    ///
    /// # Errors
    /// `Denied` if its credentials are not valid any more.
    pub(crate) fn permissions(&self) -> Result<Option<Arc<CallerPermissions>>> {
        let Identity::Account { name, hash, kind, access, cached } = &*self.0 else {
            return Ok(None);
        };
        let version = access.version();
        let mut cached = cached.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.version != version {
            cached.permissions = access.permissions_of(*kind, name, hash).map(Arc::new);
            cached.version = version;
        }
        let permissions = cached.permissions.clone();
        drop(cached);
        let is_valid = |permissions: &Arc<CallerPermissions>| {
            permissions.expires().is_none_or(|end| Timestamp::now() < end)
        };
        permissions.filter(is_valid).map(Some).ok_or_else(|| {
            let message = "the user or token is not valid any more";
            Error::new(ErrorKind::Denied, message)
        })
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Caller").field(&self.name()).finish()
    }
}

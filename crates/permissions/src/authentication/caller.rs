//! An authenticated client.

use super::access::AccessState;
use crate::policy::{Account, CallerPermissions, Grant, Permission};
use bobak_core::{Error, ErrorKind, Result, Value};
use jiff::Timestamp;
use std::sync::{Arc, Mutex, PoisonError};

/// The name of the client without credentials.
const ANONYMOUS: &str = "anonymous";

/// An authenticated client. Cheap to clone.
///
/// Its permissions are looked up again whenever the access file changes. Once its account is removed,
/// gets another password or token, or expires, every call fails.
#[derive(Clone)]
pub struct Caller(Arc<Identity>);

enum Identity {
    Operator,
    /// A part of a program, with permissions that never change.
    Fixed {
        name: String,
        permissions: Arc<CallerPermissions>,
    },
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
    /// Nothing: it may do what is public.
    Anonymous,
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

    /// A part of this program, with these grants, as in `read, write on orders where tenant = :tenant`, and these
    /// variables of their conditions. `:user` is the name.
    ///
    /// # Errors
    /// `Config` for an invalid grant, and for one of `sql`, `schema` or `all`, which no condition could confine.
    pub fn with_grants(
        name: &str,
        grants: &[String],
        variables: Vec<(String, Value<'static>)>,
    ) -> Result<Self> {
        let parse = |text: &String| {
            let grant = Grant::parse(text)?;
            let whole = [Permission::Sql, Permission::Schema];
            if whole.into_iter().any(|permission| grant.permissions.has(permission)) {
                let message =
                    format!("`{text}`: a scope grants read, insert, update, delete or write");
                return Err(Error::new(ErrorKind::Config, message));
            }
            Ok(Arc::new(grant))
        };
        let grants = grants.iter().map(parse).collect::<Result<_>>()?;
        let mut all = vec![("user".to_owned(), Value::from(name.to_owned()))];
        all.extend(variables);
        let permissions = Arc::new(CallerPermissions::new(grants, all, None));
        Ok(Self(Arc::new(Identity::Fixed { name: name.to_owned(), permissions })))
    }

    pub(super) fn from_account(
        account: &Account,
        kind: AccountKind,
        access: &Arc<AccessState>,
    ) -> Self {
        Self::with_account(account.name.clone(), account.hash.clone(), kind, access)
    }

    /// The client without credentials.
    pub(super) fn anonymous(access: &Arc<AccessState>) -> Self {
        Self::with_account(ANONYMOUS.to_owned(), String::new(), AccountKind::Anonymous, access)
    }

    fn with_account(
        name: String,
        hash: String,
        kind: AccountKind,
        access: &Arc<AccessState>,
    ) -> Self {
        let cached = Mutex::new(CachedPermissions { version: u64::MAX, permissions: None });
        Self(Arc::new(Identity::Account { name, hash, kind, access: Arc::clone(access), cached }))
    }

    /// The user's or token's name; `operator` for the operator, `anonymous` for the client without credentials.
    #[must_use]
    pub fn name(&self) -> &str {
        match &*self.0 {
            Identity::Operator => "operator",
            Identity::Fixed { name, .. } | Identity::Account { name, .. } => name,
        }
    }

    /// Whether it is the operator. The access file does not apply to the operator.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        matches!(*self.0, Identity::Operator)
    }

    /// Whether it is the client without credentials.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        matches!(&*self.0, Identity::Account { kind: AccountKind::Anonymous, .. })
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
        let (name, hash, kind, access, cached) = match &*self.0 {
            Identity::Operator => return Ok(None),
            Identity::Fixed { permissions, .. } => return Ok(Some(Arc::clone(permissions))),
            Identity::Account { name, hash, kind, access, cached } => {
                (name, hash, kind, access, cached)
            }
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

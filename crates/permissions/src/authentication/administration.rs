//! What an administrator sees of the accounts, and how they change: in the access file.

use super::access::Access;
use super::caller::{AccountKind, Caller};
use crate::policy::{AccessFile, Account, AccountDescription};
use bobak_core::{Error, ErrorKind, Result};
use std::path::PathBuf;

/// The roles, users and tokens of a server, without the hashes of their secrets.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AccessDescription {
    /// The access file; `None` if there is none, so that nothing can be edited.
    pub file: Option<PathBuf>,
    /// Each role with its grants.
    pub roles: Vec<(String, Vec<String>)>,
    /// The users.
    pub users: Vec<AccountDescription>,
    /// The tokens.
    pub tokens: Vec<AccountDescription>,
    /// Whether clients without credentials may read.
    pub is_public: bool,
}

impl Access {
    /// The roles, users and tokens.
    ///
    /// # Errors
    /// `Io`, `Config` if the access file can't be read.
    pub fn describe(&self) -> Result<AccessDescription> {
        let file = self.file();
        let text = match &file {
            Some(path) if path.exists() => AccessFile::read(path)?,
            _ => AccessFile::default(),
        };
        let policy = self.policy();
        let roles = policy.roles().map(|role| (role.to_owned(), text.grants(role))).collect();
        let describe = |accounts: &[Account]| accounts.iter().map(AccountDescription::of).collect();
        let (users, tokens) = (describe(policy.user_accounts()), describe(policy.token_accounts()));
        Ok(AccessDescription { file, roles, users, tokens, is_public: self.anonymous().is_some() })
    }

    /// Edits the access file, which is created if it does not exist, and reads it again. Open connections get the new
    /// permissions at their next call.
    ///
    /// # Errors
    /// `Config` if there is no access file; those of `edit`; `Io`, `ReadOnly`.
    pub fn edit(&self, edit: impl FnOnce(&mut AccessFile) -> Result<()>) -> Result<()> {
        let Some(path) = self.file() else {
            let message = "the server has no access file: start it with --access-file FILE";
            return Err(Error::new(ErrorKind::Config, message));
        };
        AccessFile::edit(&path, true, |text| edit(text).map(|()| true))?;
        self.reload()
    }

    /// A user as a caller, for an administrator who tries their permissions; `None` if there is no such user.
    #[must_use]
    pub fn as_user(&self, name: &str) -> Option<Caller> {
        let policy = self.policy();
        let user = policy.user_accounts().iter().find(|user| user.name == name)?;
        Some(Caller::from_account(user, AccountKind::User, self.state()))
    }

    /// A token as a caller, as [`as_user`](Self::as_user).
    #[must_use]
    pub fn as_token(&self, name: &str) -> Option<Caller> {
        let policy = self.policy();
        let token = policy.token_accounts().iter().find(|token| token.name == name)?;
        Some(Caller::from_account(token, AccountKind::Token, self.state()))
    }
}

//! Edits of the users and tokens of the access file.

use super::access_file::AccessFile;
use super::account::Account;
use bobak_core::{Error, ErrorKind, Result, Value};

/// A user or a token.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccountDescription {
    /// Its name.
    pub name: String,
    /// The names of its roles.
    pub roles: Vec<String>,
    /// When it expires: a date or a time.
    pub expires: Option<String>,
    /// The variables of row rules: `:tenant` stands for the value of `tenant`.
    pub variables: Vec<(String, Value<'static>)>,
}

impl AccountDescription {
    pub(crate) fn of(account: &Account) -> Self {
        Self {
            name: account.name.clone(),
            roles: account.roles.clone(),
            expires: account.expires.map(|time| time.to_string()),
            variables: account.variables.clone(),
        }
    }
}

impl AccessFile {
    /// Adds a user with the hash of a password, or replaces the user of this name. Without a hash, the user keeps
    /// its password.
    ///
    /// # Errors
    /// `Config` for an invalid name, hash, role, time or variable, and for a new user without a hash.
    pub fn set_user(&mut self, user: &AccountDescription, hash: Option<&str>) -> Result<()> {
        let known = self.policy.user_accounts().iter().find(|known| known.name == user.name);
        let known = known.map(|known| known.hash.clone());
        self.set_account("user", user, hash.map(str::to_owned).or(known), "a password")
    }

    /// Adds a token with its hash, as [`set_user`](Self::set_user).
    ///
    /// # Errors
    /// As [`set_user`](Self::set_user).
    pub fn set_token(&mut self, token: &AccountDescription, hash: Option<&str>) -> Result<()> {
        let known = self.policy.token_accounts().iter().find(|known| known.name == token.name);
        let known = known.map(|known| known.hash.clone());
        self.set_account("token", token, hash.map(str::to_owned).or(known), "a hash")
    }

    /// Removes a user. Returns whether there was one.
    ///
    /// # Errors
    /// None: the rest stays valid.
    pub fn remove_user(&mut self, name: &str) -> Result<bool> {
        self.remove_account("user", name)
    }

    /// Removes a token, as [`remove_user`](Self::remove_user).
    ///
    /// # Errors
    /// None: the rest stays valid.
    pub fn remove_token(&mut self, name: &str) -> Result<bool> {
        self.remove_account("token", name)
    }

    fn set_account(
        &mut self,
        kind: &str,
        account: &AccountDescription,
        hash: Option<String>,
        secret: &str,
    ) -> Result<()> {
        let name = &account.name;
        let config = |message: String| Error::new(ErrorKind::Config, message);
        let hash = hash.ok_or_else(|| config(format!("the new {kind} {name} needs {secret}")))?;
        let line = account_line(kind, account, &hash)?;
        let end = self.line_end();
        let mut lines = self.lines.clone();
        match lines.iter().position(|line| is_account(line, kind, name)) {
            Some(index) => lines.splice(index..=index, [line + end]).for_each(drop),
            None => {
                // The last line may lack its line break.
                if let Some(last) = lines.last_mut().filter(|last| !last.ends_with(end)) {
                    last.push_str(end);
                }
                lines.push(line + end);
            }
        }
        *self = Self::of(lines)?;
        Ok(())
    }

    fn remove_account(&mut self, kind: &str, name: &str) -> Result<bool> {
        let kept = self.lines.iter().filter(|line| !is_account(line, kind, name));
        let kept: Vec<_> = kept.cloned().collect();
        let is_removed = kept.len() < self.lines.len();
        *self = Self::of(kept)?;
        Ok(is_removed)
    }
}

/// Whether a line is that of a user or token.
fn is_account(line: &str, kind: &str, name: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some(kind) && words.next() == Some(name)
}

/// The line of a user or token.
fn account_line(kind: &str, account: &AccountDescription, hash: &str) -> Result<String> {
    let is_word = |text: &str| {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '+');
        !text.is_empty() && text.chars().all(plain)
    };
    let wrong = |text: &str| {
        let message = format!("'{text}' is no name: expected letters, digits, _ - . @ +");
        Error::new(ErrorKind::Config, message)
    };
    let variables = account.variables.iter().map(|(name, _)| name);
    let names = std::iter::once(&account.name).chain(&account.roles).chain(variables);
    if let Some(name) = names.into_iter().find(|name| !is_word(name)) {
        return Err(wrong(name));
    }
    let mut line = format!("{kind} {} {hash}", account.name);
    if !account.roles.is_empty() {
        line.push_str(&format!(" roles {}", account.roles.join(", ")));
    }
    if let Some(expires) = &account.expires {
        super::check_expiry(expires)?;
        // With a space it would need quotes.
        line.push_str(&format!(" expires {}", expires.replacen(' ', "T", 1)));
    }
    for (index, (name, value)) in account.variables.iter().enumerate() {
        line.push_str(if index == 0 { " with " } else { ", " });
        match value {
            Value::Int(number) => line.push_str(&format!("{name} = {number}")),
            Value::Text(text) if !text.contains(['\n', '\r']) => {
                line.push_str(&format!("{name} = '{}'", text.replace('\'', "''")));
            }
            Value::Text(_) => {
                let message = format!("the value of the variable '{name}' has a line break");
                return Err(Error::new(ErrorKind::Config, message));
            }
            _ => {
                let message = format!("the variable '{name}' must be a text or an integer");
                return Err(Error::new(ErrorKind::Config, message));
            }
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "role clerk\n    read on orders\nrole reader\n    read on *\n";

    #[test]
    fn accounts_are_added_changed_and_removed() {
        let mut text = AccessFile::parse(TEXT).unwrap();
        let before = text.to_string();
        let hash = crate::hash_password("correct horse").unwrap();
        let variables = vec![("tenant".to_owned(), Value::from("it's".to_owned()))];
        let (name, roles) = ("ada".to_owned(), vec!["clerk".to_owned(), "reader".to_owned()]);
        let expires = Some("2099-01-31".to_owned());
        let mut ada = AccountDescription { name, roles, expires, variables };
        assert_eq!(text.set_user(&ada, None).unwrap_err().kind(), ErrorKind::Config);
        text.set_user(&ada, Some(&hash)).unwrap();
        let line = format!(
            "user ada {hash} roles clerk, reader expires 2099-01-31 with tenant = 'it''s'\n"
        );
        assert_eq!(text.to_string(), format!("{before}{line}"));
        ada.roles.pop();
        text.set_user(&ada, None).unwrap();
        assert!(text.to_string().contains(&hash), "the password stays");
        text.set_grants("reader", &["read on a".to_owned(), "read on b".to_owned()]).unwrap();
        assert_eq!(text.grants("reader"), ["read on a", "read on b"]);
        text.set_grants("reader", &["read on *".to_owned()]).unwrap();
        assert!(text.remove_user("ada").unwrap() && !text.remove_user("ada").unwrap());
        assert_eq!(text.to_string(), before);
        for name in ["", "a b", "a\nb", "#x", "a,b"] {
            let wrong = AccountDescription { name: name.to_owned(), ..ada.clone() };
            assert_eq!(text.set_user(&wrong, Some(&hash)).unwrap_err().kind(), ErrorKind::Config);
        }
        let wrong = AccountDescription { roles: vec!["nosuch".to_owned()], ..ada };
        assert_eq!(text.set_user(&wrong, Some(&hash)).unwrap_err().kind(), ErrorKind::Config);
        assert!(!text.remove_token("nosuch").unwrap());
    }
}

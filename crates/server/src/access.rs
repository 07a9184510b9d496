//! Who may come in: tokens, and users with passwords.

use crate::rights::Rights;
use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use bobak_core::{Error, ErrorKind, Result};
use bobak_wire::Credentials;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

/// The shortest token: 16 characters. Those that are guessed by a program are shorter.
const SHORTEST_TOKEN: usize = 16;

/// What is known of those who may come in.
#[derive(Default)]
pub struct Access {
    tokens: Vec<String>,
    /// Names, with their passwords' hashes in the PHC form.
    users: Vec<(String, String)>,
    /// One password is looked at at a time: each takes 19 MiB, and a good part of a processor.
    looking: Mutex<()>,
}

/// Somebody who was let in.
#[derive(Clone, Debug)]
pub struct Identity {
    /// For the log.
    pub name: String,
    pub(crate) rights: Rights,
}

/// Makes the hash of a password, in the PHC form: argon2id, salted.
///
/// # Errors
/// `Config` for an empty password; `Engine` where the system has no random bytes.
pub fn hash_password(password: &str) -> Result<String> {
    if password.is_empty() {
        return Err(Error::new(ErrorKind::Config, "the password is empty"));
    }
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| {
        Error::new(ErrorKind::Engine, "the password could not be hashed")
            .with_source(error.to_string())
    })
}

impl Access {
    /// Lets in whoever shows this token.
    ///
    /// # Errors
    /// `Config` where it is shorter than 16 characters.
    pub fn add_token(&mut self, token: &str) -> Result<()> {
        if token.chars().count() < SHORTEST_TOKEN {
            let message = format!("a token has at least {SHORTEST_TOKEN} characters");
            return Err(Error::new(ErrorKind::Config, message));
        }
        self.tokens.push(token.to_owned());
        Ok(())
    }

    /// Lets in this user, whose password has this hash.
    ///
    /// # Errors
    /// `Config` where the name is empty or there already, or the hash is none of argon2's.
    pub fn add_user(&mut self, name: &str, hash: &str) -> Result<()> {
        let wrong = |what: &str| Error::new(ErrorKind::Config, format!("user '{name}' {what}"));
        if name.is_empty() || self.users.iter().any(|(other, _)| other == name) {
            return Err(wrong("has no name, or is there twice"));
        }
        if PasswordHash::new(hash).is_err() {
            return Err(wrong("has no argon2 hash of a password: make one with `bobak user`"));
        }
        self.users.push((name.to_owned(), hash.to_owned()));
        Ok(())
    }

    /// Whether anybody at all may come in over a network.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.users.is_empty()
    }

    /// Lets somebody in. `trusted` is a door that the operating system guards.
    ///
    /// # Errors
    /// `Denied`, in the same words whatever was wrong.
    pub fn check(&self, credentials: &Credentials, trusted: bool) -> Result<Identity> {
        let name = match credentials {
            Credentials::None if trusted => Some("operator".to_owned()),
            Credentials::None => {
                let message = "the server wants a token, or a user with a password";
                return Err(Error::new(ErrorKind::Denied, message));
            }
            Credentials::Token(token) => self.knows_token(token).then(|| "token".to_owned()),
            Credentials::User { name, password } => {
                self.knows_user(name, password).then(|| name.clone())
            }
        };
        let name = name.ok_or_else(|| {
            let message = "the token, the user or the password is wrong";
            Error::new(ErrorKind::Denied, message)
        })?;
        Ok(Identity { name, rights: Rights::everything() })
    }

    fn knows_token(&self, token: &str) -> bool {
        // All are compared, so that the time tells nothing.
        self.tokens.iter().fold(false, |found, known| same(known, token) | found)
    }

    fn knows_user(&self, name: &str, password: &str) -> bool {
        let user = self.users.iter().find(|(other, _)| other == name);
        // A user that is not there takes as long as one that is.
        let hash = user.or(self.users.first()).map(|(_, hash)| hash.as_str());
        let Some(Ok(hash)) = hash.map(PasswordHash::new) else { return false };
        let _one = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let right = Argon2::default().verify_password(password.as_bytes(), &hash).is_ok();
        right && user.is_some()
    }
}

/// Compares without ending early.
fn same(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| black_box(differ | (a ^ b)));
    differ == 0 && a.len() == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, password: &str) -> Credentials {
        Credentials::User { name: name.to_owned(), password: password.to_owned() }
    }

    #[test]
    fn only_who_is_known_comes_in() {
        let mut access = Access::default();
        assert!(access.is_empty() && access.add_token("short").is_err());
        assert!(access.add_user("ada", "plain text").is_err());
        access.add_token("0123456789abcdef").unwrap();
        access.add_user("ada", &hash_password("secret").unwrap()).unwrap();
        let token = |token: &str| Credentials::Token(token.to_owned());
        assert!(access.check(&token("0123456789abcdef"), false).is_ok());
        assert!(access.check(&user("ada", "secret"), false).is_ok());
        assert!(access.check(&Credentials::None, true).is_ok());
        let wrong = [
            Credentials::None,
            token("0123456789abcdeg"),
            token("0123456789abcdef0"),
            token(""),
            user("ada", "Secret"),
            user("bob", "secret"),
        ];
        for credentials in wrong {
            let error = access.check(&credentials, false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{credentials:?}");
        }
        assert!(hash_password("").is_err());
    }
}

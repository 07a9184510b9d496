//! Users and tokens of the access file.

use super::expiry::parse_expiry;
use super::line_parser::LineParser;
use crate::secret::{is_password_hash, is_token_hash};
use bobak_core::{Error, ErrorKind, Result, Value};
use jiff::Timestamp;

/// A user or a token.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub name: String,
    /// Of the password or the token.
    pub hash: String,
    pub roles: Vec<String>,
    pub expires: Option<Timestamp>,
    /// For row rules: `:name` stands for the value.
    pub variables: Vec<(String, Value<'static>)>,
}

impl Account {
    /// A user with roles only.
    ///
    /// # Errors
    /// `Config` if the hash is not one of a password.
    pub fn user(name: &str, hash: &str, roles: &[String]) -> Result<Self> {
        let (name, hash, roles) = (name.to_owned(), hash.to_owned(), roles.to_vec());
        Self { name, hash, roles, expires: None, variables: Vec::new() }.check_password_hash()
    }

    /// Parses `user NAME HASH roles A, B expires TIME with NAME = VALUE, …`, where everything from
    /// `roles` on is optional.
    pub fn parse_user(line: &str) -> Result<Self> {
        Self::parse(line)?.check_password_hash()
    }

    /// Parses `token NAME HASH …`, as [`parse_user`](Self::parse_user).
    pub fn parse_token(line: &str) -> Result<Self> {
        let account = Self::parse(line)?;
        if is_token_hash(&account.hash) {
            return Ok(account);
        }
        let message = "has no valid token hash: create one with `bobak token`";
        Err(Error::new(ErrorKind::Config, format!("token '{}' {message}", account.name)))
    }

    fn check_password_hash(self) -> Result<Self> {
        if is_password_hash(&self.hash) {
            return Ok(self);
        }
        let message = "has no valid argon2 password hash: create one with `bobak user`";
        Err(Error::new(ErrorKind::Config, format!("user '{}' {message}", self.name)))
    }

    fn parse(line: &str) -> Result<Self> {
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let (Some(name), Some(hash)) = (words.next(), words.next()) else {
            let message = format!("expected `{kind} NAME HASH`, and roles");
            return Err(Error::new(ErrorKind::Config, message));
        };
        // Hashes contain characters that mean something else elsewhere, such as `,` and `=`.
        let rest = line.split_once(hash).map_or("", |(_, rest)| rest);
        let mut account = Self {
            name: name.to_owned(),
            hash: hash.to_owned(),
            roles: Vec::new(),
            expires: None,
            variables: Vec::new(),
        };
        account.parse_options(LineParser::new(rest))?;
        Ok(account)
    }

    fn parse_options(&mut self, mut line: LineParser<'_>) -> Result<()> {
        if line.take_word("roles") || line.take_word("role") {
            self.roles.push(line.name("a role")?);
            while line.take_symbol(',') {
                self.roles.push(line.name("a role")?);
            }
        }
        if line.take_word("expires") {
            self.expires = Some(parse_expiry(&line.name("a date")?)?);
        }
        if line.take_word("with") {
            self.variables.push(parse_variable(&mut line)?);
            while line.take_symbol(',') {
                self.variables.push(parse_variable(&mut line)?);
            }
        }
        line.expect_end()
    }
}

/// Parses `name = 'text'` or `name = 7`.
fn parse_variable(line: &mut LineParser<'_>) -> Result<(String, Value<'static>)> {
    let name = line.name("a variable's name")?;
    if name.eq_ignore_ascii_case("user") {
        let message = "the variable 'user' is the account's own name: choose another name";
        return Err(Error::new(ErrorKind::Config, message));
    }
    if !line.take_symbol('=') {
        return Err(line.expected("'='"));
    }
    if let Some(text) = line.quoted('\'')? {
        return Ok((name, Value::from(text)));
    }
    let wanted = "an integer, or a text in single quotes";
    let error = line.expected(wanted);
    let number = line.name(wanted)?.parse().map_err(|_| error)?;
    Ok((name, Value::Int(number)))
}

//! The content of the access file.

use super::account::Account;
use super::grant::{CallerPermissions, Grant};
use super::line_parser::LineParser;
use bobak_core::{Error, ErrorKind, Result, TableSchema, Value};
use std::sync::Arc;

/// The built-in role with all permissions everywhere.
const ADMIN: &str = "admin";
/// The role of clients without credentials, if the server is public.
const PUBLIC: &str = "public";

/// Roles, users and tokens. The text has one statement per line; see `docs/permissions.md`.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    roles: Vec<AccessRole>,
    users: Vec<Account>,
    tokens: Vec<Account>,
}

#[derive(Clone, Debug)]
struct AccessRole {
    name: String,
    grants: Vec<Arc<Grant>>,
}

impl Policy {
    /// Parses the text of an access file.
    ///
    /// # Errors
    /// `Config`, with the line number.
    pub fn parse(text: &str) -> Result<Self> {
        let mut policy = Self::default();
        for (line, number) in text.lines().zip(1_u64..) {
            policy.parse_line(line).map_err(|error| {
                let message = format!("line {number}: {}", error.message());
                Error::new(ErrorKind::Config, message)
            })?;
        }
        policy.check()?;
        Ok(policy)
    }

    /// The names of its roles, without the built-in `admin`.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.roles.iter().map(|role| role.name.as_str())
    }

    /// The names of its users.
    pub fn users(&self) -> impl Iterator<Item = &str> {
        self.users.iter().map(|user| user.name.as_str())
    }

    /// The names of its tokens.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(|token| token.name.as_str())
    }

    /// The accounts that have a role: `user ada`, `token till-1`.
    pub fn accounts_with(&self, role: &str) -> impl Iterator<Item = String> {
        let users = self.users.iter().map(|user| ("user", user));
        let all = users.chain(self.tokens.iter().map(|token| ("token", token)));
        let has = move |account: &Account| account.roles.iter().any(|other| other == role);
        all.filter(move |(_, account)| has(account))
            .map(|(kind, account)| format!("{kind} {}", account.name))
    }

    /// Checks that the row rules of a role name columns that the table has, if its grants name the table.
    ///
    /// # Errors
    /// `Config` with the rule and the column.
    pub fn check_table(&self, role: &str, database: &str, table: &TableSchema) -> Result<()> {
        let role = self.roles.iter().find(|known| known.name == role);
        let mut grants = role.into_iter().flat_map(|role| &role.grants);
        grants.try_for_each(|grant| grant.check_table(database, table))
    }

    pub(crate) fn user_accounts(&self) -> &[Account] {
        &self.users
    }

    pub(crate) fn token_accounts(&self) -> &[Account] {
        &self.tokens
    }

    /// What an account may do.
    pub(crate) fn permissions_of(&self, account: &Account) -> CallerPermissions {
        let mut grants = Vec::new();
        for name in &account.roles {
            if name == ADMIN {
                grants.push(Arc::new(Grant::everything()));
            }
            let role = self.roles.iter().find(|role| role.name == *name);
            grants.extend(role.into_iter().flat_map(|role| role.grants.iter().cloned()));
        }
        let mut variables = account.variables.clone();
        variables.push(("user".to_owned(), Value::from(account.name.clone())));
        CallerPermissions::new(grants, variables, account.expires)
    }

    /// What clients without credentials may do in a public server: what the role `public` grants, except writes; without
    /// that role, read everything.
    pub(crate) fn public_permissions(&self, name: &str) -> CallerPermissions {
        let role = self.roles.iter().find(|role| role.name == PUBLIC);
        let grants = match role {
            Some(role) => {
                let kept = role.grants.iter().map(|grant| grant.read_only());
                kept.filter(|grant| !grant.permissions.is_empty()).map(Arc::new).collect()
            }
            None => vec![Arc::new(Grant::everything().read_rows_only())],
        };
        let variables = vec![("user".to_owned(), Value::from(name.to_owned()))];
        CallerPermissions::new(grants, variables, None)
    }

    /// The policy with one more user.
    ///
    /// # Errors
    /// `Config` if the name exists, or one of its roles does not.
    pub(crate) fn with_user(mut self, user: Account) -> Result<Self> {
        self.users.push(user);
        self.check()?;
        Ok(self)
    }

    fn parse_line(&mut self, line: &str) -> Result<()> {
        let trimmed = line.trim();
        match trimmed.split_whitespace().next() {
            Some("user") => self.users.push(Account::parse_user(trimmed)?),
            Some("token") => self.tokens.push(Account::parse_token(trimmed)?),
            Some("role") => {
                let mut line = LineParser::new(trimmed);
                line.take_word("role");
                let name = line.name("the role's name")?;
                line.expect_end()?;
                self.roles.push(AccessRole { name, grants: Vec::new() });
            }
            Some(word) if !word.starts_with('#') => {
                let mut grant = Grant::parse(trimmed)?;
                let role = self.roles.last_mut().ok_or_else(|| {
                    Error::new(ErrorKind::Config, "a grant must follow a role: `role NAME`")
                })?;
                grant.rule = grant.rule.map(|rule| rule.of_role(&role.name));
                role.grants.push(Arc::new(grant));
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that names are unique, and that accounts have roles that exist.
    fn check(&self) -> Result<()> {
        let config = |message: String| Err(Error::new(ErrorKind::Config, message));
        let names = |accounts: &[Account]| -> Vec<String> {
            accounts.iter().map(|account| account.name.clone()).collect()
        };
        let roles = self.roles().map(str::to_owned).collect();
        let kinds = [("role", roles), ("user", names(&self.users)), ("token", names(&self.tokens))];
        for (kind, mut names) in kinds {
            names.sort();
            if let Some([name, _]) = names.windows(2).find(|pair| pair.first() == pair.last()) {
                return config(format!("duplicate {kind} '{name}'"));
            }
            if kind == "role" && names.iter().any(|name| name == ADMIN) {
                return config(format!("the role '{ADMIN}' is built in: choose another name"));
            }
        }
        for account in self.users.iter().chain(&self.tokens) {
            let exists = |name: &&String| *name == ADMIN || self.roles().any(|role| role == *name);
            if let Some(role) = account.roles.iter().find(|name| !exists(name)) {
                let name = &account.name;
                return config(format!("'{name}' has the role '{role}', which does not exist"));
            }
        }
        Ok(())
    }
}

//! What the file says: roles with their grants, users, and tokens.

use crate::expiry::expiry;
use crate::right::{PermissionSet, Right};
use crate::rule::{Rule, Variables};
use crate::secret::{is_password_hash, is_token_hash};
use crate::tokens::Tokens;
use bobak_core::feed::is_own;
use bobak_core::{Error, ErrorKind, Result, Value};
use jiff::Timestamp;
use std::sync::Arc;

/// The role that is there without being written: everything, everywhere.
const ADMIN: &str = "admin";

/// Roles, users and tokens. Its text has a statement in each line; see `docs/permissions.md`.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    roles: Vec<Role>,
    users: Vec<Account>,
    tokens: Vec<Account>,
}

#[derive(Clone, Debug)]
struct Role {
    name: String,
    grants: Vec<Arc<Grant>>,
}

/// Somebody who may come in.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub name: String,
    pub hash: String,
    roles: Vec<String>,
    expires: Option<Timestamp>,
    variables: Vec<(String, Value<'static>)>,
}

/// Rights on some tables, or on some rows of them.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub rights: PermissionSet,
    tables: Vec<Tables>,
    pub rule: Option<Rule>,
}

/// Tables by name: `orders`, `shop.orders`, `shop.*`, `*`.
#[derive(Clone, Debug, PartialEq)]
struct Tables {
    database: Option<String>,
    table: Option<String>,
}

/// What one caller may do.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    grants: Vec<Arc<Grant>>,
    variables: Vec<(String, Value<'static>)>,
    expires: Option<Timestamp>,
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// `Config`, with the number of the line.
    pub fn parse(text: &str) -> Result<Self> {
        let mut policy = Self::default();
        for (line, number) in text.lines().zip(1_u64..) {
            policy.read_line(line).map_err(|error| {
                let message = format!("line {number}: {}", error.message());
                Error::new(ErrorKind::Config, message)
            })?;
        }
        policy.check()?;
        Ok(policy)
    }

    /// The names of its roles, the built-in `admin` aside.
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

    /// Who has a role: `user ada`, `token till-1`.
    pub fn holders(&self, role: &str) -> impl Iterator<Item = String> {
        let users = self.users.iter().map(|user| ("user", user));
        let all = users.chain(self.tokens.iter().map(|token| ("token", token)));
        let has = move |account: &Account| account.roles.iter().any(|other| other == role);
        all.filter(move |(_, account)| has(account))
            .map(|(kind, account)| format!("{kind} {}", account.name))
    }

    pub(crate) fn user_accounts(&self) -> &[Account] {
        &self.users
    }

    pub(crate) fn token_accounts(&self) -> &[Account] {
        &self.tokens
    }

    /// What an account may do.
    pub(crate) fn rights_of(&self, account: &Account) -> Rights {
        let mut grants = Vec::new();
        for name in &account.roles {
            if name == ADMIN {
                grants.push(Arc::new(Grant::everything()));
            }
            let role = self.roles.iter().find(|role| role.name == *name);
            grants.extend(role.into_iter().flat_map(|role| role.grants.iter().cloned()));
        }
        let mut variables = account.variables.clone();
        if variables.iter().all(|(name, _)| name != "user") {
            variables.push(("user".to_owned(), Value::from(account.name.clone())));
        }
        Rights { grants, variables, expires: account.expires }
    }

    /// The policy with another user.
    ///
    /// # Errors
    /// `Config` where it is there, or has a role that is not.
    pub(crate) fn with_user(mut self, user: Account) -> Result<Self> {
        self.users.push(user);
        self.check()?;
        Ok(self)
    }

    fn read_line(&mut self, line: &str) -> Result<()> {
        let trimmed = line.trim();
        let mut words = trimmed.split_whitespace();
        match words.next() {
            Some("user") => {
                self.users.push(Account::read(trimmed)?.with_password()?);
            }
            Some("token") => {
                self.tokens.push(Account::read(trimmed)?.with_token()?);
            }
            Some("role") => {
                let mut tokens = Tokens::of(trimmed);
                tokens.takes_word("role");
                let name = tokens.name("the role's name")?;
                tokens.end()?;
                self.roles.push(Role { name, grants: Vec::new() });
            }
            Some(word) if !word.starts_with('#') => {
                let grant = Grant::read(Tokens::of(trimmed))?;
                let role = self.roles.last_mut().ok_or_else(|| {
                    Error::new(ErrorKind::Config, "a grant stands below its role: `role NAME`")
                })?;
                role.grants.push(Arc::new(grant));
            }
            _ => {}
        }
        Ok(())
    }

    /// Names are there once, and roles that are named are there.
    fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::new(ErrorKind::Config, message));
        let names = |accounts: &[Account]| -> Vec<String> {
            accounts.iter().map(|account| account.name.clone()).collect()
        };
        let roles = self.roles().map(str::to_owned).collect();
        let kinds = [("role", roles), ("user", names(&self.users)), ("token", names(&self.tokens))];
        for (kind, mut names) in kinds {
            names.sort();
            if let Some([name, _]) = names.windows(2).find(|pair| pair.first() == pair.last()) {
                return wrong(format!("the {kind} '{name}' is there twice"));
            }
            if kind == "role" && names.iter().any(|name| name == ADMIN) {
                return wrong(format!("the role '{ADMIN}' is built in: name yours otherwise"));
            }
        }
        for account in self.users.iter().chain(&self.tokens) {
            let known = |name: &&String| *name == ADMIN || self.roles().any(|role| role == *name);
            if let Some(role) = account.roles.iter().find(|name| !known(name)) {
                return wrong(format!(
                    "'{}' has the role '{role}', which is not there",
                    account.name
                ));
            }
        }
        Ok(())
    }
}

impl Account {
    /// A user.
    ///
    /// # Errors
    /// `Config` where the hash is none.
    pub(crate) fn user(name: &str, hash: &str, roles: &[String]) -> Result<Self> {
        let (name, hash, roles) = (name.to_owned(), hash.to_owned(), roles.to_vec());
        Self { name, hash, roles, expires: None, variables: Vec::new() }.with_password()
    }

    fn with_password(self) -> Result<Self> {
        if is_password_hash(&self.hash) {
            return Ok(self);
        }
        let message = "has no argon2 hash of a password: make one with `bobak user`";
        Err(Error::new(ErrorKind::Config, format!("user '{}' {message}", self.name)))
    }

    fn with_token(self) -> Result<Self> {
        if is_token_hash(&self.hash) {
            return Ok(self);
        }
        let message = "has no hash of a token: make one with `bobak token`";
        Err(Error::new(ErrorKind::Config, format!("token '{}' {message}", self.name)))
    }

    /// `user NAME HASH roles A, B expires TIME with NAME = VALUE, …`; all from `roles` on may be
    /// missing.
    fn read(line: &str) -> Result<Self> {
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let (Some(name), Some(hash)) = (words.next(), words.next()) else {
            let message = format!("expected `{kind} NAME HASH`, and roles");
            return Err(Error::new(ErrorKind::Config, message));
        };
        // Hashes hold signs that mean something else elsewhere.
        let rest = line.split_once(hash).map_or("", |(_, rest)| rest);
        let mut account = Self {
            name: name.to_owned(),
            hash: hash.to_owned(),
            roles: Vec::new(),
            expires: None,
            variables: Vec::new(),
        };
        account.read_rest(Tokens::of(rest))?;
        Ok(account)
    }

    fn read_rest(&mut self, mut tokens: Tokens<'_>) -> Result<()> {
        if tokens.takes_word("roles") || tokens.takes_word("role") {
            self.roles.push(tokens.name("a role")?);
            while tokens.takes_sign(',') {
                self.roles.push(tokens.name("a role")?);
            }
        }
        if tokens.takes_word("expires") {
            self.expires = Some(expiry(&tokens.name("a date")?)?);
        }
        if tokens.takes_word("with") {
            self.variables.push(variable(&mut tokens)?);
            while tokens.takes_sign(',') {
                self.variables.push(variable(&mut tokens)?);
            }
        }
        tokens.end()
    }
}

impl Grant {
    fn everything() -> Self {
        let everywhere = Tables { database: None, table: None };
        Self { rights: PermissionSet::ALL, tables: vec![everywhere], rule: None }
    }

    /// `read, insert on orders, shop.lines where owner = $user`.
    fn read(mut tokens: Tokens<'_>) -> Result<Self> {
        let mut rights = PermissionSet::of_word(&tokens.name("a right")?)?;
        while tokens.takes_sign(',') {
            rights = rights.and(PermissionSet::of_word(&tokens.name("a right")?)?);
        }
        if !tokens.takes_word("on") {
            return Err(tokens.expected("`on`, and tables"));
        }
        let mut tables = vec![Tables::read(&mut tokens)?];
        while tokens.takes_sign(',') {
            tables.push(Tables::read(&mut tokens)?);
        }
        let rule = match tokens.takes_word("where") {
            true => Some(Rule::new(tokens.rest())?),
            false => tokens.end().map(|()| None)?,
        };
        if rule.is_some() && (rights.has(Right::Sql) || rights.has(Right::Schema)) {
            let message = "a rule about rows goes with read, insert, update and delete only: grant \
                           sql and schema in a line of their own";
            return Err(Error::new(ErrorKind::Config, message));
        }
        Ok(Self { rights, tables, rule })
    }

    /// Whether it is about this table. What belongs to the engine itself is not meant by `*`.
    fn covers(&self, database: &str, table: &str) -> bool {
        self.tables.iter().any(|tables| {
            tables.is_in(database)
                && match &tables.table {
                    Some(name) => name.eq_ignore_ascii_case(table),
                    None => !is_internal(table),
                }
        })
    }
}

impl Tables {
    fn read(tokens: &mut Tokens<'_>) -> Result<Self> {
        let whole = |database| Ok(Self { database, table: None });
        if tokens.takes_sign('*') {
            return whole(None);
        }
        if let Some(name) = tokens.quoted('"')? {
            return Ok(Self { database: None, table: Some(name) });
        }
        let word = tokens.name("a table")?;
        match word.split_once('.') {
            Some((database, "")) if !database.is_empty() => {
                let database = Some(database.to_owned());
                if tokens.takes_sign('*') {
                    return whole(database);
                }
                Ok(Self { database, table: Some(tokens.name("a table")?) })
            }
            Some((database, table)) => {
                Ok(Self { database: Some(database.to_owned()), table: Some(table.to_owned()) })
            }
            None => Ok(Self { database: None, table: Some(word) }),
        }
    }

    fn is_in(&self, database: &str) -> bool {
        self.database.as_ref().is_none_or(|name| name == database)
    }
}

impl Rights {
    /// The grants about a table.
    pub fn on(&self, database: &str, table: &str) -> impl Iterator<Item = &Grant> {
        self.grants.iter().map(|grant| &**grant).filter(move |g| g.covers(database, table))
    }

    /// All rights on a table, those with rules included.
    pub fn set_on(&self, database: &str, table: &str) -> PermissionSet {
        self.on(database, table).fold(PermissionSet::NONE, |set, grant| set.and(grant.rights))
    }

    /// Whether there are any on the database.
    pub fn sees(&self, database: &str) -> bool {
        let mut tables = self.grants.iter().flat_map(|grant| &grant.tables);
        tables.any(|tables| tables.is_in(database))
    }

    /// Whether anything may be written in the database.
    pub fn writes(&self, database: &str) -> bool {
        const WRITES: [Right; 4] = [Right::Insert, Right::Update, Right::Delete, Right::Schema];
        let writes = |grant: &Grant| WRITES.iter().any(|right| grant.rights.has(*right));
        let mut grants = self.grants.iter().filter(|grant| writes(grant));
        grants.any(|grant| grant.tables.iter().any(|tables| tables.is_in(database)))
    }

    /// Whether SQL is allowed on any of the database's tables.
    pub fn has_sql(&self, database: &str) -> bool {
        let mut grants = self.grants.iter().filter(|grant| grant.rights.has(Right::Sql));
        grants.any(|grant| grant.tables.iter().any(|tables| tables.is_in(database)))
    }

    /// Whether everything on the database is allowed.
    pub fn is_whole(&self, database: &str) -> bool {
        let everywhere = |tables: &Tables| tables.is_in(database) && tables.table.is_none();
        let whole = self.grants.iter().filter(|grant| grant.rule.is_none());
        let whole = whole.filter(|grant| grant.tables.iter().any(everywhere));
        whole.fold(PermissionSet::NONE, |set, grant| set.and(grant.rights)) == PermissionSet::ALL
    }

    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    pub const fn expires(&self) -> Option<Timestamp> {
        self.expires
    }
}

/// Refuses what is no grant.
///
/// # Errors
/// `Config`.
pub(crate) fn check_grant(text: &str) -> Result<()> {
    if text.contains(['\n', '\r']) {
        return Err(Error::new(ErrorKind::Config, "a grant is one line"));
    }
    Grant::read(Tokens::of(text)).map(|_| ())
}

/// Whether a table is the engine's own, or a log of changes: catalogues, statistics, users.
fn is_internal(table: &str) -> bool {
    let begins = |prefix: &&str| {
        table.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    ["sqlite_", "pragma_", "pg_"].iter().any(begins) || is_own(table)
}

/// `name = 'text'` or `name = 7`.
fn variable(tokens: &mut Tokens<'_>) -> Result<(String, Value<'static>)> {
    let name = tokens.name("a variable's name")?;
    if !tokens.takes_sign('=') {
        return Err(tokens.expected("'='"));
    }
    if let Some(text) = tokens.quoted('\'')? {
        return Ok((name, Value::from(text)));
    }
    let wanted = "a whole number, or a text in single quotes";
    let unfit = tokens.expected(wanted);
    let number = tokens.name(wanted)?.parse().map_err(|_| unfit)?;
    Ok((name, Value::Int(number)))
}

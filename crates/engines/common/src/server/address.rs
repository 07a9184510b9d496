//! The places in a URL of servers.

use bobak_core::Result;
use bobak_core::url::{config, decode};

/// The parts of `user:password@host:port,host:port/database?settings`, decoded but for the settings.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl<'u> {
    /// The hosts, without the brackets of IPv6 addresses, and their ports. A name may be empty.
    pub hosts: Vec<(String, u16)>,
    /// What follows the first `/`; it may be empty.
    pub database: String,
    /// The user, if one is named.
    pub user: Option<String>,
    /// The password, which may be empty, if there is one.
    pub password: Option<String>,
    /// The settings, as they are written.
    pub settings: &'u str,
}

impl<'u> ServerUrl<'u> {
    /// Reads what follows the scheme of a URL; `port` is the default.
    ///
    /// # Errors
    /// `Config`, without the password.
    pub fn parse(rest: &'u str, port: u16) -> Result<Self> {
        let (place, settings) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        // What follows may be a part of a password, which no error may show.
        if login.is_empty() && database.contains('@') {
            return Err(config("write %2F for a / of the password, %40 for an @ of the database"));
        }
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(decode(password)?)),
            None => (login, None),
        };
        let user = if user.is_empty() { None } else { Some(decode(user)?) };
        let hosts = hosts.split(',').map(|host| parse_host(host, port)).collect::<Result<_>>()?;
        Ok(Self { hosts, database: decode(database)?, user, password, settings })
    }
}

/// `name`, `name:port`, `[address]:port`.
fn parse_host(text: &str, port: u16) -> Result<(String, u16)> {
    let (name, given) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address, rest.strip_prefix(':')),
        None => match text.rsplit_once(':') {
            Some((name, port)) if !name.ends_with(':') => (name, Some(port)),
            _ => (text, None),
        },
    };
    let port = match given {
        None => port,
        Some(port) => port.parse().map_err(|_| config(format!("'{port}' is not a port")))?,
    };
    Ok((decode(name)?, port))
}

/// Where a database is on a server, and who logs in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ServerAddress {
    /// The host, without the brackets of an IPv6 address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The database, or what the server calls so.
    pub database: String,
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
}

impl ServerAddress {
    /// The address of a database, at the default port and with the default user, who has no password.
    #[must_use]
    pub fn new(host: String, database: String, (port, user): (u16, &str)) -> Self {
        Self { host, port, database, user: user.to_owned(), password: String::new() }
    }

    /// Reads `scheme://user:password@host:port/database?settings`; returns the settings, too, as they are written. `usage` is the
    /// message for a URL of another scheme, or without a host or a database.
    ///
    /// # Errors
    /// `Config`, without the password.
    pub fn parse<'u>(
        url: &'u str,
        (scheme, usage): (&str, &str),
        (port, user): (u16, &str),
    ) -> Result<(Self, &'u str)> {
        let rest = url.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://"));
        let url = ServerUrl::parse(rest.ok_or_else(|| config(usage))?, port)?;
        let mut hosts = url.hosts;
        let (host, port) = hosts.pop().filter(|_| hosts.is_empty()).unwrap_or_default();
        if host.is_empty() || url.database.is_empty() {
            return Err(config(usage));
        }
        let password = url.password.filter(|_| url.user.is_some()).unwrap_or_default();
        let user = url.user.unwrap_or_else(|| user.to_owned());
        Ok((Self { host, port, database: url.database, user, password }, url.settings))
    }
}

impl std::fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}/{}", self.host, self.port, self.database)
    }
}

impl std::fmt::Debug for ServerAddress {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{self}", self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_parsed_and_errors_show_no_password() {
        let url = ServerUrl::parse("a%40b:p%3Aw@h1,[::1]:2,:3/db%2F1?x=1", 9).unwrap();
        assert_eq!(url.hosts, [("h1".into(), 9), ("::1".into(), 2), (String::new(), 3)]);
        assert_eq!((url.user.as_deref(), url.password.as_deref()), (Some("a@b"), Some("p:w")));
        assert_eq!((&*url.database, url.settings), ("db/1", "x=1"));
        let parse = |url| ServerAddress::parse(url, ("x", "usage"), (9, "me"));
        let (address, settings) = parse("x://h/db?y=2").unwrap();
        assert_eq!((address.to_string().as_str(), &*address.user), ("h:9/db", "me"));
        assert_eq!((&*address.password, settings), ("", "y=2"));
        assert!(parse("y://h/db").is_err());
        for wrong in ["u:secret/x@h/db", "u:secret@h:x/db", "u:secret@h", "u:secret@a,b/db"] {
            let url = format!("x://{wrong}");
            let error = ServerAddress::parse(&url, ("x", "usage"), (9, "me")).err().unwrap();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}

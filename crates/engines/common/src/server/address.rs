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

/// The parts of `user:password@host:port/database?settings`, decoded but for the settings.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress<'u> {
    /// The host, without the brackets of an IPv6 address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What follows the first `/`.
    pub database: String,
    /// The user and the password, if the URL has a login. The password may be empty.
    pub login: Option<(String, String)>,
    /// The settings, as they are written.
    pub settings: &'u str,
}

impl<'u> ServerAddress<'u> {
    /// Reads what follows the scheme of a URL; `port` is the default, `usage` the message for one that has no host or no
    /// database.
    ///
    /// # Errors
    /// `Config`, without the password.
    pub fn parse(rest: &'u str, port: u16, usage: &str) -> Result<Self> {
        let ServerUrl { mut hosts, database, user, password, settings } =
            ServerUrl::parse(rest, port)?;
        let (host, port) = hosts.pop().filter(|_| hosts.is_empty()).unwrap_or_default();
        if host.is_empty() || database.is_empty() {
            return Err(config(usage));
        }
        let login = user.map(|user| (user, password.unwrap_or_default()));
        Ok(Self { host, port, database, login, settings })
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
        let address = ServerAddress::parse("h/db", 9, "usage").unwrap();
        assert_eq!((&*address.host, address.port, address.login), ("h", 9, None));
        for wrong in ["u:secret/x@h/db", "u:secret@h:x/db", "u:secret@h", "u:secret@a,b/db"] {
            let error = ServerAddress::parse(wrong, 9, "usage").err().unwrap();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}

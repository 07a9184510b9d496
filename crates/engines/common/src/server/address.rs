//! The place in a URL of a server.

use bobak_core::Result;
use bobak_core::url::{config, decode};

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
        let (place, settings) = rest.split_once('?').unwrap_or((rest, ""));
        let (login, place) = match place.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, place),
        };
        let (host, database) = place.split_once('/').ok_or_else(|| config(usage))?;
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') && !port.ends_with(']') => {
                (host, port.parse().map_err(|_| config("the port is no number from 1 to 65535"))?)
            }
            _ => (host, port),
        };
        if host.is_empty() || database.is_empty() {
            return Err(config(usage));
        }
        let host = decode(host.trim_start_matches('[').trim_end_matches(']'))?;
        let login = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            Some((user, password)) => Some((decode(user)?, decode(password)?)),
            None => None,
        };
        Ok(Self { host, port, database: decode(database)?, login, settings })
    }
}

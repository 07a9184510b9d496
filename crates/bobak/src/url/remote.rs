//! URLs of databases on a Bobak server.

use super::unknown;
use bobak_core::url::{config, decode, number};
use bobak_core::{Engine, Result};
use bobak_remote::{Remote, RemoteBuilder};
use std::sync::Arc;
use std::time::Duration;

/// The default port.
const PORT: u16 = 4715;

/// `bobak://host:port/database`: `place` is what follows `bobak:`.
pub(super) fn tcp(place: &str, settings: &[(String, String)]) -> Result<Arc<dyn Engine>> {
    let place = place.strip_prefix("//").unwrap_or(place);
    let (host, database) = place.split_once('/').unwrap_or((place, ""));
    if host.is_empty() {
        return Err(config("no host; write bobak://HOST:PORT/DATABASE"));
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { host.to_owned() } else { format!("{host}:{PORT}") };
    let (rest, tls) = take(settings, "tls");
    let builder = builder(&rest, Some(database))?;
    let remote = match tls.as_deref() {
        None | Some("off") => builder.open_tcp(address)?,
        Some("on") => over_tls(builder, address)?,
        Some(other) => return Err(config(format!("tls is one of on, off, not '{other}'"))),
    };
    Ok(Arc::new(remote))
}

#[cfg(feature = "remote-tls")]
fn over_tls(builder: RemoteBuilder, address: String) -> Result<Remote> {
    builder.open_tls(address)
}

#[cfg(not(feature = "remote-tls"))]
fn over_tls(_: RemoteBuilder, _: String) -> Result<Remote> {
    Err(config("this program was built without TLS: enable the feature `remote-tls` of bobak"))
}

/// `bobak+unix:/path/to/socket?db=database`.
#[cfg(unix)]
pub(super) fn unix(place: &str, settings: &[(String, String)]) -> Result<Arc<dyn Engine>> {
    if place.is_empty() {
        return Err(config("no socket; write bobak+unix:/PATH/TO/SOCKET"));
    }
    Ok(Arc::new(builder(settings, None)?.open_unix(place)?))
}

/// `bobak+stdio:PROGRAM ARGUMENTS`: the words are separated by spaces, and each is decoded.
pub(super) fn stdio(place: &str, settings: &[(String, String)]) -> Result<Arc<dyn Engine>> {
    let words = place.split_ascii_whitespace().map(decode_word).collect::<Result<Vec<_>>>()?;
    let mut words = words.into_iter();
    let Some(program) = words.next() else {
        let message = "no program; write bobak+stdio:bobak serve --stdio app.db";
        return Err(config(message));
    };
    Ok(Arc::new(builder(settings, None)?.open_program(program, words)?))
}

/// Rejects quotes. No shell interprets them, so a quoted argument would name another file.
fn decode_word(word: &str) -> Result<String> {
    if word.starts_with(['"', '\'']) {
        let message =
            format!("the word {word} begins with a quote; write a space as %20, without quotes");
        return Err(config(message));
    }
    decode(word)
}

/// Separates one setting from the others.
fn take(settings: &[(String, String)], name: &str) -> (Vec<(String, String)>, Option<String>) {
    let (found, rest): (Vec<_>, Vec<_>) =
        settings.iter().cloned().partition(|(other, _)| other == name);
    (rest, found.into_iter().next().map(|(_, value)| value))
}

/// `database` is `Some` if the path of the URL names it.
fn builder(settings: &[(String, String)], database: Option<&str>) -> Result<RemoteBuilder> {
    let mut builder = Remote::builder().database(database.unwrap_or_default());
    let (mut user, mut password) = (None, None);
    for (name, value) in settings {
        builder = match name.as_str() {
            "token" => builder.token(value),
            "user" => {
                user = Some(value);
                builder
            }
            "password" => {
                password = Some(value);
                builder
            }
            "timeout" => {
                let milliseconds: u64 = number(name, value)?;
                let timeout = Duration::from_millis(milliseconds);
                builder.timeout((milliseconds > 0).then_some(timeout))
            }
            "connect_timeout" => {
                builder.connect_timeout(Duration::from_millis(number(name, value)?))
            }
            "connections" => builder.connections(number(name, value)?),
            "db" if database.is_none() => builder.database(value),
            #[cfg(feature = "remote-tls")]
            "ca" => builder.trust(value),
            _ => {
                let known = "token, user, password, timeout, connect_timeout, connections, \
                             tls and ca over TCP, db otherwise";
                return Err(unknown(name, known));
            }
        };
    }
    match (user, password) {
        (Some(user), Some(password)) => Ok(builder.user(user, password)),
        (None, None) => Ok(builder),
        _ => Err(config("user and password go together")),
    }
}

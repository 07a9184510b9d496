//! URLs of databases on a Bobak server.

use bobak_core::settings::Configurable;
use bobak_core::url::{config, decode};
use bobak_core::{Engine, Result};
use bobak_remote::{Remote, RemoteBuilder};
use std::sync::Arc;

/// The default port.
const PORT: u16 = 4715;

/// `bobak://host:port/database`: `place` is what follows `bobak:`.
pub(super) fn tcp(place: &str, query: &str) -> Result<Arc<dyn Engine>> {
    let place = place.strip_prefix("//").unwrap_or(place);
    let (host, database) = place.split_once('/').unwrap_or((place, ""));
    if host.is_empty() {
        return Err(config("no host; write bobak://HOST:PORT/DATABASE"));
    }
    if place.contains('@') {
        // Messages show the address, so it must not contain a password.
        let message = "the user and the password are settings; write bobak://HOST:PORT/DATABASE?user=…&password=…";
        return Err(config(message));
    }
    if query.split('&').any(|part| part.starts_with("db=")) {
        return Err(config("over TCP the path names the database, not db"));
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !has_port && host.matches(':').count() == 1 {
        return Err(config("the port is no number up to 65535"));
    }
    let address = if has_port { host.to_owned() } else { format!("{host}:{PORT}") };
    Ok(Arc::new(builder(query)?.database(database).open_tcp(address)?))
}

/// `bobak+unix:/path/to/socket?db=database`.
#[cfg(unix)]
pub(super) fn unix(place: &str, query: &str) -> Result<Arc<dyn Engine>> {
    if place.is_empty() {
        return Err(config("no socket; write bobak+unix:/PATH/TO/SOCKET"));
    }
    Ok(Arc::new(local(query)?.open_unix(place)?))
}

/// `bobak+stdio:PROGRAM ARGUMENTS`: the words are separated by spaces, and each is decoded.
pub(super) fn stdio(place: &str, query: &str) -> Result<Arc<dyn Engine>> {
    let words = place.split_ascii_whitespace().map(decode_word).collect::<Result<Vec<_>>>()?;
    let mut words = words.into_iter();
    let Some(program) = words.next() else {
        let message = "no program; write bobak+stdio:bobak serve --stdio app.db";
        return Err(config(message));
    };
    Ok(Arc::new(local(query)?.open_program(program, words)?))
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

fn builder(query: &str) -> Result<RemoteBuilder> {
    let mut builder = Remote::builder();
    builder.set_query(query)?;
    Ok(builder)
}

/// The settings of a server on this machine.
fn local(query: &str) -> Result<RemoteBuilder> {
    match query.split('&').find(|part| part.starts_with("tls=") || part.starts_with("ca=")) {
        Some(part) => Err(config(format!("TLS is for TCP, without {part}"))),
        None => builder(query),
    }
}

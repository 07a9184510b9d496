//! `postgres://user:password@host:port,host:port/database?setting=value&…`

use crate::settings::{Isolation, Keys, PostgresBuilder, SslMode, Target};
use bobak_core::Result;
use bobak_core::url::{choice, config, decode, number};
use std::time::Duration;

const PORT: u16 = 5432;

/// What settings there are, for messages.
const SETTINGS: &str = "sslmode, sslrootcert, target, schema, isolation, keys, copy, statements, connections, \
     connect_timeout, acquire_timeout, idle_timeout, busy_timeout, timeout, host";

pub(crate) fn apply(builder: PostgresBuilder, url: &str) -> Result<PostgresBuilder> {
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    if !matches!(scheme, "postgres" | "postgresql") {
        return Err(config(format!("'{scheme}' is not postgres")));
    }
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (account, hosts) = match authority.rsplit_once('@') {
        Some((account, hosts)) => (Some(account), hosts),
        None => (None, authority),
    };
    let mut builder = builder;
    if let Some(account) = account {
        let (user, password) = account.split_once(':').unzip();
        builder = builder.user(decode(user.unwrap_or(account))?);
        if let Some(password) = password {
            builder = builder.password(decode(password)?);
        }
    }
    for host in hosts.split(',').filter(|host| !host.is_empty()) {
        let (name, port) = split_port(host)?;
        builder = builder.host(decode(name)?, port);
    }
    if !database.is_empty() {
        builder = builder.database(decode(database)?);
    }
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) =
            part.split_once('=').ok_or_else(|| config(format!("'{part}' is not name=value")))?;
        builder = set(builder, name, &decode(value)?)?;
    }
    if builder.settings.hosts.is_empty() {
        builder = builder.host("localhost", PORT);
    }
    Ok(builder)
}

/// `name:port`, with an IPv6 address in brackets.
fn split_port(host: &str) -> Result<(&str, u16)> {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => (name, rest.strip_prefix(':')),
        None => match host.rsplit_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    let Some(port) = port else { return Ok((name, PORT)) };
    let port = port.parse().map_err(|_| config(format!("'{port}' is not a port")))?;
    Ok((name, port))
}

fn set(builder: PostgresBuilder, name: &str, value: &str) -> Result<PostgresBuilder> {
    let time = |unit: fn(u64) -> Duration| number(name, value).map(unit);
    Ok(match name {
        "sslmode" => builder.ssl(choice(
            name,
            value,
            &[
                ("disable", SslMode::Disable),
                ("prefer", SslMode::Prefer),
                ("require", SslMode::Require),
                ("verify-ca", SslMode::VerifyCa),
                ("verify-full", SslMode::VerifyFull),
            ],
        )?),
        "sslrootcert" => builder.root_certificate(value),
        "target" => builder.target(choice(
            name,
            value,
            &[
                ("any", Target::Any),
                ("read-write", Target::ReadWrite),
                ("read-only", Target::ReadOnly),
            ],
        )?),
        "schema" => builder.schema(value),
        "isolation" => builder.isolation(choice(
            name,
            value,
            &[
                ("serializable", Isolation::Serializable),
                ("repeatable-read", Isolation::RepeatableRead),
                ("read-committed", Isolation::ReadCommitted),
            ],
        )?),
        "keys" => builder.keys(choice(
            name,
            value,
            &[("sequence", Keys::Sequence), ("server", Keys::Server)],
        )?),
        "copy" => builder.copy(choice(name, value, &[("on", true), ("off", false)])?),
        "statements" => {
            builder.named_statements(choice(name, value, &[("named", true), ("unnamed", false)])?)
        }
        "connections" => builder.connections(number(name, value)?),
        "connect_timeout" => builder.connect_timeout(time(Duration::from_millis)?),
        "acquire_timeout" => builder.acquire_timeout(time(Duration::from_millis)?),
        "idle_timeout" => builder.idle_timeout(time(Duration::from_millis)?),
        "busy_timeout" => builder.busy_timeout(time(Duration::from_millis)?),
        "timeout" => builder.statement_timeout(time(Duration::from_millis)?),
        "host" => {
            // A folder of a socket can't stand in the URL's own place without escapes.
            let port = builder.settings.hosts.first().map_or(PORT, |host| match host {
                crate::settings::Host::Tcp(_, port) | crate::settings::Host::Unix(_, port) => *port,
            });
            let mut builder = builder;
            builder.settings.hosts.clear();
            builder.host(value, port)
        }
        _ => return Err(config(format!("unknown setting '{name}'; there are: {SETTINGS}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Host;
    use bobak_core::ErrorKind;

    fn parse(url: &str) -> Result<PostgresBuilder> {
        apply(PostgresBuilder::default(), url)
    }

    #[test]
    fn every_part_of_a_url_is_parsed() {
        let settings =
            parse("postgres://me:p%40ss@h1:1,[::1]:2,h3/db?copy=off&timeout=50&keys=server")
                .unwrap()
                .settings;
        let hosts =
            [Host::Tcp("h1".into(), 1), Host::Tcp("::1".into(), 2), Host::Tcp("h3".into(), 5432)];
        assert_eq!(settings.hosts, hosts);
        assert_eq!((settings.user.as_str(), settings.database.as_str()), ("me", "db"));
        assert_eq!(settings.password.as_deref(), Some("p@ss"));
        assert!(!settings.copy && settings.keys == Keys::Server);
        assert_eq!(settings.statement_timeout, Duration::from_millis(50));
        let unix = parse("postgres://me@:7/db?host=/run/pg").unwrap().settings;
        assert_eq!(unix.hosts, [Host::Unix("/run/pg".into(), 7)]);
    }

    #[test]
    fn errors_name_the_wrong_part_of_a_url() {
        for (url, expected) in [
            ("mysql://x", "'mysql' is not postgres"),
            ("postgres://h:port/", "'port' is not a port"),
            ("postgres://h/?colour=red", "unknown setting 'colour'"),
            ("postgres://h/?copy=maybe", "copy is one of on, off, not 'maybe'"),
            ("postgres://h/?timeout=soon", "timeout is a whole number"),
            ("postgres://%zz@h/", "a % without"),
        ] {
            let Err(error) = parse(url) else { panic!("{url} is taken") };
            assert_eq!(error.kind(), ErrorKind::Config, "{url}");
            assert!(error.message().contains(expected), "{error}");
        }
    }
}

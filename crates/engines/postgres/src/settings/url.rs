//! `postgres://user:password@host:port,host:port/database?setting=value&…`

use crate::settings::{PORT, PostgresBuilder};
use bobak_core::Result;
use bobak_core::settings::Configurable;
use bobak_core::url::config;
use bobak_engine_common::ServerUrl;

pub(crate) fn apply(builder: PostgresBuilder, url: &str) -> Result<PostgresBuilder> {
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    if !matches!(scheme, "postgres" | "postgresql") {
        return Err(config(format!("'{scheme}' is not postgres")));
    }
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let url = ServerUrl::parse(rest, PORT)?;
    let mut builder = builder;
    if let Some(user) = url.user {
        builder = builder.user(user);
    }
    if let Some(password) = url.password {
        builder = builder.password(password);
    }
    for (name, port) in url.hosts {
        // A socket's port has no host before it.
        if !name.is_empty() || port != PORT {
            builder = builder.host(name, port);
        }
    }
    if !url.database.is_empty() {
        builder = builder.database(url.database);
    }
    builder.set_query(url.settings)?;
    Ok(builder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Host, Keys};
    use bobak_core::ErrorKind;
    use std::time::Duration;

    fn parse(url: &str) -> Result<PostgresBuilder> {
        apply(PostgresBuilder::default(), url)
    }

    #[test]
    fn every_part_of_a_url_is_parsed() {
        let settings = parse(
            "postgres://me:p%40ss@h1:1,[::1]:2,h3/db?copy=off&statement_timeout=50&keys=server",
        )
        .unwrap();
        let hosts =
            [Host::Tcp("h1".into(), 1), Host::Tcp("::1".into(), 2), Host::Tcp("h3".into(), 5432)];
        assert_eq!(settings.hosts, hosts);
        assert_eq!((settings.user.as_str(), settings.database.as_str()), ("me", "db"));
        assert_eq!(settings.password.as_deref(), Some("p@ss"));
        assert!(!settings.copy && settings.keys == Keys::Server);
        assert_eq!(settings.statement_timeout, Duration::from_millis(50));
        let unix = parse("postgres://me@:7/db?host=/run/pg").unwrap();
        assert_eq!(unix.hosts(), [Host::Unix("/run/pg".into(), 7)]);
        assert_eq!(parse("postgres:///db").unwrap().hosts(), [Host::Tcp("localhost".into(), 5432)]);
    }

    #[test]
    fn errors_name_the_wrong_part_of_a_url() {
        for (url, expected) in [
            ("mysql://x", "'mysql' is not postgres"),
            ("postgres://h:port/", "'port' is not a port"),
            ("postgres://h/?colour=red", "unknown setting 'colour'"),
            ("postgres://h/?copy=maybe", "copy is one of on, off, not 'maybe'"),
            (
                "postgres://h/?idle_timeout=soon",
                "idle_timeout is a whole number of milliseconds, not",
            ),
            ("postgres://%zz@h/", "a % without"),
        ] {
            let Err(error) = parse(url) else { panic!("{url} is taken") };
            assert_eq!(error.kind(), ErrorKind::Config, "{url}");
            assert!(error.message().contains(expected), "{error}");
        }
    }
}

//! `mysql://user:password@host:port,host:port/database?setting=value&…`, also `mariadb://`.

use crate::MySqlBuilder;
use crate::settings::Host;
use bobak_core::Result;
use bobak_core::settings::Configurable;
use bobak_core::url::config;
use bobak_engine_common::ServerUrl;

const PORT: u16 = 3306;

pub(crate) fn parse(text: &str) -> Result<MySqlBuilder> {
    let rest = text
        .strip_prefix("mysql://")
        .or_else(|| text.strip_prefix("mariadb://"))
        .ok_or_else(|| config("write mysql://USER:PASSWORD@HOST/DATABASE"))?;
    let url = ServerUrl::parse(rest, PORT)?;
    let hosts = url.hosts.into_iter().map(|(name, port)| Host {
        name: if name.is_empty() { "127.0.0.1".to_owned() } else { name },
        port,
    });
    let mut builder = MySqlBuilder::new(hosts.collect());
    if let Some(user) = url.user {
        builder = builder.user(user);
    }
    if let Some(password) = url.password {
        builder = builder.password(password);
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
    use crate::Tls;
    use bobak_core::ErrorKind;
    use std::time::Duration;

    #[test]
    fn every_part_of_a_url_is_parsed() {
        let text = "mysql://a%40b:p%3Aw@h1,h2:3307,[::1]:3308/db%2F1?tls=verify&busy_timeout=1500\
                    &statement_timeout=0&prepared=off&wsrep_sync_wait=1";
        let settings = parse(text).unwrap();
        let hosts: Vec<_> = settings.hosts.iter().map(|h| (h.name.as_str(), h.port)).collect();
        assert_eq!(hosts, [("h1", 3306), ("h2", 3307), ("::1", 3308)]);
        assert_eq!(settings.user.as_deref(), Some("a@b"));
        assert_eq!(settings.password.as_deref(), Some("p:w"));
        assert_eq!(settings.database.as_deref(), Some("db/1"));
        assert_eq!((settings.tls, settings.prepared), (Tls::Verify, false));
        assert_eq!(settings.busy_timeout, Duration::from_millis(1500));
        assert_eq!((settings.statement_timeout, settings.wsrep_sync_wait), (None, Some(1)));
        assert!(!format!("{settings:?}").contains("p:w"));
    }

    #[test]
    fn errors_name_the_wrong_part_of_a_url_but_not_the_password() {
        for (text, expected) in [
            ("mysql:db", "write mysql://"),
            ("mysql://u:secret@h:x/db", "'x' is not a port"),
            ("mysql://u:secret@h/db?colour=red", "unknown setting 'colour'"),
            ("mysql://u:secret@h/db?tls", "'tls' is not name=value"),
            ("mysql://u:secret@h/db?tls=no", "tls is one of off, require, verify, not 'no'"),
            ("mysql://u:secret@h/db?tls=off&tls=off", "'tls' is given twice"),
            ("mysql://u:secret%@h/db", "a % without"),
            (
                "mysql://u:secret@h/db?wsrep_sync_wait=16",
                "wsrep_sync_wait is a whole number, 0 to 15, not",
            ),
            ("mysql://u:secret@h/db?busy_timeout=soon", "busy_timeout is a whole number"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{text}");
            let message = error.to_string();
            assert!(message.contains(expected) && !message.contains("secret"), "{message}");
        }
    }
}

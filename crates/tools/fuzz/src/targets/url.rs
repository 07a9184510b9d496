//! URLs of databases.

use crate::{Target, seeds};
use bobak::Db;
use bobak_postgres::Postgres;

/// URLs, up to the point where something would be opened.
pub(crate) const URLS: Target = Target {
    name: "urls",
    about: "URLs of databases",
    longest: 8 << 10,
    factor: 64,
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let _ = bobak_core::url::decode(text);
        let _ = Postgres::builder().url(text);
        if text.starts_with("sqlite:") || text.starts_with("memory:") {
            // There is no such backup, so the URL is all that is read.
            assert!(Db::check_backup_for("no such file", text).is_err());
        }
    },
    seeds: || {
        seeds::of(&[
            "sqlite:a%20b.db?journal_mode=wal&synchronous=full&busy_timeout=100&readers=4",
            "memory:file?format=json&busy_timeout=1",
            "postgres://user:p%40ss@host:5432,other:5433/db?sslmode=disable&schema=s&keys=server",
            "postgresql:///db?host=/tmp&statement_timeout=10&connections=3",
            "%41%zz%",
        ])
    },
};

//! Tables that SQLite reads for an insert only because they refer to the table.
//!
//! An insert into a table that others refer to looks for rows that already refer to the new one, if it has RETURNING or may insert
//! several rows: a deferred foreign key may have waited for it. SQLite reports that as a read of the other table, as if the
//! statement had named it. No value of it gets into the result, and an insert cannot fail because of it.

use super::permission_session::PermissionSession;
use super::table_references::{all_names, first_words, replaces_rows};
use bobak_core::change_log::is_capture_trigger;
use bobak_core::{Result, TableSchema};
use std::collections::HashSet;

/// What a session and its authorizer tell each other about the running SQL.
#[derive(Debug, Default)]
pub(super) struct ReferringReads {
    /// The tables, in lower case, that it may read for foreign keys.
    pub allowed: Vec<String>,
    /// Whether the authorizer has rejected a read, so that nothing has run.
    pub is_rejected: bool,
}

impl PermissionSession<'_> {
    /// The tables, in lower case, that the text reads for foreign keys alone, if it does: it is an insert that neither updates
    /// nor replaces rows, names no view, and no table that has a trigger, whose statements could read anything.
    ///
    /// # Errors
    /// The engine's.
    pub(super) fn referring_tables(&self, sql: &str) -> Result<Vec<String>> {
        let names: HashSet<String> = all_names(sql).map(|name| name.to_ascii_lowercase()).collect();
        let is_named = |name: &str| names.contains(&name.to_ascii_lowercase());
        let is_insert = first_words(sql).next().is_some_and(|word| word == "insert");
        if !is_insert || replaces_rows(sql) || names.contains("conflict") {
            return Ok(Vec::new());
        }
        let Some(triggers) = self.inner.triggers()? else { return Ok(Vec::new()) };
        let mut others = triggers.iter().filter(|trigger| !is_capture_trigger(&trigger.name));
        let reads_more = others.any(|trigger| is_named(&trigger.table))
            || self.inner.views()?.iter().any(|view| is_named(view.name()));
        if reads_more {
            return Ok(Vec::new());
        }
        let (named, others): (Vec<_>, Vec<_>) =
            self.inner.tables()?.into_iter().partition(|table| is_named(table.name()));
        let refers = |from: &TableSchema, to: &TableSchema| {
            let keys = from.all_foreign_keys();
            keys.iter().any(|key| key.table.eq_ignore_ascii_case(to.name()))
        };
        // A foreign key of the inserted row reads the table to which it refers: that reveals which rows there are.
        let is_referring = |other: &&TableSchema| {
            named.iter().any(|table| refers(other, table))
                && !named.iter().any(|table| refers(table, other))
        };
        let referring = others.iter().filter(is_referring);
        Ok(referring.map(|table| table.name().to_ascii_lowercase()).collect())
    }
}

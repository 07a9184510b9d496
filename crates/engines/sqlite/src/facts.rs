//! What decides how a table is written, and only the database knows: asked once for each schema.

use crate::connection::Connection;
use bobak_core::change_log::is_capture_trigger;
use bobak_core::{Result, TableSchema, Value, WordHasher};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// How many tables are remembered.
const MOST: usize = 256;

/// Facts about a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Whether its rows have rowids: those of Bobak's own tables have.
    pub rowids: bool,
    /// Whether a foreign key of it refers to itself.
    pub refers_to_itself: bool,
    /// Whether inserts set something off, but for what writes them down.
    pub has_triggers: bool,
    /// Whether its keys are made by AUTOINCREMENT, and so not always one more than the largest.
    pub counts_keys: bool,
    /// Whether a constraint of it says by itself what to do with a row in its way (ON CONFLICT).
    pub resolves_conflicts: bool,
    /// Whether it has foreign keys, or others have some that refer to it.
    pub foreign_keys: bool,
}

/// The facts of the tables asked for so far, by their schemas' ids.
#[derive(Debug, Default)]
pub(crate) struct KnownFacts {
    known: HashMap<u64, Facts, BuildHasherDefault<WordHasher>>,
    /// SQLite's counts of changes of the schema, and of what is temporary.
    versions: (i64, i64),
}

impl Connection {
    /// The facts about a table, as they were when they were asked for first.
    pub(crate) fn facts(&mut self, table: &TableSchema) -> Result<Facts> {
        if let Some(&facts) = self.facts.known.get(&table.id()) {
            return Ok(facts);
        }
        let facts = self.ask(table.name())?;
        if self.facts.known.len() >= MOST {
            self.facts.known.clear();
        }
        self.facts.known.insert(table.id(), facts);
        Ok(facts)
    }

    /// As [`facts`](Self::facts), as they are now: for what pays for looking.
    pub(crate) fn fresh_facts(&mut self, table: &TableSchema) -> Result<Facts> {
        let versions = (
            self.first_integer("PRAGMA main.schema_version")?,
            self.first_integer("PRAGMA temp.schema_version")?,
        );
        if versions != self.facts.versions {
            self.facts.known.clear();
            self.facts.versions = versions;
        }
        self.facts(table)
    }

    fn ask(&mut self, table: &str) -> Result<Facts> {
        let sql = "SELECT \
             (SELECT wr FROM pragma_table_list WHERE schema = 'main' AND lower(name) = lower(?1)), \
             EXISTS (SELECT 1 FROM temp.sqlite_schema \
                     WHERE type = 'trigger' AND lower(tbl_name) = lower(?1)), \
             EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' \
                     AND lower(name) = lower(?1) AND instr(upper(sql), 'AUTOINCREMENT')), \
             EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'table' \
                     AND lower(name) = lower(?1) AND instr(upper(sql), 'CONFLICT')), \
             count(*) FILTER (WHERE lower(s.name) = lower(f.\"table\")), \
             count(*) \
             FROM main.sqlite_schema AS s, pragma_foreign_key_list(s.name) AS f \
             WHERE s.type = 'table' \
             AND (lower(s.name) = lower(?1) OR lower(f.\"table\") = lower(?1))";
        let mut triggers = crate::tables::triggers(self)?.into_iter();
        let has_triggers = triggers.any(|trigger| {
            trigger.table.eq_ignore_ascii_case(table) && !is_capture_trigger(&trigger.name)
        });
        let row = self.all_rows(sql, &[Value::from(table)])?.into_iter().next();
        let mut cells = row.unwrap_or_default().into_iter();
        let mut is_some = || matches!(cells.next(), Some(Value::Int(number)) if number != 0);
        Ok(Facts {
            rowids: !is_some(),
            has_triggers: is_some() || has_triggers,
            counts_keys: is_some(),
            resolves_conflicts: is_some(),
            refers_to_itself: is_some(),
            foreign_keys: is_some(),
        })
    }
}

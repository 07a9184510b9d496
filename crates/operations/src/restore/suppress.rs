//! What acts when rows are written, kept still while changes are made again: what it did the first
//! time is among the changes.

use crate::replication::Pair;
use bobak_core::feed::Change;
use bobak_core::feed::{Log, is_own_trigger};
use bobak_core::{
    Engine, Error, ErrorKind, FieldSet, KeyGeneration, Result, Session, Source, Value, ValueRef,
    Verb, Write,
};

/// Foreign keys, which would act a second time, out of the way.
pub(super) struct ForeignKeys(bool);

impl ForeignKeys {
    pub fn off(engine: &dyn Engine, logs: &[Log]) -> Result<Self> {
        if engine.capabilities().sql {
            engine.session()?.execute("PRAGMA foreign_keys = off", &[])?;
            return Ok(Self(true));
        }
        let tables = engine.tables()?;
        let tracked = |name: &str| logs.iter().any(|log| log.table.name() == name);
        let refers = |table: &&bobak_core::TableSchema| {
            table.columns().iter().any(|column| {
                let to = column.reference.as_ref();
                to.is_some_and(|to| tracked(table.name()) || tracked(&to.table))
            })
        };
        match tables.iter().find(refers) {
            None => Ok(Self(false)),
            Some(table) => {
                let message = "the memory engine takes no changes behind a backup where tracked \
                               tables have foreign keys";
                let error = Error::new(ErrorKind::Unsupported, message);
                Err(error.in_table(table.name()))
            }
        }
    }

    pub fn on(self, engine: &dyn Engine) -> Result<()> {
        match self.0 {
            true => engine.session()?.execute("PRAGMA foreign_keys = on", &[]).map(|_| ()),
            false => Ok(()),
        }
    }
}

/// The triggers of tracked tables that are not Bobak's, dropped in a transaction that creates them again
/// before it ends.
pub(super) struct Triggers(Vec<String>);

impl Triggers {
    pub fn drop(session: &dyn Session, logs: &[Log]) -> Result<Self> {
        let mut texts = Vec::new();
        if session
            .triggers()?
            .unwrap_or_default()
            .iter()
            .all(|trigger| is_own_trigger(&trigger.name))
        {
            return Ok(Self(texts));
        }
        let mut names = Vec::new();
        let text = "SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'trigger' \
                    ORDER BY rowid";
        session.query(&Source::Sql { text, parameters: &[] }, &mut |row| {
            let (table, name, sql) = (row.get(0), row.get(1), row.get(2));
            if let (ValueRef::Text(table), ValueRef::Text(name), ValueRef::Text(sql)) =
                (table, name, sql)
                && logs.iter().any(|log| log.table.name().eq_ignore_ascii_case(table))
                && !is_own_trigger(name)
            {
                names.push(name.replace('"', "\"\""));
                texts.push(sql.to_owned());
            }
            Ok(true)
        })?;
        for name in names {
            session.execute(&format!("DROP TRIGGER \"{name}\""), &[])?;
        }
        Ok(Self(texts))
    }

    pub fn create(self, session: &dyn Session) -> Result<()> {
        self.0.iter().try_for_each(|text| session.execute(text, &[]).map(|_| ()))
    }
}

/// Inserts the row with the largest key that each table had meanwhile, before the changes are made, which
/// may take it out again: an engine that gives no key twice (AUTOINCREMENT) is to know that it was given.
pub(super) fn give_keys(session: &dyn Session, pairs: &[Pair], changes: &[Change]) -> Result<()> {
    for pair in pairs.iter().filter(|pair| pair.source.key_generation() == KeyGeneration::Engine) {
        let name = pair.source.name();
        let own = changes.iter().filter(|change| change.table.name() == name);
        let key = |change: &&Change| match change.key().as_slice() {
            [Value::Int(key)] => *key,
            _ => i64::MIN,
        };
        let Some(largest) = own.max_by_key(key) else { continue };
        if let Some(row) = largest.after.as_ref().or(largest.before.as_ref()) {
            let mut values = Vec::new();
            pair.columns.values(row, &mut values)?;
            let (table, verb) = (&pair.target, Verb::InsertOrReplace);
            session.write(&Write { table, verb, fields: FieldSet::EMPTY, values: &values })?;
        }
    }
    Ok(())
}

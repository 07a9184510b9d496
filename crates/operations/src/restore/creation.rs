//! Creates the tables that were tracked after the backup.

use crate::archive::frame::{ArchivedCreation, CreationPart, damaged};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    FieldSet, OnError, Result, Row, SchemaChange, Session, TableSchema, Value, Verb, Write,
    WriteBatch,
};
use bobak_engine_common::table_from_json;
use std::sync::Arc;

/// Does a part of a table's creation in the open transaction. At its end, returns its triggers, which the caller creates
/// after all changes of the transaction.
pub(super) fn create(
    session: &dyn Session,
    creation: ArchivedCreation<'_>,
) -> Result<Option<Vec<String>>> {
    let ArchivedCreation { table, part, .. } = creation;
    let done = match part {
        CreationPart::Begin(texts) => begin(session, &table, &texts).map(|()| None),
        CreationPart::Rows(rows) => insert(session, &table, &rows).map(|()| None),
        CreationPart::End { last_key, triggers } => {
            let found = Arc::new(find(session, &table)?);
            if let Some(key) = last_key {
                set_last_key(session, found.name(), key)?;
            }
            let track = SchemaChange::Track { table: found, history: false };
            session.alter(&[track]).map(|()| Some(triggers))
        }
    };
    done.map_err(|error| error.in_table(table))
}

fn find(session: &dyn Session, name: &str) -> Result<TableSchema> {
    TableSchema::find_in(session.tables()?, name)
}

/// Replaces the table that the backup has, or that an interrupted archiver began to describe.
fn begin(session: &dyn Session, name: &str, texts: &[String]) -> Result<()> {
    let json = texts.first().filter(|text| text.starts_with('{'));
    if let Ok(old) = find(session, name) {
        match json {
            Some(_) => session.alter(&[SchemaChange::DropTable(Arc::new(old))])?,
            // Foreign keys are disabled: rows that refer to the table stay.
            None => {
                let name = old.name().replace('"', "\"\"");
                session.execute(&format!("DROP TABLE main.\"{name}\""), &[]).map(drop)?;
            }
        }
    }
    match json {
        Some(text) => {
            let json = serde_json::from_str(text);
            let json = json.map_err(|_| damaged("the description of a table is not JSON"))?;
            session.alter(&[SchemaChange::CreateTable(Arc::new(table_from_json(&json)?))])
        }
        None => texts.iter().try_for_each(|text| session.execute(text, &[]).map(drop)),
    }
}

fn insert(session: &dyn Session, name: &str, rows: &[EncodedRow<'_>]) -> Result<()> {
    let table = &Arc::new(find(session, name)?);
    let mut batch = WriteBatch::new();
    for row in rows {
        if row.len() != table.columns().len() {
            return Err(damaged("a row does not have the number of values of its table"));
        }
        let values: Vec<Value<'_>> = (0..row.len()).map(|place| row.value(place).into()).collect();
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        batch.push(&Write { table, verb, fields, values: &values })?;
    }
    if batch.is_empty() { Ok(()) } else { session.batch(&batch, OnError::Stop, &mut |_| {}) }
}

/// Only SQLite tells the largest key that it made.
fn set_last_key(session: &dyn Session, table: &str, key: i64) -> Result<()> {
    let clear = "DELETE FROM main.sqlite_sequence WHERE name = ?1";
    session.execute(clear, &[Value::from(table).into()])?;
    let note = "INSERT INTO main.sqlite_sequence (name, seq) VALUES (?1, ?2)";
    session.execute(note, &[Value::from(table).into(), Value::Int(key).into()]).map(drop)
}

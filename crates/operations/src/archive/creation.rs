//! Tables that are tracked while an archive runs: it gets their definitions and rows, so that a restore of an earlier backup
//! can create them.

use super::frame::CreationPart;
use super::segment::SegmentWriter;
use bobak_changes::{ChangePage, TableLayout, last_id, logs_in};
use bobak_core::change_log::is_capture_trigger;
use bobak_core::codec::encode_slice;
use bobak_core::search::is_search_name;
use bobak_core::{
    Engine, ErrorKind, Result, Select, Session, Source, TableSchema, TransactionControl, Value,
    ValueRef,
};
use bobak_engine_common::table_to_json;
use bobak_sql::{Dialect, create_search};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The size of the rows in one frame, in bytes, approximately.
const FRAME_BYTES: usize = 8 << 20;

/// The tables that have a layout now and had none, each after the change after which it was tracked, in that order. A table
/// that was tracked before the last archived change, `position`, was renamed since, and is no new one; it may have been altered
/// since, too, and then has later layouts.
pub(super) fn new_tables(
    known: &[TableLayout],
    now: &[TableLayout],
    position: u64,
) -> Vec<(u64, String)> {
    let mut first: BTreeMap<&str, u64> = BTreeMap::new();
    for TableLayout { table, since, .. } in now {
        let found = first.entry(table).or_insert(*since);
        *found = (*found).min(*since);
    }
    let is_known = |name: &str| known.iter().any(|layout| layout.table == name);
    let new = first.into_iter().filter(|(name, since)| *since >= position && !is_known(name));
    let mut new: Vec<_> = new.map(|(name, since)| (since, name.to_owned())).collect();
    new.sort();
    new
}

/// Takes the changes of a page up to a number.
pub(super) fn split(page: &mut ChangePage, at: u64) -> ChangePage {
    let mut head = page.clone();
    head.changes.retain(|change| change.id <= at);
    page.changes.retain(|change| change.id > at);
    head.next = at;
    head
}

/// Writes a table that was tracked after the writer's last change: what creates it, and its rows of this moment. `false`, and
/// nothing complete is written, if it is no longer the table that was tracked then.
pub(super) fn write(engine: &dyn Engine, writer: &mut SegmentWriter, name: &str) -> Result<bool> {
    let session = snapshot(engine)?;
    let logs = logs_in(&*session)?;
    let since = writer.position();
    let is_same = |layout: &TableLayout| layout.table == name && layout.since == since;
    let Some(log) = logs.iter().find(|log| log.layouts.first().is_some_and(is_same)) else {
        return Ok(false);
    };
    let rows_at = last_id(&*session, &logs)?;
    let (texts, triggers, last_key) = definition(&*session, engine.name(), &log.table)?;
    writer.write_creation(name, rows_at, &CreationPart::Begin(texts), &[])?;
    write_rows(&*session, writer, &log.table, rows_at)?;
    writer.write_creation(name, rows_at, &CreationPart::End { last_key, triggers }, &[])?;
    Ok(true)
}

/// A session that reads the state of this moment.
fn snapshot(engine: &dyn Engine) -> Result<Box<dyn Session + '_>> {
    let session = engine.session()?;
    match session.begin_reading() {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            session.control(TransactionControl::Begin)?;
        }
        begun => begun?,
    }
    Ok(session)
}

fn write_rows(
    session: &dyn Session,
    writer: &mut SegmentWriter,
    table: &Arc<TableSchema>,
    rows_at: u64,
) -> Result<()> {
    let (part, mut rows) = (CreationPart::Rows(Vec::new()), Vec::new());
    session.query(&Source::Select(&Select::all(table)), &mut |row| {
        let values: Vec<Value<'_>> = (0..row.len()).map(|place| row.get(place).into()).collect();
        encode_slice(&mut rows, &values)?;
        if rows.len() >= FRAME_BYTES {
            writer.write_creation(table.name(), rows_at, &part, &rows)?;
            rows.clear();
        }
        Ok(true)
    })?;
    writer.write_creation(table.name(), rows_at, &part, &rows)
}

/// What creates a table, its triggers, and the largest key that it made if it never reuses keys. In SQLite that is its own
/// SQL, which keeps what no schema expresses.
fn definition(
    session: &dyn Session,
    engine: &str,
    table: &TableSchema,
) -> Result<(Vec<String>, Vec<String>, Option<i64>)> {
    if engine != "sqlite" {
        return Ok((vec![table_to_json(table).to_string()], Vec::new(), None));
    }
    let parameters = [Value::from(table.name()).into()];
    let text = "SELECT sql, type, name FROM main.sqlite_schema WHERE tbl_name = ?1 COLLATE NOCASE \
                AND sql IS NOT NULL ORDER BY type <> 'table', rowid";
    let (mut texts, mut triggers) = (Vec::new(), Vec::new());
    session.query(&Source::Sql { text, parameters: &parameters }, &mut |row| {
        match (row.get(0), row.get(1), row.get(2)) {
            (ValueRef::Text(sql), ValueRef::Text("trigger"), ValueRef::Text(name)) => {
                let is_own = is_capture_trigger(name) || is_search_name(name);
                triggers.extend((!is_own).then(|| sql.to_owned()));
            }
            (ValueRef::Text(sql), ..) => texts.push(sql.to_owned()),
            _ => {}
        }
        Ok(true)
    })?;
    triggers.extend(create_search(Dialect::Sqlite, table)?);
    let last_key = if table.never_reuses_keys() { last_key(session, table)? } else { None };
    Ok((texts, triggers, last_key))
}

fn last_key(session: &dyn Session, table: &TableSchema) -> Result<Option<i64>> {
    let parameters = [Value::from(table.name()).into()];
    let text = "SELECT seq FROM main.sqlite_sequence WHERE name = ?1 COLLATE NOCASE";
    let mut last = None;
    session.query(&Source::Sql { text, parameters: &parameters }, &mut |row| {
        if let ValueRef::Int(key) = row.get(0) {
            last = Some(key);
        }
        Ok(false)
    })?;
    Ok(last)
}

//! What engines do differently when a migration converts values.

use super::action::Action;
use bobak_core::change_log::is_capture_trigger;
use bobak_core::{Engine, Result, SchemaChange, Session, Source, TableSchema, Value, ValueRef};
use bobak_sql::{Dialect, quote};

/// Rejects conversions that rules of other columns forbid, before anything is changed. SQLite alone keeps what names a
/// converted column.
///
/// # Errors
/// `Unsupported`.
pub(super) fn check(engine: &dyn Engine, actions: &[Action]) -> Result<()> {
    if engine.name() == "sqlite" {
        return Ok(());
    }
    actions.iter().try_for_each(|action| match action {
        Action::Change(SchemaChange::AlterTable(change)) => change.check_converted(),
        _ => Ok(()),
    })
}

/// Writes converted values to a table while it has no triggers but those of change capture. On SQLite they are dropped, and created again
/// from their texts; the open transaction restores them after a failure. Other engines fire them.
///
/// # Errors
/// Those of `write` and of the engine.
pub(super) fn without_triggers(
    engine: &dyn Engine,
    session: &dyn Session,
    table: &TableSchema,
    write: impl FnOnce() -> Result<()>,
) -> Result<()> {
    if engine.name() != "sqlite" {
        return write();
    }
    let triggers = triggers_of(session, table)?;
    for (name, _) in &triggers {
        let text = format!("DROP TRIGGER main.{}", quote(Dialect::Sqlite, name));
        session.execute(&text, &[])?;
    }
    write()?;
    triggers.iter().try_for_each(|(_, text)| session.execute(text, &[]).map(drop))
}

/// The columns that a server sets at each update which does not set them: `ON UPDATE CURRENT_TIMESTAMP` of MariaDB and
/// MySQL.
///
/// # Errors
/// Those of the engine.
pub(super) fn set_by_server(
    engine: &dyn Engine,
    session: &dyn Session,
    table: &TableSchema,
) -> Result<Vec<usize>> {
    let mut places = Vec::new();
    if engine.name() != "mysql" {
        return Ok(places);
    }
    let text = "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? \
                AND extra LIKE '%on update%'";
    let parameters = [Value::from(table.name()).into()];
    session.query(&Source::Sql { text, parameters: &parameters }, &mut |row| {
        if let ValueRef::Text(name) = row.get(0) {
            places.extend(table.column(name));
        }
        Ok(true)
    })?;
    Ok(places)
}

/// The names and texts of the triggers, oldest first.
fn triggers_of(session: &dyn Session, table: &TableSchema) -> Result<Vec<(String, String)>> {
    let text = "SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE \
                ORDER BY rowid";
    let parameters = [Value::from(table.name()).into()];
    let mut triggers = Vec::new();
    session.query(&Source::Sql { text, parameters: &parameters }, &mut |row| {
        if let (ValueRef::Text(name), ValueRef::Text(text)) = (row.get(0), row.get(1))
            && !is_capture_trigger(name)
        {
            triggers.push((name.to_owned(), text.to_owned()));
        }
        Ok(true)
    })?;
    Ok(triggers)
}

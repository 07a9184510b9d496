//! Indexes that are built while others write to the table.

use crate::connection::Connection;
use crate::error::locate;
use crate::schema::alter;
use crate::session::state::SessionState;
use crate::table_info::SQL;
use bobak_core::{Error, ErrorKind, Result, SchemaChange, TableAlteration, ValueRef};
use bobak_sql::quote;

/// Indexes that a killed or failed build left: the server keeps them, and does not use them.
const UNFINISHED: &str = "SELECT t.relname::text, n.relname::text FROM pg_index i \
    JOIN pg_class n ON n.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid \
    WHERE NOT i.indisvalid AND n.relkind = 'i' \
    AND n.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

/// The lock of a process that builds indexes: an arbitrary number.
const LOCK: &str = "SELECT pg_try_advisory_lock(7093009323)";
const UNLOCK: &str = "SELECT pg_advisory_unlock(7093009323)";

/// Builds indexes if the changes are these alone, outside any transaction; otherwise returns `false`.
///
/// `CREATE INDEX CONCURRENTLY` waits until the transactions end that began before it, and others write meanwhile.
///
/// # Errors
/// `Busy` if a transaction did not end within the busy timeout; those of the server. There is no index then.
pub(super) fn run(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    changes: &[SchemaChange],
) -> Result<bool> {
    let [SchemaChange::AlterTable(alteration)] = changes else { return Ok(false) };
    if state.open || !adds_only_indexes(alteration) {
        return Ok(false);
    }
    // A lock of the connection's: it has no snapshot, which the build would wait for, and a killed process loses it.
    let mut is_locked = 0;
    state.ask(connection, LOCK, &[], |row| {
        if let ValueRef::Int(locked) = row.get(0) {
            is_locked = locked;
        }
    })?;
    if is_locked == 0 {
        let error = Error::new(ErrorKind::Busy, "another process builds indexes");
        return Err(error.in_table(alteration.to().name().to_owned()));
    }
    let built = build(state, connection, alteration);
    if !connection.is_broken {
        if built.is_err() {
            // The first error says more.
            let _ = drop_unfinished(state, connection, alteration);
        }
        state.ask(connection, UNLOCK, &[], |_| {})?;
    }
    state.database.table_info().clear();
    connection.forget_statements();
    built.map_err(|error| locate(error, alteration.to()))
}

/// Builds the indexes; returns `false` if one needs a comment to be understood, which a transaction makes with it.
fn build(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    alteration: &TableAlteration,
) -> Result<bool> {
    drop_unfinished(state, connection, alteration)?;
    let texts = alter::alter_table(state, connection, alteration)?;
    let texts = texts.iter().map(|text| concurrent(text)).collect::<Option<Vec<_>>>();
    let Some(texts) = texts else { return Ok(false) };
    texts.iter().try_for_each(|text| connection.statement(text, |_| {}))?;
    Ok(true)
}

fn adds_only_indexes(alteration: &TableAlteration) -> bool {
    !alteration.renames_table()
        && alteration.dropped().is_empty()
        && alteration.added().next().is_none()
        && alteration.dropped_indexes().is_empty()
        && !alteration.added_indexes().is_empty()
        && alteration.kept().all(|(_, new)| !alteration.changes_column(new))
}

/// The statement that builds the index of this one without blocking writers; `None` for another statement.
fn concurrent(text: &str) -> Option<String> {
    ["CREATE INDEX ", "CREATE UNIQUE INDEX "]
        .iter()
        .find_map(|start| Some(format!("{start}CONCURRENTLY {}", text.strip_prefix(start)?)))
}

/// Drops what earlier builds of the same indexes left.
fn drop_unfinished(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    alteration: &TableAlteration,
) -> Result<()> {
    let table = alteration.to();
    let mut names = Vec::new();
    state.ask(connection, UNFINISHED, &[], |row| {
        if let (ValueRef::Text(owner), ValueRef::Text(name)) = (row.get(0), row.get(1))
            && owner == table.name()
            && table.indexes().iter().any(|index| index.name == name)
        {
            names.push(name.to_owned());
        }
    })?;
    names.iter().try_for_each(|name| {
        connection.statement(&format!("DROP INDEX CONCURRENTLY {}", quote(SQL, name)), |_| {})
    })
}

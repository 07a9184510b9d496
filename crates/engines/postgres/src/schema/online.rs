//! Indexes that are built, and rules that are checked, while others write to the table.

use crate::connection::Connection;
use crate::error::locate;
use crate::session::state::SessionState;
use crate::table_info::SQL;
use bobak_core::{Error, ErrorKind, Result, SchemaChange, TableAlteration, Value, ValueRef};
use bobak_sql::server::postgres_alter::{drop_unvalidated, prepare};
use bobak_sql::{OnlineRules, quote};

/// Indexes that a killed or failed build left: the server keeps them, and does not use them.
const UNFINISHED: &str = "SELECT t.relname::text, n.relname::text FROM pg_index i \
    JOIN pg_class n ON n.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid \
    WHERE NOT i.indisvalid AND n.relkind = 'i' \
    AND n.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

/// The lock of a process that changes a table so: an arbitrary number, and the table's.
const LOCK: &str = "SELECT pg_try_advisory_lock(1648321131, (c.oid::int8 - 2147483648)::int4) FROM pg_class c \
    WHERE c.relname = $1 AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";
const UNLOCK: &str = "SELECT pg_advisory_unlock(1648321131, (c.oid::int8 - 2147483648)::int4) FROM pg_class c \
    WHERE c.relname = $1 AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

/// Builds indexes and adds rules of columns if the changes are these alone, outside any transaction; otherwise returns
/// `false`.
///
/// `CREATE INDEX CONCURRENTLY` waits until the transactions end that began before it, and others write meanwhile. So
/// they do while `VALIDATE CONSTRAINT` reads the rows.
///
/// # Errors
/// `Busy` if a transaction did not end within the busy timeout; those of the server. There is no index and no rule then.
pub(super) fn run(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    changes: &[SchemaChange],
) -> Result<bool> {
    let [SchemaChange::AlterTable(alteration)] = changes else { return Ok(false) };
    if state.open || !is_online(alteration) {
        return Ok(false);
    }
    // A lock of the connection's: it has no snapshot, which the build would wait for, and a killed process loses it.
    let mut is_locked = None;
    let name = [Value::from(alteration.to().name())];
    state.ask(connection, LOCK, &name, |row| is_locked = Some(row.get(0) == ValueRef::Int(1)))?;
    match is_locked {
        Some(true) => {}
        // There is no such table: the transaction says so.
        None => return Ok(false),
        Some(false) => {
            let message = "another process builds indexes or checks new rules";
            let error = Error::new(ErrorKind::Busy, message);
            return Err(error.in_table(alteration.to().name().to_owned()));
        }
    }
    let built = build(state, connection, alteration);
    if !connection.is_broken {
        if built.is_err() {
            // The first error says more.
            let _ = drop_unfinished(state, connection, alteration);
        }
        state.ask(connection, UNLOCK, &name, |_| {})?;
    }
    state.database.table_info().clear();
    connection.forget_statements();
    built.map_err(|error| locate(error, alteration.to()))
}

/// Makes the change; returns `false` if it is more than indexes and rules, or an index needs a comment to be understood,
/// which a transaction makes with it.
fn build(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    alteration: &TableAlteration,
) -> Result<bool> {
    drop_unfinished(state, connection, alteration)?;
    let change = prepare(&mut state.server(connection), alteration)?;
    let rules = OnlineRules::of(&change.alteration, &change.names)?;
    // A transaction changes the layout of the change log with the table.
    let Some(rules) = rules.filter(|_| !change.changes_layout) else { return Ok(false) };
    let indexes = change.index_statements()?;
    let indexes = indexes.iter().map(|text| concurrent(text)).collect::<Option<Vec<_>>>();
    let Some(indexes) = indexes else { return Ok(false) };
    if indexes.is_empty() && rules.add.is_empty() {
        return Ok(false);
    }
    let run = |connection: &mut Connection, text: &String| connection.statement(text, |_| {});
    indexes.iter().chain(&rules.add).try_for_each(|text| run(connection, text))?;
    for (text, error) in rules.validate {
        run(connection, &text).map_err(|found| match error {
            Some(error) if found.kind() == ErrorKind::Constraint => error.with_source(found),
            _ => found,
        })?;
    }
    if rules.finish.is_empty() {
        return Ok(true);
    }
    connection.simple("BEGIN", |_| {})?;
    let done = rules.finish.iter().try_for_each(|text| run(connection, text));
    if done.is_ok() {
        connection.set_commit_pending();
        connection.simple("COMMIT", |_| {})?;
    } else if !connection.is_broken {
        connection.simple("ROLLBACK", |_| {})?;
    }
    done.map(|()| true)
}

/// Whether the change adds indexes or rules of columns, and does nothing that only a transaction can.
fn is_online(alteration: &TableAlteration) -> bool {
    let tightens = |(old, new): (usize, usize)| {
        let columns = alteration.from().columns().get(old).zip(alteration.to().columns().get(new));
        columns.is_some_and(|(before, after)| {
            (before.nullable && !after.nullable)
                || (after.check.is_some() && before.check != after.check)
                || (after.reference.is_some() && before.reference != after.reference)
        })
    };
    !alteration.renames_table()
        && alteration.dropped().is_empty()
        && alteration.added().next().is_none()
        && alteration.dropped_indexes().is_empty()
        && !alteration.changes_search()
        && (!alteration.added_indexes().is_empty() || alteration.kept().any(tightens))
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
    })?;
    let unvalidated = drop_unvalidated(&mut state.server(connection), table)?;
    unvalidated.iter().try_for_each(|text| connection.statement(text, |_| {}))
}

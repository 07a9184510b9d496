//! Changes of the schema.

use crate::connection::Connection;
use crate::error::locate;
use crate::schema::online;
use crate::session::state::SessionState;
use bobak_core::{ErrorKind, Result, SchemaChange};
use bobak_sql::server::postgres_alter::{check, log_statements, statements, table_of};
use bobak_sql::server::with_forward_references_last;

/// Makes the changes, all or none.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(crate) fn run(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    changes: &[SchemaChange],
) -> Result<()> {
    changes.iter().try_for_each(|change| check(table_of(change)?))?;
    if online::run(state, connection, changes)? {
        return Ok(());
    }
    let changes = with_forward_references_last(changes)?;
    let own = !state.open;
    let begin = if own { "BEGIN" } else { "SAVEPOINT bobak_alter" };
    connection.simple(begin, |_| {})?;
    // What is read on the way is undone to here at most.
    state.unused = None;
    let done = changes.iter().try_for_each(|change| {
        let table = table_of(change)?;
        let statements = statements(&mut state.server(connection), change)?;
        run_all(connection, statements).map_err(|error| locate(error, table))?;
        let statements = log_statements(&mut state.server(connection), change)?;
        run_all(connection, statements).map_err(|error| locate(error, table))
    });
    let end = match (done.is_ok(), own) {
        (true, true) => "COMMIT",
        (true, false) => "RELEASE bobak_alter",
        (false, true) => "ROLLBACK",
        (false, false) => "ROLLBACK TO bobak_alter; RELEASE bobak_alter",
    };
    if done.is_ok() && own {
        connection.set_commit_pending();
    }
    let ended = if connection.is_broken { Ok(()) } else { connection.simple(end, |_| {}) };
    state.database.table_info().clear();
    connection.forget_statements();
    state.altered |= !own;
    if let Err(error) = done {
        if !own && (connection.is_broken || error.kind() == ErrorKind::Serialization) {
            state.give_up(connection);
        }
        return Err(error);
    }
    ended
}

fn run_all(connection: &mut Connection, statements: Vec<String>) -> Result<()> {
    statements.into_iter().try_for_each(|text| connection.statement(&text, |_| {}))
}

//! Changes of the schema.

use crate::connection::Connection;
use crate::error::locate;
use crate::schema::online;
use crate::session::state::SessionState;
use crate::table_info::SQL;
use bobak_core::{
    Collation, Error, ErrorKind, Result, SchemaChange, Storage, TableAlteration, TableSchema, Type,
    Value, ValueRef, change_log,
};
use bobak_sql::{
    ConstraintNames, TrackReason, existing_index, note_index_name, quote, substitute_index_name,
    substitute_index_names,
};
use std::collections::HashSet;

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
    let own = !state.open;
    let begin = if own { "BEGIN" } else { "SAVEPOINT bobak_alter" };
    connection.simple(begin, |_| {})?;
    let done = changes.iter().try_for_each(|change| {
        let table = table_of(change)?;
        let statements = statements(state, connection, change)?;
        run_all(connection, statements).map_err(|error| locate(error, table))?;
        let statements = log_statements(state, connection, change)?;
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

/// The table that a change is about; of a change that this crate does not know yet nothing is known.
fn table_of(change: &SchemaChange) -> Result<&TableSchema> {
    match change {
        SchemaChange::CreateTable(_)
        | SchemaChange::AlterTable(_)
        | SchemaChange::DropTable(_)
        | SchemaChange::AddColumn { .. }
        | SchemaChange::AddIndex { .. }
        | SchemaChange::AddReference { .. }
        | SchemaChange::AddForeignKey { .. }
        | SchemaChange::Track { .. }
        | SchemaChange::Untrack(_) => Ok(change.table()),
        _ => Err(Error::new(
            ErrorKind::Unsupported,
            "the postgres engine does not support this schema change",
        )),
    }
}

fn statements(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    change: &SchemaChange,
) -> Result<Vec<String>> {
    Ok(match change {
        SchemaChange::CreateTable(table) => {
            let taken = taken_names(state, connection, "")?;
            if taken.contains(table.name()) {
                let error = Error::new(ErrorKind::Schema, "the table already exists");
                return Err(error.in_table(table.name().to_owned()));
            }
            let renamed = substitute_index_names(SQL, table, |name| Ok(taken.contains(name)))?;
            let mut all = bobak_sql::create_table(SQL, &renamed)?;
            let indexes = 0..table.indexes().len();
            all.extend(indexes.filter_map(|index| note_index_name(table, &renamed, index)));
            all
        }
        SchemaChange::AddColumn { table, column } => bobak_sql::add_column(SQL, table, *column)?,
        SchemaChange::AddReference { table, column } => {
            bobak_sql::add_reference(SQL, table, *column)?
        }
        SchemaChange::AddForeignKey { table, foreign_key } => {
            bobak_sql::add_foreign_key(SQL, table, *foreign_key, &[])?
        }
        SchemaChange::AddIndex { table, index } => {
            let taken = taken_names(state, connection, table.name())?;
            if let Some(index) = table.indexes().get(*index) {
                let all = taken_names(state, connection, "")?;
                let substitute = substitute_index_name(SQL, table.name(), &index.name);
                let is_own = all.contains(&*index.name) && !taken.contains(&*index.name);
                if is_own || all.contains(&substitute) {
                    return Err(existing_index(table, &index.name));
                }
            }
            add_indexes(table, &[*index], &taken)?
        }
        SchemaChange::AlterTable(alteration) => alter_table(state, connection, alteration)?,
        SchemaChange::DropTable(table) => {
            let (table, log) = stored(state, connection, table)?;
            reject_tracked(&table, log.is_some())?;
            vec![format!("DROP TABLE {}", quote(SQL, table.name()))]
        }
        _ => Vec::new(),
    })
}

/// The statements for a table's indexes with these numbers.
fn add_indexes(
    table: &TableSchema,
    indexes: &[usize],
    taken: &HashSet<String>,
) -> Result<Vec<String>> {
    let renamed = substitute_index_names(SQL, table, |name| Ok(taken.contains(name)))?;
    let mut all = Vec::new();
    for &index in indexes {
        all.push(bobak_sql::add_index(SQL, &renamed, index)?);
        all.extend(bobak_sql::index_remark(SQL, &renamed, index));
        all.extend(note_index_name(table, &renamed, index));
    }
    Ok(all)
}

/// A change of the table that is stored, and the names that it meets.
pub(super) struct PreparedChange {
    pub(super) alteration: TableAlteration,
    pub(super) names: ConstraintNames,
    taken: HashSet<String>,
}

impl PreparedChange {
    /// The statements for the new indexes.
    pub(super) fn index_statements(&self) -> Result<Vec<String>> {
        add_indexes(self.alteration.to(), &self.alteration.added_indexes(), &self.taken)
    }
}

pub(super) fn prepare(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    alteration: &TableAlteration,
) -> Result<PreparedChange> {
    let (table, log) = stored(state, connection, alteration.from())?;
    let alteration = alteration.for_stored(&table)?;
    let from = alteration.from();
    alteration.check_tracked(log.is_some())?;
    let taken = taken_names(state, connection, from.name())?;
    if alteration.renames_table() && taken.contains(alteration.to().name()) {
        let error = Error::new(ErrorKind::Schema, "the table already exists");
        return Err(error.in_table(alteration.to().name().to_owned()));
    }
    let names = crate::schema::catalog::constraint_names(state, connection, from)?;
    Ok(PreparedChange { alteration, names, taken })
}

fn alter_table(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    alteration: &TableAlteration,
) -> Result<Vec<String>> {
    let change = prepare(state, connection, alteration)?;
    let mut all = online::drop_unvalidated(state, connection, change.alteration.from())?;
    all.extend(bobak_sql::alter_table(SQL, &change.alteration, &change.names)?);
    all.extend(change.index_statements()?);
    Ok(all)
}

/// The table as it is in the database, and its change log if it is tracked.
fn stored(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    table: &TableSchema,
) -> Result<(TableSchema, Option<TableSchema>)> {
    change_log::table_and_log(crate::schema::catalog::with_logs(state, connection)?, table)
}

fn reject_tracked(table: &TableSchema, is_tracked: bool) -> Result<()> {
    if !is_tracked {
        return Ok(());
    }
    let message = "the table is tracked: stop tracking it first";
    Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
}

/// The names of all tables, views, sequences and indexes, except for the indexes of a table.
fn taken_names(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    owner: &str,
) -> Result<HashSet<String>> {
    const NAMES: &str = "SELECT c.relname::text, coalesce(t.relname::text, '') FROM pg_class c \
        LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid \
        WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";
    let mut names = HashSet::new();
    state.ask(connection, NAMES, &[], |row| {
        if let (ValueRef::Text(name), ValueRef::Text(table)) = (row.get(0), row.get(1))
            && (table.is_empty() || table != owner)
        {
            names.insert(name.to_owned());
        }
    })?;
    Ok(names)
}

fn run_all(connection: &mut Connection, statements: Vec<String>) -> Result<()> {
    statements.into_iter().try_for_each(|text| connection.statement(&text, |_| {}))
}

/// The statements that adapt the change log of a tracked table, or of one that will be tracked, to its new columns.
fn log_statements(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    change: &SchemaChange,
) -> Result<Vec<String>> {
    match change {
        SchemaChange::Track { table, history } => {
            let (table, log) = stored(state, connection, table)?;
            check(&change_log::log_schema(&table, *history)?)?;
            let triggers = crate::schema::catalog::triggers(state, connection)?;
            let captured = change_log::is_captured(&triggers, table.name());
            let reason = TrackReason::Track { captured, history: *history };
            bobak_sql::track(SQL, &table, log.as_ref(), reason)
        }
        SchemaChange::AddColumn { table, column } => {
            let added = table.columns().get(*column).map_or("", |column| &column.name);
            match stored(state, connection, table)? {
                (table, Some(log)) => {
                    bobak_sql::track(SQL, &table, Some(&log), TrackReason::Added(added))
                }
                (_, None) => Ok(Vec::new()),
            }
        }
        SchemaChange::Untrack(table) => {
            match change_log::log_to_drop(
                crate::schema::catalog::with_logs(state, connection)?,
                table,
            )? {
                (table, Some(_)) => bobak_sql::untrack(SQL, &table),
                (_, None) => Ok(Vec::new()),
            }
        }
        SchemaChange::AlterTable(alteration) => match alteration.added_column() {
            None => Ok(Vec::new()),
            Some(added) => match stored(state, connection, alteration.to())? {
                (table, Some(log)) => {
                    bobak_sql::track(SQL, &table, Some(&log), TrackReason::Added(added))
                }
                (_, None) => Ok(Vec::new()),
            },
        },
        _ => Ok(Vec::new()),
    }
}

/// The most bytes of a name: the server cuts longer ones, silently.
const MAX_NAME_LENGTH: usize = 63;

/// Rejects what the server can't keep.
fn check(table: &TableSchema) -> Result<()> {
    let rejected = |message: String| {
        Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
    };
    let columns = table.columns().iter().map(|column| &column.name[..]);
    let indexes = table.indexes().iter().map(|index| &index.name[..]);
    let names = std::iter::once(table.name()).chain(columns).chain(indexes);
    if let Some(long) = names.into_iter().find(|name| name.len() > MAX_NAME_LENGTH) {
        return rejected(format!("the name '{long}' has more than {MAX_NAME_LENGTH} bytes"));
    }
    let keys = table.all_foreign_keys();
    for (at, column) in table.columns().iter().enumerate() {
        let at_column = |error: Error| error.in_column(column.name.to_string());
        let place = |error: Error| at_column(error.in_table(table.name().to_owned()));
        if column.ty == Type::Any || column.storage == Storage::Any {
            let message = "a column of any class: PostgreSQL's columns have one type each";
            return Err(place(Error::new(ErrorKind::Unsupported, message)));
        }
        if keys.iter().any(|key| key.columns.contains(&at)) && column.collation != Collation::Binary
        {
            let message = "a foreign key between text columns that ignore case";
            return Err(place(Error::new(ErrorKind::Unsupported, message)));
        }
        if matches!(&column.default, Some(Value::Text(text)) if text.contains('\0')) {
            let message = "a default with a NUL, which PostgreSQL cannot store in a text";
            return Err(place(Error::new(ErrorKind::Unsupported, message)));
        }
    }
    Ok(())
}

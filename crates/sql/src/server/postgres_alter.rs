//! The statements that change a PostgreSQL schema.

use super::{SqlServer, postgres_catalog};
use crate::{
    ConstraintNames, Dialect, PENDING, TrackReason, existing_index, note_index_name, quote,
    substitute_index_name, substitute_index_names,
};
use bobak_core::{
    Collation, Error, ErrorKind, Result, SchemaChange, Storage, TableAlteration, TableSchema, Type,
    Value, ValueRef, change_log, change_log::TableMoves,
};
use std::collections::HashSet;

const SQL: Dialect = Dialect::Postgres;

/// Constraints that a killed process did not come to validate.
const UNVALIDATED: &str = "SELECT k.conname::text FROM pg_constraint k JOIN pg_class t ON t.oid = k.conrelid \
    WHERE t.relname = $1 AND left(k.conname::text, length($2)) = $2 \
    AND t.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

/// The table that a change is about; of a change that this crate does not know yet nothing is known.
pub fn table_of(change: &SchemaChange) -> Result<&TableSchema> {
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

/// The statements of a change, without those of [`log_statements`].
///
/// # Errors
/// `Schema`, `Unsupported`; those of the server and the connection.
pub fn statements(server: &mut dyn SqlServer, change: &SchemaChange) -> Result<Vec<String>> {
    Ok(match change {
        SchemaChange::CreateTable(table) => {
            let taken = taken_names(server, "")?;
            if taken.contains(table.name()) {
                let error = Error::new(ErrorKind::Schema, "the table already exists");
                return Err(error.in_table(table.name().to_owned()));
            }
            let renamed = substitute_index_names(SQL, table, |name| Ok(taken.contains(name)))?;
            let mut all = crate::create_table(SQL, &renamed)?;
            let indexes = 0..table.indexes().len();
            all.extend(indexes.filter_map(|index| note_index_name(table, &renamed, index)));
            all
        }
        SchemaChange::AddColumn { table, column } => crate::add_column(SQL, table, *column)?,
        SchemaChange::AddReference { table, column } => crate::add_reference(SQL, table, *column)?,
        SchemaChange::AddForeignKey { table, foreign_key } => {
            crate::add_foreign_key(SQL, table, *foreign_key, &[])?
        }
        SchemaChange::AddIndex { table, index } => {
            let taken = taken_names(server, table.name())?;
            if let Some(index) = table.indexes().get(*index) {
                let all = taken_names(server, "")?;
                let substitute = substitute_index_name(SQL, table.name(), &index.name);
                let is_own = all.contains(&*index.name) && !taken.contains(&*index.name);
                if is_own || all.contains(&substitute) {
                    return Err(existing_index(table, &index.name));
                }
            }
            add_indexes(table, &[*index], &taken)?
        }
        SchemaChange::AlterTable(alteration) => alter_table(server, alteration)?,
        SchemaChange::DropTable(table) => {
            let (table, log) = stored(server, table)?;
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
        all.push(crate::add_index(SQL, &renamed, index)?);
        all.extend(crate::index_remark(SQL, &renamed, index));
        all.extend(note_index_name(table, &renamed, index));
    }
    Ok(all)
}

/// A change of the table that is stored, and the names that it meets.
#[derive(Debug)]
pub struct PreparedChange {
    /// The change of the stored table.
    pub alteration: TableAlteration,
    /// The names of its constraints.
    pub names: ConstraintNames,
    /// Whether the change log of the table has another layout afterwards.
    pub changes_layout: bool,
    log: Option<TableSchema>,
    taken: HashSet<String>,
}

impl PreparedChange {
    /// The statements for the new indexes.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn index_statements(&self) -> Result<Vec<String>> {
        add_indexes(self.alteration.to(), &self.alteration.added_indexes(), &self.taken)
    }
}

/// Reads what an alteration of a table needs to know.
///
/// # Errors
/// As [`statements`].
pub fn prepare(server: &mut dyn SqlServer, alteration: &TableAlteration) -> Result<PreparedChange> {
    let (table, log) = stored(server, alteration.from())?;
    let alteration = alteration.for_stored(&table)?;
    let from = alteration.from();
    alteration.check_tracked(log.is_some())?;
    let taken = taken_names(server, from.name())?;
    if alteration.renames_table() && taken.contains(alteration.to().name()) {
        let error = Error::new(ErrorKind::Schema, "the table already exists");
        return Err(error.in_table(alteration.to().name().to_owned()));
    }
    let names = postgres_catalog::constraint_names(server, from)?;
    let layouts = [from, alteration.to()].map(|table| change_log::layout(table));
    let changes_layout = log.is_some() && layouts[0] != layouts[1];
    Ok(PreparedChange { alteration, names, changes_layout, log, taken })
}

fn alter_table(server: &mut dyn SqlServer, alteration: &TableAlteration) -> Result<Vec<String>> {
    let change = prepare(server, alteration)?;
    let mut all = drop_unvalidated(server, change.alteration.from())?;
    all.extend(move_log(server, &change)?);
    all.extend(crate::alter_table(SQL, &change.alteration, &change.names)?);
    all.extend(change.index_statements()?);
    Ok(all)
}

/// The statements that give the log of a tracked table its new names.
fn move_log(server: &mut dyn SqlServer, change: &PreparedChange) -> Result<Vec<String>> {
    let moves = TableMoves::of(&change.alteration);
    let (Some(log), Some(moves)) = (&change.log, moves) else { return Ok(Vec::new()) };
    let from = change.alteration.from();
    let mut all = crate::begin_moves(SQL, from);
    if let Some(moved) = moves.alter_log(log)? {
        check(moved.to())?;
        all.extend(alter_table(server, &moved)?);
    }
    all.extend(crate::note_moves(SQL, from, &moves));
    Ok(all)
}

/// The statements that drop the constraints which a killed process did not come to validate.
///
/// # Errors
/// Those of the server and the connection.
pub fn drop_unvalidated(server: &mut dyn SqlServer, table: &TableSchema) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    let parameters = [Value::from(table.name()), Value::from(PENDING)];
    server.ask(UNVALIDATED, &parameters, &mut |row| {
        if let ValueRef::Text(name) = row.get(0) {
            let (table, name) = (quote(SQL, table.name()), quote(SQL, name));
            texts.push(format!("ALTER TABLE {table} DROP CONSTRAINT {name}"));
        }
    })?;
    Ok(texts)
}

/// The table as it is in the database, and its change log if it is tracked.
fn stored(
    server: &mut dyn SqlServer,
    table: &TableSchema,
) -> Result<(TableSchema, Option<TableSchema>)> {
    change_log::table_and_log(postgres_catalog::with_logs(server)?, table)
}

fn reject_tracked(table: &TableSchema, is_tracked: bool) -> Result<()> {
    if !is_tracked {
        return Ok(());
    }
    let message = "the table is tracked: stop tracking it first";
    Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
}

/// The names of all tables, views, sequences and indexes, except for the indexes of a table.
fn taken_names(server: &mut dyn SqlServer, owner: &str) -> Result<HashSet<String>> {
    const NAMES: &str = "SELECT c.relname::text, coalesce(t.relname::text, '') FROM pg_class c \
        LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid \
        WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";
    let mut names = HashSet::new();
    server.ask(NAMES, &[], &mut |row| {
        if let (ValueRef::Text(name), ValueRef::Text(table)) = (row.get(0), row.get(1))
            && (table.is_empty() || table != owner)
        {
            names.insert(name.to_owned());
        }
    })?;
    Ok(names)
}

/// The statements that adapt the change log of a tracked table, or of one that will be tracked, to its new columns.
pub fn log_statements(server: &mut dyn SqlServer, change: &SchemaChange) -> Result<Vec<String>> {
    match change {
        SchemaChange::Track { table, history } => {
            let (table, log) = stored(server, table)?;
            check(&change_log::log_schema(&table, *history)?)?;
            reject_inherited(server, &table)?;
            reject_unlogged(server, &table)?;
            let triggers = postgres_catalog::triggers(server)?;
            let captured = change_log::is_captured(&triggers, table.name());
            let reason = TrackReason::Track { captured, history: *history };
            crate::track(SQL, &table, log.as_ref(), reason)
        }
        SchemaChange::AddColumn { table, column } => {
            let added = table.columns().get(*column).map_or("", |column| &column.name);
            match stored(server, table)? {
                (table, Some(log)) => {
                    crate::track(SQL, &table, Some(&log), TrackReason::Added(added))
                }
                (_, None) => Ok(Vec::new()),
            }
        }
        SchemaChange::Untrack(table) => {
            match change_log::log_to_drop(postgres_catalog::with_logs(server)?, table)? {
                (table, Some(_)) => crate::untrack(SQL, &table),
                (_, None) => Ok(Vec::new()),
            }
        }
        SchemaChange::AlterTable(alteration) => match stored(server, alteration.to())? {
            (table, Some(log)) => crate::track_altered(SQL, &table, &log, alteration),
            (_, None) => Ok(Vec::new()),
        },
        _ => Ok(Vec::new()),
    }
}

const CHILDREN: &str = "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
    JOIN pg_class p ON p.oid = i.inhparent WHERE NOT c.relispartition AND p.relname = $1 \
    AND p.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

/// Rejects to track a table that other tables inherit from: it has their rows, and its triggers do not see them.
fn reject_inherited(server: &mut dyn SqlServer, table: &TableSchema) -> Result<()> {
    let mut child = None;
    server.ask(CHILDREN, &[Value::from(table.name())], &mut |row| {
        child = Some(postgres_catalog::text(row, 0));
    })?;
    let Some(child) = child else { return Ok(()) };
    let message = format!(
        "the table '{child}' inherits from it: its rows are read with those of the table, and their \
         changes set off no trigger of the table, so it cannot be tracked"
    );
    Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()))
}

const UNLOGGED: &str = "SELECT 1::int8 FROM pg_class WHERE relpersistence = 'u' AND relname = $1 \
    AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

/// Rejects to track a table that is empty after a crash of the server: its log is not.
fn reject_unlogged(server: &mut dyn SqlServer, table: &TableSchema) -> Result<()> {
    let mut is_unlogged = false;
    server.ask(UNLOGGED, &[Value::from(table.name())], &mut |_| is_unlogged = true)?;
    if !is_unlogged {
        return Ok(());
    }
    let message = "the table is UNLOGGED: a crash of the server empties it, but not its change log, so it \
                   cannot be tracked: ALTER TABLE ... SET LOGGED";
    Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()))
}

/// The most bytes of a name: the server cuts longer ones, silently.
const MAX_NAME_LENGTH: usize = 63;

/// Rejects what the server can't keep.
pub fn check(table: &TableSchema) -> Result<()> {
    let rejected = |message: String| {
        Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
    };
    let columns = table.columns().iter().map(|column| &column.name[..]);
    let mut names = std::iter::once(table.name()).chain(columns);
    if let Some(long) = names.find(|name| name.len() > MAX_NAME_LENGTH) {
        return rejected(format!("the name '{long}' has more than {MAX_NAME_LENGTH} bytes"));
    }
    let keys = table.all_foreign_keys();
    for (at, column) in table.columns().iter().enumerate() {
        let at_column = |error: Error| error.in_column(column.name.to_string());
        let place = |error: Error| at_column(error.in_table(table.name().to_owned()));
        if column.ty == Type::Any || column.storage == Storage::Any {
            let message = "PostgreSQL has no columns of any class: each has one type";
            return Err(place(Error::new(ErrorKind::Unsupported, message)));
        }
        if keys.iter().any(|key| key.columns.contains(&at)) && column.collation != Collation::Binary
        {
            let message = "PostgreSQL has no foreign key between text columns that ignore case";
            return Err(place(Error::new(ErrorKind::Unsupported, message)));
        }
        if matches!(&column.default, Some(Value::Text(text)) if text.contains('\0')) {
            let message = "the default has a NUL, which PostgreSQL cannot store in a text";
            return Err(place(Error::new(ErrorKind::Unsupported, message)));
        }
    }
    Ok(())
}

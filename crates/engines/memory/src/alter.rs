//! Changes of the schema: all of them, or none.

use crate::foreign::check_out;
use crate::log;
use crate::rows::encode;
use crate::state::State;
use crate::table::TableState;
use bobak_core::change_log;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    ColumnSchema, Error, ErrorKind, IndexSchema, KeyGeneration, Result, SchemaChange, TableSchema,
    Value,
};
use std::sync::Arc;

/// What is added to one table.
struct Addition {
    table: Arc<TableSchema>,
    columns: Vec<String>,
    indexes: Vec<String>,
}

/// The state with the changes made.
///
/// # Errors
/// As [`Engine::alter`](bobak_core::Engine::alter); `Duplicate` or `Constraint` where rows that are there
/// break a new rule.
pub(super) fn alter(state: &State, changes: &[SchemaChange]) -> Result<State> {
    let mut state = state.clone();
    let mut additions: Vec<Addition> = Vec::new();
    for change in changes {
        match change {
            SchemaChange::CreateTable(table) => {
                if state.place(table.name()).is_some() {
                    let message = "the table is there already";
                    return Err(Error::new(ErrorKind::Schema, message).in_table(table.name()));
                }
                let table = TableState::new(Arc::clone(table))?;
                state.tables.push(Arc::new(table));
            }
            SchemaChange::AddColumn { table, column } => {
                let name = table.column_at(*column)?.name.clone();
                addition(&mut additions, table).columns.push(name.into_owned());
            }
            SchemaChange::AddIndex { table, index } => {
                let index = table.indexes().get(*index).ok_or_else(|| {
                    let message = format!("there is no index number {index}");
                    Error::new(ErrorKind::Schema, message).in_table(table.name())
                })?;
                let name = index.name.clone().into_owned();
                addition(&mut additions, table).indexes.push(name);
            }
            SchemaChange::Track { table, history } => log::track(&mut state, table, *history)?,
            SchemaChange::Untrack(table) => log::untrack(&mut state, table)?,
            _ => return Err(Error::unsupported(crate::shared::NAME, "schema change of this kind")),
        }
    }
    for addition in &additions {
        let place = state.place(addition.table.name()).ok_or_else(|| {
            let message = "the table does not exist: create it first";
            Error::new(ErrorKind::Schema, message).in_table(addition.table.name())
        })?;
        let rebuilt = addition.apply(state.table(place))?;
        *state.table_mut(place) = rebuilt;
        addition.widen_log(&mut state)?;
    }
    state.known = Arc::default();
    state.link()?;
    for addition in &additions {
        if let Some(place) = state.place(addition.table.name()) {
            check_references(&state, place)?;
        }
    }
    Ok(state)
}

/// Checks that all rows of a table refer to rows that are there.
///
/// # Errors
/// `Constraint`.
pub(super) fn check_references(state: &State, place: usize) -> Result<()> {
    if state.links(place).out.is_empty() {
        return Ok(());
    }
    let table = state.table(place);
    let mut at = table.key().order.start();
    while let Some(slot) = table.key().order.next(&mut at) {
        if let Some(row) = table.row(slot) {
            check_out(state, place, row)?;
        }
    }
    Ok(())
}

/// Adds a row of a file or of an older form of the table, with all checks but foreign keys.
///
/// # Errors
/// `Constraint`, `Mismatch`, `Duplicate`, `Full`.
pub(super) fn add_checked(table: &mut TableState, row: Arc<[u8]>) -> Result<()> {
    table.check(EncodedRow::new(&row))?;
    if let Some((index, _)) = table.conflict(EncodedRow::new(&row), None) {
        return Err(table.duplicate(index));
    }
    table.add(row).map(|_| ())
}

/// A table of these parts. Indexes that the columns' own rules make need not be among them.
///
/// # Errors
/// As [`TableSchemaBuilder::build`](bobak_core::TableSchemaBuilder::build).
pub(super) fn assemble(
    name: &str,
    columns: Vec<ColumnSchema>,
    key: Vec<String>,
    generation: KeyGeneration,
    indexes: &[(String, Vec<String>, bool)],
) -> Result<TableSchema> {
    let own: Vec<String> = columns
        .iter()
        .filter(|column| column.unique)
        .map(|column| format!("{name}_{}_unique", column.name))
        .collect();
    let mut builder = TableSchema::builder(name.to_owned()).key(key);
    if generation == KeyGeneration::Given {
        builder = builder.given_key();
    }
    for column in columns {
        builder = builder.column(column);
    }
    for (index, columns, unique) in indexes {
        let columns = columns.iter().cloned();
        builder = match (unique, own.contains(index)) {
            (true, true) => builder,
            (true, false) => builder.unique_index(index.clone(), columns),
            (false, _) => builder.index(index.clone(), columns),
        };
    }
    builder.build()
}

/// An index with its columns' names.
pub(super) fn named(table: &TableSchema, index: &IndexSchema) -> (String, Vec<String>, bool) {
    let columns = index.columns.iter();
    let names = columns.filter_map(|place| Some(table.columns().get(*place)?.name.to_string()));
    (index.name.to_string(), names.collect(), index.unique)
}

fn addition<'a>(additions: &'a mut Vec<Addition>, table: &Arc<TableSchema>) -> &'a mut Addition {
    let same = |a: &Addition| a.table.name().eq_ignore_ascii_case(table.name());
    let place = additions.iter().position(same).unwrap_or_else(|| {
        additions.push(Addition {
            table: Arc::clone(table),
            columns: Vec::new(),
            indexes: Vec::new(),
        });
        additions.len() - 1
    });
    let addition = additions.get_mut(place).expect("found or pushed just now");
    // Where each change shows the table one step further, the last shows it whole.
    addition.table = Arc::clone(table);
    addition
}

impl Addition {
    /// The table as it is to be, with the old one's rows.
    fn apply(&self, old: &TableState) -> Result<TableState> {
        let sources = self.sources(&old.schema)?;
        let schema = self.with_old_indexes(&old.schema)?;
        let mut new = TableState::new(schema)?;
        let unchanged = sources.iter().enumerate().all(|(at, s)| *s == Source::Old(at));
        let mut buffer = Vec::new();
        let mut at = old.key().order.start();
        while let Some(slot) = old.key().order.next(&mut at) {
            let Some(bytes) = old.bytes(slot) else { continue };
            let row = EncodedRow::new(bytes);
            let bytes = if unchanged {
                Arc::clone(bytes)
            } else {
                encode(&mut buffer, &new.schema, |column| match sources.get(column) {
                    Some(Source::Old(place)) => row.value(*place),
                    Some(Source::New(value)) => value.as_ref(),
                    None => bobak_core::ValueRef::Null,
                })?
            };
            add_checked(&mut new, bytes)?;
        }
        Ok(new)
    }

    /// Gives the table's log, if it has one, the new columns too.
    fn widen_log(&self, state: &mut State) -> Result<()> {
        let place = state.place(&format!("{}{}", change_log::LOG_PREFIX, self.table.name()));
        let Some(place) = place.filter(|_| !self.columns.is_empty()) else {
            return Ok(());
        };
        let columns = self.columns.iter().flat_map(|c| [format!("old_{c}"), format!("new_{c}")]);
        let table = Arc::new(change_log::log_schema(&self.table, false)?);
        let log = Self { table, columns: columns.collect(), indexes: Vec::new() };
        let rebuilt = log.apply(state.table(place))?;
        *state.table_mut(place) = rebuilt;
        Ok(())
    }

    /// For each column of the new table, where its values come from.
    fn sources(&self, old: &TableSchema) -> Result<Vec<Source>> {
        let refuse = |column: &str, message: &str| {
            Error::new(ErrorKind::Schema, message).in_table(old.name()).in_column(column)
        };
        for column in old.columns() {
            if self.table.column(&column.name).is_err() {
                let message = "the table has this column, and it may not be lost";
                return Err(refuse(&column.name, message));
            }
        }
        for index in &self.indexes {
            if old.indexes().iter().any(|other| other.name.eq_ignore_ascii_case(index)) {
                let message = format!("the index '{index}' is there already");
                return Err(Error::new(ErrorKind::Schema, message).in_table(old.name()));
            }
        }
        let key_names = |table: &TableSchema| -> Vec<String> {
            let key = table.key().iter();
            key.filter_map(|place| Some(table.columns().get(*place)?.name.to_ascii_lowercase()))
                .collect()
        };
        if key_names(old) != key_names(&self.table) {
            let message = "the key of a table that is there can't be changed";
            return Err(Error::new(ErrorKind::Schema, message).in_table(old.name()));
        }
        let source = |column: &ColumnSchema| {
            let added = self.columns.iter().any(|name| *name == column.name);
            match old.column(&column.name) {
                Ok(_) if added => Err(refuse(&column.name, "the column is there already")),
                Ok(place) => match old.columns().get(place) {
                    Some(old) if old.storage != column.storage => {
                        Err(refuse(&column.name, "the column is stored otherwise"))
                    }
                    _ => Ok(Source::Old(place)),
                },
                Err(_) if added => filling(column).map(Source::New),
                Err(_) => Err(refuse(&column.name, "the stored table has no such column")),
            }
        };
        self.table.columns().iter().map(source).collect()
    }

    /// The table's new description; an index that only the old one has stays.
    fn with_old_indexes(&self, old: &TableSchema) -> Result<Arc<TableSchema>> {
        let table = &self.table;
        let missing = |index: &&IndexSchema| {
            let mut indexes = table.indexes().iter();
            !indexes.any(|other| other.name.eq_ignore_ascii_case(&index.name))
        };
        let kept: Vec<_> = old.indexes().iter().filter(missing).map(|i| named(old, i)).collect();
        if kept.is_empty() {
            return Ok(Arc::clone(table));
        }
        let mut indexes: Vec<_> = table.indexes().iter().map(|i| named(table, i)).collect();
        indexes.extend(kept);
        let key = table.key().iter();
        let key = key.filter_map(|place| Some(table.columns().get(*place)?.name.to_string()));
        let (columns, generation) = (table.columns().to_vec(), table.key_generation());
        assemble(table.name(), columns, key.collect(), generation, &indexes).map(Arc::new)
    }
}

/// Where a column's values come from.
#[derive(PartialEq)]
enum Source {
    /// This column of the old table.
    Old(usize),
    /// This value, in all rows.
    New(Value<'static>),
}

/// What old rows get in an added column.
fn filling(column: &ColumnSchema) -> Result<Value<'static>> {
    match &column.default {
        Some(value) => column.accept(value.clone()),
        None => Ok(column.added_value()),
    }
}

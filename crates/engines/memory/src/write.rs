//! What each [`Verb`] does to one row.
//!
//! A row is checked before anything is changed, so most verbs need no undo. Those that change several rows, or whose
//! foreign keys are checked afterwards, run as a [`AtomicStatement`].

use crate::foreign;
use crate::rows::{RowBytes, encode};
use crate::state::DatabaseState;
use crate::statement::AtomicStatement;
use crate::table::TableState;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    FieldSet, GeneratedKey, KeyGeneration, Outcome, Result, TableSchema, ValueRef, Verb,
};
use bobak_engine_common::{check_version, no_such_row, raised_version};
use std::sync::Arc;

/// Writes rows of one table.
pub(super) struct WriteExecutor {
    /// The table's position in the state.
    pub position: usize,
    verb: Verb,
    /// The number of the index by which an upsert finds a row: 0 is the key's.
    upsert_index: usize,
    fields: FieldSet,
    version: Option<usize>,
    /// The key column, if the engine generates keys.
    generated_key: Option<usize>,
}

impl WriteExecutor {
    /// A writer for a table, as the given schema describes it.
    ///
    /// # Errors
    /// `Schema` if the table is missing or differs, or does not have the unique index of an upsert.
    #[inline]
    pub fn new(
        state: &DatabaseState,
        table: &Arc<TableSchema>,
        verb: Verb,
        fields: FieldSet,
    ) -> Result<Self> {
        table.check_written(verb)?;
        let position = state.find(table)?;
        let upsert_index = verb.upsert_index(table, &state.table(position).schema)?;
        let generated_key = match (table.key_generation(), table.key()) {
            (KeyGeneration::Engine, [column]) => Some(*column),
            _ => None,
        };
        let version = table.version();
        Ok(Self { position, verb, upsert_index, fields, version, generated_key })
    }

    /// Writes one row. `buffer` is reused memory.
    ///
    /// # Errors
    /// See [`Session::write`](bobak_core::Session::write); nothing is changed then.
    #[inline]
    pub fn write(
        &self,
        state: &mut DatabaseState,
        row: EncodedRow<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Outcome> {
        match self.verb {
            Verb::Update => self.update(state, row, buffer),
            Verb::Delete => self.delete(state, row),
            _ => self.insert(state, row, buffer),
        }
    }

    #[inline]
    fn insert(
        &self,
        state: &mut DatabaseState,
        row: EncodedRow<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Outcome> {
        let table = state.table(self.position);
        let mut bytes: RowBytes = Arc::from(row.as_bytes());
        let given = match self.generated_key {
            Some(column) if row.value(column).is_null() => {
                let key = table.next_key()?;
                put_integer(&mut bytes, column, key);
                Some(GeneratedKey::Int(key))
            }
            _ => None,
        };
        let bytes = table.complete(bytes)?;
        table.check(EncodedRow::new(&bytes))?;
        if self.verb.is_upsert()
            && let Some(slot) = table.conflict_in(self.upsert_index, EncodedRow::new(&bytes))
        {
            let outcome = self.set_fields(state, slot, EncodedRow::new(&bytes), buffer)?;
            let table = state.table(self.position);
            return Ok(match (self.verb, table.row(slot)) {
                (Verb::UpsertOn(_), Some(row)) => {
                    Outcome::of_updated(&table.schema, |column| row.value(column))
                }
                _ => outcome,
            });
        }
        match (self.verb, table.conflict(EncodedRow::new(&bytes), None)) {
            (_, None) => {}
            (Verb::InsertOrIgnore, Some(_)) => return Ok(Outcome::Ignored),
            (Verb::InsertOrReplace, Some(_)) => {
                AtomicStatement::run(state, |statement| self.replace(statement, bytes))?;
                return Ok(Outcome::Inserted(given));
            }
            (_, Some((index, _))) => return Err(table.duplicate(index)),
        }
        let links = state.links(self.position);
        if links.out.is_empty() && links.log.is_none() {
            state.table_mut(self.position).add(bytes)?;
        } else {
            AtomicStatement::run(state, |statement| {
                statement.add(self.position, Arc::clone(&bytes))?;
                // The row may refer to itself: so the check comes after.
                foreign::check_out(statement.state(), self.position, EncodedRow::new(&bytes))
            })?;
        }
        Ok(Outcome::Inserted(given))
    }

    /// Deletes the rows that conflict with a new row, then adds it.
    fn replace(&self, statement: &mut AtomicStatement<'_>, bytes: RowBytes) -> Result<()> {
        let mut referred = Vec::new();
        loop {
            let table = statement.state().table(self.position);
            match table.conflict(EncodedRow::new(&bytes), None) {
                Some((_, slot)) => {
                    foreign::delete(statement, self.position, slot, &mut referred)?;
                }
                None => break,
            }
        }
        foreign::check_deleted(statement.state(), &referred)?;
        statement.add(self.position, Arc::clone(&bytes))?;
        foreign::check_out(statement.state(), self.position, EncodedRow::new(&bytes))
    }

    fn update(
        &self,
        state: &mut DatabaseState,
        row: EncodedRow<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Outcome> {
        let table = state.table(self.position);
        let key = table.schema.key();
        let part = |at: usize| key.get(at).map_or(ValueRef::Null, |c| row.value(*c));
        let found = table.find(table.key(), part);
        let Some((slot, old)) = found.and_then(|slot| Some((slot, table.row(slot)?))) else {
            return Err(no_such_row(&table.schema));
        };
        if let Some(version) = self.version {
            check_version(&table.schema, old.value(version), row.value(version))?;
        }
        self.set_fields(state, slot, row, buffer)
    }

    /// Copies the writer's fields of `row` to the row in a slot, and raises its version.
    fn set_fields(
        &self,
        state: &mut DatabaseState,
        slot: u32,
        row: EncodedRow<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Outcome> {
        let table = state.table(self.position);
        let Some(old) = table.row(slot) else {
            return Ok(Outcome::Changed(0));
        };
        let version = raised_version(&table.schema, old, self.version)?;
        let new = encode(buffer, &table.schema, |column| match version {
            Some((position, version)) if position == column => ValueRef::Int(version),
            _ if self.fields.contains(column) => row.value(column),
            _ => old.value(column),
        })?;
        let new = table.complete(new)?;
        check_update(table, slot, &new)?;
        if state.links(self.position).is_isolated() {
            state.table_mut(self.position).replace(slot, &new);
        } else {
            let old = table.bytes(slot).map(Arc::clone);
            AtomicStatement::run(state, |statement| {
                statement.replace(self.position, slot, &new);
                check_links(statement.state(), self.position, old.as_deref(), &new)
            })?;
        }
        Ok(Outcome::Changed(1))
    }

    fn delete(&self, state: &mut DatabaseState, key: EncodedRow<'_>) -> Result<Outcome> {
        let table = state.table(self.position);
        let Some(slot) = table.find(table.key(), |at| key.value(at)) else {
            return Ok(Outcome::Changed(0));
        };
        let links = state.links(self.position);
        if links.into.is_empty() && links.log.is_none() {
            let table = state.table_mut(self.position);
            table.remove(slot);
            table.free(slot);
        } else {
            AtomicStatement::run(state, |statement| {
                let mut referred = Vec::new();
                foreign::delete(statement, self.position, slot, &mut referred)?;
                foreign::check_deleted(statement.state(), &referred)
            })?;
        }
        Ok(Outcome::Changed(1))
    }
}

/// Checks a row that will replace the one in `slot`.
///
/// # Errors
/// `Constraint`, `Mismatch`, `Duplicate`.
pub(super) fn check_update(table: &TableState, slot: u32, new: &RowBytes) -> Result<()> {
    let row = EncodedRow::new(new);
    table.check(row)?;
    match table.conflict(row, Some(slot)) {
        Some((index, _)) => Err(table.duplicate(index)),
        None => Ok(()),
    }
}

/// Checks the foreign keys of an updated row, in both directions.
///
/// # Errors
/// `Constraint`.
pub(super) fn check_links(
    state: &DatabaseState,
    position: usize,
    old: Option<&[u8]>,
    new: &RowBytes,
) -> Result<()> {
    let new = EncodedRow::new(new);
    foreign::check_out(state, position, new)?;
    old.map_or(Ok(()), |old| foreign::check_into(state, position, EncodedRow::new(old), new))
}

/// The row codec's tag for an integer.
const INTEGER_TAG: u8 = 1;

/// Stores an integer in place of a NULL of a new row. Both have the same size in the codec.
#[inline]
fn put_integer(row: &mut RowBytes, column: usize, integer: i64) {
    let columns = bobak_core::Row::len(&EncodedRow::new(row));
    let slot = 2 + columns + column * 8;
    if let Some(bytes) = Arc::get_mut(row)
        && let Some(position) = bytes.get_mut(slot..slot + 8)
    {
        position.copy_from_slice(&integer.to_le_bytes());
        if let Some(tag) = bytes.get_mut(2 + column) {
            *tag = INTEGER_TAG;
        }
    }
}

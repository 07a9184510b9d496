//! What each [`Verb`] does to one row.
//!
//! A row is checked before anything is changed, so most verbs need no undoing; those that touch
//! several rows, or whose foreign keys are checked afterwards, run as a [`Statement`].

use crate::foreign;
use crate::rows::{RowBytes, encode};
use crate::state::State;
use crate::statement::Statement;
use crate::table::TableState;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    FieldSet, GeneratedKey, KeyGeneration, Outcome, Result, TableSchema, ValueRef, Verb,
};
use bobak_engine_common::{check_version, no_such_row, raised_version};
use std::sync::Arc;

/// What is done to the rows of one table.
pub(super) struct Writer {
    /// The table's place in the state.
    pub place: usize,
    verb: Verb,
    fields: FieldSet,
    version: Option<usize>,
    /// The key's column, where the engine makes keys.
    generated_key: Option<usize>,
}

impl Writer {
    /// A writer for the table at `place`, as the given schema describes it.
    pub fn new(place: usize, table: &TableSchema, verb: Verb, fields: FieldSet) -> Self {
        let generated_key = match (table.key_generation(), table.key()) {
            (KeyGeneration::Engine, [column]) => Some(*column),
            _ => None,
        };
        Self { place, verb, fields, version: table.version(), generated_key }
    }

    /// Writes one row. `buffer` is scratch memory.
    ///
    /// # Errors
    /// See [`Session::write`](bobak_core::Session::write); nothing is changed then.
    #[inline]
    pub fn write(
        &self,
        state: &mut State,
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
        state: &mut State,
        row: EncodedRow<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Outcome> {
        let table = state.table(self.place);
        let mut bytes: RowBytes = Arc::from(row.as_bytes());
        let given = match self.generated_key {
            Some(column) if row.value(column).is_null() => {
                let key = table.next_key()?;
                put_integer(&mut bytes, column, key);
                Some(GeneratedKey::Int(key))
            }
            _ => None,
        };
        table.check(EncodedRow::new(&bytes))?;
        match (self.verb, table.conflict(EncodedRow::new(&bytes), None)) {
            (_, None) => {}
            (Verb::InsertOrIgnore, Some(_)) => return Ok(Outcome::Ignored),
            (Verb::InsertOrReplace, Some(_)) => {
                Statement::run(state, |statement| self.replace(statement, bytes))?;
                return Ok(Outcome::Inserted(given));
            }
            (Verb::Upsert, Some((0, slot))) => {
                let row = EncodedRow::new(&bytes);
                return self.set_fields(state, slot, row, buffer);
            }
            (_, Some((index, _))) => return Err(table.duplicate(index)),
        }
        let links = state.links(self.place);
        if links.out.is_empty() && links.log.is_none() {
            state.table_mut(self.place).add(bytes)?;
        } else {
            Statement::run(state, |statement| {
                statement.add(self.place, Arc::clone(&bytes))?;
                // The row may refer to itself: so the check comes after.
                foreign::check_out(statement.state(), self.place, EncodedRow::new(&bytes))
            })?;
        }
        Ok(Outcome::Inserted(given))
    }

    /// Deletes the rows in a new row's way, then adds it.
    fn replace(&self, statement: &mut Statement<'_>, bytes: RowBytes) -> Result<()> {
        loop {
            let table = statement.state().table(self.place);
            match table.conflict(EncodedRow::new(&bytes), None) {
                Some((_, slot)) => foreign::delete(statement, self.place, slot)?,
                None => break,
            };
        }
        statement.add(self.place, Arc::clone(&bytes))?;
        foreign::check_out(statement.state(), self.place, EncodedRow::new(&bytes))
    }

    fn update(
        &self,
        state: &mut State,
        row: EncodedRow<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Outcome> {
        let table = state.table(self.place);
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

    /// Gives the row in a slot the values of `row` in the writer's fields, and raises its version.
    fn set_fields(
        &self,
        state: &mut State,
        slot: u32,
        row: EncodedRow<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Outcome> {
        let table = state.table(self.place);
        let Some(old) = table.row(slot) else {
            return Ok(Outcome::Changed(0));
        };
        let version = raised_version(&table.schema, old, self.version)?;
        let new = encode(buffer, &table.schema, |column| match version {
            Some((place, version)) if place == column => ValueRef::Int(version),
            _ if self.fields.contains(column) => row.value(column),
            _ => old.value(column),
        })?;
        check_update(table, slot, &new)?;
        if state.links(self.place).none() {
            state.table_mut(self.place).replace(slot, &new);
        } else {
            let old = table.bytes(slot).map(Arc::clone);
            Statement::run(state, |statement| {
                statement.replace(self.place, slot, &new);
                check_links(statement.state(), self.place, old.as_deref(), &new)
            })?;
        }
        Ok(Outcome::Changed(1))
    }

    fn delete(&self, state: &mut State, key: EncodedRow<'_>) -> Result<Outcome> {
        let table = state.table(self.place);
        let Some(slot) = table.find(table.key(), |at| key.value(at)) else {
            return Ok(Outcome::Changed(0));
        };
        let links = state.links(self.place);
        if links.into.is_empty() && links.log.is_none() {
            let table = state.table_mut(self.place);
            table.remove(slot);
            table.free(slot);
        } else {
            Statement::run(state, |statement| foreign::delete(statement, self.place, slot))?;
        }
        Ok(Outcome::Changed(1))
    }
}

/// Checks a row that is to take the place of the one in `slot`.
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

/// Checks the foreign keys of an updated row, both ways.
///
/// # Errors
/// `Constraint`.
pub(super) fn check_links(
    state: &State,
    place: usize,
    old: Option<&[u8]>,
    new: &RowBytes,
) -> Result<()> {
    let new = EncodedRow::new(new);
    foreign::check_out(state, place, new)?;
    old.map_or(Ok(()), |old| foreign::check_into(state, place, EncodedRow::new(old), new))
}

/// The row codec's tag for an integer.
const INTEGER_TAG: u8 = 1;

/// Puts an integer where a new row has NULL. Both take the same place in the codec.
#[inline]
fn put_integer(row: &mut RowBytes, column: usize, integer: i64) {
    let columns = bobak_core::Row::len(&EncodedRow::new(row));
    let slot = 2 + columns + column * 8;
    if let Some(bytes) = Arc::get_mut(row)
        && let Some(place) = bytes.get_mut(slot..slot + 8)
    {
        place.copy_from_slice(&integer.to_le_bytes());
        if let Some(tag) = bytes.get_mut(2 + column) {
            *tag = INTEGER_TAG;
        }
    }
}

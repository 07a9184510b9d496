//! Batches: many writes, over one table or several, in the row codec's bytes.

use crate::codec::{self, EncodedRow};
use crate::{
    Field, FieldSet, Key, KeyGeneration, Record, Result, TableSchema, Uuid, Value, ValueRef, Verb,
    Write, prepare,
};
use std::sync::Arc;

/// Writes waiting to be sent, in order. Values are in it as an engine takes them: checked and
/// stamped.
///
/// The facade's batch fills and sends these a part at a time; engines read them.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    heads: Vec<RunHead>,
    rows: u64,
    made: Vec<(u64, Uuid)>,
}

/// What successive writes have in common.
#[derive(Clone, Debug)]
struct RunHead {
    table: Arc<TableSchema>,
    verb: Verb,
    fields: FieldSet,
    first: u64,
    start: usize,
    /// Whether its rows' stamps are to be filled.
    unstamped: bool,
}

/// Successive writes of one verb and field set to one table.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The table.
    pub table: &'a Arc<TableSchema>,
    /// What happens to the rows.
    pub verb: Verb,
    /// For `Update` and `Upsert`: the columns that are set.
    pub fields: FieldSet,
    /// The first row's number in the batch.
    pub first: u64,
    /// How many rows.
    pub rows: u64,
    bytes: &'a [u8],
}

/// What an engine does with the rest when a row of a batch fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OnError {
    /// Undoes the batch (of a batch that commits as it goes: since the last commit) and stops.
    #[default]
    Stop,
    /// Leaves the row out and goes on.
    Continue,
}

/// What became of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A new row is there; its key, where it was made by the engine or by Bobak.
    Inserted(Option<GivenKey>),
    /// So many rows were updated or deleted: 1, or 0 for a delete that found none.
    Changed(u64),
    /// Nothing happened: `InsertOrIgnore` found the row there.
    Ignored,
}

/// A key that the user did not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GivenKey {
    /// By the engine.
    Int(i64),
    /// By Bobak.
    Uuid(Uuid),
}

impl GivenKey {
    /// As the key of a record type.
    ///
    /// # Errors
    /// `Mismatch` where that has other keys.
    pub fn to_key<K: Key>(&self) -> Result<K> {
        K::from_values(&[match self {
            Self::Int(id) => ValueRef::Int(*id),
            Self::Uuid(uuid) => ValueRef::Bytes(uuid.as_bytes()),
        }])
    }
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many writes it holds.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether it holds none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// How many bytes its rows take.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Takes all writes out, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.heads.clear();
        self.made.clear();
        self.rows = 0;
    }

    /// Adds a write whose values are complete: see [`prepare_insert`](crate::prepare_insert).
    ///
    /// # Errors
    /// `OutOfRange` where the row is larger than the codec allows; nothing is added then.
    pub fn push(&mut self, write: &Write<'_>) -> Result<()> {
        self.add(write, false)
    }

    /// Adds a write whose values went through [`prepare_waiting`](crate::prepare_waiting):
    /// [`stamp`](Batch::stamp) is to be called before the batch is sent.
    ///
    /// # Errors
    /// As [`push`](Batch::push).
    #[inline]
    pub fn push_waiting(&mut self, write: &Write<'_>) -> Result<()> {
        self.add(write, write.verb != Verb::Delete && write.table.stamps_are_integers())
    }

    /// Adds a write of a whole record: its key is made where it is missing, lengths are checked;
    /// [`stamp`](Batch::stamp) is to be called before the batch is sent. `verb` is not `Delete`.
    ///
    /// # Errors
    /// As [`Record::values`], [`prepare_waiting`](crate::prepare_waiting) and
    /// [`push`](Batch::push); nothing is added then.
    #[inline]
    pub fn push_record<T: Record>(
        &mut self,
        verb: Verb,
        fields: FieldSet,
        record: &T,
    ) -> Result<()> {
        let table = T::schema();
        if !table.is_stored_plainly() {
            let mut values = record.values()?;
            prepare::prepare_waiting(table, verb, values.as_mut())?;
            self.push_waiting(&Write { table, verb, fields, values: values.as_ref() })?;
            if let Some(key) = made_uuid(table, verb, record, values.as_ref()) {
                self.made.push((self.rows - 1, key));
            }
            return Ok(());
        }
        let start = self.bytes.len();
        let mut part = Part { bytes: &mut self.bytes, start, whole: false };
        record.encode(part.bytes)?;
        prepare::prepare_encoded(table, verb, part.bytes.get_mut(start..).unwrap_or_default())?;
        part.whole = true;
        drop(part);
        self.added(start, table, verb, fields, true);
        Ok(())
    }

    #[inline]
    fn add(&mut self, write: &Write<'_>, unstamped: bool) -> Result<()> {
        let start = self.bytes.len();
        codec::encode_slice(&mut self.bytes, write.values)?;
        self.added(start, write.table, write.verb, write.fields, unstamped);
        Ok(())
    }

    /// Counts a row whose bytes begin at `start`, and begins a run where it is not of the last one.
    #[inline(always)]
    fn added(
        &mut self,
        start: usize,
        table: &Arc<TableSchema>,
        verb: Verb,
        fields: FieldSet,
        unstamped: bool,
    ) {
        let same = self.heads.last().is_some_and(|head| {
            Arc::ptr_eq(&head.table, table)
                && head.verb == verb
                && head.fields == fields
                && head.unstamped == unstamped
        });
        if !same {
            let (table, first) = (Arc::clone(table), self.rows);
            self.heads.push(RunHead { table, verb, fields, first, start, unstamped });
        }
        self.rows += 1;
    }

    /// Gives the waiting rows their stamps: one time for all of them, since they are written
    /// together; and one look at the clock, which costs as much as a row does otherwise.
    pub fn stamp(&mut self) {
        let now = prepare::now();
        let ends: Vec<usize> =
            self.heads.iter().skip(1).map(|head| head.start).chain([self.bytes.len()]).collect();
        for (head, end) in self.heads.iter_mut().zip(ends) {
            let created = head.table.created_at().filter(|_| head.verb != Verb::Update);
            let places = [created, head.table.modified_at()];
            if !std::mem::take(&mut head.unstamped) || places == [None, None] {
                continue;
            }
            let columns = head.table.columns().len();
            let places = places.map(|place| place.map(|place| codec::slot_of(columns, place)));
            let mut rows = self.bytes.get_mut(head.start..end).unwrap_or_default();
            while let Some((row, rest)) = codec::split_first_mut(rows) {
                if let Some(place) = places[0] {
                    codec::set_integer(row, place, now);
                }
                if let Some(place) = places[1] {
                    codec::set_integer(row, place, now);
                }
                rows = rest;
            }
        }
    }

    /// Adds writes whose rows are encoded already, one after the other, each with its frame: a
    /// [`Run`]'s [`as_bytes`](Run::as_bytes) from elsewhere. Every row is checked; gives their
    /// number.
    ///
    /// # Errors
    /// `Corrupt` where the bytes are not rows; `Mismatch` for a row without a value for each
    /// column (of the key, for a `Delete`), or with one that is not in its column's stored form;
    /// `TooLong`, `OutOfRange`. Each with the row's number in the batch; nothing is added then.
    pub fn push_run(
        &mut self,
        table: &Arc<TableSchema>,
        verb: Verb,
        fields: FieldSet,
        bytes: &[u8],
    ) -> Result<u64> {
        let (mut rest, mut rows) = (bytes, 0);
        while !rest.is_empty() {
            let checked = codec::split_first(rest).and_then(|(row, used)| {
                table.check_encoded(verb == Verb::Delete, row.as_bytes())?;
                Ok(used)
            });
            let used = checked.map_err(|error| error.at_row(self.rows + rows))?;
            rest = rest.get(used..).unwrap_or_default();
            rows += 1;
        }
        if rows == 0 {
            return Ok(0);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let (table, first) = (Arc::clone(table), self.rows);
        self.heads.push(RunHead { table, verb, fields, first, start, unstamped: false });
        self.rows += rows;
        Ok(rows)
    }

    /// The key that Bobak made for a row, where it did.
    #[must_use]
    pub fn made_key(&self, row: u64) -> Option<Uuid> {
        let place = self.made.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        self.made.get(place).map(|(_, key)| *key)
    }

    /// The writes, put together in runs, in order.
    pub fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        self.heads.iter().enumerate().map(|(at, head)| {
            let next = self.heads.get(at + 1);
            let end = next.map_or(self.bytes.len(), |next| next.start);
            let rows = next.map_or(self.rows, |next| next.first) - head.first;
            Run {
                table: &head.table,
                verb: head.verb,
                fields: head.fields,
                first: head.first,
                rows,
                bytes: self.bytes.get(head.start..end).unwrap_or_default(),
            }
        })
    }
}

/// A row that is being written, and is taken out again unless it becomes whole: a field may fail,
/// or panic.
struct Part<'b> {
    bytes: &'b mut Vec<u8>,
    start: usize,
    whole: bool,
}

impl Drop for Part<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.whole {
            self.bytes.truncate(self.start);
        }
    }
}

impl<'a> Run<'a> {
    /// The rows, in order. For `Delete` they hold the key's columns only.
    pub fn iter(&self) -> impl Iterator<Item = EncodedRow<'a>> + use<'a> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let (row, used) = codec::split_first(rest).ok()?;
            rest = rest.get(used..)?;
            Some(row)
        })
    }

    /// The rows as they are kept: encoded, one after the other, each with its frame.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the engine makes the keys of this run's new rows where they are NULL.
    #[must_use]
    pub fn may_make_keys(&self) -> bool {
        self.table.key_generation() == KeyGeneration::Engine
            && !matches!(self.verb, Verb::Update | Verb::Delete)
    }
}

/// The UUID that was made for a record whose own is nil.
fn made_uuid<T: Record>(
    table: &TableSchema,
    verb: Verb,
    record: &T,
    values: &[Value<'_>],
) -> Option<Uuid> {
    if table.key_generation() != KeyGeneration::Uuid || verb == Verb::Update {
        return None;
    }
    let uuid = |value: &Value<'_>| Uuid::from_value(value.as_ref()).ok();
    let stored = uuid(values.get(*table.key().first()?)?)?;
    let given = record.key().with_values(|key| key.first().and_then(uuid));
    (given != Some(stored)).then_some(stored)
}

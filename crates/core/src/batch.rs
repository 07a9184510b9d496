//! Batches: many writes, over one table or several, in the row codec's bytes.

use crate::codec::{self, EncodedRow};
use crate::{
    Field, FieldSet, Key, KeyGeneration, Record, Result, Row, TableSchema, Type, Uuid, Value,
    ValueRef, Verb, Write, check_loaded, prepare,
};
use std::sync::Arc;

/// Writes to execute together, in order, with values that are checked and in stored form.
///
/// The facade's batch fills and sends these in parts; engines read them.
#[derive(Clone, Debug, Default)]
pub struct WriteBatch {
    bytes: Vec<u8>,
    run_heads: Vec<RunHead>,
    rows: u64,
    generated: Vec<(u64, Uuid)>,
}

/// What the consecutive writes of a run have in common.
#[derive(Clone, Debug)]
struct RunHead {
    table: Arc<TableSchema>,
    verb: Verb,
    fields: FieldSet,
    first: u64,
    start: usize,
    /// Whether the timestamps of its rows are not filled yet.
    unstamped: bool,
}

/// Consecutive writes to one table with the same verb and fields.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The table.
    pub table: &'a Arc<TableSchema>,
    /// What to do with the rows.
    pub verb: Verb,
    /// For updates and upserts: the columns to set.
    pub fields: FieldSet,
    /// The first row's number in the batch, counted from 0.
    pub first: u64,
    /// The number of rows.
    pub rows: u64,
    bytes: &'a [u8],
}

/// What a batch does after a row failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OnError {
    /// Stops and undoes the batch; if the batch commits in parts, only the current part.
    #[default]
    Stop,
    /// Leaves the row out and continues.
    Continue,
}

crate::choices!(OnError: "stop" => Stop, "continue" => Continue);

/// The result of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Inserted a row; with its key, if the engine or Bobak made it.
    Inserted(Option<GeneratedKey>),
    /// Updated or deleted this number of rows: 1, or 0 for a delete without a matching row.
    Changed(u64),
    /// An upsert [on a unique index](crate::Verb::UpsertOn) updated the row with this key.
    Updated(GeneratedKey),
    /// Did nothing: `InsertOrIgnore` found an existing row.
    Ignored,
}

impl Outcome {
    /// The outcome of an upsert [on a unique index](crate::Verb::UpsertOn) that updated the row with this key:
    /// `Updated` with an integer or a UUID, `Changed(1)` if the key is of another kind. `value` is only asked for the
    /// column of a key that has one column.
    #[must_use]
    pub fn of_updated<'v>(table: &TableSchema, value: impl Fn(usize) -> ValueRef<'v>) -> Self {
        let &[place] = table.key() else { return Self::Changed(1) };
        match (value(place), table.columns().get(place).map(|column| column.ty)) {
            (ValueRef::Int(key), _) => Self::Updated(GeneratedKey::Int(key)),
            (ValueRef::Bytes(key), Some(Type::Uuid)) => match key.try_into() {
                Ok(key) => Self::Updated(GeneratedKey::Uuid(Uuid::from_bytes(key))),
                Err(_) => Self::Changed(1),
            },
            _ => Self::Changed(1),
        }
    }
}

/// A key that the engine or Bobak made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GeneratedKey {
    /// An integer, made by the engine.
    Int(i64),
    /// A UUID, made by Bobak.
    Uuid(Uuid),
}

impl GeneratedKey {
    /// The key as that of a record type.
    ///
    /// # Errors
    /// `Mismatch` if the type has other keys.
    pub fn to_key<K: Key>(&self) -> Result<K> {
        K::from_values(&[match self {
            Self::Int(id) => ValueRef::Int(*id),
            Self::Uuid(uuid) => ValueRef::Bytes(uuid.as_bytes()),
        }])
    }
}

impl WriteBatch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of writes.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether it has no writes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The size of its rows in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Checks that the rows of every table in it can be written.
    ///
    /// # Errors
    /// As [`TableSchema::check_written`].
    pub fn check_writable(&self) -> Result<()> {
        self.runs().try_for_each(|run| {
            run.table.check_written(run.verb).map_err(|error| error.at_row(run.first))
        })
    }

    /// Sends the batch, or with `Continue` those of its rows that can be written: the others fail by themselves.
    ///
    /// # Errors
    /// As [`TableSchema::check_written`] with `Stop`; those of `send`.
    pub fn send_writable(
        &self,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
        send: impl FnOnce(&Self, &mut dyn FnMut(Result<Outcome>)) -> Result<()>,
    ) -> Result<()> {
        match self.check_writable() {
            Ok(()) => return send(self, each),
            Err(error) if on_error == OnError::Stop => return Err(error),
            Err(_) => {}
        }
        let (mut rows, mut rejected) = (Self::new(), Vec::new());
        for run in self.runs() {
            for (number, row) in (run.first..).zip(run.iter()) {
                match run.table.check_written(run.verb) {
                    Err(error) => rejected.push((number, error.at_row(number))),
                    Ok(()) => {
                        let (table, verb, fields) = (run.table, run.verb, run.fields);
                        let values: Vec<Value<'_>> =
                            (0..row.len()).map(|column| row.value(column).into()).collect();
                        rows.push(&Write { table, verb, fields, values: &values })?;
                    }
                }
            }
        }
        let (mut number, mut rejected) = (0, rejected.into_iter().peekable());
        send(&rows, &mut |outcome| {
            while let Some((_, error)) = rejected.next_if(|(row, _)| *row == number) {
                each(Err(error));
                number += 1;
            }
            each(outcome.map_err(|error| error.at_row(number)));
            number += 1;
        })?;
        rejected.for_each(|(_, error)| each(Err(error)));
        Ok(())
    }

    /// Removes all writes, and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.run_heads.clear();
        self.generated.clear();
        self.rows = 0;
    }

    /// Adds a write with complete values: see [`prepare_insert`](crate::prepare_insert).
    ///
    /// # Errors
    /// `OutOfRange` if the row is larger than the codec allows; nothing is added then.
    pub fn push(&mut self, write: &Write<'_>) -> Result<()> {
        self.add(write, false)
    }

    /// Adds a write with values from [`prepare_batched`](crate::prepare_batched). Call
    /// [`stamp`](WriteBatch::stamp) before sending the batch.
    ///
    /// # Errors
    /// As [`push`](WriteBatch::push).
    #[inline]
    pub fn push_unstamped(&mut self, write: &Write<'_>) -> Result<()> {
        self.add(write, write.verb != Verb::Delete && write.table.stamps_are_integers())
    }

    /// Adds a write of a whole record: makes a missing key and checks lengths. `verb` must not be
    /// `Delete`. Call [`stamp`](WriteBatch::stamp) before sending the batch.
    ///
    /// # Errors
    /// As [`Record::values`], [`prepare_batched`](crate::prepare_batched) and
    /// [`push`](WriteBatch::push); nothing is added then.
    #[inline]
    pub fn push_record<T: Record>(
        &mut self,
        verb: Verb,
        fields: FieldSet,
        record: &T,
    ) -> Result<()> {
        let table = T::schema();
        let fields =
            if T::ON_REQUEST.is_empty() { fields } else { loaded_fields(verb, fields, record)? };
        if !table.is_stored_plainly() {
            let mut values = record.values()?;
            prepare::prepare_batched(table, verb, values.as_mut())?;
            self.push_unstamped(&Write { table, verb, fields, values: values.as_ref() })?;
            if let Some(key) = generated_uuid(table, verb, record, values.as_ref()) {
                self.generated.push((self.rows - 1, key));
            }
            return Ok(());
        }
        let start = self.bytes.len();
        let mut part = IncompleteRow { bytes: &mut self.bytes, start, complete: false };
        record.encode(part.bytes)?;
        prepare::prepare_encoded(table, verb, part.bytes.get_mut(start..).unwrap_or_default())?;
        part.complete = true;
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

    /// Counts a row whose bytes begin at `start`, and begins a new run if it does not belong to the
    /// last one.
    #[inline(always)]
    fn added(
        &mut self,
        start: usize,
        table: &Arc<TableSchema>,
        verb: Verb,
        fields: FieldSet,
        unstamped: bool,
    ) {
        let same = self.run_heads.last().is_some_and(|head| {
            Arc::ptr_eq(&head.table, table)
                && head.verb == verb
                && head.fields == fields
                && head.unstamped == unstamped
        });
        if !same {
            let (table, first) = (Arc::clone(table), self.rows);
            self.run_heads.push(RunHead { table, verb, fields, first, start, unstamped });
        }
        self.rows += 1;
    }

    /// Fills the timestamps of rows added without them: the same time for all, since they are written
    /// together. Reading the clock for each row would double the cost of the row.
    pub fn stamp(&mut self) {
        let now = prepare::now();
        let ends: Vec<usize> = self
            .run_heads
            .iter()
            .skip(1)
            .map(|head| head.start)
            .chain([self.bytes.len()])
            .collect();
        for (head, end) in self.run_heads.iter_mut().zip(ends) {
            let created = head.table.created_at().filter(|_| head.verb != Verb::Update);
            let indexes = [created, head.table.modified_at()];
            if !std::mem::take(&mut head.unstamped) || indexes == [None, None] {
                continue;
            }
            let columns = head.table.columns().len();
            let indexes = indexes.map(|index| index.map(|index| codec::slot_of(columns, index)));
            let mut rows = self.bytes.get_mut(head.start..end).unwrap_or_default();
            while let Some((row, rest)) = codec::split_first_mut(rows) {
                if let Some(index) = indexes[0] {
                    codec::set_integer(row, index, now);
                }
                if let Some(index) = indexes[1] {
                    codec::set_integer(row, index, now);
                }
                rows = rest;
            }
        }
    }

    /// Adds writes whose rows are encoded already: the [`as_bytes`](Run::as_bytes) of a [`Run`] of
    /// another batch. Checks every row, and returns their number.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not rows; `Mismatch` for a row without a value for each
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
        self.run_heads.push(RunHead { table, verb, fields, first, start, unstamped: false });
        self.rows += rows;
        Ok(rows)
    }

    /// The key that Bobak made for a row; `None` if it made none.
    #[must_use]
    pub fn generated_key(&self, row: u64) -> Option<Uuid> {
        let index = self.generated.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        self.generated.get(index).map(|(_, key)| *key)
    }

    /// The writes in order, grouped into runs.
    pub fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        self.run_heads.iter().enumerate().map(|(at, head)| {
            let next = self.run_heads.get(at + 1);
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

/// A row that is being encoded. Dropping it removes the bytes unless it is complete: encoding a field
/// may fail or panic.
struct IncompleteRow<'b> {
    bytes: &'b mut Vec<u8>,
    start: usize,
    complete: bool,
}

impl Drop for IncompleteRow<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.complete {
            self.bytes.truncate(self.start);
        }
    }
}

impl<'a> Run<'a> {
    /// The rows in order. For `Delete`, they contain the key's columns only.
    pub fn iter(&self) -> impl Iterator<Item = EncodedRow<'a>> + use<'a> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let (row, used) = codec::split_first(rest).ok()?;
            rest = rest.get(used..)?;
            Some(row)
        })
    }

    /// The encoded rows, one after the other, each with its length in front.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the engine may have to make keys for this run's rows.
    #[must_use]
    pub fn may_make_keys(&self) -> bool {
        self.table.key_generation() == KeyGeneration::Engine
            && !matches!(self.verb, Verb::Update | Verb::Delete)
    }
}

/// The fields that a write of a record sets: an update leaves those as they are that are not loaded.
///
/// # Errors
/// `Misuse` if another write needs the value of a field that is not loaded.
fn loaded_fields<T: Record>(verb: Verb, fields: FieldSet, record: &T) -> Result<FieldSet> {
    match verb {
        Verb::Update => Ok(fields.without(record.not_loaded())),
        _ => check_loaded(record, T::ON_REQUEST).map(|()| fields),
    }
}

/// The UUID that was made for a record with a nil UUID.
fn generated_uuid<T: Record>(
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

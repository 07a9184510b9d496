//! The fast ways of a run: `COPY` for new rows, arrays for everything else.

use crate::batch::chunk::{Chunk, is_alone};
use crate::batch::encode::{array, copy_row};
use crate::batch::{BatchSender, MIN_BULK_ROWS};
use crate::connection::{Connection, SEND};
use crate::database::Database;
use crate::error::is_taken_key;
use crate::protocol::message::{self, Message};
use crate::protocol::row::ValueSpans;
use crate::protocol::value::{self, Outside, array_of};
use crate::session::outcome::not_updated;
use crate::session::row_writes::resync;
use crate::settings::Keys;
use crate::table_info::{MOVE_SEQUENCE, TableInfo};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Error, ErrorKind, GeneratedKey, KeyGeneration, Outcome, Result, Row, Run, Storage, Value,
    ValueRef, Verb,
};
use bobak_sql::BulkStatement;
use std::sync::Arc;

/// The fast way of one run.
pub(crate) struct BulkPlan {
    table_info: Arc<TableInfo>,
    copy: bool,
    /// Whether the run has a few rows, for which one statement has to be enough: the server then generates their keys as it
    /// inserts them. Otherwise keys are taken from the sequence first.
    few: bool,
}

/// What a chunk's rows get as keys.
struct AssignedKeys {
    /// The keys that were taken, for the rows without one, in order.
    keys: Vec<i64>,
    /// The key's place, where the engine makes keys.
    place: Option<usize>,
}

/// Takes so many keys at once; where they follow each other their ends say it all.
const TAKE_KEYS: &str = "SELECT min(key), max(key), CASE WHEN max(key) - min(key) = $2::int8 - 1 \
    THEN NULL ELSE array_to_string(array_agg(key), ' ') END \
    FROM (SELECT nextval($1::regclass) AS key FROM generate_series(1, $2::int8)) AS taken";

/// What a binary COPY begins and ends with.
const COPY_HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const COPY_TAIL: &[u8] = &[0xff, 0xff];

impl BulkPlan {
    /// The way of a run; `None` where its rows must go one by one.
    pub fn of(database: &Database, run: &Run<'_>, table_info: &Arc<TableInfo>) -> Option<Self> {
        let table = run.table;
        let plain = table_info.types.len() == table.columns().len()
            && table_info.types.iter().zip(table.columns()).all(|(oid, column)| {
                let text = column.storage == Storage::Text;
                let fits = !text || !value::goes_as_text(ValueRef::Text(""), *oid);
                fits && array_of(*oid).is_some()
            });
        if !plain || !is_alone(table, run.verb, run.fields) {
            return None;
        }
        let place = *table.key().first()?;
        let makes = run.may_make_keys();
        if makes && (database.settings.keys == Keys::Server || table_info.sequence.is_none()) {
            let missing = |row: EncodedRow<'_>| row.get(place).is_null();
            if run.iter().any(missing) {
                return None;
            }
        }
        // A COPY has all columns of the rows.
        let copy = database.settings.copy && !table.has_generated_columns();
        Some(Self { table_info: Arc::clone(table_info), copy, few: false })
    }

    /// The way of a run of a few rows; `None` unless one statement is enough.
    pub fn of_few(database: &Database, run: &Run<'_>, table_info: &Arc<TableInfo>) -> Option<Self> {
        let makes = run.may_make_keys();
        let lacks_key =
            |row: EncodedRow<'_>| run.table.key().iter().all(|at| row.get(*at).is_null());
        let is_one_statement = match run.verb {
            Verb::Insert => !makes || run.iter().all(lacks_key),
            Verb::InsertOrIgnore => !makes,
            Verb::Delete => true,
            _ => false,
        };
        let plan = Self::of(database, run, table_info).filter(|_| is_one_statement)?;
        Some(Self { copy: false, few: true, ..plan })
    }

    /// The fewest rows of a chunk for which this way is worth it.
    pub const fn min_rows(&self) -> usize {
        if self.few { 2 } else { MIN_BULK_ROWS }
    }

    /// Sends a chunk, all rows or none; gives their outcomes in order.
    ///
    /// # Errors
    /// That of some row, which need not be the first that is wrong; those of the connection.
    pub fn send(
        &self,
        sending: &mut BatchSender<'_, '_>,
        run: &Run<'_>,
        chunk: &Chunk<'_, '_>,
    ) -> Result<Vec<Result<Outcome>>> {
        let mut done = self.send_once(sending, run, chunk);
        if run.may_make_keys()
            && !sending.state.failed
            && done.as_ref().is_err_and(|error| is_taken_key(error, run.table))
            && chunk
                .rows
                .iter()
                .all(|row| run.table.key().iter().all(|key| row.get(*key).is_null()))
        {
            resync(sending.state, sending.connection, &self.table_info, run.table)?;
            done = self.send_once(sending, run, chunk);
        }
        done
    }

    fn send_once(
        &self,
        sending: &mut BatchSender<'_, '_>,
        run: &Run<'_>,
        chunk: &Chunk<'_, '_>,
    ) -> Result<Vec<Result<Outcome>>> {
        match run.verb {
            Verb::Insert if self.few && run.may_make_keys() => {
                self.insert_without_keys(sending, run, chunk)
            }
            Verb::Insert | Verb::InsertOrReplace => {
                let given = self.take_keys(sending, run, chunk)?;
                if run.verb == Verb::InsertOrReplace {
                    self.clear(sending, run, chunk)?;
                }
                if self.copy {
                    self.copy_in(sending, run, chunk, &given)?;
                } else {
                    let text = bobak_sql::insert_arrays(run.table, Verb::Insert, run.fields);
                    self.arrays(sending, run, chunk, &given, &text, |_| ())?;
                }
                Ok(given.outcomes(chunk, |_| true))
            }
            Verb::InsertOrIgnore => self.insert_or_ignore(sending, run, chunk),
            // `is_alone` sends those row by row.
            Verb::Upsert | Verb::UpsertOn(_) => {
                let given = self.take_keys(sending, run, chunk)?;
                let text = bobak_sql::insert_arrays(run.table, run.verb, run.fields);
                let mut new = Vec::with_capacity(chunk.rows.len());
                self.arrays(sending, run, chunk, &given, &text, |row| {
                    new.push(row.get(0) == ValueRef::Int(1));
                })?;
                let is_new = |at: usize| new.get(at).copied().unwrap_or(true);
                let outcomes = given.outcomes(chunk, |_| true).into_iter().enumerate();
                Ok(outcomes
                    .map(|(at, outcome)| if is_new(at) { outcome } else { Ok(Outcome::Changed(1)) })
                    .collect())
            }
            Verb::Update => self.update(sending, run, chunk),
            Verb::Delete => {
                let text = bobak_sql::delete_arrays(run.table);
                let found = self.numbers(sending, run, chunk, &text)?;
                Ok(found.into_iter().map(|found| Ok(Outcome::Changed(found.into()))).collect())
            }
        }
    }

    /// Deletes what is in the way of an insert-or-replace.
    fn clear(
        &self,
        sending: &mut BatchSender<'_, '_>,
        run: &Run<'_>,
        chunk: &Chunk<'_, '_>,
    ) -> Result<()> {
        let table = run.table;
        let unique = table.indexes().iter().filter(|index| index.unique);
        let ways = std::iter::once(table.key()).chain(unique.map(|index| &index.columns[..]));
        for columns in ways {
            let text = bobak_sql::delete_by_arrays(table, columns);
            self.arrays(sending, run, chunk, &AssignedKeys::none(), &text, |_| ())?;
        }
        Ok(())
    }

    fn insert_without_keys(
        &self,
        sending: &mut BatchSender<'_, '_>,
        run: &Run<'_>,
        chunk: &Chunk<'_, '_>,
    ) -> Result<Vec<Result<Outcome>>> {
        let text = bobak_sql::insert_arrays_without_keys(run.table);
        let mut keys = Vec::with_capacity(chunk.rows.len());
        self.arrays(sending, run, chunk, &AssignedKeys::none(), &text, |row| {
            if let ValueRef::Int(key) = row.get(0) {
                keys.push(key);
            }
        })?;
        if keys.len() != chunk.rows.len() {
            return Err(Error::new(ErrorKind::Engine, "the server returned too few keys"));
        }
        keys.iter().max().into_iter().for_each(|key| self.table_info.reached(*key));
        let outcome = |key| Ok(Outcome::Inserted(Some(GeneratedKey::Int(key))));
        Ok(keys.into_iter().map(outcome).collect())
    }

    fn insert_or_ignore(
        &self,
        sending: &mut BatchSender<'_, '_>,
        run: &Run<'_>,
        chunk: &Chunk<'_, '_>,
    ) -> Result<Vec<Result<Outcome>>> {
        let given = self.take_keys(sending, run, chunk)?;
        let text = bobak_sql::insert_arrays(run.table, run.verb, run.fields);
        let mut new: Vec<Vec<Value<'static>>> = Vec::new();
        self.arrays(sending, run, chunk, &given, &text, |row| {
            new.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
        })?;
        // The keys of new rows are in the order of the rows, without duplicates.
        let mut new = new.iter().peekable();
        let mut made = given.keys.iter();
        let mut ignored = Vec::with_capacity(chunk.rows.len());
        for row in chunk.rows {
            let made = given.key_of(row, &mut made);
            let same = |(place, value): (&usize, &Value<'static>)| match made {
                Some(key) => *value == Value::Int(key),
                None => value.as_ref() == row.get(*place),
            };
            let is_new =
                new.next_if(|key| run.table.key().iter().zip(key.iter()).all(same)).is_some();
            ignored.push(!is_new);
        }
        if new.peek().is_some() {
            let message = "the keys that the server returned are not those that were sent";
            return Err(Error::new(ErrorKind::Schema, message));
        }
        Ok(given.outcomes(chunk, |at| !ignored.get(at).copied().unwrap_or_default()))
    }

    fn update(
        &self,
        sending: &mut BatchSender<'_, '_>,
        run: &Run<'_>,
        chunk: &Chunk<'_, '_>,
    ) -> Result<Vec<Result<Outcome>>> {
        let text = bobak_sql::update_arrays(run.table, run.fields);
        let found = self.numbers(sending, run, chunk, &text)?;
        let there = if found.iter().all(|found| *found) || run.table.version().is_none() {
            vec![false; found.len()]
        } else {
            self.numbers(sending, run, chunk, &bobak_sql::exist_arrays(run.table))?
        };
        let outcome = |(found, there)| {
            if found { Ok(Outcome::Changed(1)) } else { Err(not_updated(run.table, there)) }
        };
        Ok(found.into_iter().zip(there).map(outcome).collect())
    }

    /// Runs a statement that gives the numbers of the rows that it found.
    fn numbers(
        &self,
        sending: &mut BatchSender<'_, '_>,
        run: &Run<'_>,
        chunk: &Chunk<'_, '_>,
        text: &BulkStatement,
    ) -> Result<Vec<bool>> {
        let mut found = vec![false; chunk.rows.len()];
        self.arrays(sending, run, chunk, &AssignedKeys::none(), text, |row| {
            if let ValueRef::Int(number) = row.get(0)
                && let Some(found) =
                    usize::try_from(number - 1).ok().and_then(|at| found.get_mut(at))
            {
                *found = true;
            }
        })?;
        Ok(found)
    }

    /// Takes the keys that the chunk's rows lack; first moves the sequence behind those that they
    /// have.
    fn take_keys(
        &self,
        sending: &mut BatchSender<'_, '_>,
        run: &Run<'_>,
        chunk: &Chunk<'_, '_>,
    ) -> Result<AssignedKeys> {
        let (true, Some(sequence)) =
            (run.table.key_generation() == KeyGeneration::Engine, &self.table_info.sequence)
        else {
            return Ok(AssignedKeys::none());
        };
        let place = run.table.key().first().copied();
        let mut largest = None;
        let mut missing = 0_i64;
        for row in chunk.rows {
            match place.map(|place| row.get(place)) {
                Some(ValueRef::Int(key)) => largest = largest.max(Some(key)),
                _ => missing += 1,
            }
        }
        let text = Value::from(sequence.as_str());
        if let Some(key) = largest.filter(|key| self.table_info.sequence_behind(*key).is_some()) {
            let values = [text.clone(), Value::Int(key)];
            sending.state.ask(sending.connection, MOVE_SEQUENCE, &values, |_| ())?;
            self.table_info.reached(key);
        }
        let mut keys = Vec::new();
        if missing > 0 {
            let values = [text, Value::Int(missing)];
            sending.state.ask(sending.connection, TAKE_KEYS, &values, |row| keys = taken(row))?;
            if keys.len() as i64 != missing {
                return Err(Error::new(ErrorKind::Engine, "the sequence returned too few keys"));
            }
            keys.iter().max().into_iter().for_each(|key| self.table_info.reached(*key));
        }
        Ok(AssignedKeys { keys, place })
    }

    /// Sends the rows by `COPY`.
    fn copy_in(
        &self,
        sending: &mut BatchSender<'_, '_>,
        run: &Run<'_>,
        chunk: &Chunk<'_, '_>,
        given: &AssignedKeys,
    ) -> Result<()> {
        let columns: Vec<usize> = (0..run.table.columns().len()).collect();
        let text = bobak_sql::copy_in(run.table, &columns);
        let prepared = sending.state.prepare(sending.connection, &text, &[])?;
        let types = &self.table_info.types;
        sending.state.batch_operation(
            sending.connection,
            |connection| {
                connection.bind(&prepared, "", Outside::Rejected, |_| ValueRef::Null)?;
                connection.execute("", 0);
                let copied = copy_rows(connection, types, chunk.rows, given);
                if copied.is_err() {
                    // The server gives up what it has, and the reason that it gives is this.
                    message::write(&mut connection.out, b'f', |out| {
                        message::push_text(out, "stopped")
                    });
                } else {
                    message::write(&mut connection.out, b'c', |_| {});
                }
                copied
            },
            |_| Ok(()),
        )
    }

    /// Runs a statement whose parameters are arrays of the chunk's columns.
    fn arrays(
        &self,
        sending: &mut BatchSender<'_, '_>,
        run: &Run<'_>,
        chunk: &Chunk<'_, '_>,
        given: &AssignedKeys,
        statement: &BulkStatement,
        mut on: impl FnMut(&dyn Row),
    ) -> Result<()> {
        let mut parameters = Vec::with_capacity(statement.columns.len());
        let mut types = Vec::with_capacity(statement.columns.len());
        for place in &statement.columns {
            let oid = self.table_info.types.get(*place).copied().unwrap_or_default();
            types.push(array_of(oid).unwrap_or_default());
            let made = given.place.filter(|key| key == place).map(|_| &given.keys[..]);
            let at = match run.verb {
                Verb::Delete => run.table.key().iter().position(|key| key == place),
                _ => Some(*place),
            };
            parameters.push(array(chunk.rows, at.unwrap_or(usize::MAX), oid, made)?);
        }
        let prepared = sending.state.prepare(sending.connection, &statement.text, &types)?;
        let mut spans = ValueSpans::default();
        sending.state.batch_operation(
            sending.connection,
            |connection| {
                connection.bind_raw(&prepared, &parameters);
                connection.execute("", 0);
                Ok(())
            },
            |message| {
                if let Message::Row(body) = message {
                    on(&spans.of(body, &prepared.columns));
                }
                Ok(())
            },
        )
    }
}

impl AssignedKeys {
    const fn none() -> Self {
        Self { keys: Vec::new(), place: None }
    }

    /// The key that a row gets, where it lacks one.
    fn key_of(&self, row: &EncodedRow<'_>, keys: &mut std::slice::Iter<'_, i64>) -> Option<i64> {
        let missing = self.place.is_some_and(|place| row.get(place).is_null());
        if missing { keys.next().copied() } else { None }
    }

    /// The outcomes of new rows; of those that are not, that they were ignored.
    fn outcomes(
        &self,
        chunk: &Chunk<'_, '_>,
        is_new: impl Fn(usize) -> bool,
    ) -> Vec<Result<Outcome>> {
        let mut keys = self.keys.iter();
        let outcome = |(at, row): (usize, &EncodedRow<'_>)| {
            let key = self.key_of(row, &mut keys);
            Ok(if is_new(at) {
                Outcome::Inserted(key.map(GeneratedKey::Int))
            } else {
                Outcome::Ignored
            })
        };
        chunk.rows.iter().enumerate().map(outcome).collect()
    }
}

/// The keys of [`TAKE_KEYS`]' answer.
fn taken(row: &dyn Row) -> Vec<i64> {
    match (row.get(0), row.get(1), row.get(2)) {
        (_, _, ValueRef::Text(all)) => all.split(' ').filter_map(|key| key.parse().ok()).collect(),
        (ValueRef::Int(first), ValueRef::Int(last), _) => (first..=last).collect(),
        _ => Vec::new(),
    }
}

/// Appends the rows in the form of COPY, and sends them as they come.
fn copy_rows(
    connection: &mut Connection,
    types: &[u32],
    rows: &[EncodedRow<'_>],
    given: &AssignedKeys,
) -> Result<()> {
    let mut keys = given.keys.iter();
    let mut rows = rows.iter().peekable();
    let mut first = true;
    while first || rows.peek().is_some() {
        // One message holds as many rows as are sent at once.
        connection.out.push(b'd');
        let start = connection.out.len();
        connection.out.extend_from_slice(&[0; 4]);
        if std::mem::take(&mut first) {
            connection.out.extend_from_slice(COPY_HEAD);
        }
        let mut copied = Ok(());
        while connection.out.len() < SEND
            && let Some(row) = rows.next()
        {
            let key = given.key_of(row, &mut keys);
            copied = copy_row(&mut connection.out, types, row, given.place.zip(key));
            if copied.is_err() {
                break;
            }
        }
        if rows.peek().is_none() {
            connection.out.extend_from_slice(COPY_TAIL);
        }
        let length = (connection.out.len() - start) as u32;
        if let Some(head) = connection.out.get_mut(start..start + 4) {
            head.copy_from_slice(&length.to_be_bytes());
        }
        copied?;
        connection.send_much("copying rows")?;
    }
    Ok(())
}

//! The steps of a program: each one commit, or a flush, or something undone.

use super::history::{Content, History, Rows};
use crate::model::Random;
use crate::probe::{Entry, Probe};
use crate::{NULL, Table, row};
use bobak_core::{
    ColumnSchema, Engine, Error, ErrorKind, OnError, Result, TableSchema, TransactionControl,
    Value, Verb,
};
use std::sync::Arc;

/// With more rows than this, the program deletes more than it inserts.
const MANY_ROWS: usize = 300;

/// Generates the steps.
#[derive(Debug)]
pub(super) struct Program {
    pub table: Table,
    /// The number of the next written row, so that no two states are equal.
    serial: i64,
}

/// How a step sends its writes.
#[derive(Clone, Copy, Debug)]
enum WriteMode {
    DirectCalls,
    Batch,
    Transaction,
    /// A transaction, with something in it that is undone to a savepoint.
    Savepoint,
    RolledBack,
}

impl Program {
    /// # Errors
    /// None.
    pub(super) fn new(seed: u64) -> Result<Self> {
        Self::named(seed, "note")
    }

    /// One whose table has this name.
    ///
    /// # Errors
    /// None.
    pub(super) fn named(seed: u64, name: &str) -> Result<Self> {
        let mut table = TableSchema::builder(name.to_owned())
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<i64>("serial").unique())
            .column(ColumnSchema::of::<String>("text"))
            .key(["id"]);
        if seed.is_multiple_of(2) {
            table = table.index(format!("{name}_text"), ["text"]);
        }
        Ok(Self { table: Arc::new(table.build()?), serial: 0 })
    }

    /// All rows.
    ///
    /// # Errors
    /// Those of the engine.
    pub(super) fn read(&self, engine: &dyn Engine) -> Result<Rows> {
        let rows = Probe::new(engine)?.all(&self.table)?;
        let row = |values: Vec<Value<'static>>| match values.as_slice() {
            [Value::Int(id), Value::Int(serial), Value::Text(text)] => {
                Ok((*id, (*serial, Arc::from(&**text))))
            }
            other => {
                Err(Error::new(ErrorKind::Corrupt, format!("a row of the wrong form: {other:?}")))
            }
        };
        rows.into_iter().map(row).collect()
    }

    /// One step, noted in the history.
    ///
    /// # Errors
    /// Those of the engine.
    pub(super) fn step(
        &mut self,
        engine: &dyn Engine,
        random: &mut Random,
        history: &mut History,
    ) -> Result<()> {
        let (way, most) = match random.weighted(&[40, 15, 2, 20, 8, 5, 5]) {
            0 => (WriteMode::DirectCalls, 1),
            1 => (WriteMode::Batch, 40),
            2 => (WriteMode::Batch, 400),
            3 => (WriteMode::Transaction, 8),
            4 => (WriteMode::Savepoint, 8),
            5 => (WriteMode::RolledBack, 8),
            _ => {
                engine.flush()?;
                history.flush();
                return Ok(());
            }
        };
        let mut state = history.now().clone();
        let count = random.between(1, most);
        let entries: Vec<Entry> = (0..count).map(|_| self.entry(random, &mut state)).collect();
        let undone: Vec<Entry> = match way {
            WriteMode::Savepoint => {
                let mut discarded = state.clone();
                (0..random.between(1, 20)).map(|_| self.entry(random, &mut discarded)).collect()
            }
            _ => Vec::new(),
        };
        if !matches!(way, WriteMode::RolledBack) {
            history.begin(state);
        }
        send(engine, way, &entries, &undone)?;
        history.acknowledge();
        Ok(())
    }

    /// A write, applied to `state` as well.
    fn entry(&mut self, random: &mut Random, state: &mut Rows) -> Entry {
        let weights = if state.len() > MANY_ROWS { [20, 20, 60] } else { [60, 25, 15] };
        let chosen = random.below(state.len());
        let key = state.keys().nth(chosen).copied();
        match (random.weighted(&weights), key) {
            (1, Some(key)) => {
                let row = self.content(random);
                let values = row![key, row.0, row.1.to_string()];
                state.insert(key, row);
                Entry::new(&self.table, Verb::Update, values)
            }
            (2, Some(key)) => {
                state.remove(&key);
                Entry::new(&self.table, Verb::Delete, row![key])
            }
            _ => {
                let row = self.content(random);
                let values = row![NULL, row.0, row.1.to_string()];
                let key = state.keys().next_back().map_or(1, |last| last + 1);
                state.insert(key, row);
                Entry::insert(&self.table, values)
            }
        }
    }

    fn content(&mut self, random: &mut Random) -> Content {
        self.serial += 1;
        let length = match random.weighted(&[80, 15, 5]) {
            0 => random.between(0, 60),
            1 => random.between(60, 600),
            // Pages of its own.
            _ => random.between(2_000, 9_000),
        };
        let letter = char::from(b'a' + (self.serial % 26) as u8);
        (self.serial, letter.to_string().repeat(length).into())
    }
}

fn send(engine: &dyn Engine, way: WriteMode, entries: &[Entry], undone: &[Entry]) -> Result<()> {
    if let (WriteMode::DirectCalls, [entry]) = (way, entries) {
        return engine.write(&entry.as_write()).map(drop);
    }
    let probe = Probe::new(engine)?;
    if matches!(way, WriteMode::Batch) {
        return probe.batch(entries, OnError::Stop).whole;
    }
    probe.control(TransactionControl::Begin)?;
    let each = |entries: &[Entry]| entries.iter().try_for_each(|entry| probe.send(entry).map(drop));
    each(entries)?;
    match way {
        WriteMode::RolledBack => return probe.control(TransactionControl::Rollback),
        WriteMode::Savepoint => {
            probe.control(TransactionControl::Savepoint("discarded"))?;
            each(undone)?;
            probe.control(TransactionControl::RollbackTo("discarded"))?;
        }
        _ => {}
    }
    probe.control(TransactionControl::Commit)
}

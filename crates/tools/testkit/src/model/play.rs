//! Playing a program's steps on one store, and what each answers.

use super::generate::CURSORS;
use super::step::Step;
use crate::probe::brief;
use crate::{Probe, Table, Values};
use bobak_core::{
    BulkChange, Cursor, Engine, Error, Outcome, Result, Select, Source, TransactionControl, Value,
};
use std::fmt;
use std::sync::Arc;

/// What a step answered, in a form that two engines can be compared by.
#[derive(Clone)]
pub(crate) enum Answer {
    Done,
    /// There was nothing to ask: a cursor that is not open.
    Nothing,
    Outcome(Outcome),
    Count(u64),
    Rows(Vec<Values>),
    Batch(Vec<std::result::Result<Outcome, Wrong>>),
    Wrong(Wrong),
}

/// What two engines' errors have in common.
#[derive(Clone)]
pub(crate) struct Wrong {
    error: String,
    kind: bobak_core::ErrorKind,
    table: Option<String>,
    row: Option<u64>,
}

impl From<&Error> for Wrong {
    fn from(error: &Error) -> Self {
        Self {
            error: error.to_string(),
            kind: error.kind(),
            table: error.table().map(str::to_owned),
            row: error.row(),
        }
    }
}

impl PartialEq for Wrong {
    fn eq(&self, other: &Self) -> bool {
        // Engines name the table where they can.
        let named = self.table.as_ref().zip(other.table.as_ref());
        self.kind == other.kind && self.row == other.row && named.is_none_or(|(a, b)| a == b)
    }
}

impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Done, Self::Done) | (Self::Nothing, Self::Nothing) => true,
            (Self::Outcome(a), Self::Outcome(b)) => a == b,
            (Self::Count(a), Self::Count(b)) => a == b,
            (Self::Rows(a), Self::Rows(b)) => same_rows(a, b),
            (Self::Batch(a), Self::Batch(b)) => a == b,
            (Self::Wrong(a), Self::Wrong(b)) => a == b,
            _ => false,
        }
    }
}

fn same_rows(a: &[Values], b: &[Values]) -> bool {
    let row = |(a, b): (&Values, &Values)| a.len() == b.len() && a.iter().zip(b).all(same_value);
    a.len() == b.len() && a.iter().zip(b).all(row)
}

/// The same value; of averages nearly so.
fn same_value((a, b): (&Value<'_>, &Value<'_>)) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => {
            a == b || (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
        }
        _ => a == b,
    }
}

/// How many rows of an answer are shown.
const SHOWN: usize = 8;

impl Answer {
    /// Two answers for people: of long ones what differs.
    pub(crate) fn apart(a: &Self, b: &Self) -> (String, String) {
        let (Self::Rows(left), Self::Rows(right)) = (a, b) else {
            return (format!("{a:?}"), format!("{b:?}"));
        };
        let same = |(a, b): &(&Values, &Values)| same_rows(&[a.to_vec()], &[b.to_vec()]);
        let start = left.iter().zip(right).take_while(same).count();
        let show = |rows: &[Values]| {
            let shown = rows.iter().skip(start).take(SHOWN).map(|row| brief(row));
            let shown: Vec<String> = shown.collect();
            let (all, shown) = (rows.len(), shown.join("\n        "));
            format!("{all} rows, the first {start} the same, then\n        {shown}")
        };
        (show(left), show(right))
    }
}

impl fmt::Debug for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} '{}'", self.kind, self.error)
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Nothing => f.write_str("nothing to ask"),
            Self::Outcome(outcome) => write!(f, "{outcome:?}"),
            Self::Count(count) => write!(f, "{count} rows changed"),
            Self::Rows(rows) => {
                write!(f, "{} rows", rows.len())?;
                rows.iter().try_for_each(|row| write!(f, "\n        {}", brief(row)))
            }
            Self::Batch(rows) => rows.iter().try_for_each(|row| write!(f, "\n        {row:?}")),
            Self::Wrong(wrong) => write!(f, "{wrong:?}"),
        }
    }
}

/// A store under a program, between two openings.
pub(crate) struct Player<'e> {
    engine: &'e dyn Engine,
    probe: Probe<'e>,
    cursors: [Option<Reading>; CURSORS],
    readers: bool,
}

/// A cursor, and the rows that came from it. Engines cut parts in different places: only the whole
/// is compared.
struct Reading {
    cursor: Cursor,
    rows: Vec<Values>,
}

impl<'e> Player<'e> {
    /// Begins; `readers` says whether both stores let others read beside a transaction.
    pub(crate) fn new(engine: &'e dyn Engine, readers: bool) -> Result<Self> {
        Ok(Self { engine, probe: Probe::new(engine)?, cursors: [const { None }; CURSORS], readers })
    }

    pub(crate) fn play(&mut self, step: &Step) -> Answer {
        self.answer(step).unwrap_or_else(|error| Answer::Wrong(Wrong::from(&error)))
    }

    /// The tables that are there, by name.
    pub(crate) fn tables(&self) -> Result<Vec<Table>> {
        let mut tables = self.probe.session.tables()?;
        tables.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(tables.into_iter().map(Arc::new).collect())
    }

    /// The rows of all of these tables.
    pub(crate) fn everything(&self, tables: &[Table]) -> Answer {
        let all = tables.iter().map(|table| self.probe.all(table));
        match all.collect::<Result<Vec<_>>>() {
            Ok(tables) => Answer::Rows(tables.concat()),
            Err(error) => Answer::Wrong(Wrong::from(&error)),
        }
    }

    fn answer(&mut self, step: &Step) -> Result<Answer> {
        Ok(match step {
            Step::Write(entry) => Answer::Outcome(self.probe.send(entry)?),
            Step::Batch(entries, on_error) => {
                let sent = self.probe.batch(entries, *on_error);
                sent.whole?;
                let row = |row: &Result<Outcome>| row.as_ref().map_err(Wrong::from).copied();
                Answer::Batch(sent.rows.iter().map(row).collect())
            }
            Step::Change(table, condition, assign) => {
                let change =
                    BulkChange { table, condition: condition.as_ref(), assign: assign.as_deref() };
                Answer::Count(self.probe.session.change(&change)?)
            }
            Step::Get(table, key) => {
                Answer::Rows(self.probe.get(table, key.clone())?.into_iter().collect())
            }
            Step::Query(select) => Answer::Rows(self.probe.select(select)?),
            Step::Elsewhere(select) if self.readers => {
                Answer::Rows(Probe::new(self.engine)?.select(select)?)
            }
            Step::Elsewhere(_) => Answer::Nothing,
            Step::Control(mark) => self.control(mark.as_control())?,
            Step::Alter(change) => {
                self.probe.session.alter(&[change.as_schema_change()])?;
                Answer::Done
            }
            Step::NewSession => {
                self.cursors = [const { None }; CURSORS];
                self.probe = Probe::new(self.engine)?;
                Answer::Done
            }
            Step::Reopen => Answer::Nothing,
            Step::Open(slot, select) => self.open(*slot, select)?,
            Step::Fetch(slot) => self.fetch(*slot)?,
            Step::Drain(slot) => self.drain(*slot)?,
            Step::Close(slot) => {
                if let Some(mut reading) = self.cursors.get_mut(*slot).and_then(Option::take) {
                    self.probe.session.close(&mut reading.cursor);
                }
                Answer::Done
            }
        })
    }

    fn control(&self, step: TransactionControl<'_>) -> Result<Answer> {
        self.probe.control(step)?;
        Ok(Answer::Done)
    }

    fn open(&mut self, slot: usize, select: &Select) -> Result<Answer> {
        let Some(place) = self.cursors.get_mut(slot) else {
            return Ok(Answer::Nothing);
        };
        if let Some(mut old) = place.take() {
            self.probe.session.close(&mut old.cursor);
        }
        let cursor = self.probe.session.open(&Source::Select(select))?;
        let names = cursor.columns.iter().map(|name| Value::from(name.clone()));
        let names = Answer::Rows(vec![names.collect()]);
        *place = Some(Reading { cursor, rows: Vec::new() });
        Ok(names)
    }

    fn fetch(&mut self, slot: usize) -> Result<Answer> {
        let Some(Some(reading)) = self.cursors.get_mut(slot) else {
            return Ok(Answer::Nothing);
        };
        let rows = self.probe.fetch(&mut reading.cursor)?;
        reading.rows.extend(rows);
        Ok(Answer::Done)
    }

    fn drain(&mut self, slot: usize) -> Result<Answer> {
        let Some(mut reading) = self.cursors.get_mut(slot).and_then(Option::take) else {
            return Ok(Answer::Nothing);
        };
        let rest = self.probe.drain(&mut reading.cursor)?;
        self.probe.session.close(&mut reading.cursor);
        Ok(Answer::Rows([reading.rows, rest].concat()))
    }
}

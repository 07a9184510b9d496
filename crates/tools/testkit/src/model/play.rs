//! Runs a program's steps on one store and records the result of each.

use super::generate::CURSORS;
use super::step::Step;
use crate::probe::brief;
use crate::{Probe, Table, Values};
use bobak_core::{
    BulkChange, Cursor, Engine, Error, Outcome, Result, Select, Source, TransactionControl, Value,
};
use std::fmt;
use std::sync::Arc;

/// The result of a step, in a form in which two engines can be compared.
#[derive(Clone)]
pub(crate) enum StepResult {
    Done,
    /// The step does not apply: its cursor is not open.
    Nothing,
    Outcome(Outcome),
    Count(u64),
    Rows(Vec<Values>),
    Batch(Vec<std::result::Result<Outcome, Wrong>>),
    Wrong(Wrong),
}

/// The parts of an error that two engines must agree on.
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
        // Engines name the table if they can.
        let named = self.table.as_ref().zip(other.table.as_ref());
        self.kind == other.kind && self.row == other.row && named.is_none_or(|(a, b)| a == b)
    }
}

impl PartialEq for StepResult {
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

/// Whether two values are the same; averages may differ slightly.
fn same_value((a, b): (&Value<'_>, &Value<'_>)) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => {
            a == b || (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
        }
        _ => a == b,
    }
}

/// How many rows of a result are shown.
const SHOWN: usize = 8;

impl StepResult {
    /// Two results as text; of long ones only the differences.
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

impl fmt::Debug for StepResult {
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

/// A store that a program runs on, between two openings.
pub(crate) struct Player<'e> {
    engine: &'e dyn Engine,
    probe: Probe<'e>,
    cursors: [Option<OpenCursor>; CURSORS],
    readers: bool,
}

/// A cursor and the rows that it returned. Engines split rows into parts differently, so only the whole
/// is compared.
struct OpenCursor {
    cursor: Cursor,
    rows: Vec<Values>,
}

impl<'e> Player<'e> {
    /// Starts; `readers` says whether both stores let other sessions read during a transaction.
    pub(crate) fn new(engine: &'e dyn Engine, readers: bool) -> Result<Self> {
        Ok(Self { engine, probe: Probe::new(engine)?, cursors: [const { None }; CURSORS], readers })
    }

    pub(crate) fn play(&mut self, step: &Step) -> StepResult {
        self.result(step).unwrap_or_else(|error| StepResult::Wrong(Wrong::from(&error)))
    }

    /// The tables of the store, by name.
    pub(crate) fn tables(&self) -> Result<Vec<Table>> {
        let mut tables = self.probe.session.tables()?;
        tables.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(tables.into_iter().map(Arc::new).collect())
    }

    /// The rows of all of these tables.
    pub(crate) fn everything(&self, tables: &[Table]) -> StepResult {
        let all = tables.iter().map(|table| self.probe.all(table));
        match all.collect::<Result<Vec<_>>>() {
            Ok(tables) => StepResult::Rows(tables.concat()),
            Err(error) => StepResult::Wrong(Wrong::from(&error)),
        }
    }

    fn result(&mut self, step: &Step) -> Result<StepResult> {
        Ok(match step {
            Step::Write(entry) => StepResult::Outcome(self.probe.send(entry)?),
            Step::Batch(entries, on_error) => {
                let sent = self.probe.batch(entries, *on_error);
                sent.whole?;
                let row = |row: &Result<Outcome>| row.as_ref().map_err(Wrong::from).copied();
                StepResult::Batch(sent.rows.iter().map(row).collect())
            }
            Step::Change(table, condition, assign) => {
                let change =
                    BulkChange { table, condition: condition.as_ref(), assign: assign.as_deref() };
                StepResult::Count(self.probe.session.change(&change)?)
            }
            Step::Get(table, key) => {
                StepResult::Rows(self.probe.get(table, key.clone())?.into_iter().collect())
            }
            Step::Query(select) => StepResult::Rows(self.probe.select(select)?),
            Step::Elsewhere(select) if self.readers => {
                StepResult::Rows(Probe::new(self.engine)?.select(select)?)
            }
            Step::Elsewhere(_) => StepResult::Nothing,
            Step::Control(mark) => self.control(mark.as_control())?,
            Step::Alter(change) => {
                self.probe.session.alter(&[change.as_schema_change()])?;
                StepResult::Done
            }
            Step::NewSession => {
                self.cursors = [const { None }; CURSORS];
                self.probe = Probe::new(self.engine)?;
                StepResult::Done
            }
            Step::Reopen => StepResult::Nothing,
            Step::Open(slot, select) => self.open(*slot, select)?,
            Step::Fetch(slot) => self.fetch(*slot)?,
            Step::Drain(slot) => self.drain(*slot)?,
            Step::Close(slot) => {
                if let Some(mut reading) = self.cursors.get_mut(*slot).and_then(Option::take) {
                    self.probe.session.close(&mut reading.cursor);
                }
                StepResult::Done
            }
        })
    }

    fn control(&self, step: TransactionControl<'_>) -> Result<StepResult> {
        self.probe.control(step)?;
        Ok(StepResult::Done)
    }

    fn open(&mut self, slot: usize, select: &Select) -> Result<StepResult> {
        let Some(place) = self.cursors.get_mut(slot) else {
            return Ok(StepResult::Nothing);
        };
        if let Some(mut old) = place.take() {
            self.probe.session.close(&mut old.cursor);
        }
        let cursor = self.probe.session.open(&Source::Select(select))?;
        let names = cursor.columns.iter().map(|column| Value::from(column.name.clone()));
        let names = StepResult::Rows(vec![names.collect()]);
        *place = Some(OpenCursor { cursor, rows: Vec::new() });
        Ok(names)
    }

    fn fetch(&mut self, slot: usize) -> Result<StepResult> {
        let Some(Some(reading)) = self.cursors.get_mut(slot) else {
            return Ok(StepResult::Nothing);
        };
        let rows = self.probe.fetch(&mut reading.cursor)?;
        reading.rows.extend(rows);
        Ok(StepResult::Done)
    }

    fn drain(&mut self, slot: usize) -> Result<StepResult> {
        let Some(mut reading) = self.cursors.get_mut(slot).and_then(Option::take) else {
            return Ok(StepResult::Nothing);
        };
        let rest = self.probe.drain(&mut reading.cursor)?;
        self.probe.session.close(&mut reading.cursor);
        Ok(StepResult::Rows([reading.rows, rest].concat()))
    }
}

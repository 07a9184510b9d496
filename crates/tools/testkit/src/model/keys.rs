//! Passes keys that the subject generated to the reference.

use super::play::StepResult;
use super::step::Step;
use crate::{Entry, Table};
use bobak_core::{Capabilities, GeneratedKey, KeyGeneration, Outcome, Value, Verb};
use std::collections::HashMap;

/// The keys that the subject generated in its session.
pub(crate) struct Keys {
    dense: bool,
    /// The last generated key of each table.
    last: HashMap<String, i64>,
    /// A key that no engine generates, for rows that the subject rejected: the reference must reject them
    /// too, and not because of the key.
    spare: i64,
}

/// The first spare key.
const SPARE: i64 = 1 << 60;

impl Keys {
    pub(crate) fn new(subject: Capabilities) -> Self {
        Self { dense: subject.sequential_keys, last: HashMap::new(), spare: SPARE }
    }

    /// The step for the reference, if it differs, and the result that the reference must return; or what is
    /// wrong with the generated keys. Dense keys need no change.
    pub(crate) fn resolve(
        &mut self,
        step: &Step,
        result: StepResult,
    ) -> Result<(Option<Step>, StepResult), String> {
        if self.dense {
            return Ok((None, result));
        }
        match (step, result) {
            (Step::Write(entry), StepResult::Outcome(outcome)) => {
                let (entry, outcome) = self.row(entry, Some(outcome))?;
                let outcome = outcome.unwrap_or(Outcome::Ignored);
                Ok((Some(Step::Write(entry)), StepResult::Outcome(outcome)))
            }
            (Step::Write(entry), wrong) => Ok((Some(Step::Write(self.row(entry, None)?.0)), wrong)),
            (Step::Batch(entries, on_error), StepResult::Batch(rows)) => {
                let mut given = Vec::with_capacity(entries.len());
                let mut results = Vec::with_capacity(rows.len());
                for (entry, row) in entries.iter().zip(rows) {
                    let (entry, outcome) = self.row(entry, row.as_ref().ok().copied())?;
                    given.push(entry);
                    results.push(outcome.map_or(row, Ok));
                }
                Ok((Some(Step::Batch(given, *on_error)), StepResult::Batch(results)))
            }
            (Step::Batch(entries, on_error), wrong) => {
                let rows = entries.iter().map(|entry| Ok(self.row(entry, None)?.0));
                let rows = rows.collect::<Result<_, String>>()?;
                Ok((Some(Step::Batch(rows, *on_error)), wrong))
            }
            (Step::NewSession | Step::Reopen, result) => {
                self.last.clear();
                Ok((None, result))
            }
            (_, result) => Ok((None, result)),
        }
    }

    /// The row with its generated key, and its outcome as that of a row with an explicit key.
    fn row(
        &mut self,
        entry: &Entry,
        outcome: Option<Outcome>,
    ) -> Result<(Entry, Option<Outcome>), String> {
        let mut entry = entry.clone();
        let Some(place) = made_by_the_engine(&entry) else {
            return Ok((entry, outcome));
        };
        let table = Table::clone(&entry.table);
        let (key, outcome) = match outcome {
            Some(Outcome::Inserted(Some(GeneratedKey::Int(key)))) => {
                let last = self.last.insert(table.name().to_owned(), key);
                if last.is_some_and(|last| last >= key) {
                    return Err(format!("subject made key {key} after {last:?}"));
                }
                (key, Some(Outcome::Inserted(None)))
            }
            Some(Outcome::Inserted(other)) => {
                return Err(format!("subject says {other:?} of a row without a key: {entry:?}"));
            }
            other => {
                self.spare += 1;
                (self.spare, other)
            }
        };
        if let Some(value) = entry.values.get_mut(place) {
            *value = Value::Int(key);
        }
        Ok((entry, outcome))
    }
}

/// The position of the key that the engine generates.
fn made_by_the_engine(entry: &Entry) -> Option<usize> {
    let makes = entry.table.key_generation() == KeyGeneration::Engine;
    let new = !matches!(entry.verb, Verb::Update | Verb::Delete);
    let place = *entry.table.key().first()?;
    let missing = entry.values.get(place).is_some_and(Value::is_null);
    (makes && new && missing).then_some(place)
}

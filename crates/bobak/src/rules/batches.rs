//! Batches: sent as a whole, with normalized rows and without invalid ones.

use super::rule_session::RuleSession;
use super::table_rules::TableRules;
use bobak_core::engine::fallback;
use bobak_core::{Error, OnError, Outcome, Result, Row, Run, Value, Verb, Write, WriteBatch};
use std::sync::Arc;

/// A batch after its rows were checked.
#[derive(Default)]
struct CheckedBatch {
    /// The valid rows.
    rows: WriteBatch,
    /// The numbers and errors of the others, in order.
    rejected: Vec<(u64, Error)>,
}

impl RuleSession<'_> {
    pub(super) fn write_batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        let runs: Vec<(Run<'_>, Option<Arc<TableRules>>)> =
            batch.runs().map(|run| (run, self.rules_of(run.table))).collect();
        if runs.iter().all(|(_, rules)| rules.is_none()) {
            return self.inner()?.batch(batch, on_error, each);
        }
        if runs.iter().any(|(run, rules)| rules.as_ref().is_some_and(|r| reads_rows(r, run))) {
            return fallback::batch(self, batch, on_error, each);
        }
        let CheckedBatch { rows, rejected } = check(&runs, on_error)?;
        let (mut number, mut rejected) = (0, rejected.into_iter().peekable());
        self.inner()?.batch(&rows, on_error, &mut |outcome| {
            while let Some((_, error)) = rejected.next_if(|(row, _)| *row == number) {
                each(Err(error.at_row(number)));
                number += 1;
            }
            each(outcome.map_err(|error| error.at_row(number)));
            number += 1;
        })?;
        rejected.for_each(|(row, error)| each(Err(error.at_row(row))));
        Ok(())
    }
}

/// Whether the rows of a run are written one by one.
fn reads_rows(rules: &TableRules, run: &Run<'_>) -> bool {
    let (table, verb, fields) = (run.table, run.verb, run.fields);
    rules.needs_transaction(&Write { table, verb, fields, values: &[] })
}

fn check(runs: &[(Run<'_>, Option<Arc<TableRules>>)], on_error: OnError) -> Result<CheckedBatch> {
    let mut checked = CheckedBatch::default();
    for (run, rules) in runs {
        let (table, verb) = (run.table, run.verb);
        let rules = rules.as_ref();
        let fields = match rules.map(|rules| rules.written_fields(table, verb, run.fields)) {
            Some(Err(error)) if on_error == OnError::Stop => return Err(error.at_row(run.first)),
            Some(Err(_)) => {
                let error =
                    |row| Some((row, rules?.written_fields(table, verb, run.fields).err()?));
                checked.rejected.extend((run.first..run.first + run.rows).filter_map(error));
                continue;
            }
            Some(Ok(fields)) => fields,
            None => run.fields,
        };
        let rules = rules.filter(|_| verb != Verb::Delete);
        for (number, row) in (run.first..).zip(run.iter()) {
            let mut values: Vec<Value<'_>> =
                (0..row.len()).map(|column| row.value(column).into()).collect();
            let write = Write { table, verb, fields, values: &[] };
            match rules.map_or(Ok(()), |rules| rules.apply(&write, &mut values)) {
                Ok(()) => checked.rows.push(&Write { values: &values, ..write })?,
                Err(error) if on_error == OnError::Stop => return Err(error.at_row(number)),
                Err(error) => checked.rejected.push((number, error)),
            }
        }
    }
    Ok(checked)
}

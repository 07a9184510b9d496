//! Batches: whole where every row is allowed, else row by row.

use super::session::GuardedSession;
use super::table::TablePermissions;
use super::write::check_row;
use crate::right::Right;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Batch, Condition, Error, OnError, Outcome, Result, Row, Run, TableSchema, Value, Verb, Write,
};
use std::sync::Arc;

impl GuardedSession<'_> {
    /// Runs a batch; rules are kept for each row. What is not granted is refused as any wrong row.
    pub(super) fn batch_by_rule(
        &self,
        batch: &Batch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        let (mut runs, mut is_allowed) = (Vec::new(), true);
        for run in batch.runs() {
            let rights = self.rights(run.table).and_then(|rights| {
                rights.check_verb(run.verb, run.table)?;
                Ok(rights)
            });
            match &rights {
                Err(_) if on_error == OnError::Stop => {
                    return rights.map(drop).map_err(|error| error.at_row(run.first));
                }
                Err(_) => is_allowed = false,
                Ok(rights) => is_allowed = is_allowed && allows(rights, &run),
            }
            runs.push((run, rights));
        }
        if is_allowed {
            return self.inner.batch(batch, on_error, each);
        }
        self.atomically(|| {
            for (run, rights) in &runs {
                for (row, number) in run.iter().zip(run.first..) {
                    let outcome = match rights {
                        Ok(rights) => self.write_row(run, rights, row),
                        Err(error) => Err(again(error)),
                    };
                    match (outcome, on_error) {
                        (Err(error), OnError::Stop) => return Err(error.at_row(number)),
                        (outcome, _) => each(outcome.map_err(|error| error.at_row(number))),
                    }
                }
            }
            Ok(())
        })
    }

    /// Writes one row of a batch, in the batch's transaction.
    fn write_row(
        &self,
        run: &Run<'_>,
        rights: &Arc<TablePermissions>,
        row: EncodedRow<'_>,
    ) -> Result<Outcome> {
        let values: Vec<Value<'_>> = (0..row.len()).map(|place| row.value(place).into()).collect();
        let (verb, fields) = (run.verb, run.fields);
        let write = Write { table: run.table, verb, fields, values: &values };
        self.check_leads(rights, run.table, (verb, fields), &values)?;
        match verb {
            _ if rights.has_no_rule(verb, run.table) => self.inner.write(&write),
            Verb::Insert | Verb::InsertOrIgnore | Verb::InsertOrReplace => {
                check_encoded(rights.check(Right::Insert, run.table)?, run.table, &row)?;
                self.inner.write(&write)
            }
            _ => self.write_over(rights, &write),
        }
    }
}

fn check_encoded(
    rule: Option<&Condition>,
    table: &TableSchema,
    row: &EncodedRow<'_>,
) -> Result<()> {
    if rule.is_none() {
        return Ok(());
    }
    table.check_stored(false, row)?;
    check_row(rule, table, row)
}

/// Whether every row of a run is allowed, as far as that is seen without a look at what is there.
fn allows(rights: &TablePermissions, run: &Run<'_>) -> bool {
    if !rights.leads.is_empty()
        && !run.iter().all(|row| rights.leads_nowhere(run.verb, run.fields, &row))
    {
        return false;
    }
    if rights.has_no_rule(run.verb, run.table) {
        return true;
    }
    match (run.verb, rights.check(Right::Insert, run.table)) {
        (Verb::Insert | Verb::InsertOrIgnore | Verb::InsertOrReplace, Ok(rule)) => {
            run.iter().all(|row| check_encoded(rule, run.table, &row).is_ok())
        }
        _ => false,
    }
}

/// The same error, for another row.
fn again(error: &Error) -> Error {
    let again = error.to_bare();
    match error.table() {
        Some(table) => again.in_table(table),
        None => again,
    }
}

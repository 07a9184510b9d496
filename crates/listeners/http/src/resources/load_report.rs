//! The report of an import or a batch.

use crate::problem::{status_of, write_problem};
use bobak_core::{Error, GeneratedKey, Outcome, Result};
use bobak_text::json::write_string;

/// The most errors in a report.
const MAX_ERRORS: usize = 1_000;

/// How many rows a load has written, and their errors.
#[derive(Debug, Default)]
pub(crate) struct LoadReport {
    pub rows: u64,
    inserted: u64,
    changed: u64,
    ignored: u64,
    failed: u64,
    errors: Vec<Error>,
    /// Each row's outcome as JSON, if the client wants them.
    outcomes: Option<String>,
}

impl LoadReport {
    /// An empty report, with or without the outcome of each row.
    pub fn new(with_outcomes: bool) -> Self {
        Self { outcomes: with_outcomes.then(String::new), ..Self::default() }
    }

    /// The length of all outcomes.
    pub fn outcomes_length(&self) -> usize {
        self.outcomes.as_ref().map_or(0, String::len)
    }

    /// Adds the next row's outcome.
    pub fn add(&mut self, outcome: Result<Outcome>) {
        if let Some(outcomes) = &mut self.outcomes {
            outcomes.push_str(if self.rows == 0 { "\n" } else { ",\n" });
            write_outcome(outcomes, &outcome);
        }
        self.rows += 1;
        match outcome {
            Ok(Outcome::Inserted(_)) => self.inserted += 1,
            Ok(Outcome::Changed(rows)) => self.changed += rows,
            Ok(Outcome::Updated(_)) => self.changed += 1,
            Ok(Outcome::Ignored) => self.ignored += 1,
            Err(error) => {
                self.failed += 1;
                if self.errors.len() < MAX_ERRORS {
                    self.errors.push(error);
                }
            }
        }
    }

    pub fn to_json(&self) -> String {
        let Self { rows, inserted, changed, ignored, failed, .. } = self;
        let mut json = format!(
            "{{\"rows\":{rows},\"inserted\":{inserted},\"changed\":{changed},\
             \"ignored\":{ignored},\"failed\":{failed},\"errors\":["
        );
        for (index, error) in self.errors.iter().enumerate() {
            json.push_str(if index > 0 { ",\n" } else { "\n" });
            write_problem(&mut json, status_of(error), error, "");
        }
        json.push(']');
        if let Some(outcomes) = &self.outcomes {
            json.push_str(",\"outcomes\":[");
            json.push_str(outcomes);
            json.push(']');
        }
        json.push_str("}\n");
        json
    }
}

fn write_outcome(out: &mut String, outcome: &Result<Outcome>) {
    match outcome {
        Ok(Outcome::Inserted(None)) => out.push_str("{\"inserted\":true}"),
        Ok(Outcome::Inserted(Some(key))) => {
            out.push_str("{\"inserted\":true,\"key\":");
            write_key(out, key);
        }
        Ok(Outcome::Updated(key)) => {
            out.push_str("{\"changed\":1,\"key\":");
            write_key(out, key);
        }
        Ok(Outcome::Changed(rows)) => {
            out.push_str("{\"changed\":");
            out.push_str(itoa::Buffer::new().format(*rows));
            out.push('}');
        }
        Ok(Outcome::Ignored) => out.push_str("{\"ignored\":true}"),
        Err(error) => {
            out.push_str("{\"error\":");
            write_problem(out, status_of(error), error, "");
            out.push('}');
        }
    }
}

fn write_key(out: &mut String, key: &GeneratedKey) {
    match key {
        GeneratedKey::Int(key) => out.push_str(itoa::Buffer::new().format(*key)),
        GeneratedKey::Uuid(key) => write_string(out, &key.to_string()),
    }
    out.push('}');
}

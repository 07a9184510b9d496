//! The report: what was measured, where, and how it is shown.

mod cell;
mod chart;
pub(crate) mod format;
mod html;
mod machine;
mod markdown;
mod text;

use serde::Serialize;

pub(crate) use cell::compare_threads;
pub use cell::{Cell, Sample};
pub use machine::Machine;
pub(crate) use text::aligned;

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of Bobak.
    pub bobak: String,
    /// Version of the SQLite library.
    pub sqlite: String,
    /// Where it ran.
    pub machine: Machine,
    /// Rows of a cell; a cell that has other rows says so itself.
    pub rows: usize,
    /// How often each cell was measured.
    pub repeat: usize,
    /// The cells, by engine, then by task.
    pub cells: Vec<Cell>,
}

impl Report {
    /// The report for programs: one JSON object, ended by a line feed.
    ///
    /// # Errors
    /// None that is known: every value is a number, a text or null.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }

    /// Names of the engines in the order in which they were measured.
    fn engines(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !names.contains(&cell.engine.as_str()) {
                names.push(&cell.engine);
            }
        }
        names
    }

    fn cell(&self, engine: &str, task: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.engine == engine && cell.cell == task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Failure, Task};

    /// A small report with a failure, a cell without a raw contender, and one with fewer rows.
    pub(super) fn report() -> Report {
        let sample = |rate, raw| [Sample { rate, raw }];
        let failure = Failure::new("row 7: amount is 8, not 7");
        let (memory, full) = ("sqlite memory", "sqlite file full");
        Report {
            bobak: "0.1.0".to_owned(),
            sqlite: "3.54.1".to_owned(),
            machine: Machine {
                cores: 2,
                cpu: "<A&B>".to_owned(),
                memory_mib: 1024,
                kernel: "linux 6.1".to_owned(),
                file_system: "ext4".to_owned(),
                commit: Some("0123abc".to_owned()),
                build: "release",
                sqlite_options: vec!["THREADSAFE=1".to_owned()],
            },
            rows: 10_000,
            repeat: 1,
            cells: vec![
                Cell::measured(memory, Task::Direct, 10_000, &sample(250_000.0, Some(500_000.0))),
                Cell::failed(memory, Task::Batch, 10_000, &failure),
                Cell::measured(memory, Task::ByOne, 10_000, &sample(400_000.0, None)),
                Cell::measured(full, Task::Direct, 200, &sample(3_000.0, None)),
            ],
        }
    }

    #[test]
    fn json_has_the_agreed_names() {
        let json = report().to_json().expect("numbers and texts only");
        let value: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
        for name in ["bobak", "sqlite", "machine", "rows", "repeat", "cells"] {
            assert!(value.get(name).is_some(), "{name}");
        }
        let cell = serde_json::json!({
            "engine": "sqlite memory", "cell": "direct", "rows": 10_000, "rate": 250_000.0,
            "min": 250_000.0, "max": 250_000.0, "raw": 500_000.0, "ratio": 0.5, "verified": true,
        });
        assert_eq!(value["cells"][0], cell);
        assert_eq!(value["cells"][1]["rate"], serde_json::Value::Null);
        assert_eq!(value["cells"][1]["error"], "row 7: amount is 8, not 7");
        assert_eq!(value["cells"][2]["raw"], serde_json::Value::Null);
    }
}

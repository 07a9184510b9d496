//! The report of crashes, as text, Markdown and JSON.

use bobak_testkit::crash::{Promise, Tally};
use serde::Serialize;

use super::store::Crash;
use crate::report::{Machine, aligned, format};

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct CrashReport {
    /// Version of Bobak.
    pub bobak: String,
    /// Version of the SQLite library.
    pub sqlite: String,
    /// Where it ran.
    pub machine: Machine,
    /// By store, then by kind of crash.
    pub crashes: Vec<CrashRow>,
}

/// What was left of one store after many crashes of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct CrashRow {
    /// The store's name, such as `sqlite file wal full`.
    pub engine: &'static str,
    /// `killed`, `server killed` or `power cut`.
    pub crash: &'static str,
    /// How often.
    pub crashes: u64,
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// How many that were in a second, each said to another process; none where the disk is simulated.
    pub per_second: Option<f64>,
    /// Of these, those that were there afterwards; of a damaged store none are counted.
    pub survived: u64,
    /// Crashes after which the store was sound: readable, whole, without half a commit.
    pub sound: u64,
    /// What the store promises: `everything`, `all but the last commit`, `the commits up to some
    /// moment`, `nothing`.
    pub promise: &'static str,
    /// Whether that was so.
    pub kept: bool,
    /// What was wrong, where something was that the promise does not allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

const HEAD: [&str; 8] = [
    "after a crash",
    "crash",
    "crashes",
    "commits/s",
    "acknowledged",
    "survived",
    "sound",
    "promised",
];

const READING: &str = "Commits that were acknowledged, and those of them that were there after the \
    crash. Killed: a real process that writes to a real file or server, with its rate; server killed: \
    the real server; power cut: simulated.";

impl CrashReport {
    /// The report for programs: one JSON object, ended by a line feed.
    ///
    /// # Errors
    /// None that is known: every value is a number, a text or null.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }

    /// The report as plain text, for a terminal at least 110 columns wide.
    #[must_use]
    pub fn to_text(&self) -> String {
        let lines: Vec<Vec<String>> = [HEAD.map(str::to_owned).to_vec()]
            .into_iter()
            .chain(self.crashes.iter().map(|row| row.fields().to_vec()))
            .collect();
        let mut text = format!("{}\n{READING}\n\n{}", self.head(), aligned(&lines));
        for row in self.broken() {
            let error = row.error.as_deref().unwrap_or("more is lost than it promises");
            text += &format!("\nBROKEN PROMISE: {}, {}: {error}\n", row.engine, row.crash);
        }
        text
    }

    /// The report as a Markdown table.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!("{}.\n\n{READING}\n\n| {} |\n", self.head(), HEAD.join(" | "));
        text += "|---|---|--:|--:|--:|--:|--:|---|\n";
        for row in &self.crashes {
            text += &format!("| {} |\n", row.fields().join(" | "));
        }
        text
    }

    /// The rows whose promise was broken.
    pub fn broken(&self) -> impl Iterator<Item = &CrashRow> {
        self.crashes.iter().filter(|row| !row.kept)
    }

    fn head(&self) -> String {
        let Self { bobak, sqlite, machine, .. } = self;
        format!("Bobak {bobak}, SQLite {sqlite}; {}", format::machine(machine))
    }
}

impl CrashRow {
    pub(super) fn new(
        engine: &'static str,
        crash: Crash,
        tally: Tally,
        promise: Promise,
        per_second: Option<f64>,
        error: Option<String>,
    ) -> Self {
        let Tally { crashes, acknowledged, lost, with_loss, damaged, .. } = tally;
        let kept = match promise {
            Promise::Everything => lost == 0 && damaged == 0 && error.is_none(),
            // One for each crash, at the most.
            Promise::AllButTheLast => lost == with_loss && damaged == 0 && error.is_none(),
            Promise::APrefix => damaged == 0 && error.is_none(),
            Promise::Nothing => true,
        };
        Self {
            engine,
            crash: match crash {
                Crash::Killed => "killed",
                Crash::ServerKilled => "server killed",
                Crash::PowerCut => "power cut",
            },
            crashes,
            acknowledged,
            per_second,
            survived: acknowledged.saturating_sub(lost),
            sound: crashes.saturating_sub(damaged),
            promise: match promise {
                Promise::Everything => "everything",
                Promise::AllButTheLast => "all but the last commit",
                Promise::APrefix => "the commits up to some moment",
                Promise::Nothing => "nothing",
            },
            kept,
            error,
        }
    }

    fn fields(&self) -> [String; 8] {
        let count = |number: u64| format::count(usize::try_from(number).unwrap_or(usize::MAX));
        let sound = match self.sound {
            sound if sound == self.crashes => "always".to_owned(),
            sound => format!("{} of {}", count(sound), count(self.crashes)),
        };
        let kept = if self.kept { "" } else { " (BROKEN)" };
        [
            self.engine.to_owned(),
            self.crash.to_owned(),
            count(self.crashes),
            self.per_second.map_or_else(String::new, format::rate),
            count(self.acknowledged),
            count(self.survived),
            sound,
            format!("{}{kept}", self.promise),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(promise: Promise, lost: u64, with_loss: u64, damaged: u64) -> CrashRow {
        let tally = Tally { crashes: 10, acknowledged: 1_000, lost, with_loss, damaged };
        CrashRow::new("sqlite file full", Crash::Killed, tally, promise, Some(1_234.5), None)
    }

    #[test]
    fn a_promise_is_kept_or_broken() {
        assert!(row(Promise::Everything, 0, 0, 0).kept && !row(Promise::Everything, 1, 1, 0).kept);
        assert!(row(Promise::AllButTheLast, 3, 3, 0).kept);
        assert!(!row(Promise::AllButTheLast, 4, 3, 0).kept);
        assert!(row(Promise::APrefix, 90, 9, 0).kept && !row(Promise::APrefix, 0, 0, 1).kept);
        assert!(row(Promise::Nothing, 90, 9, 9).kept);
    }

    #[test]
    fn the_tables_say_what_survived() {
        let report = CrashReport {
            bobak: "0.1.0".to_owned(),
            sqlite: "3.54.1".to_owned(),
            machine: Machine::here(std::path::Path::new(".")),
            crashes: vec![row(Promise::Everything, 7, 2, 1), row(Promise::Nothing, 7, 2, 1)],
        };
        let text = report.to_text();
        assert!(text.contains("1,000       993  9 of 10"), "{text}");
        assert!(text.contains("BROKEN PROMISE: sqlite file full, killed"), "{text}");
        let line = "| sqlite file full | killed | 10 | 1,234 | 1,000 | 993 | 9 of 10 | nothing |";
        assert!(report.to_markdown().contains(line));
        let json: serde_json::Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        assert_eq!(json["crashes"][0]["kept"], false);
        assert_eq!(json["crashes"][1]["survived"], 993);
    }
}

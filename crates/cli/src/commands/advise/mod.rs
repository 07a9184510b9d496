//! `bobak advise`: indexes for the statements that a program runs, measured on a copy.

mod recorded;
mod trial;
mod values;

use super::arguments::database_url;
use super::backup::explain;
use super::statement_source::{StatementList, StatementSource};
use super::top::time;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{Terminal, count};
use bobak::Db;
use bobak::backup::BackupOptions;
use clap::Args;
use recorded::RecordedStatement;
use std::io::Write;
use std::path::PathBuf;
use trial::{IndexTrial, Trials};

/// Find indexes that make the recorded statements of a program faster, measured on a copy.
///
/// The statements are those that `bobak serve` has recorded, as `bobak top` shows them, or those of a file. Their values are not
/// recorded: values of the compared columns take their place. Statements that write are left out. The database itself does
/// not change without --apply.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AdviseCommand {
    /// Database: an SQLite file, such as app.db
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    file: String,

    /// Where the server with the statements listens for HTTP without TLS: HOST:PORT, or the path of a Unix socket
    #[arg(
        long,
        value_name = "SERVER",
        default_value = "127.0.0.1:4716",
        conflicts_with = "statements"
    )]
    server: String,

    #[command(flatten)]
    source: StatementSource,

    /// File of SQL statements, parted by semicolons, or of the response of GET /statements
    #[arg(long, value_name = "FILE")]
    statements: Option<PathBuf>,

    /// Create the indexes in the database
    #[arg(long)]
    apply: bool,

    /// How many times as fast the statements must be for an index to count
    #[arg(long, value_name = "FACTOR", default_value_t = 1.5)]
    min_gain: f64,
}

const EXAMPLES: &str = "\
Examples:
  bobak advise app.db --token-file token.txt
  bobak advise app.db --server /run/app-http.socket
  bobak advise app.db --statements reports.sql
  bobak advise app.db --statements reports.sql --apply";

impl AdviseCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// For a database that is no SQLite file; if the statements or the database can't be read.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        if !self.file.starts_with("sqlite:") || self.file.starts_with("sqlite::memory:") {
            let message = "indexes are tried on a copy of an SQLite file, and this is none: `bobak query --explain` shows \
                           which index would help a statement on other databases";
            return Err(Error::usage(message));
        }
        let db = database::open_to_read(&self.file)?;
        let mut statements = match &self.statements {
            Some(file) => recorded::of_file(file)?,
            None => recorded::of_list(self.recorded()?),
        };
        statements.retain(RecordedStatement::is_about_rows);
        let folder = tempfile::tempdir().map_err(|error| Error::io("make a folder", &error))?;
        let copy = folder.path().join("copy.db");
        db.backup(&copy, &BackupOptions::default(), |_| Ok(())).map_err(explain)?;
        let settings = self.file.split_once('?').map_or(String::new(), |(_, s)| format!("?{s}"));
        let copy = database::open_existing(&format!("sqlite:{}{settings}", copy.display()))?;
        let trials = trial::run(&copy, &statements, self.min_gain)?;
        self.report(&statements, &trials)?;
        if self.apply && !trials.kept.is_empty() {
            drop(db);
            apply(&database::open_existing(&self.file)?, &trials.kept)?;
            screen.note(format_args!("created {} indexes", count(trials.kept.len() as u64)));
        }
        Ok(())
    }

    fn recorded(&self) -> Result<StatementList> {
        self.source.list(&self.server, "total", 200).map_err(|error| {
            Error::failed(format!(
                "{error}; --server says where `bobak serve` listens, and --statements reads a file instead"
            ))
        })
    }

    fn report(&self, statements: &[RecordedStatement], trials: &Trials) -> Result<()> {
        let mut text = String::new();
        for trial in &trials.kept {
            text.push_str(&described(trial));
        }
        if trials.kept.is_empty() {
            text.push_str("no index makes these statements faster\n");
        }
        let rejected = trials.rejected.iter();
        for trial in rejected {
            let gain = trial.gain();
            text.push_str(&format!("not worth it: {} ({gain:.1} times as fast)\n", trial.sql));
        }
        for (statement, why) in &trials.left_out {
            text.push_str(&format!("left out: {statement}: {why}\n"));
        }
        let tried = statements.len().saturating_sub(trials.left_out.len());
        text.push_str(&format!("{tried} of {} statements were tried\n", statements.len()));
        let written = std::io::stdout().write_all(text.as_bytes());
        written.map_err(|error| Error::output(&error))
    }
}

/// An index, and what it does for each statement.
fn described(trial: &IndexTrial) -> String {
    let millis = trial.build.as_secs_f64() * 1e3;
    let kib = trial.bytes.div_ceil(1024);
    let mut text = format!("{};\n  built in {}, {} KiB\n", trial.sql, time(millis), count(kib));
    for gain in &trial.gains {
        text.push_str(&format!(
            "  {} × {}: {} before, {} after, {:.1} times as fast\n",
            count(gain.count),
            gain.text.split_whitespace().collect::<Vec<_>>().join(" "),
            time(gain.before.as_secs_f64() * 1e3),
            time(gain.after.as_secs_f64() * 1e3),
            gain.factor(),
        ));
    }
    text
}

fn apply(db: &Db, indexes: &[IndexTrial]) -> Result<()> {
    for index in indexes {
        db.execute(&index.sql, ())?;
    }
    Ok(db.flush()?)
}

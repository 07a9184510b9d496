//! `bobak copy`: copies tables between databases on any engines.

use crate::commands::arguments::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{Progress, Terminal, rate};
use bobak::copy::{CopyOptions, CopyReport};
use bobak::{Db, ErrorKind};
use clap::Args;
use std::time::Instant;

/// Copy tables to another database, on any engine.
///
/// Creates missing tables with their keys, constraints and indexes. Commits after each batch, so --resume continues an
/// interrupted copy. Compares row counts at the end.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Copy {
    /// Source database, such as flights.db
    #[arg(value_name = "SOURCE", value_parser = database_url)]
    from: String,

    /// Target database; an SQLite file is created if it does not exist
    #[arg(value_name = "TARGET", value_parser = database_url)]
    to: String,

    /// Only these tables, separated by commas [default: all]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    table: Vec<String>,

    /// Rows per batch; each batch is one transaction
    #[arg(long, value_name = "ROWS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,

    /// Continue after the largest key in the target table
    #[arg(long)]
    resume: bool,

    /// At the end, read both sides and compare a checksum of all values
    #[arg(long)]
    checksum: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak copy flights.db memory:flights.bobak
  bobak copy flights.db some.db --table airlines,planes --checksum
  bobak copy flights.db postgres://me@localhost/flights --resume

The copy of a table without a primary key gets one: the row number that the source engine assigned.";

impl Copy {
    /// Runs the command.
    ///
    /// # Errors
    /// If a database can't be opened; a table does not exist, or has rows or other columns in the target; the target
    /// rejects a row; row counts or checksums differ at the end.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        if self.from == self.to {
            return Err(Error::usage("source and target are the same database"));
        }
        let from = database::open_to_read(&self.from)?;
        // Check the names before creating the target.
        let tables = database::tables(&from, &self.table)?;
        let to = database::open(&self.to)?;
        let names: Vec<&str> = tables.iter().map(bobak::schema::TableSchema::name).collect();
        if names.is_empty() {
            screen.note(format_args!("{} has no tables", self.from));
            return Ok(());
        }
        self.copy(&from, &to, &names, screen)
    }

    fn copy(&self, from: &Db, to: &Db, names: &[&str], screen: &Terminal) -> Result<()> {
        let begun = Instant::now();
        let options =
            CopyOptions::new().batch_rows(self.batch).resume(self.resume).checksum(self.checksum);
        let mut bar: Option<(String, bool, Progress)> = None;
        let reports = from.copy_to(to, names, &options, |at| {
            if bar
                .as_ref()
                .is_none_or(|(table, checking, _)| table != at.table || *checking != at.checking)
            {
                // Drop the old bar first, or its line stays on the terminal.
                bar = None;
                bar = Some((at.table.to_owned(), at.checking, Progress::new(*screen, at.of)));
            }
            if let Some((table, checking, bar)) = &bar {
                let doing = if *checking { "checked" } else { "copied" };
                bar.set_rows(at.rows, &format!("{table}: {doing}"), at.rows);
            }
        });
        drop(bar);
        let reports = reports.map_err(explain)?;
        for report in &reports {
            screen.note(format_args!("{}", summary(report)));
        }
        let copied = reports.iter().map(|report| report.copied).sum();
        screen.note(format_args!("copied {}", rate(copied, begun.elapsed())));
        Ok(())
    }
}

/// `flights: 336776 rows, 10000 of them copied before, checksum 0123456789abcdef`.
fn summary(report: &CopyReport) -> String {
    let rows = report.found + report.copied;
    let mut text = format!("{}: {rows} rows", report.table);
    if report.found > 0 {
        text += &format!(", {} of them copied before", report.found);
    }
    if let Some(sum) = report.checksum {
        text += &format!(", checksum {sum:016x}");
    }
    text
}

/// Adds the flag that helps to the library's error.
fn explain(error: bobak::Error) -> Error {
    let resumes = error.kind() == ErrorKind::Conflict && error.message().contains("already");
    if resumes {
        Error::failed(format!("{error}: pass --resume to continue"))
    } else {
        error.into()
    }
}

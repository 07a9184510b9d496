//! `bobak copy`: tables go from one database to another, whatever their engines.

use crate::commands::parse::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{Progress, Screen, rate};
use bobak::copy::{CopyOptions, CopyReport};
use bobak::{Db, ErrorKind};
use clap::Args;
use std::time::Instant;

/// Copy tables to another database, on any engine.
///
/// Missing tables are made, with their keys, rules and indexes. Rows are written in batches, each of which is
/// committed: a copy that was broken off is taken up again with --resume. At the end the numbers of rows are compared.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Copy {
    /// The database to copy from, such as sqlite:flights.db
    #[arg(value_name = "FROM", value_parser = database_url)]
    from: String,

    /// The database to copy to; a file is made if it is not there
    #[arg(value_name = "TO", value_parser = database_url)]
    to: String,

    /// Only these tables, separated by commas [default: all]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    table: Vec<String>,

    /// How many rows are written and committed at once
    #[arg(long, value_name = "ROWS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,

    /// Go on after the largest key that is in the target's table
    #[arg(long)]
    resume: bool,

    /// Read both sides again at the end, and compare a checksum over all values
    #[arg(long)]
    checksum: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak copy sqlite:flights.db memory:flights.bobak
  bobak copy sqlite:flights.db sqlite:some.db --table airlines,planes --checksum
  bobak copy sqlite:flights.db sqlite:other.db --resume

A table without a key has one in the copy: the number that its engine gave each row.";

impl Copy {
    /// Runs the command.
    ///
    /// # Errors
    /// A database that can't be opened; a table that is not there, or has rows or other columns in the target; rows that
    /// the target refuses; numbers of rows or checksums that differ at the end.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        if self.from == self.to {
            return Err(Error::usage("both databases are the same"));
        }
        let from = database::open_to_read(&self.from)?;
        // Their names are seen to be right before the other database is made.
        let tables = database::tables(&from, &self.table)?;
        let to = database::open(&self.to)?;
        let names: Vec<&str> = tables.iter().map(bobak::schema::TableSchema::name).collect();
        if names.is_empty() {
            screen.note(format_args!("{} has no tables", self.from));
            return Ok(());
        }
        self.copy(&from, &to, &names, screen)
    }

    fn copy(&self, from: &Db, to: &Db, names: &[&str], screen: &Screen) -> Result<()> {
        let begun = Instant::now();
        let options =
            CopyOptions::new().batch_rows(self.batch).resume(self.resume).checksum(self.checksum);
        let mut bar: Option<(String, bool, Progress)> = None;
        let reports = from.copy_to(to, names, &options, |at| {
            if bar
                .as_ref()
                .is_none_or(|(table, checking, _)| table != at.table || *checking != at.checking)
            {
                // The old one goes first: it would leave its line behind.
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
            screen.note(format_args!("{}", sentence(report)));
        }
        let copied = reports.iter().map(|report| report.copied).sum();
        screen.note(format_args!("copied {}", rate(copied, begun.elapsed())));
        Ok(())
    }
}

/// `flights: 336776 rows, 10000 of them there before, checksum 0123456789abcdef`.
fn sentence(report: &CopyReport) -> String {
    let rows = report.found + report.copied;
    let mut text = format!("{}: {rows} rows", report.table);
    if report.found > 0 {
        text += &format!(", {} of them there before", report.found);
    }
    if let Some(sum) = report.checksum {
        text += &format!(", checksum {sum:016x}");
    }
    text
}

/// The library's error, with the flag that helps.
fn explain(error: bobak::Error) -> Error {
    let resumes = error.kind() == ErrorKind::Conflict && error.message().contains("already");
    if resumes { Error::failed(format!("{error}: --resume goes on with it")) } else { error.into() }
}

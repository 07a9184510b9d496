//! `bobak copy`: copies tables between databases on any engines.

use crate::commands::arguments::{column_type, database_url};
use crate::commands::setting_flags::SettingFlags;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{Progress, Terminal, rate};
use bobak::copy::{CopyOptions, CopyReport};
use bobak::schema::{SchemaLoss, Type};
use bobak::{Db, ErrorKind};
use clap::Args;
use std::time::Instant;

/// Copy tables to another database, on any engine.
///
/// Creates missing tables with their keys, constraints and indexes. If the target cannot have something (triggers, views,
/// indexes in descending order, …), lists it and writes nothing; --allow-loss copies the rest. Commits after each batch, so --resume
/// continues an interrupted copy. Compares row counts at the end.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CopyCommand {
    /// Source database, such as flights.db
    #[arg(value_name = "SOURCE", value_parser = database_url)]
    from: String,

    /// Target database; an SQLite file is created if it does not exist
    #[arg(value_name = "TARGET", value_parser = database_url)]
    to: String,

    /// Only these tables, separated by commas [default: all]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    table: Vec<String>,

    #[command(flatten)]
    options: SettingFlags<CopyOptions>,

    /// Type of a column in a new table: COLUMN or TABLE.COLUMN, and a type as in bobak import. May be repeated
    /// [default: the column's own; in a database with strict types, the one that all values of an SQLite column have]
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = column_type)]
    types: Vec<(String, Type)>,
}

const EXAMPLES: &str = "\
Examples:
  bobak copy flights.db memory:flights.bobak
  bobak copy flights.db some.db --table airlines,planes --checksum
  bobak copy flights.db postgres://me@localhost/flights --resume

The copy of a table without a primary key gets one: the row number that the source engine assigned.

Each table is copied as of one moment of its own. If programs change several tables together, stop them meanwhile, or copy from a
backup.";

impl CopyCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If a database can't be opened; a table does not exist, or has rows or other columns in the target; the target
    /// rejects a row; row counts or checksums differ at the end.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        if self.from == self.to {
            return Err(Error::usage("source and target are the same database"));
        }
        if database::is_in_memory(&self.to) {
            return Err(Error::usage(format!(
                "the copy in {} would be gone at once: name a file, as in memory:copy.bobak or copy.db",
                self.to
            )));
        }
        let from = database::open_to_read(&self.from)?;
        // Check the names before creating the target.
        let tables = database::tables(&from, &self.table)?;
        let names: Vec<&str> = match self.table[..] {
            // Also what is no table, such as a view, is listed.
            [] => Vec::new(),
            _ => tables.iter().map(bobak::schema::TableSchema::name).collect(),
        };
        // A file is created only if the copy begins.
        if database::is_missing(&self.to) {
            let memory = self.to.starts_with("memory:");
            let like = bobak::Db::open(if memory { "memory:" } else { "sqlite::memory:" })?;
            let mut losses = Vec::new();
            let types = self.types();
            from.copy_with(
                &like,
                &names,
                &self.options.0,
                &types,
                |found| {
                    losses = found.to_vec();
                    false
                },
                |_| {},
            )?;
            self.check_losses(&losses)?;
        }
        if tables.is_empty() {
            let from = bobak::engine::without_secrets(&self.from);
            screen.note(format_args!("{from} has no tables"));
            return Ok(());
        }
        let to = database::open(&self.to)?;
        self.copy(&from, &to, &names, screen)
    }

    fn types(&self) -> Vec<(&str, Type)> {
        self.types.iter().map(|(column, ty)| (column.as_str(), *ty)).collect()
    }

    /// # Errors
    /// A list of what the copy loses, if there is something and `--allow-loss` is not given.
    fn check_losses(&self, losses: &[SchemaLoss]) -> Result<()> {
        if losses.is_empty() || self.options.0.allow_loss {
            return Ok(());
        }
        Err(Error::failed(format!(
            "nothing was copied, since the target would lack:\n{}\npass --allow-loss to copy the rest",
            list(losses)
        )))
    }

    fn copy(&self, from: &Db, to: &Db, names: &[&str], screen: &Terminal) -> Result<()> {
        let begun = Instant::now();
        let mut bar: Option<(String, bool, Progress)> = None;
        let mut lost = Vec::new();
        let show_losses = |losses: &[SchemaLoss]| {
            lost = losses.to_vec();
            self.check_losses(losses).is_ok()
        };
        let reports =
            from.copy_with(to, names, &self.options.0, &self.types(), show_losses, |at| {
                if bar.as_ref().is_none_or(|(table, checking, _)| {
                    table != at.table || *checking != at.checking
                }) {
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
        self.check_losses(&lost)?;
        if !lost.is_empty() {
            screen.note(format_args!("not copied:\n{}", list(&lost)));
        }
        for report in &reports {
            screen.note(format_args!("{}", summary(report)));
        }
        let copied = reports.iter().map(|report| report.copied).sum();
        screen.note(format_args!("copied {}", rate(copied, begun.elapsed())));
        Ok(())
    }
}

/// One loss per line.
fn list(losses: &[SchemaLoss]) -> String {
    let lines: Vec<String> = losses.iter().map(|loss| format!("  {loss}")).collect();
    lines.join("\n")
}

/// `flights: 336776 rows, 10000 of them copied before, checksum 0123456789abcdef`.
fn summary(report: &CopyReport) -> String {
    let rows = report.found + report.copied;
    let noun = if rows == 1 { "row" } else { "rows" };
    let mut text = format!("{}: {rows} {noun}", report.table);
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

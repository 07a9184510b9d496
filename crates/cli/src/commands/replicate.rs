//! `bobak replicate`: replicates a database to another one.

use crate::commands::parse::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{Progress, Screen};
use bobak::replication::Replica;
use clap::Args;
use std::time::Duration;

/// Replicate a database to another one, on any engine.
///
/// The tables of the source must be tracked. The replica gets a copy first, then each change. It stores its position, so
/// the command continues where it stopped, however it stopped.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Replicate {
    /// The source, such as sqlite:app.db or bobak://host:7000/app
    #[arg(value_name = "FROM", value_parser = database_url)]
    from: String,

    /// The replica; a file is created if it does not exist
    #[arg(value_name = "TO", value_parser = database_url)]
    to: String,

    /// Only these tables, separated by commas [default: all that are tracked]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    table: Vec<String>,

    /// Track the named tables first, or all, where they are not: needs the right to alter the source
    #[arg(long)]
    track: bool,

    /// End when the target has all that there is
    #[arg(long)]
    once: bool,

    /// Compare all rows of both, then end
    #[arg(long)]
    check: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak replicate sqlite:app.db sqlite:copy.db --track
  bobak replicate bobak://db.example.org:7000/app?token=… sqlite:copy.db --table orders,items
  bobak replicate sqlite:app.db postgres://user@host/app --check";

/// How long it waits for a change at a time.
const WAIT: Duration = Duration::from_secs(1);

impl Replicate {
    /// Runs the command.
    ///
    /// # Errors
    /// A database that can't be opened; a table that is not tracked or differs in the target; with `--check` rows that
    /// are not the same; those of both databases.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        if self.from == self.to {
            return Err(Error::usage("both databases are the same"));
        }
        if self.table.iter().any(String::is_empty) {
            return Err(Error::usage("a name in --table is empty"));
        }
        let from = if self.track {
            let from = database::open(&self.from)?;
            database::track(&from, &self.table, screen)?;
            from
        } else if self.check {
            // It keeps writers waiting while it compares.
            database::open_existing(&self.from)?
        } else {
            database::open_to_read(&self.from)?
        };
        let to = database::open(&self.to)?;
        let tables: Vec<&str> = self.table.iter().map(String::as_str).collect();
        let mut replica = from.replicate_to(&to, &tables)?;
        Self::begin(&mut replica, screen)?;
        if self.check {
            for table in replica.check()?.tables {
                let (name, rows, sum) = (&table.table, table.rows, table.checksum);
                screen.note(format_args!("{name}: {rows} rows, the same, checksum {sum:016x}"));
            }
            return Ok(to.flush()?);
        }
        let mut unsaved = true;
        loop {
            let step = replica.step(if self.once { Duration::ZERO } else { WAIT })?;
            if step.changes > 0 {
                screen.note(format_args!("{} changes, up to {}", step.changes, step.place));
                unsaved = true;
                continue;
            }
            if std::mem::take(&mut unsaved) {
                // The memory engine keeps a file only then.
                to.flush()?;
            }
            if self.once {
                return Ok(());
            }
        }
    }

    fn begin(replica: &mut Replica, screen: &Screen) -> Result<()> {
        if let Some(place) = replica.place() {
            screen.note(format_args!("goes on behind change {place}"));
            return Ok(());
        }
        let mut bar: Option<(String, Progress)> = None;
        let place = replica.begin(|at| {
            if bar.as_ref().is_none_or(|(table, _)| table != at.table) {
                // The old one goes first: it would leave its line behind.
                bar = None;
                bar = Some((at.table.to_owned(), Progress::new(*screen, at.of)));
            }
            if let Some((table, bar)) = &bar {
                bar.set_rows(at.rows, &format!("{table}: copied"), at.rows);
            }
        })?;
        drop(bar);
        screen.note(format_args!("{} copied, up to change {place}", replica.tables().join(", ")));
        Ok(())
    }
}

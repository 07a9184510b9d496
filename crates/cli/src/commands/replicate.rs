//! `bobak replicate`: keeps a replica of a database.

use super::reconnection::Reconnection;
use crate::commands::arguments::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{Progress, Terminal};
use bobak::Db;
use bobak::replication::Replica;
use clap::Args;
use std::time::Duration;

/// Replicate a database to another one, on any engine.
///
/// The source's tables must be tracked, so that changes are captured. The replica first gets a copy of each table, then
/// every change. It stores its position, so replication resumes where it stopped, even after a kill. While a server cannot be
/// reached, it retries; with --once, it fails.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReplicateCommand {
    /// Source database, such as app.db or bobak://host:4715/app
    #[arg(value_name = "SOURCE", value_parser = database_url)]
    from: String,

    /// Replica; an SQLite file is created if it does not exist
    #[arg(value_name = "REPLICA", value_parser = database_url)]
    to: String,

    /// Only these tables, separated by commas [default: all tracked tables]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    table: Vec<String>,

    /// First turn change capture on for the named tables, or for all; needs permission to alter the source
    #[arg(long)]
    track: bool,

    /// Exit when the replica is up to date
    #[arg(long)]
    once: bool,

    /// Compare all rows of both databases, then exit
    #[arg(long)]
    check: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak replicate app.db replica.db --track
  bobak replicate \"bobak://db.example.org:4715/app?token=…\" replica.db --table orders,items
  bobak replicate app.db postgres://user@host/app --check";

/// How long one step waits for new changes.
const POLL_TIMEOUT: Duration = Duration::from_secs(1);

impl ReplicateCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If a database can't be opened, a table is not tracked or differs in the replica, or, with `--check`, rows differ.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        if self.from == self.to {
            return Err(Error::usage("source and replica are the same database"));
        }
        if self.table.iter().any(String::is_empty) {
            return Err(Error::usage("a name in --table is empty"));
        }
        let from = if self.track {
            let from = database::open(&self.from)?;
            database::track(&from, &self.table, screen)?;
            from
        } else if self.check {
            // The comparison blocks writers, which takes a writable connection.
            database::open_existing(&self.from)?
        } else {
            database::open_to_read(&self.from)?
        };
        let to = database::open(&self.to)?;
        let mut replica = self.open(&from, &to)?;
        Self::begin(&mut replica, &from, screen)?;
        if self.check {
            for table in replica.check()?.tables {
                let (name, rows, sum) = (&table.table, table.rows, table.checksum);
                screen.note(format_args!("{name}: {rows} rows, equal, checksum {sum:016x}"));
            }
            return Ok(to.flush()?);
        }
        self.follow(replica, (&from, &to), screen)
    }

    fn open(&self, from: &Db, to: &Db) -> bobak::Result<Replica> {
        let tables: Vec<&str> = self.table.iter().map(String::as_str).collect();
        from.replicate_to(to, &tables)
    }

    fn follow(&self, replica: Replica, (from, to): (&Db, &Db), screen: &Terminal) -> Result<()> {
        let (mut replica, mut unsaved) = (Some(replica), true);
        let mut reconnection = Reconnection::new(*screen);
        loop {
            let open = || self.open(from, to);
            let wait = if self.once { Duration::ZERO } else { POLL_TIMEOUT };
            let step = |replica: &mut Replica| replica.step(wait);
            let step = reconnection.step(&mut replica, !self.once, open, step)?;
            let Some(step) = step else { continue };
            if step.changes > 0 {
                screen.note(format_args!("{} changes, up to {}", step.changes, step.position));
                unsaved = true;
                continue;
            }
            if std::mem::take(&mut unsaved) {
                // The memory engine writes its file only on flush.
                to.flush()?;
            }
            if self.once {
                return Ok(());
            }
        }
    }

    fn begin(replica: &mut Replica, from: &Db, screen: &Terminal) -> Result<()> {
        if let Some(place) = replica.position() {
            screen.note(format_args!("resuming after change {place}"));
            return Ok(());
        }
        let mut bar: Option<(String, Progress)> = None;
        let place = replica.begin(|at| {
            if bar.as_ref().is_none_or(|(table, _)| table != at.table) {
                // Drop the old bar first, or its line stays on the terminal.
                bar = None;
                bar = Some((at.table.to_owned(), Progress::new(*screen, at.of)));
            }
            if let Some((table, bar)) = &bar {
                bar.set_rows(at.rows, &format!("{table}: copied"), at.rows);
            }
        })?;
        drop(bar);
        screen.note(format_args!("{} copied, up to change {place}", replica.tables().join(", ")));
        let copied = |table: &str| replica.tables().contains(&table);
        for loss in database::unknown_columns(from, &copied)? {
            screen.note(format_args!("not in the replica: {loss}"));
        }
        Ok(())
    }
}

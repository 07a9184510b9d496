//! `bobak bench`: measures the engines against the raw C API.

use crate::error::{Error, Result};
use crate::output::{OutputTarget, Progress, Terminal};
use bobak_bench::backup::BackupBench;
use bobak_bench::crash::{self, CrashOptions};
use bobak_bench::{Options, Report, Step, Task, engines};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Measure the engines on this machine, relative to the raw C API.
///
/// Each cell alternates with the same work in plain C-API calls, on the same library and settings. Rates depend on the
/// machine; ratios are comparable between machines. Every row read is verified; a cell with a wrong row shows the failure
/// instead of a rate.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchCommand {
    /// Rows per cell [default: 10000]
    #[arg(short, long, value_name = "N", value_parser = at_least_one)]
    rows: Option<usize>,

    /// Rows per cell in which each row waits for a disk sync [default: 200]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    synced_rows: Option<usize>,

    /// Engines to measure, separated by commas; an unknown name lists the known ones [default: all, servers if installed]
    #[arg(short, long, value_name = "NAMES")]
    engines: Option<String>,

    /// URL of the PostgreSQL server to measure; the user needs permission to create databases [default: a private server
    /// for this run]
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,

    /// URL of the MariaDB server to measure, as for --postgres
    #[arg(long, value_name = "URL")]
    mariadb: Option<String>,

    /// URL of the Firebird server to measure, with `?create=on`
    #[cfg(feature = "firebird-bench")]
    #[arg(long, value_name = "URL")]
    firebird: Option<String>,

    /// Folder with the nycflights13 data for the joins; may contain the whole year [default: examples/flights/data, with
    /// one day, repeated]
    #[arg(long, value_name = "FOLDER")]
    flights: Option<PathBuf>,

    /// Cells to measure, separated by commas, such as "batch trans,all direct" [default: all]
    #[arg(short, long, value_name = "NAMES")]
    cells: Option<String>,

    /// Test durability instead of speed: kill processes and servers while they write, and simulate power cuts; the report
    /// compares acknowledged with surviving commits
    #[arg(long, conflicts_with_all = ["rows", "synced_rows", "cells", "repeat", "html"])]
    crash: bool,

    /// With --crash: number of killed processes per engine, and of killed servers
    #[arg(long, value_name = "N", default_value = "20", value_parser = at_least_one)]
    kills: usize,

    /// With --crash: number of random programs, each with three simulated power cuts
    #[arg(long, value_name = "N", default_value = "200", value_parser = at_least_one)]
    cuts: usize,

    /// Measure the effect of a backup on writers instead (rate and longest wait), on a database with this many rows
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..),
          conflicts_with_all = ["rows", "synced_rows", "cells", "engines", "html", "crash"])]
    backup: Option<u64>,

    /// Repetitions per cell; the median is reported
    #[arg(long, value_name = "N", default_value = "5", value_parser = at_least_one)]
    repeat: usize,

    /// Folder for the databases, which are deleted afterwards [default: the temporary folder]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,

    /// Write a JSON report to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a Markdown report to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Write an HTML report with charts to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  bobak bench
  bobak bench --rows 100000 --engines \"sqlite memory,sqlite file off exclusive\"
  bobak bench --cells \"direct,by one\" --repeat 3 --markdown report.md --html report.html
  bobak bench --engines postgres,mariadb --postgres postgres://me:secret@db.example/postgres
  bobak bench --quiet --json - > report.json
  bobak bench --crash --kills 100 --markdown crashes.md
  bobak bench --backup 1000000 --repeat 3";

fn at_least_one(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "expected a whole number".to_owned())?;
    if number > 0 { Ok(number) } else { Err("expected at least 1".to_owned()) }
}

impl BenchCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If an engine or cell is unknown, or a report can't be written; if a cell failed, after all reports are written.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        if self.crash {
            return self.run_crash(screen);
        }
        if let Some(rows) = self.backup {
            return self.run_backup(rows, screen);
        }
        let options = self.options()?;
        let mut watcher = Watcher { screen: *screen, bar: None };
        let report = bobak_bench::run(&options, &mut watcher);
        drop(watcher);
        let json = report.to_json().map_err(|error| Error::failed(error.to_string()))?;
        let files = [
            (&self.json, json),
            (&self.markdown, report.to_markdown()),
            (&self.html, report.to_html()),
        ];
        write_all(&files, &report.to_text())?;
        verdict(&report)
    }

    fn run_crash(&self, screen: &Terminal) -> Result<()> {
        let writer = super::crash_writer::writer()?;
        let stores = match &self.engines {
            Some(names) => crash::parse(names).map_err(|error| Error::usage(error.to_string()))?,
            None => crash::STORES.iter().filter(|store| store.is_there()).collect(),
        };
        let (kills, cuts) = (self.kills as u64, self.cuts as u64);
        let folder = self.folder.clone();
        let options = CrashOptions { stores, kills, cuts, folder, writer: &writer };
        let mut bar = None;
        let mut tell = |store: &str, done: u64, total: u64| {
            let bar = bar.get_or_insert_with(|| Progress::new(*screen, total));
            bar.set(done, store.to_owned());
        };
        let failed = |error: &dyn std::fmt::Display| Error::failed(error.to_string());
        let report = crash::crash(&options, &mut tell).map_err(|error| failed(&error))?;
        drop(bar);
        let json = report.to_json().map_err(|error| failed(&error))?;
        let files = [(&self.json, json), (&self.markdown, report.to_markdown())];
        write_all(&files, &report.to_text())?;
        match report.broken().count() {
            0 => Ok(()),
            _ => Err(Error::failed("an engine lost acknowledged commits: see the report")),
        }
    }

    fn run_backup(&self, rows: u64, screen: &Terminal) -> Result<()> {
        let (repeat, folder) = (self.repeat, self.folder.clone());
        let options = BackupBench { rows, writers: 2, repeat, folder };
        let mut bar = None;
        let mut tell = |mode: &str, done: u64, total: u64| {
            let bar = bar.get_or_insert_with(|| Progress::new(*screen, total));
            bar.set(done, mode.to_owned());
        };
        let failed = |error: &dyn std::fmt::Display| Error::failed(error.to_string());
        let report = bobak_bench::backup::run(&options, &mut tell).map_err(|e| failed(&e))?;
        drop(bar);
        let json = report.to_json().map_err(|error| failed(&error))?;
        let files = [(&self.json, json), (&self.markdown, report.to_markdown())];
        write_all(&files, &report.to_text())
    }

    fn options(&self) -> Result<Options> {
        let wrong = |error: &dyn std::fmt::Display| Error::usage(error.to_string());
        let default = Options::default();
        for (name, url) in [
            ("postgres", &self.postgres),
            ("mariadb", &self.mariadb),
            #[cfg(feature = "firebird-bench")]
            ("firebird", &self.firebird),
        ] {
            if let Some(url) = url {
                engines::give(name, url).map_err(|error| wrong(&error))?;
            }
        }
        if let Some(folder) = &self.flights {
            engines::give_flights(folder);
        }
        Ok(Options {
            engines: match &self.engines {
                Some(names) => engines::parse(names).map_err(|error| wrong(&error))?,
                None => default.engines.into_iter().chain(engines::servers()).collect(),
            },
            tasks: match &self.cells {
                Some(names) => Task::parse_list(names).map_err(|error| wrong(&error))?,
                None => default.tasks,
            },
            rows: self.rows,
            synced_rows: self.synced_rows,
            repeat: self.repeat,
            folder: self.folder.clone(),
        })
    }
}

/// Writes the requested reports, and the text unless one of them went to standard output.
fn write_all(files: &[(&Option<PathBuf>, String)], text: &str) -> Result<()> {
    let mut standard_output_taken = false;
    for (path, text) in files {
        if let Some(path) = path {
            standard_output_taken |= path == Path::new("-");
            write(Some(path), text)?;
        }
    }
    if standard_output_taken { Ok(()) } else { write(None, text) }
}

fn write(path: Option<&Path>, text: &str) -> Result<()> {
    let mut output = OutputTarget::open(path)?;
    output.write_all(text.as_bytes()).map_err(|error| Error::output(&error))?;
    output.finish()
}

fn verdict(report: &Report) -> Result<()> {
    let failed = report.cells.iter().filter(|cell| cell.error.is_some()).count();
    match failed {
        0 => Ok(()),
        1 => Err(Error::failed("one cell failed: see the report")),
        _ => Err(Error::failed(format!("{failed} cells failed: see the report"))),
    }
}

/// Draws the progress of the run.
struct Watcher {
    screen: Terminal,
    bar: Option<Progress>,
}

impl bobak_bench::Progress for Watcher {
    fn step(&mut self, step: Step) {
        let bar = self.bar.get_or_insert_with(|| Progress::new(self.screen, step.total as u64));
        let doing = format!("{}: {} ({} of {})", step.engine, step.task, step.repeat, step.repeats);
        bar.set(step.done as u64, doing);
    }
}

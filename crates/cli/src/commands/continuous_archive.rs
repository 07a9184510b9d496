//! Continuous archiving in `bobak serve`: one thread per database writes committed changes to a folder.

use super::archive::require_unencrypted_consent;
use super::shutdown::ShutdownSignal;
use crate::error::{Error, Result};
use crate::output::Terminal;
use bobak::ErrorKind;
use bobak::archive::Archive;
use bobak::engine::Engine;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long one step waits for new changes. Also delays the server's shutdown by up to as long.
const POLL_TIMEOUT: Duration = Duration::from_millis(250);
/// The pause before a retry after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The flags of continuous archiving.
#[derive(Debug, Args)]
pub struct ContinuousArchive {
    /// Archive the changes of tracked tables to NAME.changes in this folder (see `bobak archive`)
    #[arg(long, value_name = "FOLDER")]
    archive: Option<PathBuf>,

    /// With --archive: allow unencrypted archives of encrypted databases
    #[arg(long, requires = "archive")]
    archive_unencrypted: bool,
}

/// The archiving threads. Dropping them archives what is left and stops them.
pub struct ArchiveThreads {
    stop: Arc<ShutdownSignal>,
    threads: Vec<JoinHandle<()>>,
}

/// Archives one database to one folder.
struct DatabaseArchiver {
    name: String,
    engine: Arc<dyn Engine>,
    folder: PathBuf,
    unencrypted: bool,
    screen: Terminal,
    /// The last reported problem; it is reported only once.
    last_problem: Option<String>,
}

impl ContinuousArchive {
    /// The folder of the archives.
    pub fn folder(&self) -> Option<&Path> {
        self.archive.as_deref()
    }

    /// Rejects an unencrypted archive of an encrypted database.
    ///
    /// # Errors
    /// If a URL has a key and `--archive-unencrypted` is missing.
    pub fn check(&self, urls: &[String]) -> Result<()> {
        match self.archive {
            Some(_) => urls.iter().try_for_each(|url| {
                require_unencrypted_consent(url, self.archive_unencrypted, "--archive-unencrypted")
            }),
            None => Ok(()),
        }
    }

    /// Starts archiving these databases if `--archive` was given.
    ///
    /// # Errors
    /// If another process writes to a folder, or it belongs to another database or is damaged.
    pub fn start(
        &self,
        databases: &[(String, Arc<dyn Engine>)],
        screen: Terminal,
    ) -> Result<Option<ArchiveThreads>> {
        let Some(folder) = &self.archive else { return Ok(None) };
        let mut threads = ArchiveThreads { stop: Arc::default(), threads: Vec::new() };
        for (name, engine) in databases {
            let folder = folder.join(format!("{name}.changes"));
            let (name, engine) = (name.clone(), Arc::clone(engine));
            let unencrypted = self.archive_unencrypted;
            let mut archiver =
                DatabaseArchiver { name, engine, folder, unencrypted, screen, last_problem: None };
            // A failure at the start ends the server. Later failures are reported and retried.
            let archive = archiver.open()?;
            let stop = Arc::clone(&threads.stop);
            let thread = std::thread::Builder::new()
                .name("archive".to_owned())
                .spawn(move || archiver.run(archive, &stop))
                .map_err(|error| Error::io("start the archive", &error))?;
            threads.threads.push(thread);
        }
        Ok(Some(threads))
    }
}

impl Drop for ArchiveThreads {
    fn drop(&mut self) {
        self.stop.request();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl DatabaseArchiver {
    /// Opens the folder; `None` while no table is tracked.
    fn open(&mut self) -> Result<Option<Archive>> {
        let engine = Arc::clone(&self.engine);
        let archive = match self.unencrypted {
            true => Archive::open_unencrypted(engine, &self.folder),
            false => Archive::open(engine, &self.folder),
        };
        match archive {
            Ok(archive) => {
                // After a failure, the recovery is announced once a step succeeds.
                if self.last_problem.is_none() {
                    self.announce(archive.position());
                }
                Ok(Some(archive))
            }
            // An error with a table name means that this table has a problem.
            Err(error) if error.kind() == ErrorKind::Schema && error.table().is_none() => {
                self.note("no table is tracked: archiving starts once one is");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Archives until a stop is requested, then archives what is left.
    fn run(&mut self, mut archive: Option<Archive>, stop: &ShutdownSignal) {
        while !stop.is_requested() {
            let archived = match &mut archive {
                Some(archive) => match archive.step(POLL_TIMEOUT) {
                    Ok(step) => {
                        if self.last_problem.take().is_some() {
                            self.announce(step.position);
                        }
                        Ok(())
                    }
                    Err(error) => Err(Error::from(error)),
                },
                None => self.open().map(|opened| archive = opened),
            };
            let failed = archived.inspect_err(|error| self.note(&error.to_string())).is_err();
            if failed {
                // Reopen the folder: its end is after the last complete page.
                archive = None;
            }
            if archive.is_none() && stop.wait(RETRY_INTERVAL) {
                break;
            }
        }
        if let Some(mut archive) = archive {
            let remaining = loop {
                match archive.step(Duration::ZERO) {
                    Ok(step) if step.changes > 0 => {}
                    last => break last,
                }
            };
            if let Err(error) = remaining {
                self.note(&error.to_string());
            }
        }
    }

    fn announce(&self, place: u64) {
        let (name, folder) = (&self.name, self.folder.display());
        self.screen.note(format_args!("{name}: archiving to {folder} after change {place}"));
    }

    /// Reports a problem unless it was the last one reported.
    fn note(&mut self, problem: &str) {
        if self.last_problem.as_deref() != Some(problem) {
            self.screen.note(format_args!("{}: {problem}", self.name));
            self.last_problem = Some(problem.to_owned());
        }
    }
}

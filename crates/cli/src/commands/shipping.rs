//! Changes that `bobak serve` ships to folders by itself, as they commit.

use super::archive::refuse_plain;
use super::stop::Stop;
use crate::error::{Error, Result};
use crate::output::Screen;
use bobak::ErrorKind;
use bobak::archive::Archive;
use bobak::engine::Engine;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a database is waited for a change at a time; a server that stops waits as long.
const WAIT: Duration = Duration::from_millis(250);
/// After a failure it is tried again so often.
const AGAIN: Duration = Duration::from_secs(2);

/// The flags.
#[derive(Debug, Args)]
pub struct Shipping {
    /// Write the changes of tracked tables to NAME.changes in this folder as they commit: see `bobak archive`
    #[arg(long, value_name = "FOLDER")]
    archive: Option<PathBuf>,

    /// With --archive: of encrypted databases too, though the folder is not encrypted
    #[arg(long, requires = "archive")]
    archive_plain: bool,
}

/// What is shipped; dropping it ships the rest and ends.
pub struct Shipments {
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
}

/// One database and its folder.
struct Shipment {
    name: String,
    engine: Arc<dyn Engine>,
    folder: PathBuf,
    plain: bool,
    screen: Screen,
    /// What went wrong last, which is said once.
    said: Option<String>,
}

impl Shipping {
    /// Refuses what would write an encrypted database's changes as they are.
    ///
    /// # Errors
    /// A database with a key, unless that was asked for.
    pub fn check(&self, urls: &[String]) -> Result<()> {
        match self.archive {
            Some(_) => urls
                .iter()
                .try_for_each(|url| refuse_plain(url, self.archive_plain, "--archive-plain")),
            None => Ok(()),
        }
    }

    /// Starts to ship the changes of these databases, if that is wanted.
    ///
    /// # Errors
    /// A folder that somebody else writes to, that is another database's, or damaged.
    pub fn start(
        &self,
        databases: &[(String, Arc<dyn Engine>)],
        screen: Screen,
    ) -> Result<Option<Shipments>> {
        let Some(folder) = &self.archive else { return Ok(None) };
        let mut shipments = Shipments { stop: Arc::default(), threads: Vec::new() };
        for (name, engine) in databases {
            let folder = folder.join(format!("{name}.changes"));
            let (name, engine) = (name.clone(), Arc::clone(engine));
            let plain = self.archive_plain;
            let mut shipment = Shipment { name, engine, folder, plain, screen, said: None };
            // What is wrong from the beginning ends the server; later it goes on without.
            let archive = shipment.open()?;
            let stop = Arc::clone(&shipments.stop);
            let thread = std::thread::Builder::new()
                .name("archive".to_owned())
                .spawn(move || shipment.run(archive, &stop))
                .map_err(|error| Error::io("start the archive", &error))?;
            shipments.threads.push(thread);
        }
        Ok(Some(shipments))
    }
}

impl Drop for Shipments {
    fn drop(&mut self) {
        self.stop.ask();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shipment {
    /// Opens the folder; `None` while no table is tracked.
    fn open(&mut self) -> Result<Option<Archive>> {
        let engine = Arc::clone(&self.engine);
        let archive = match self.plain {
            true => Archive::open_unencrypted(engine, &self.folder),
            false => Archive::open(engine, &self.folder),
        };
        match archive {
            Ok(archive) => {
                // After a failure it is good again once a step has done its work.
                if self.said.is_none() {
                    self.announce(archive.place());
                }
                Ok(Some(archive))
            }
            // One that has a table names what is wrong with it.
            Err(error) if error.kind() == ErrorKind::Schema && error.table().is_none() => {
                self.note("no table is tracked: changes are shipped once one is");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Ships until it is told to stop, and then what is left.
    fn run(&mut self, mut archive: Option<Archive>, stop: &Stop) {
        while !stop.is_asked() {
            let shipped = match &mut archive {
                Some(archive) => match archive.step(WAIT) {
                    Ok(step) => {
                        if self.said.take().is_some() {
                            self.announce(step.place);
                        }
                        Ok(())
                    }
                    Err(error) => Err(Error::from(error)),
                },
                None => self.open().map(|opened| archive = opened),
            };
            let failed = shipped.inspect_err(|error| self.note(&error.to_string())).is_err();
            if failed {
                // A folder is read anew: its end is where the last whole page ends.
                archive = None;
            }
            if archive.is_none() && stop.wait(AGAIN) {
                break;
            }
        }
        if let Some(mut archive) = archive {
            let left = loop {
                match archive.step(Duration::ZERO) {
                    Ok(step) if step.changes > 0 => {}
                    last => break last,
                }
            };
            if let Err(error) = left {
                self.note(&error.to_string());
            }
        }
    }

    fn announce(&self, place: u64) {
        let (name, folder) = (&self.name, self.folder.display());
        self.screen.note(format_args!("{name}: changes go to {folder}, behind {place}"));
    }

    /// Says what went wrong, unless it was said last.
    fn note(&mut self, what: &str) {
        if self.said.as_deref() != Some(what) {
            self.screen.note(format_args!("{}: {what}", self.name));
            self.said = Some(what.to_owned());
        }
    }
}

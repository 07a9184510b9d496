//! Backups that `bobak serve` takes by itself.

use super::backup::{Compress, left_open, sentence};
use super::stop::Stop;
use crate::commands::parse::duration;
use crate::error::{Error, Result};
use crate::output::Screen;
use bobak::ErrorKind;
use bobak::backup::{BackupOptions, Compression};
use bobak::backup::{backup, clear_abandoned};
use bobak::engine::Engine;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// A backup that failed is tried again after so long, or after its usual time where that is shorter.
const AGAIN: Duration = Duration::from_secs(60);

/// The flags of the backups.
#[derive(Debug, Args)]
pub struct Schedule {
    /// Back the databases up to this folder, as NAME-20261122T043000Z.db (UTC), while they are served
    #[arg(long, value_name = "FOLDER")]
    backup: Option<PathBuf>,

    /// With --backup: how often, such as 15m, 1h or 1d; the first is taken at once, unless the last one is younger
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration, requires = "backup")]
    every: Duration,

    /// With --backup: how many backups of each database are kept; the oldest go when a new one is there
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..), requires = "backup")]
    keep: u32,

    /// With --backup: how they are compressed
    #[arg(long, value_name = "HOW", default_value = "none", requires = "backup")]
    compress: Compress,
}

/// The backups under way; dropping it ends them.
pub struct Backups {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

struct Work {
    databases: Vec<(String, Arc<dyn Engine>)>,
    folder: PathBuf,
    every: Duration,
    keep: usize,
    options: BackupOptions,
    ending: String,
    screen: Screen,
}

impl Schedule {
    /// Starts taking backups of these databases, if that is wanted.
    ///
    /// # Errors
    /// A folder that is none; a database that can't be backed up to a file.
    pub fn start(
        &self,
        databases: &[(String, Arc<dyn Engine>)],
        screen: Screen,
    ) -> Result<Option<Backups>> {
        let Some(folder) = &self.backup else { return Ok(None) };
        fs::create_dir_all(folder)
            .map_err(|error| Error::io(format_args!("make {}", folder.display()), &error))?;
        let compression = Compression::from(self.compress);
        for (name, engine) in databases {
            if compression != Compression::None && engine.capabilities().encrypted {
                let message =
                    format!("{name} is encrypted, and not made smaller: leave --compress out");
                return Err(Error::usage(message));
            }
            if !matches!(engine.name(), "sqlite" | "memory") {
                let message = format!("{name} is not backed up by Bobak: its server does that");
                return Err(Error::usage(message));
            }
        }
        let packed = match compression {
            Compression::Zstd => ".zst",
            Compression::Gzip => ".gz",
            _ => "",
        };
        let work = Work {
            databases: databases.to_vec(),
            folder: folder.clone(),
            every: self.every,
            keep: usize::try_from(self.keep).unwrap_or(usize::MAX),
            options: BackupOptions::new().compression(compression),
            ending: packed.to_owned(),
            screen,
        };
        let stop = Arc::new(Stop::default());
        let heard = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("backups".to_owned())
            .spawn(move || work.run(&heard))
            .map_err(|error| Error::io("start the backups", &error))?;
        Ok(Some(Backups { stop, thread: Some(thread) }))
    }
}

impl Drop for Backups {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Work {
    fn run(&self, stop: &Stop) {
        self.clear_abandoned();
        let begun = Instant::now();
        let mut due: Vec<Instant> =
            self.databases.iter().map(|(name, _)| begun + self.first_wait(name)).collect();
        while let Some(next) = due.iter().min() {
            if stop.wait(next.saturating_duration_since(Instant::now())) {
                return;
            }
            for ((name, engine), due) in self.databases.iter().zip(&mut due) {
                let now = Instant::now();
                if stop.is_asked() {
                    return;
                }
                if *due > now {
                    continue;
                }
                let wait = match self.back_up(name, &**engine, stop) {
                    Ok(line) => {
                        self.screen.note(line);
                        self.every
                    }
                    Err(error) => {
                        if !stop.is_asked() {
                            self.screen.note(format_args!("no backup of {name}: {error}"));
                        }
                        self.every.min(AGAIN)
                    }
                };
                *due = now + wait;
            }
        }
    }

    fn back_up(&self, name: &str, engine: &dyn Engine, stop: &Stop) -> Result<String> {
        let form = if engine.name() == "memory" { "bobak" } else { "db" };
        let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        let file = self.folder.join(format!("{name}-{stamp}.{form}{}", self.ending));
        // Somebody may have removed it, or what it is on may be back without it.
        fs::create_dir_all(&self.folder)
            .map_err(|error| Error::io(format_args!("make {}", self.folder.display()), &error))?;
        let report = backup(engine, &file, &self.options, &mut |_| match stop.is_asked() {
            false => Ok(()),
            true => Err(bobak::Error::new(ErrorKind::Interrupted, "the server stops")),
        })?;
        self.clear(name, &file);
        self.clear_abandoned();
        Ok(format!("{}: {}{}", file.display(), sentence(&report), left_open(&report)))
    }

    /// Removes the oldest backups of a database beyond those that are kept; never the one just made. Says which could not
    /// be removed: the others go even so.
    fn clear(&self, name: &str, made: &Path) {
        for file in surplus(self.backups_of(name), made, self.keep) {
            if let Err(error) = fs::remove_file(&file) {
                let error = Error::io(format_args!("remove {}", file.display()), &error);
                self.screen
                    .note(format_args!("a backup is kept longer than it should be: {error}"));
            }
        }
    }

    /// Removes what a server that was killed has left of its backups.
    fn clear_abandoned(&self) {
        let is_own = |file: &str| self.databases.iter().any(|(name, _)| is_backup_of(name, file));
        clear_abandoned(&self.folder, is_own);
    }

    /// The backups of a database that are there.
    fn backups_of(&self, name: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_one = |path: &PathBuf| {
            let file = path.file_name().and_then(|file| file.to_str());
            file.is_some_and(|file| is_backup_of(name, file))
        };
        entries.map(|entry| entry.path()).filter(|path| is_one(path) && path.is_file()).collect()
    }

    /// How long to wait for a database's first backup: until its last one is as old as it may be.
    fn first_wait(&self, name: &str) -> Duration {
        let age = |file: &PathBuf| {
            let made = fs::metadata(file).and_then(|file| file.modified()).ok()?;
            // A file from the future says nothing.
            SystemTime::now().duration_since(made).ok()
        };
        let last = self.backups_of(name).iter().filter_map(age).min();
        last.map_or(Duration::ZERO, |age| self.every.saturating_sub(age))
    }
}

/// The backups that go, so that so many are left with the one just made. One that claims to be of a later moment was made
/// while the clock was wrong, so nobody knows how old it is: it goes before all others.
fn surplus(mut all: Vec<PathBuf>, made: &Path, keep: usize) -> Vec<PathBuf> {
    all.retain(|file| file != made);
    // Their names differ in the moment alone.
    all.sort_by_cached_key(|file| (file.as_path() < made, file.clone()));
    all.truncate((all.len() + 1).saturating_sub(keep));
    all
}

/// Whether a file's name is that of a backup of this database: `NAME-20261122T043000Z.db.zst`.
fn is_backup_of(name: &str, file: &str) -> bool {
    let behind = || {
        let rest = file.strip_prefix(name)?.strip_prefix('-')?;
        rest.split_once('.')
    };
    behind().is_some_and(|(stamp, form)| {
        let shape: String =
            stamp.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        let forms = ["db", "db.zst", "db.gz", "bobak", "bobak.zst", "bobak.gz"];
        shape == "00000000T000000Z" && forms.contains(&form)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_and_those_of_the_future_first() {
        let file = |moment: &str| PathBuf::from(format!("kept/app-{moment}Z.db"));
        let go = |there: &[&str], keep| {
            let made = file("20261122T120000");
            let all = there.iter().map(|moment| file(moment)).chain([made.clone()]).collect();
            surplus(all, &made, keep)
        };
        assert_eq!(go(&["20261122T100000", "20261122T110000"], 3), [] as [PathBuf; 0]);
        assert_eq!(go(&["20261122T110000", "20261122T100000"], 2), [file("20261122T100000")]);
        assert_eq!(go(&["20261122T110000"], 1), [file("20261122T110000")]);
        let future = ["20300101T000000", "20261122T110000", "20300102T000000"];
        assert_eq!(go(&future, 2), [file(future[0]), file(future[2])]);
        assert_eq!(go(&future, 3), [file(future[0])]);
    }

    /// Backups of memory databases with these names to a folder, an hour apart, of which one is kept.
    fn hourly(folder: &Path, names: &[&str]) -> Work {
        let open = |name: &&str| ((*name).to_owned(), bobak::engine::open("memory:").unwrap());
        Work {
            databases: names.iter().map(open).collect(),
            folder: folder.to_owned(),
            every: Duration::from_secs(3_600),
            keep: 1,
            options: BackupOptions::new(),
            ending: String::new(),
            screen: Screen::new(true),
        }
    }

    #[test]
    fn a_database_waits_for_its_own_last_backup() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("old-20261122T043000Z.db"), "").unwrap();
        let work = hourly(folder.path(), &["old", "new"]);
        assert_eq!(work.first_wait("new"), Duration::ZERO);
        assert!(work.first_wait("old") > Duration::ZERO, "it has one");
    }

    /// What is there under the name of a backup, and is none, neither counts nor keeps others from being removed.
    #[test]
    fn what_can_not_be_removed_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("app-20200101T000000Z.bobak/some")).unwrap();
        for old in ["app-20200102T000000Z.bobak", "app-20200103T000000Z.bobak"] {
            fs::write(path(old), "").unwrap();
        }
        let work = hourly(folder.path(), &["app"]);
        let (name, engine) = &work.databases[0];
        work.back_up(name, &**engine, &Stop::default()).unwrap();
        let left = work.backups_of("app");
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(left[0].as_path() > path("app-2025").as_path(), "the new one");
    }

    #[test]
    fn other_files_are_no_backups() {
        assert!(is_backup_of("app", "app-20261122T043000Z.db"));
        assert!(is_backup_of("app", "app-20261122T043000Z.db.zst"));
        for other in [
            "app-2-20261122T043000Z.db",
            "app-20261122T043000Z.db.1.2.new",
            "app-20261122T043000Z.txt",
            "app-2026.db",
            "app.db",
            "other-20261122T043000Z.db",
        ] {
            assert!(!is_backup_of("app", other), "{other}");
        }
    }
}

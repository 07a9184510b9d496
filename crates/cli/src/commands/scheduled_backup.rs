//! Scheduled backups in `bobak serve`.

use super::backup::{summary, unverified};
use super::shutdown::ShutdownSignal;
use crate::commands::arguments::duration;
use crate::error::{Error, Result};
use crate::output::Terminal;
use bobak::ErrorKind;
use bobak::backup::{BackupOptions, Compression};
use bobak::backup::{backup, backup_file_name, clear_abandoned, is_backup_of};
use bobak::engine::Engine;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// The pause before a failed backup is retried, unless the backup interval is shorter.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// The flags of scheduled backups.
#[derive(Debug, Args)]
pub struct ScheduledBackup {
    /// Back up the databases to this folder, as NAME-20261122T043000Z.db (UTC), while they are served
    #[arg(long, value_name = "FOLDER")]
    backup: Option<PathBuf>,

    /// With --backup: interval, such as 15m, 1h or 1d; the first backup is taken at once unless a recent one exists
    #[arg(long = "backup-interval", value_name = "TIME", default_value = "1h", value_parser = duration, requires = "backup")]
    interval: Duration,

    /// With --backup: number of backups to keep of each database; older ones are deleted
    #[arg(long = "backup-keep", value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..), requires = "backup")]
    keep: u32,

    /// With --backup: compression: none, zstd or gzip
    #[arg(
        long = "backup-compress",
        value_name = "METHOD",
        default_value = "none",
        requires = "backup"
    )]
    compress: Compression,

    /// With --backup: file with the key of the backups: 32 bytes or 64 hexadecimal digits
    #[arg(long, value_name = "FILE", requires = "backup", conflicts_with = "backup_password_file")]
    backup_key_file: Option<PathBuf>,

    /// With --backup: file with the password of the backups in its first line
    #[arg(long, value_name = "FILE", requires = "backup")]
    backup_password_file: Option<PathBuf>,
}

/// The thread that takes the backups. Dropping it cancels a running backup and stops the thread.
pub struct BackupThread {
    stop: Arc<ShutdownSignal>,
    thread: Option<JoinHandle<()>>,
}

struct BackupTask {
    databases: Vec<(String, Arc<dyn Engine>)>,
    folder: PathBuf,
    interval: Duration,
    keep: usize,
    options: BackupOptions,
    compression: Compression,
    screen: Terminal,
}

impl ScheduledBackup {
    /// The folder of the backups.
    pub fn folder(&self) -> Option<&Path> {
        self.backup.as_deref()
    }

    fn options(&self) -> BackupOptions {
        let mut options = BackupOptions::new().compression(self.compress);
        if let Some(file) = &self.backup_key_file {
            options = options.key_file(file);
        }
        if let Some(file) = &self.backup_password_file {
            options = options.password_file(file);
        }
        options
    }

    /// Starts backing up these databases if `--backup` was given.
    ///
    /// # Errors
    /// If the path is not a folder, or a database can't be backed up to a file.
    pub fn start(
        &self,
        databases: &[(String, Arc<dyn Engine>)],
        screen: Terminal,
    ) -> Result<Option<BackupThread>> {
        let Some(folder) = &self.backup else { return Ok(None) };
        fs::create_dir_all(folder)
            .map_err(|error| Error::io(format_args!("create {}", folder.display()), &error))?;
        let compression = self.compress;
        for (name, engine) in databases {
            let cannot = engine.capabilities().encrypted && engine.backup_key().is_none();
            if compression != Compression::None && cannot {
                let message = format!(
                    "backups of {name} can't be compressed, since it is an encrypted snapshot or has the cipher \
                     sqlcipher: omit --backup-compress"
                );
                return Err(Error::usage(message));
            }
            if engine.backup_format().is_none() {
                let message = format!("Bobak can't back up {name}: use the server's own backup");
                return Err(Error::usage(message));
            }
        }
        let task = BackupTask {
            databases: databases.to_vec(),
            folder: folder.clone(),
            interval: self.interval,
            keep: usize::try_from(self.keep).unwrap_or(usize::MAX),
            options: self.options(),
            compression,
            screen,
        };
        let stop = Arc::new(ShutdownSignal::default());
        let signal = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("backups".to_owned())
            .spawn(move || task.run(&signal))
            .map_err(|error| Error::io("start the backups", &error))?;
        Ok(Some(BackupThread { stop, thread: Some(thread) }))
    }
}

impl Drop for BackupThread {
    fn drop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl BackupTask {
    fn run(&self, stop: &ShutdownSignal) {
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
                if stop.is_requested() {
                    return;
                }
                if *due > now {
                    continue;
                }
                let wait = match self.back_up(name, &**engine, stop) {
                    Ok(line) => {
                        self.screen.note(line);
                        self.interval
                    }
                    Err(error) => {
                        if !stop.is_requested() {
                            self.screen.log(format_args!("backup of {name} failed: {error}"));
                        }
                        self.interval.min(RETRY_INTERVAL)
                    }
                };
                *due = now + wait;
            }
        }
    }

    fn back_up(
        &self,
        database: &str,
        engine: &dyn Engine,
        stop: &ShutdownSignal,
    ) -> Result<String> {
        let extension = engine.backup_format().map_or("db", |format| format.extension);
        let now = bobak::prelude::Timestamp::now();
        let name = backup_file_name(database, extension, now, self.compression);
        let file = self.folder.join(name);
        // The folder may have been removed since, for example with its mount.
        fs::create_dir_all(&self.folder)
            .map_err(|error| Error::io(format_args!("create {}", self.folder.display()), &error))?;
        let report = backup(engine, &file, &self.options, &mut |_| match stop.is_requested() {
            false => Ok(()),
            true => Err(bobak::Error::new(ErrorKind::Interrupted, "the server is stopping")),
        })?;
        self.delete_old(database, &file);
        self.clear_abandoned();
        Ok(format!("{}: {}{}", file.display(), summary(&report), unverified(&report)))
    }

    /// Deletes the oldest backups of a database beyond `keep`, never the newest one. Reports files that can't be deleted
    /// and deletes the others.
    fn delete_old(&self, name: &str, made: &Path) {
        for file in surplus(self.backups_of(name), made, self.keep) {
            if let Err(error) = fs::remove_file(&file) {
                let error = Error::io(format_args!("delete {}", file.display()), &error);
                self.screen.log(format_args!("an old backup could not be deleted: {error}"));
            }
        }
    }

    /// Deletes temporary files that a killed server left behind.
    fn clear_abandoned(&self) {
        let is_own = |file: &str| self.databases.iter().any(|(name, _)| is_backup_of(name, file));
        clear_abandoned(&self.folder, is_own);
    }

    /// The existing backups of a database.
    fn backups_of(&self, name: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_one = |path: &PathBuf| {
            let file = path.file_name().and_then(|file| file.to_str());
            file.is_some_and(|file| is_backup_of(name, file))
        };
        entries.map(|entry| entry.path()).filter(|path| is_one(path) && path.is_file()).collect()
    }

    /// The delay before a database's first backup: until its last backup is one interval old.
    fn first_wait(&self, name: &str) -> Duration {
        let age = |file: &PathBuf| {
            let made = fs::metadata(file).and_then(|file| file.modified()).ok()?;
            // Ignore files with a modification time in the future.
            SystemTime::now().duration_since(made).ok()
        };
        let last = self.backups_of(name).iter().filter_map(age).min();
        last.map_or(Duration::ZERO, |age| self.interval.saturating_sub(age))
    }
}

/// The backups to delete so that `keep` remain, including the newest one. A backup with a later time stamp than the newest
/// was taken while the clock was wrong, so its age is unknown: it is deleted first.
fn surplus(mut all: Vec<PathBuf>, made: &Path, keep: usize) -> Vec<PathBuf> {
    all.retain(|file| file != made);
    // The names differ only in the time stamp.
    all.sort_by_cached_key(|file| (file.as_path() < made, file.clone()));
    all.truncate((all.len() + 1).saturating_sub(keep));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_and_future_backups_are_deleted_first() {
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
    fn hourly(folder: &Path, names: &[&str]) -> BackupTask {
        let open = |name: &&str| ((*name).to_owned(), bobak::engine::open("memory:").unwrap());
        BackupTask {
            databases: names.iter().map(open).collect(),
            folder: folder.to_owned(),
            interval: Duration::from_secs(3_600),
            keep: 1,
            options: BackupOptions::new(),
            compression: Compression::None,
            screen: Terminal::new(true),
        }
    }

    #[test]
    fn first_backup_waits_for_age_of_own_last_backup() {
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
        work.back_up(name, &**engine, &ShutdownSignal::default()).unwrap();
        let left = work.backups_of("app");
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(left[0].as_path() > path("app-2025").as_path(), "the new one");
    }
}

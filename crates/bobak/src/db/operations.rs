//! Backup, restore, archives, replication and copies of a [`Db`]: thin methods over `bobak-operations`.

use super::Db;
use crate::url;
use bobak_core::{BackupProgress, Engine, Result, SchemaLoss, TableSchema, Type};
use bobak_operations::archive::Archive;
use bobak_operations::backup::{self, BackupOptions, BackupReport};
use bobak_operations::copy::{self, CopyOptions, CopyProgress, CopyReport};
use bobak_operations::replication::{Replica, WriteBehind};
use bobak_operations::restore::{self, ReplayOptions, ReplayReport, RestoreOptions, RestoreReport};
use bobak_operations::stored_types::{StoredTypes, stored_types};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

impl Db {
    /// Backs the main engine up to a file, as of one moment, while others read and write.
    ///
    /// The backup is written to a temporary file next to `file`, verified, synced, and renamed into place: there is
    /// never a partial backup under the final name. A compressed backup also needs room for the uncompressed database
    /// while it is written. `progress` is called after each step; its error ends the backup.
    ///
    /// SQLite is copied page by page in steps of a few milliseconds, with pauses in between. The memory engine writes a
    /// snapshot. Database servers are rejected: they have backup tools of their own, and [`copy_to`](Db::copy_to) copies
    /// their tables.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct Item { id: i64, name: String }
    /// use bobak::backup::BackupOptions;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (app, file) = (folder.path().join("app.db"), folder.path().join("backup.db"));
    /// # let url = format!("sqlite:{}", app.display());
    /// # let db = Db::builder().record::<Item>().open(&url)?;
    /// # db.create_missing_tables()?;
    /// db.table()?.insert(&Item { id: 0, name: "spade".into() })?;
    /// let report = db.backup(&file, &BackupOptions::new(), |_| Ok(()))?;
    /// assert_eq!(report.tables, [("item".to_owned(), 1)]);
    /// // The backup is a database.
    /// let copy = Db::open(&format!("sqlite:{}", file.display()))?;
    /// assert_eq!(copy.sql::<String>("SELECT name FROM item", ())?, ["spade"]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Conflict` if the file exists; `Unsupported` for an engine without files, and for a compression that this program
    /// was built without; `Misuse` if the file is the database itself; `Full`, `ReadOnly`, `Io`; `Corrupt` if the
    /// database is damaged; `Busy`; `Config` for an unknown engine; the error of `progress`.
    pub fn backup(
        &self,
        file: impl AsRef<Path>,
        options: &BackupOptions,
        mut progress: impl FnMut(BackupProgress) -> Result<()>,
    ) -> Result<BackupReport> {
        let engine = self.engine_to_back_up(options)?;
        backup::backup(&*engine, file.as_ref(), options, &mut progress)
    }

    /// As [`backup`](Db::backup), to a writer. The database is first copied to a temporary file that only this user can
    /// read.
    ///
    /// The bytes given to the writer are not read again: see [`check_backup`](Db::check_backup).
    ///
    /// # Errors
    /// As [`backup`](Db::backup), and those of the writer.
    pub fn backup_to(
        &self,
        writer: impl Write,
        options: &BackupOptions,
        mut progress: impl FnMut(BackupProgress) -> Result<()>,
    ) -> Result<BackupReport> {
        let engine = self.engine_to_back_up(options)?;
        backup::backup_to(&*engine, writer, options, &mut progress)
    }

    fn engine_to_back_up(&self, options: &BackupOptions) -> Result<Arc<dyn Engine>> {
        match options.engine_name() {
            None => self.main_engine(),
            Some(name) => self.engine_named(name),
        }
    }

    /// Restores a backup to the file that a URL names, `sqlite:FILE` or `memory:FILE`, and reports what it contains.
    ///
    /// The backup is copied to a temporary file next to the database and verified there: its checksum, its pages and
    /// indexes, its row counts. Only then is it renamed into place; a failure leaves everything as it was. No process
    /// may have the database open; for SQLite this is checked.
    ///
    /// # Errors
    /// `Corrupt` if the backup is truncated, damaged, or not a backup; `Conflict` if the database exists and
    /// [`overwrite`](RestoreOptions::overwrite) is off; `Busy` if the database is open, or the backup is being written
    /// to; `Unsupported` for another engine's backup and for engines without files; `Full`, `ReadOnly`, `Io`, `Config`;
    /// those of [`replay`](Db::replay).
    pub fn restore(
        backup: impl AsRef<Path>,
        url: &str,
        options: &RestoreOptions,
    ) -> Result<RestoreReport> {
        restore::restore(backup.as_ref(), &url::database_file(url)?, options)
    }

    /// Reads a whole backup, plain or compressed, and reports what it contains.
    ///
    /// # Errors
    /// `Corrupt` if the file is truncated, damaged, or not a backup; `Unsupported` for a backup of a newer version, and
    /// for a compression that this program was built without; `Io`; `Full` if there is no room for the uncompressed copy
    /// among the system's temporary files.
    pub fn check_backup(backup: impl AsRef<Path>) -> Result<BackupReport> {
        backup::check(backup.as_ref())
    }

    /// As [`check_backup`](Db::check_backup), with the key of the database at this URL, which need not exist.
    ///
    /// # Errors
    /// As [`check_backup`](Db::check_backup); `Denied` for a wrong key; `Config` for a malformed URL.
    pub fn check_backup_for(backup: impl AsRef<Path>, url: &str) -> Result<BackupReport> {
        backup::check_for(backup.as_ref(), &url::database_file(url)?)
    }

    /// As [`check_backup`](Db::check_backup), as a restore with these options would: with the key of the backup, and with
    /// that of the database at a URL, which need not exist.
    ///
    /// # Errors
    /// As [`check_backup_for`](Db::check_backup_for); `Denied` for the key of a backup that is not encrypted.
    pub fn check_restore(
        backup: impl AsRef<Path>,
        url: Option<&str>,
        options: &RestoreOptions,
    ) -> Result<BackupReport> {
        let database = url.map(url::database_file).transpose()?;
        restore::check(backup.as_ref(), database.as_ref(), options)
    }

    /// Changes the key of a file that no process has open: encrypts a plain file, and decrypts an encrypted one if `new`
    /// is `None`. The file is an SQLite database, a snapshot of the memory engine, or a compressed or encrypted backup. The
    /// URL names the file and its current key. At every moment the file has the old key or the new one: see
    /// [`change_key`](bobak_sqlite::SqliteBuilder::change_key).
    ///
    /// # Errors
    /// `Denied` for a wrong key; `Busy` if a process has the file open; `Unsupported` for another engine; `Config`,
    /// `Full`, `Io`.
    #[cfg(feature = "encryption")]
    pub fn change_key(url: &str, new: Option<&bobak_encryption::EncryptionKey>) -> Result<()> {
        bobak_operations::backup::change_key(&url::database_file(url)?, new)
    }

    /// Writes the changes of the main engine's tracked tables to a folder as they commit, for point-in-time restores:
    /// see [`Archive`]. Opens the folder, creates it if it does not exist, and continues after its last change.
    ///
    /// ```
    /// use bobak::prelude::*;
    /// use bobak::changes::TrackOptions;
    /// use bobak::restore::RecoveryTarget;
    /// #[derive(Record, Debug, PartialEq)]
    /// struct City { id: i64, name: String }
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path().join("changes");
    /// let open = || -> Result<Db, Error> {
    ///     let db = Db::builder().track::<City>(TrackOptions::new()).open("sqlite::memory:")?;
    ///     db.create_missing_tables()?;
    ///     Ok(db)
    /// };
    /// let db = open()?;
    /// let mut archive = db.archive_to(&folder)?;
    /// for name in ["Bern", "Thun", "Biel"] {
    ///     db.table()?.insert(&City { id: 0, name: name.into() })?;
    ///     archive.step(std::time::Duration::ZERO)?;
    /// }
    ///
    /// // Everything except the last change.
    /// let restored = open()?;
    /// restored.replay(&folder, RecoveryTarget::Change(2))?;
    /// assert_eq!(restored.table::<City>()?.count(Query::all())?, 2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn archive_to(&self, folder: impl AsRef<Path>) -> Result<Archive> {
        Archive::open(self.main_engine()?, folder)
    }

    /// As [`archive_to`](Db::archive_to), also for an encrypted database: everyone who can read the folder can read its
    /// changes.
    ///
    /// # Errors
    /// As [`Archive::open_unencrypted`].
    pub fn archive_unencrypted_to(&self, folder: impl AsRef<Path>) -> Result<Archive> {
        Archive::open_unencrypted(self.main_engine()?, folder)
    }

    /// Replays the changes of an archive's folder on the main engine, a restored backup that does not have them yet: see
    /// [`restore::replay`](bobak_operations::restore::replay()).
    ///
    /// # Errors
    /// As [`restore::replay`](bobak_operations::restore::replay()).
    pub fn replay(
        &self,
        folder: impl AsRef<Path>,
        options: impl Into<ReplayOptions>,
    ) -> Result<ReplayReport> {
        restore::replay(&*self.main_engine()?, folder.as_ref(), options)
    }

    /// Keeps tables of another database up to date with this one: those named, or all tracked tables if none is named.
    /// See [`Replica`].
    ///
    /// ```
    /// use bobak::prelude::*;
    /// use bobak::changes::TrackOptions;
    /// #[derive(Record, Debug, PartialEq)]
    /// struct City { id: i64, name: String }
    ///
    /// let source = Db::builder().track::<City>(TrackOptions::new()).open("sqlite::memory:")?;
    /// source.create_missing_tables()?;
    /// source.table()?.insert(&City { id: 1, name: "Bern".into() })?;
    ///
    /// let target = Db::open("memory:")?;
    /// let mut replica = source.replicate_to(&target, &[])?;
    /// replica.begin(|_| {})?;
    /// source.execute("UPDATE city SET name = 'Thun'", ())?;
    /// while replica.step(std::time::Duration::ZERO)?.changes > 0 {}
    /// assert_eq!(target.table::<City>()?.require(1)?.name, "Thun");
    /// assert_eq!(replica.check()?.tables[0].rows, 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Replica::new`].
    pub fn replicate_to(&self, target: &Self, tables: &[&str]) -> Result<Replica> {
        Replica::new(self.main_engine()?, target.main_engine()?, tables)
    }

    /// Writes the changes of this database's tables to another one in the background, `interval` after each other at the latest:
    /// for tables that are changed more often than a disk or a server could write them. Tables that are empty here get the
    /// rows of the target first. See [`WriteBehind::start`].
    ///
    /// ```
    /// use bobak::prelude::*;
    /// use std::time::Duration;
    ///
    /// #[derive(Record)]
    /// struct Visit { id: i64, page: String }
    ///
    /// let open = || {
    ///     let db = Db::builder().record::<Visit>().open("memory:")?;
    ///     db.create_missing_tables()?;
    ///     Ok::<_, Error>(db)
    /// };
    /// let file = Db::open("sqlite::memory:")?;
    ///
    /// let fast = open()?;
    /// let writer = fast.write_behind(&file, &["visit"], Duration::from_secs(1))?;
    /// fast.table()?.insert(&Visit { id: 0, page: "/".into() })?; // at the speed of memory
    /// writer.stop()?;
    ///
    /// // After a restart the rows are in memory again.
    /// let fast = open()?;
    /// let writer = fast.write_behind(&file, &["visit"], Duration::from_secs(1))?;
    /// assert_eq!(fast.table::<Visit>()?.require(1)?.page, "/");
    /// # writer.stop()?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`WriteBehind::start`].
    pub fn write_behind(
        &self,
        target: &Self,
        tables: &[&str],
        interval: Duration,
    ) -> Result<WriteBehind> {
        let (source, target) = (self.main_engine()?, target.main_engine()?);
        WriteBehind::start(source, target, tables, interval, |_| {})
    }

    /// The table, with the types of the values in columns that another program declared as DATETIME, BOOL, DECIMAL or
    /// JSON: see [`stored_types`](bobak_operations::stored_types::stored_types). The columns that `types` names (`price`,
    /// or `item.price`) get these.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// use bobak::schema::Type;
    /// let file = Db::open("sqlite::memory:")?;
    /// file.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, price DECIMAL(6,2), sold BOOL)", ())?;
    /// file.execute("INSERT INTO item VALUES (1, 0.5, 1), (2, 3, 0)", ())?;
    /// let item = file.stored_types(&file.tables()?[0], &[])?.table;
    /// assert_eq!((item.columns()[1].ty, item.columns()[2].ty), (Type::F64, Type::Bool));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn stored_types(&self, table: &TableSchema, types: &[(&str, Type)]) -> Result<StoredTypes> {
        stored_types(&*self.main_engine()?, table, types)
    }

    /// What a copy of these tables would lose, of all if none is named: see
    /// [`CopyPlan::losses`](bobak_operations::copy::CopyPlan::losses). Writes nothing.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// let file = Db::open("sqlite::memory:")?;
    /// file.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, price DECIMAL(6,2) DEFAULT (random()))", ())?;
    /// let losses = file.copy_losses(&Db::open("memory:")?, &[])?;
    /// assert_eq!(losses[0].to_string(), "item: default random() of column price");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`CopyPlan::new`](bobak_operations::copy::CopyPlan::new).
    pub fn copy_losses(&self, target: &Self, tables: &[&str]) -> Result<Vec<SchemaLoss>> {
        let (from, to) = (self.main_engine()?, target.main_engine()?);
        let plan = copy::CopyPlan::new(&*from, &*to, tables, &CopyOptions::new())?;
        Ok(plan.losses().to_vec())
    }

    /// Plans a copy to another database, in which the named columns (`price`, or `item.price`) get these types; shows
    /// what would be lost to `losses`, and copies if that returns `true`. Otherwise returns no report.
    ///
    /// # Errors
    /// As [`CopyPlan::with_types`](bobak_operations::copy::CopyPlan::with_types), and as
    /// [`CopyPlan::run`](bobak_operations::copy::CopyPlan::run).
    pub fn copy_with(
        &self,
        target: &Self,
        tables: &[&str],
        options: &CopyOptions,
        types: &[(&str, Type)],
        losses: impl FnOnce(&[SchemaLoss]) -> bool,
        mut progress: impl FnMut(CopyProgress<'_>),
    ) -> Result<Vec<CopyReport>> {
        let (from, to) = (self.main_engine()?, target.main_engine()?);
        let plan = copy::CopyPlan::with_types(&*from, &*to, tables, options, types)?;
        if losses(plan.losses()) { plan.run(&mut progress) } else { Ok(Vec::new()) }
    }

    /// Copies tables of the main engine to another database, all of them if none is named: see
    /// [`CopyPlan`](bobak_operations::copy::CopyPlan). Fails before it writes anything if something would be
    /// [lost](Self::copy_losses), unless [`CopyOptions::allow_loss`] is set.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct Item { id: i64, name: String }
    /// use bobak::copy::CopyOptions;
    /// # let file = Db::builder().record::<Item>().open("sqlite::memory:")?;
    /// # file.create_missing_tables()?;
    /// # file.table()?.insert(&Item { id: 0, name: "spade".into() })?;
    /// let memory = Db::open("memory:")?;
    /// let reports = file.copy_to(&memory, &[], &CopyOptions::new().checksum(true), |_| {})?;
    /// assert_eq!((reports[0].table.as_str(), reports[0].copied), ("item", 1));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`copy_tables`](bobak_operations::copy::copy_tables).
    pub fn copy_to(
        &self,
        target: &Self,
        tables: &[&str],
        options: &CopyOptions,
        mut progress: impl FnMut(CopyProgress<'_>),
    ) -> Result<Vec<CopyReport>> {
        let (from, to) = (self.main_engine()?, target.main_engine()?);
        copy::copy_tables(&*from, &*to, tables, options, &mut progress)
    }
}

//! The disk: file names, power, and planned faults.

use crate::inode::{CrashOutcome, Inode, Loss};
use crate::open_file::OpenFile;
use crate::plan::{CallOutcome, DiskCall, FaultPlan};
use crate::random::Random;
use bobak_sqlite::vfs::{ResultCode, Vfs, VfsRegistration, codes};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A disk in memory whose power can be cut. Cheap to clone; all clones are the same disk.
///
/// A database is on the disk if it is opened with the disk's [`vfs`](Self::vfs).
///
/// ```
/// use bobak_fault_vfs::{Disk, Loss};
/// use bobak_sqlite::Sqlite;
///
/// let disk = Disk::new(7)?;
/// let open = || Sqlite::builder().vfs(disk.vfs()).open("app.db");
/// drop(open()?);
/// disk.cut_power_at(5, Loss::Torn);
/// # use bobak_core::{ColumnSchema, Engine, SchemaChange, TableSchema};
/// # let plane = TableSchema::builder("plane").column(ColumnSchema::of::<i64>("id")).key(["id"]);
/// # let plane = SchemaChange::CreateTable(plane.build()?.into());
/// let engine = open();
/// assert!(engine.and_then(|engine| engine.alter(&[plane])).is_err());
/// disk.power_on();
/// open()?;
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Disk {
    inner: Arc<DiskHandle>,
}

#[derive(Debug)]
struct DiskHandle {
    shared: Arc<DiskShared>,
    registration: VfsRegistration,
}

/// What the disk shares with its open files.
#[derive(Debug)]
pub(crate) struct DiskShared(Mutex<DiskState>);

#[derive(Debug)]
pub(crate) struct DiskState {
    pub inodes: BTreeMap<u64, Inode>,
    pub names: BTreeMap<String, u64>,
    next: u64,
    /// The number of power cuts: files opened before the last one are dead.
    pub generation: u64,
    pub on: bool,
    pub plan: FaultPlan,
    pub random: Random,
    pub capacity: Option<u64>,
    pub sync_delay: Duration,
    pub ignores_syncs: bool,
}

impl Disk {
    /// An empty disk. The seed determines what a power cut loses.
    ///
    /// # Errors
    /// `Engine` if SQLite does not accept the VFS.
    pub fn new(seed: u64) -> bobak_core::Result<Self> {
        let shared = Arc::new(DiskShared(Mutex::new(DiskState {
            inodes: BTreeMap::new(),
            names: BTreeMap::new(),
            next: 1,
            generation: 0,
            on: true,
            plan: FaultPlan::default(),
            random: Random::new(seed),
            capacity: None,
            sync_delay: Duration::ZERO,
            ignores_syncs: false,
        })));
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let registration = VfsRegistration::new(
            &format!("bobak-faults-{}", NEXT.fetch_add(1, Ordering::Relaxed)),
            &shared,
        )?;
        Ok(Self { inner: Arc::new(DiskHandle { shared, registration }) })
    }

    /// The name for [`SqliteBuilder::vfs`](bobak_sqlite::SqliteBuilder::vfs), valid as long as a
    /// clone of this disk exists.
    #[must_use]
    pub fn vfs(&self) -> &str {
        self.inner.registration.name()
    }

    /// Cuts the power now: open files fail from now on, and none can be opened until
    /// [`power_on`](Self::power_on). [`Loss::Nothing`] simulates a killed program.
    pub fn cut_power(&self, loss: Loss) {
        self.state().cut(loss);
    }

    /// Cuts the power during the `nth` change from now, counted from 1. A change is a write, a sync,
    /// a truncation or a deletion.
    pub fn cut_power_at(&self, nth: u64, loss: Loss) {
        self.state().plan.cut_at(nth, loss);
    }

    /// Switches the power on: files can be opened again. Clears all planned faults.
    pub fn power_on(&self) {
        let mut state = self.state();
        state.plan.clear();
        state.on = true;
    }

    /// Whether the power is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.state().on
    }

    /// Makes the `nth` call of this kind from now fail, counted from 1, and `more` after it.
    pub fn fail(&self, call: DiskCall, nth: u64, more: u64) {
        self.state().plan.fail(call, nth, more);
    }

    /// Clears the faults planned by [`fail`](Self::fail) and [`cut_power_at`](Self::cut_power_at).
    pub fn clear_faults(&self) {
        self.state().plan.clear();
    }

    /// Limits the bytes of all files together. Default: no limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state().capacity = bytes;
    }

    /// Sets the duration of a sync. Default: zero.
    pub fn set_sync_delay(&self, delay: Duration) {
        self.state().sync_delay = delay;
    }

    /// Whether syncs succeed without effect, as with drives whose write cache has no battery.
    /// Default: `false`.
    pub fn set_ignores_syncs(&self, ignores_syncs: bool) {
        self.state().ignores_syncs = ignores_syncs;
    }

    /// The number of calls of this kind so far.
    #[must_use]
    pub fn calls(&self, call: DiskCall) -> u64 {
        self.state().plan.count(call)
    }

    /// The number of changes so far, as [`cut_power_at`](Self::cut_power_at) counts them.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.state().plan.changes()
    }

    /// The number of bytes written since the last sync.
    #[must_use]
    pub fn unsynced_bytes(&self) -> u64 {
        self.state().inodes.values().map(Inode::unsynced).sum()
    }

    /// The size of all files, in bytes.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.state().used()
    }

    /// The names of the files, sorted.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        self.state().names.keys().cloned().collect()
    }

    /// The content of a file as programs read it; `None` if there is no such file.
    #[must_use]
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = state.names.get(name).and_then(|inode| state.inodes.get(inode))?;
        Some(inode.content().to_vec())
    }

    /// Creates or replaces a file, synced.
    pub fn set_content(&self, name: &str, content: impl Into<Vec<u8>>) {
        let mut state = self.state();
        state.unlink(name);
        state.sync_directory();
        let inode = state.number();
        state.inodes.insert(inode, Inode::durable(name.to_owned(), content.into()));
        state.names.insert(name.to_owned(), inode);
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.inner.shared.state()
    }
}

impl DiskShared {
    pub(crate) fn state(&self) -> MutexGuard<'_, DiskState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn delete_file(&self, name: &str, sync_directory: bool) -> Result<(), ResultCode> {
        let mut state = self.state();
        state.call(DiskCall::Delete, codes::SQLITE_IOERR_DELETE)?;
        if !state.names.contains_key(name) {
            return Err(codes::SQLITE_IOERR_DELETE_NOENT);
        }
        state.unlink(name);
        if sync_directory {
            state.call(DiskCall::Sync, codes::SQLITE_IOERR_DIR_FSYNC)?;
            if !state.ignores_syncs {
                state.sync_directory();
            }
        }
        Ok(())
    }
}

impl Vfs for DiskShared {
    type File = OpenFile;

    fn open(self: &Arc<Self>, name: Option<&str>, flags: i32) -> Result<OpenFile, ResultCode> {
        OpenFile::open(self, name, flags)
    }

    fn delete(&self, name: &str, sync_directory: bool) -> Result<(), ResultCode> {
        self.delete_file(name, sync_directory)
    }

    fn exists(&self, name: &str) -> bool {
        let state = self.state();
        state.on && state.names.contains_key(name)
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        let mut state = self.state();
        bytes.fill_with(|| state.random.number() as u8);
    }
}

impl DiskState {
    /// A new number, greater than all before.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Counts a call; fails if a fault is planned for it.
    pub(crate) fn call(&mut self, call: DiskCall, code: ResultCode) -> Result<(), ResultCode> {
        if !self.on {
            return Err(code);
        }
        match self.plan.next(call) {
            CallOutcome::Proceed => Ok(()),
            CallOutcome::Fail => Err(code),
            CallOutcome::CutPower(loss) => {
                self.cut(loss);
                Err(code)
            }
        }
    }

    pub(crate) fn used(&self) -> u64 {
        self.inodes.values().map(|inode| inode.content().len() as u64).sum()
    }

    /// Removes a name. A power cut may restore the file until its directory is synced.
    pub(crate) fn unlink(&mut self, name: &str) {
        let number = self.number();
        let Some(file) = self.names.remove(name) else {
            return;
        };
        if let Some(inode) = self.inodes.get_mut(&file) {
            match inode.created {
                Some(_) => inode.name = None,
                None => inode.removed = Some(number),
            }
        }
        self.remove_if_unused(file);
    }

    /// Makes the creation of a file durable; a file that had its name before is gone for good.
    pub(crate) fn settle(&mut self, file: u64) {
        let Some(name) = self.inodes.get(&file).and_then(|inode| inode.name.clone()) else {
            return;
        };
        let older = |(other, inode): (&u64, &Inode)| {
            (*other != file && inode.name.as_ref() == Some(&name)).then_some(*other)
        };
        let older: Vec<u64> = self.inodes.iter().filter_map(older).collect();
        for other in older {
            self.forget_name(other);
        }
    }

    /// Makes all creations and deletions durable.
    pub(crate) fn sync_directory(&mut self) {
        let files: Vec<u64> = self.inodes.keys().copied().collect();
        for file in files {
            match self.inodes.get_mut(&file) {
                Some(inode) if inode.removed.is_some() => self.forget_name(file),
                Some(inode) => inode.created = None,
                None => {}
            }
        }
    }

    /// Drops a file that has no name and is not open.
    pub(crate) fn remove_if_unused(&mut self, file: u64) {
        let unused = |inode: &Inode| inode.name.is_none() && inode.handles == 0;
        if self.inodes.get(&file).is_some_and(unused) {
            self.inodes.remove(&file);
        }
    }

    fn forget_name(&mut self, file: u64) {
        if let Some(inode) = self.inodes.get_mut(&file) {
            inode.name = None;
            inode.removed = None;
        }
        self.remove_if_unused(file);
    }

    pub(crate) fn cut(&mut self, loss: Loss) {
        self.generation += 1;
        self.on = false;
        if loss == Loss::Nothing {
            self.inodes.retain(|_, inode| inode.name.is_some());
            for inode in self.inodes.values_mut() {
                (inode.handles, inode.memory) = (0, None);
                inode.locks = crate::locks::FileLocks::default();
            }
            return;
        }
        let random = Random::new(self.random.number());
        let earliest = self.inodes.values().filter_map(Inode::earliest_pending).min();
        let mut fate = CrashOutcome::new(loss, random, earliest.unwrap_or(self.next), self.next);
        // In the order of their creation: a newer file replaces an older one of the same name.
        let inodes = std::mem::take(&mut self.inodes);
        self.names.clear();
        let mut left = BTreeMap::new();
        for inode in inodes.into_values() {
            let content = inode.after_cut(&mut fate);
            if let (Some(name), Some(content)) = (inode.name, content) {
                left.insert(name, content);
            }
        }
        for (name, content) in left {
            let inode = self.number();
            self.names.insert(name.clone(), inode);
            self.inodes.insert(inode, Inode::durable(name, content));
        }
    }
}

//! The disk: names of files, power, and what is to go wrong.

use super::inode::{Fate, Inode, Loss};
use super::plan::{Call, Plan, Verdict};
use super::random::Random;
use crate::ffi::{Registration, codes};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A result code of SQLite.
pub(crate) type Code = i32;

/// A disk in memory, whose power can be cut. Cheap to clone; all clones are the same disk.
///
/// A database is on it when it is opened with the [`vfs`](crate::SqliteBuilder::vfs) that it names.
///
/// ```
/// use bobak_sqlite::{Sqlite, faults::{Disk, Loss}};
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
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    registration: Registration,
}

/// What the disk and the files open on it have in common.
#[derive(Debug)]
pub(crate) struct Shared(Mutex<State>);

#[derive(Debug)]
pub(super) struct State {
    pub inodes: BTreeMap<u64, Inode>,
    pub names: BTreeMap<String, u64>,
    next: u64,
    /// Counts crashes: handles of an earlier one are dead.
    pub generation: u64,
    pub on: bool,
    pub plan: Plan,
    pub random: Random,
    pub capacity: Option<u64>,
    pub sync_delay: Duration,
    pub lies: bool,
}

impl Disk {
    /// An empty disk. What it loses is decided by the seed.
    ///
    /// # Errors
    /// `Engine` where SQLite refuses a new VFS.
    pub fn new(seed: u64) -> bobak_core::Result<Self> {
        let shared = Arc::new(Shared(Mutex::new(State {
            inodes: BTreeMap::new(),
            names: BTreeMap::new(),
            next: 1,
            generation: 0,
            on: true,
            plan: Plan::default(),
            random: Random::new(seed),
            capacity: None,
            sync_delay: Duration::ZERO,
            lies: false,
        })));
        let registration =
            Registration::new(&shared).map_err(|failure| crate::error::translate(failure, None))?;
        Ok(Self { inner: Arc::new(Inner { shared, registration }) })
    }

    /// What [`SqliteBuilder::vfs`](crate::SqliteBuilder::vfs) takes, as long as a clone of this
    /// disk is there.
    #[must_use]
    pub fn vfs(&self) -> &str {
        self.inner.registration.name()
    }

    /// Cuts the power now: every file that is open is dead, and none can be opened until
    /// [`power_on`](Self::power_on). With [`Loss::Nothing`] it is a program that is killed.
    pub fn cut_power(&self, loss: Loss) {
        self.state().cut(loss);
    }

    /// Cuts the power in the middle of the `nth` change from now, counted from 1: a write, a sync,
    /// a truncation or a removal.
    pub fn cut_power_at(&self, nth: u64, loss: Loss) {
        self.state().plan.cut_at(nth, loss);
    }

    /// Files can be opened again. Nothing else is planned any more.
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

    /// Lets the `nth` call of this kind from now fail, counted from 1, and so many after it.
    pub fn fail(&self, call: Call, nth: u64, more: u64) {
        self.state().plan.fail(call, nth, more);
    }

    /// Takes back what [`fail`](Self::fail) and [`cut_power_at`](Self::cut_power_at) have planned.
    pub fn fail_no_more(&self) {
        self.state().plan.clear();
    }

    /// How many bytes there is room for; no limit where there is none. Default none.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state().capacity = bytes;
    }

    /// How long a sync takes. Default no time.
    pub fn set_sync_delay(&self, delay: Duration) {
        self.state().sync_delay = delay;
    }

    /// Whether a sync is said to be done and is not, as by drives that keep what they were to write
    /// in a memory without a battery. Default no.
    pub fn set_lying(&self, lies: bool) {
        self.state().lies = lies;
    }

    /// How many calls of this kind there were.
    #[must_use]
    pub fn calls(&self, call: Call) -> u64 {
        self.state().plan.count(call)
    }

    /// How many changes there were: what [`cut_power_at`](Self::cut_power_at) counts.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.state().plan.changes()
    }

    /// How many bytes wait for a sync.
    #[must_use]
    pub fn unsynced_bytes(&self) -> u64 {
        self.state().inodes.values().map(Inode::unsynced).sum()
    }

    /// How many bytes the files take.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.state().used()
    }

    /// The names of the files, in order.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        self.state().names.keys().cloned().collect()
    }

    /// What programs read from a file; `None` where there is none.
    #[must_use]
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = state.names.get(name).and_then(|inode| state.inodes.get(inode))?;
        Some(inode.content().to_vec())
    }

    /// Puts a file on the disk, synced, in the place of one that has its name.
    pub fn set_content(&self, name: &str, content: impl Into<Vec<u8>>) {
        let mut state = self.state();
        state.unlink(name);
        state.sync_folder();
        let inode = state.number();
        state.inodes.insert(inode, Inode::durable(name.to_owned(), content.into()));
        state.names.insert(name.to_owned(), inode);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.shared.state()
    }
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a file; with its folder synced afterwards, or not.
    pub(crate) fn delete(&self, name: &str, sync_folder: bool) -> Result<(), Code> {
        let mut state = self.state();
        state.call(Call::Delete, codes::SQLITE_IOERR_DELETE)?;
        if !state.names.contains_key(name) {
            return Err(codes::SQLITE_IOERR_DELETE_NOENT);
        }
        state.unlink(name);
        if sync_folder {
            state.call(Call::Sync, codes::SQLITE_IOERR_DIR_FSYNC)?;
            if !state.lies {
                state.sync_folder();
            }
        }
        Ok(())
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        let state = self.state();
        state.on && state.names.contains_key(name)
    }

    pub(crate) fn random_byte(&self) -> u8 {
        self.state().random.next() as u8
    }
}

impl State {
    /// A number that nothing had before.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Counts a call, and lets it fail where that was planned.
    pub(super) fn call(&mut self, call: Call, code: Code) -> Result<(), Code> {
        if !self.on {
            return Err(code);
        }
        match self.plan.next(call) {
            Verdict::Done => Ok(()),
            Verdict::Failed => Err(code),
            Verdict::Cut(loss) => {
                self.cut(loss);
                Err(code)
            }
        }
    }

    pub(super) fn used(&self) -> u64 {
        self.inodes.values().map(|inode| inode.content().len() as u64).sum()
    }

    /// Takes a name away. RecoveryTarget the folder is synced the file may come back.
    pub(super) fn unlink(&mut self, name: &str) {
        let number = self.number();
        let Some(place) = self.names.remove(name) else {
            return;
        };
        if let Some(inode) = self.inodes.get_mut(&place) {
            match inode.created {
                Some(_) => inode.name = None,
                None => inode.removed = Some(number),
            }
        }
        self.forget_if_unused(place);
    }

    /// Makes the creation of this file durable; what had its name before is gone then.
    pub(super) fn settle(&mut self, place: u64) {
        let Some(name) = self.inodes.get(&place).and_then(|inode| inode.name.clone()) else {
            return;
        };
        let older = |(other, inode): (&u64, &Inode)| {
            (*other != place && inode.name.as_ref() == Some(&name)).then_some(*other)
        };
        let older: Vec<u64> = self.inodes.iter().filter_map(older).collect();
        for other in older {
            self.let_go(other);
        }
    }

    /// Makes all creations and removals durable.
    pub(super) fn sync_folder(&mut self) {
        let places: Vec<u64> = self.inodes.keys().copied().collect();
        for place in places {
            match self.inodes.get_mut(&place) {
                Some(inode) if inode.removed.is_some() => self.let_go(place),
                Some(inode) => inode.created = None,
                None => {}
            }
        }
    }

    /// Drops a file that has neither a name nor a handle.
    pub(super) fn forget_if_unused(&mut self, place: u64) {
        let unused = |inode: &Inode| inode.name.is_none() && inode.handles == 0;
        if self.inodes.get(&place).is_some_and(unused) {
            self.inodes.remove(&place);
        }
    }

    fn let_go(&mut self, place: u64) {
        if let Some(inode) = self.inodes.get_mut(&place) {
            inode.name = None;
            inode.removed = None;
        }
        self.forget_if_unused(place);
    }

    pub(super) fn cut(&mut self, loss: Loss) {
        self.generation += 1;
        self.on = false;
        if loss == Loss::Nothing {
            self.inodes.retain(|_, inode| inode.name.is_some());
            for inode in self.inodes.values_mut() {
                (inode.handles, inode.memory) = (0, None);
                inode.locks = super::locks::FileLocks::default();
            }
            return;
        }
        let random = Random::new(self.random.next());
        let earliest = self.inodes.values().filter_map(Inode::earliest_pending).min();
        let mut fate = Fate::new(loss, random, earliest.unwrap_or(self.next), self.next);
        // In the order of their making: a newer file takes the name of an older one.
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
            let place = self.number();
            self.names.insert(name.clone(), place);
            self.inodes.insert(place, Inode::durable(name, content));
        }
    }
}

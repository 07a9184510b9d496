//! An open file.

use super::disk::{Code, Shared, State};
use super::inode::Inode;
use super::locks::{Level, NONE, SharedMemory};
use super::plan::Call;
use crate::ffi::codes;
use std::ffi::c_void;
use std::sync::{Arc, MutexGuard};

/// An open file: what SQLite's calls on it come to.
#[derive(Debug)]
pub(crate) struct Handle {
    shared: Arc<Shared>,
    place: u64,
    number: u64,
    generation: u64,
    /// The first sync makes the file's name durable too, and whatever else happened to names.
    sync_folder: bool,
    delete_on_close: bool,
    memory: Option<Arc<SharedMemory>>,
}

impl Handle {
    /// Opens a file, or makes it where the flags say so; without a name a new one without a name.
    pub(crate) fn open(shared: &Arc<Shared>, name: Option<&str>, flags: i32) -> Result<Self, Code> {
        let has = |flag| flags & flag != 0;
        let mut state = shared.state();
        state.call(Call::Open, codes::SQLITE_CANTOPEN)?;
        let there = name.and_then(|name| state.names.get(name).copied());
        let exclusive = has(codes::SQLITE_OPEN_CREATE) && has(codes::SQLITE_OPEN_EXCLUSIVE);
        let place = match there {
            Some(_) if exclusive => return Err(codes::SQLITE_CANTOPEN),
            Some(place) => place,
            None if !has(codes::SQLITE_OPEN_CREATE) => return Err(codes::SQLITE_CANTOPEN),
            None => {
                let place = state.number();
                let name = name.map(str::to_owned);
                state.names.extend(name.clone().map(|name| (name, place)));
                state.inodes.insert(place, Inode::new(name, place));
                place
            }
        };
        if let Some(inode) = state.inodes.get_mut(&place) {
            inode.handles += 1;
        }
        let journal = codes::SQLITE_OPEN_MAIN_JOURNAL
            | codes::SQLITE_OPEN_SUPER_JOURNAL
            | codes::SQLITE_OPEN_WAL;
        Ok(Self {
            shared: Arc::clone(shared),
            place,
            number: state.number(),
            generation: state.generation,
            sync_folder: has(codes::SQLITE_OPEN_CREATE) && has(journal),
            delete_on_close: has(codes::SQLITE_OPEN_DELETEONCLOSE),
            memory: None,
        })
    }

    /// Fills `into` from a place; where the file ends before, with zeros, and gives `false`.
    pub(crate) fn read(&self, into: &mut [u8], at: u64) -> Result<bool, Code> {
        let mut state = self.call(Call::Read, codes::SQLITE_IOERR_READ)?;
        let inode = self.inode(&mut state, codes::SQLITE_IOERR_READ)?;
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let there = inode.content().get(start..).unwrap_or_default();
        let length = there.len().min(into.len());
        let (filled, rest) = into.split_at_mut(length);
        filled.copy_from_slice(there.get(..length).unwrap_or_default());
        rest.fill(0);
        Ok(rest.is_empty())
    }

    pub(crate) fn write(&self, bytes: &[u8], at: u64) -> Result<(), Code> {
        let code = codes::SQLITE_IOERR_WRITE;
        let mut state = self.shared.state();
        self.alive(&state, code)?;
        let number = state.number();
        let used = state.used();
        let room = state.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(used));
        let inode = self.inode(&mut state, code)?;
        let grows = (at + bytes.len() as u64).saturating_sub(inode.content().len() as u64);
        let missing = usize::try_from(grows.saturating_sub(room)).unwrap_or(usize::MAX);
        let fits = bytes.get(..bytes.len().saturating_sub(missing)).unwrap_or_default();
        // Before the call is counted: a cut in the middle of it may leave any part of it.
        inode.write(number, at, fits);
        state.call(Call::Write, code)?;
        if missing > 0 { Err(codes::SQLITE_FULL) } else { Ok(()) }
    }

    pub(crate) fn truncate(&self, length: u64) -> Result<(), Code> {
        let mut state = self.call(Call::Truncate, codes::SQLITE_IOERR_TRUNCATE)?;
        let number = state.number();
        self.inode(&mut state, codes::SQLITE_IOERR_TRUNCATE)?.truncate(number, length);
        Ok(())
    }

    /// Makes durable what was written before the call, and takes as long as the disk says.
    pub(crate) fn sync(&mut self) -> Result<(), Code> {
        let code = codes::SQLITE_IOERR_FSYNC;
        let mut state = self.shared.state();
        self.alive(&state, code)?;
        let until = state.number();
        let delay = state.sync_delay;
        if !delay.is_zero() {
            drop(state);
            std::thread::sleep(delay);
            state = self.shared.state();
            self.alive(&state, code)?;
        }
        if let Err(code) = state.call(Call::Sync, code) {
            if let Ok(inode) = self.inode(&mut state, code) {
                inode.forget();
            }
            return Err(code);
        }
        if !state.lies {
            self.inode(&mut state, code)?.sync(until);
            state.settle(self.place);
            if self.sync_folder {
                state.sync_folder();
            }
        }
        drop(state);
        self.sync_folder = false;
        Ok(())
    }

    pub(crate) fn size(&self) -> Result<u64, Code> {
        let mut state = self.shared.state();
        self.alive(&state, codes::SQLITE_IOERR_FSTAT)?;
        Ok(self.inode(&mut state, codes::SQLITE_IOERR_FSTAT)?.content().len() as u64)
    }

    pub(crate) fn lock(&self, level: Level) -> Result<(), Code> {
        let mut state = self.call(Call::Lock, codes::SQLITE_IOERR_LOCK)?;
        let inode = self.inode(&mut state, codes::SQLITE_IOERR_LOCK)?;
        let raised = inode.locks.raise(self.number, level);
        if raised { Ok(()) } else { Err(codes::SQLITE_BUSY) }
    }

    pub(crate) fn unlock(&self, level: Level) {
        let mut state = self.shared.state();
        if let Ok(inode) = self.inode(&mut state, codes::SQLITE_IOERR_UNLOCK) {
            inode.locks.lower(self.number, level);
        }
    }

    pub(crate) fn is_reserved(&self) -> Result<bool, Code> {
        let code = codes::SQLITE_IOERR_CHECKRESERVEDLOCK;
        let mut state = self.shared.state();
        self.alive(&state, code)?;
        Ok(self.inode(&mut state, code)?.locks.is_reserved())
    }

    /// The start of a region of the memory that the file's connections share; it stays there until
    /// [`unmap`](Self::unmap). `None` where it is not there and not to be made.
    pub(crate) fn map(
        &mut self,
        region: usize,
        bytes: usize,
        make: bool,
    ) -> Result<Option<*mut c_void>, Code> {
        if self.memory.is_none() {
            let mut state = self.shared.state();
            self.alive(&state, codes::SQLITE_IOERR_SHMMAP)?;
            let inode = self.inode(&mut state, codes::SQLITE_IOERR_SHMMAP)?;
            let memory = Arc::clone(inode.memory.get_or_insert_with(Arc::default));
            drop(state);
            self.memory = Some(memory);
        }
        Ok(self.memory.as_ref().and_then(|memory| memory.region(region, bytes, make)))
    }

    pub(crate) fn lock_memory(
        &self,
        from: usize,
        slots: usize,
        exclusive: bool,
    ) -> Result<(), Code> {
        drop(self.call(Call::Lock, codes::SQLITE_IOERR_SHMLOCK)?);
        let memory = self.memory.as_ref().ok_or(codes::SQLITE_IOERR_SHMLOCK)?;
        let locked = memory.lock(self.number, from, slots, exclusive);
        if locked { Ok(()) } else { Err(codes::SQLITE_BUSY) }
    }

    pub(crate) fn unlock_memory(&self, from: usize, slots: usize) {
        if let Some(memory) = &self.memory {
            memory.unlock(self.number, from, slots);
        }
    }

    /// Lets the shared memory go; it is gone with the last who does.
    pub(crate) fn unmap(&mut self) {
        let Some(memory) = self.memory.take() else {
            return;
        };
        memory.forget(self.number);
        let mut state = self.shared.state();
        if let Ok(inode) = self.inode(&mut state, codes::SQLITE_IOERR_SHMMAP)
            && Arc::strong_count(&memory) == 2
        {
            inode.memory = None;
        }
    }

    fn alive(&self, state: &State, code: Code) -> Result<(), Code> {
        if state.on && state.generation == self.generation { Ok(()) } else { Err(code) }
    }

    fn call(&self, call: Call, code: Code) -> Result<MutexGuard<'_, State>, Code> {
        let mut state = self.shared.state();
        self.alive(&state, code)?;
        state.call(call, code)?;
        Ok(state)
    }

    fn inode<'s>(&self, state: &'s mut State, code: Code) -> Result<&'s mut Inode, Code> {
        self.alive(state, code)?;
        state.inodes.get_mut(&self.place).ok_or(code)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.unmap();
        let mut state = self.shared.state();
        let Ok(inode) = self.inode(&mut state, codes::SQLITE_IOERR_CLOSE) else {
            return;
        };
        inode.handles = inode.handles.saturating_sub(1);
        inode.locks.lower(self.number, NONE);
        let name = inode.name.clone().filter(|_| self.delete_on_close);
        if let Some(name) = name {
            state.unlink(&name);
        }
        state.forget_if_unused(self.place);
    }
}

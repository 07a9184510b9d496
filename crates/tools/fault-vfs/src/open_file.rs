//! Open files.

use crate::disk::{DiskShared, DiskState};
use crate::inode::Inode;
use crate::locks::{LockLevel, SharedMemory, UNLOCKED};
use crate::plan::DiskCall;
use bobak_sqlite::vfs::{ResultCode, SharedRegion, VfsFile, codes};
use std::sync::{Arc, MutexGuard};

/// An open file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    shared: Arc<DiskShared>,
    inode_number: u64,
    number: u64,
    generation: u64,
    /// Whether the first sync also syncs the directory.
    sync_directory: bool,
    delete_on_close: bool,
    memory: Option<Arc<SharedMemory>>,
}

impl OpenFile {
    /// Opens or creates a file; without a name, a new temporary one.
    pub(crate) fn open(
        shared: &Arc<DiskShared>,
        name: Option<&str>,
        flags: i32,
    ) -> Result<Self, ResultCode> {
        let has = |flag| flags & flag != 0;
        let mut state = shared.state();
        state.call(DiskCall::Open, codes::SQLITE_CANTOPEN)?;
        let there = name.and_then(|name| state.names.get(name).copied());
        let exclusive = has(codes::SQLITE_OPEN_CREATE) && has(codes::SQLITE_OPEN_EXCLUSIVE);
        let inode_number = match there {
            Some(_) if exclusive => return Err(codes::SQLITE_CANTOPEN),
            Some(inode_number) => inode_number,
            None if !has(codes::SQLITE_OPEN_CREATE) => return Err(codes::SQLITE_CANTOPEN),
            None => {
                let inode_number = state.number();
                let name = name.map(str::to_owned);
                state.names.extend(name.clone().map(|name| (name, inode_number)));
                state.inodes.insert(inode_number, Inode::new(name, inode_number));
                inode_number
            }
        };
        if let Some(inode) = state.inodes.get_mut(&inode_number) {
            inode.handles += 1;
        }
        let journal = codes::SQLITE_OPEN_MAIN_JOURNAL
            | codes::SQLITE_OPEN_SUPER_JOURNAL
            | codes::SQLITE_OPEN_WAL;
        Ok(Self {
            shared: Arc::clone(shared),
            inode_number,
            number: state.number(),
            generation: state.generation,
            sync_directory: has(codes::SQLITE_OPEN_CREATE) && has(journal),
            delete_on_close: has(codes::SQLITE_OPEN_DELETEONCLOSE),
            memory: None,
        })
    }

    fn call(
        &self,
        call: DiskCall,
        code: ResultCode,
    ) -> Result<MutexGuard<'_, DiskState>, ResultCode> {
        let mut state = self.shared.state();
        self.alive(&state, code)?;
        state.call(call, code)?;
        Ok(state)
    }

    fn alive(&self, state: &DiskState, code: ResultCode) -> Result<(), ResultCode> {
        if state.on && state.generation == self.generation { Ok(()) } else { Err(code) }
    }

    fn inode<'s>(
        &self,
        state: &'s mut DiskState,
        code: ResultCode,
    ) -> Result<&'s mut Inode, ResultCode> {
        self.alive(state, code)?;
        state.inodes.get_mut(&self.inode_number).ok_or(code)
    }
}

impl VfsFile for OpenFile {
    fn read(&mut self, into: &mut [u8], at: u64) -> Result<bool, ResultCode> {
        let mut state = self.call(DiskCall::Read, codes::SQLITE_IOERR_READ)?;
        let inode = self.inode(&mut state, codes::SQLITE_IOERR_READ)?;
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let there = inode.content().get(start..).unwrap_or_default();
        let length = there.len().min(into.len());
        let (filled, rest) = into.split_at_mut(length);
        filled.copy_from_slice(there.get(..length).unwrap_or_default());
        rest.fill(0);
        Ok(rest.is_empty())
    }

    fn write(&mut self, bytes: &[u8], at: u64) -> Result<(), ResultCode> {
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
        // Written before the call is counted: a power cut during the call may keep any part of it.
        inode.write(number, at, fits);
        state.call(DiskCall::Write, code)?;
        if missing > 0 { Err(codes::SQLITE_FULL) } else { Ok(()) }
    }

    fn truncate(&mut self, length: u64) -> Result<(), ResultCode> {
        let mut state = self.call(DiskCall::Truncate, codes::SQLITE_IOERR_TRUNCATE)?;
        let number = state.number();
        self.inode(&mut state, codes::SQLITE_IOERR_TRUNCATE)?.truncate(number, length);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), ResultCode> {
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
        if let Err(code) = state.call(DiskCall::Sync, code) {
            if let Ok(inode) = self.inode(&mut state, code) {
                inode.fail_sync();
            }
            return Err(code);
        }
        if !state.ignores_syncs {
            self.inode(&mut state, code)?.sync(until);
            state.settle(self.inode_number);
            if self.sync_directory {
                state.sync_directory();
            }
        }
        drop(state);
        self.sync_directory = false;
        Ok(())
    }

    fn size(&mut self) -> Result<u64, ResultCode> {
        let mut state = self.shared.state();
        self.alive(&state, codes::SQLITE_IOERR_FSTAT)?;
        Ok(self.inode(&mut state, codes::SQLITE_IOERR_FSTAT)?.content().len() as u64)
    }

    fn lock(&mut self, level: LockLevel) -> Result<(), ResultCode> {
        let mut state = self.call(DiskCall::Lock, codes::SQLITE_IOERR_LOCK)?;
        let inode = self.inode(&mut state, codes::SQLITE_IOERR_LOCK)?;
        let raised = inode.locks.raise(self.number, level);
        if raised { Ok(()) } else { Err(codes::SQLITE_BUSY) }
    }

    fn unlock(&mut self, level: LockLevel) {
        let mut state = self.shared.state();
        if let Ok(inode) = self.inode(&mut state, codes::SQLITE_IOERR_UNLOCK) {
            inode.locks.lower(self.number, level);
        }
    }

    fn is_reserved(&mut self) -> Result<bool, ResultCode> {
        let code = codes::SQLITE_IOERR_CHECKRESERVEDLOCK;
        let mut state = self.shared.state();
        self.alive(&state, code)?;
        Ok(self.inode(&mut state, code)?.locks.is_reserved())
    }

    fn map_shared(
        &mut self,
        region: usize,
        bytes: usize,
        create: bool,
    ) -> Result<Option<SharedRegion>, ResultCode> {
        if self.memory.is_none() {
            let mut state = self.shared.state();
            self.alive(&state, codes::SQLITE_IOERR_SHMMAP)?;
            let inode = self.inode(&mut state, codes::SQLITE_IOERR_SHMMAP)?;
            let memory = Arc::clone(inode.memory.get_or_insert_with(Arc::default));
            drop(state);
            self.memory = Some(memory);
        }
        Ok(self.memory.as_ref().and_then(|memory| memory.region(region, bytes, create)))
    }

    fn lock_shared(
        &mut self,
        first: usize,
        count: usize,
        exclusive: bool,
    ) -> Result<(), ResultCode> {
        drop(self.call(DiskCall::Lock, codes::SQLITE_IOERR_SHMLOCK)?);
        let memory = self.memory.as_ref().ok_or(codes::SQLITE_IOERR_SHMLOCK)?;
        let locked = memory.lock(self.number, first, count, exclusive);
        if locked { Ok(()) } else { Err(codes::SQLITE_BUSY) }
    }

    fn unlock_shared(&mut self, first: usize, count: usize) {
        if let Some(memory) = &self.memory {
            memory.unlock(self.number, first, count);
        }
    }

    fn unmap_shared(&mut self) {
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
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.unmap_shared();
        let mut state = self.shared.state();
        let Ok(inode) = self.inode(&mut state, codes::SQLITE_IOERR_CLOSE) else {
            return;
        };
        inode.handles = inode.handles.saturating_sub(1);
        inode.locks.lower(self.number, UNLOCKED);
        let name = inode.name.clone().filter(|_| self.delete_on_close);
        if let Some(name) = name {
            state.unlink(&name);
        }
        state.remove_if_unused(self.inode_number);
    }
}

//! The files of the VFS that encrypts: callbacks that pass on to the files behind them what is not content.

use super::vfs::ResultCode;
use super::vfs_callbacks::{code, read_code, unsigned};
use crate::cipher::{JournalFile, LogFile, MainFile, StoredFile};
use libsqlite3_sys as sys;
use std::ffi::{c_int, c_void};
use std::{mem, slice};

/// An open file, as SQLite stores it: SQLite's part first. The file behind it follows.
#[repr(C, align(8))]
pub(super) struct CipherFile {
    base: sys::sqlite3_file,
    open: *mut OpenFile,
}

/// What an open file is.
pub(super) enum OpenFile {
    Database(MainFile),
    Journal(JournalFile),
    Log(LogFile),
    /// A super-journal, which has names of files.
    Unencrypted,
    /// A temporary file; there is no file behind it.
    Memory(Vec<u8>),
}

/// The file behind an open file.
pub(super) struct BackingFile(*mut sys::sqlite3_file);

const METHODS: &sys::sqlite3_io_methods = &sys::sqlite3_io_methods {
    // With shared memory, without memory-mapped files.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Calls a method of the file behind a file; `$none` if it does not have it.
macro_rules! behind {
    ($file:ident.$method:ident($($argument:expr),*), $none:expr) => {{
        let inner = CipherFile::inner($file);
        match (*inner).pMethods.as_ref().and_then(|methods| methods.$method) {
            Some(method) => method(inner $(, $argument)*),
            None => $none,
        }
    }};
}

impl CipherFile {
    /// The file behind a file, for which there is room after it.
    ///
    /// # Safety
    /// The file has the size of the VFS.
    pub(super) const unsafe fn inner(file: *mut sys::sqlite3_file) -> *mut sys::sqlite3_file {
        // SAFETY: the caller guarantees it.
        unsafe { file.byte_add(mem::size_of::<Self>()) }
    }

    /// # Safety
    /// The file behind the file is open, and is not used otherwise meanwhile.
    pub(super) const unsafe fn stored(file: *mut sys::sqlite3_file) -> BackingFile {
        // SAFETY: the caller guarantees it.
        BackingFile(unsafe { Self::inner(file) })
    }

    /// Makes it an open file.
    ///
    /// # Safety
    /// The file has the size of the VFS, and is not open.
    pub(super) unsafe fn begin(file: *mut sys::sqlite3_file, open: OpenFile) {
        // SAFETY: the caller guarantees it.
        unsafe {
            (*file.cast::<Self>()).open = Box::into_raw(Box::new(open));
            (*file).pMethods = METHODS;
        }
    }

    /// # Safety
    /// The file was opened by the VFS, is not closed, and nobody else uses it.
    pub(super) unsafe fn opened<'a>(file: *mut sys::sqlite3_file) -> &'a mut OpenFile {
        // SAFETY: the caller guarantees it; `begin` has stored the pointer.
        unsafe { &mut *(*file.cast::<Self>()).open }
    }

    /// Closes the file behind a file, if it is open.
    ///
    /// # Safety
    /// The file has the size of the VFS.
    pub(super) unsafe fn close_inner(file: *mut sys::sqlite3_file) -> c_int {
        // SAFETY: the caller guarantees it; a file that is not open has no methods.
        unsafe { behind!(file.xClose(), sys::SQLITE_OK) }
    }
}

impl StoredFile for BackingFile {
    fn read(&mut self, into: &mut [u8], at: u64) -> Result<bool, ResultCode> {
        let (Ok(bytes), Ok(at)) = (c_int::try_from(into.len()), i64::try_from(at)) else {
            return Err(sys::SQLITE_IOERR_READ);
        };
        // SAFETY: the file is open; there is room for so many bytes.
        let code = unsafe {
            let read = (*(*self.0).pMethods).xRead;
            read.map(|read| read(self.0, into.as_mut_ptr().cast(), bytes, at))
        };
        match code {
            Some(sys::SQLITE_OK) => Ok(true),
            Some(sys::SQLITE_IOERR_SHORT_READ) => Ok(false),
            code => Err(code.unwrap_or(sys::SQLITE_IOERR_READ)),
        }
    }

    fn write(&mut self, bytes: &[u8], at: u64) -> Result<(), ResultCode> {
        let (Ok(length), Ok(at)) = (c_int::try_from(bytes.len()), i64::try_from(at)) else {
            return Err(sys::SQLITE_IOERR_WRITE);
        };
        // SAFETY: the file is open; there are so many bytes.
        let code = unsafe {
            let write = (*(*self.0).pMethods).xWrite;
            write.map(|write| write(self.0, bytes.as_ptr().cast(), length, at))
        };
        match code {
            Some(sys::SQLITE_OK) => Ok(()),
            code => Err(code.unwrap_or(sys::SQLITE_IOERR_WRITE)),
        }
    }

    fn size(&mut self) -> Result<u64, ResultCode> {
        let mut size = 0;
        // SAFETY: the file is open; the number is there.
        let code = unsafe {
            let ask = (*(*self.0).pMethods).xFileSize;
            ask.map(|ask| ask(self.0, &raw mut size))
        };
        match code {
            Some(sys::SQLITE_OK) => Ok(u64::try_from(size).unwrap_or(0)),
            code => Err(code.unwrap_or(sys::SQLITE_IOERR_FSTAT)),
        }
    }
}

unsafe extern "C" fn close(file: *mut sys::sqlite3_file) -> c_int {
    // SAFETY: `begin` made the box, and SQLite closes a file once.
    unsafe {
        drop(Box::from_raw((*file.cast::<CipherFile>()).open));
        CipherFile::close_inner(file)
    }
}

unsafe extern "C" fn read(
    file: *mut sys::sqlite3_file,
    into: *mut c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    let (bytes, at) = (unsigned(bytes) as usize, unsigned(offset));
    // SAFETY: SQLite passes an open file, and room for so many bytes, which are zeroed before they are looked at.
    read_code(unsafe {
        into.cast::<u8>().write_bytes(0, bytes);
        let into = slice::from_raw_parts_mut(into.cast::<u8>(), bytes);
        let stored = &mut CipherFile::stored(file);
        match CipherFile::opened(file) {
            OpenFile::Database(database) => database.read(stored, into, at),
            OpenFile::Journal(journal) => journal.read(stored, into, at),
            OpenFile::Log(log) => log.read(stored, into, at),
            OpenFile::Unencrypted => stored.read(into, at),
            OpenFile::Memory(content) => Ok(read_memory(content, into, at)),
        }
    })
}

fn read_memory(content: &[u8], into: &mut [u8], at: u64) -> bool {
    let start = usize::try_from(at).unwrap_or(usize::MAX).min(content.len());
    let there = content.get(start..).unwrap_or_default();
    let length = there.len().min(into.len());
    for (into, byte) in into.iter_mut().zip(there) {
        *into = *byte;
    }
    length == into.len()
}

unsafe extern "C" fn write(
    file: *mut sys::sqlite3_file,
    from: *const c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    let at = unsigned(offset);
    // SAFETY: SQLite passes an open file and so many bytes.
    code(unsafe {
        let bytes = slice::from_raw_parts(from.cast::<u8>(), unsigned(bytes) as usize);
        let stored = &mut CipherFile::stored(file);
        match CipherFile::opened(file) {
            OpenFile::Database(database) => database.write(stored, bytes, at),
            OpenFile::Journal(journal) => journal.write(stored, bytes, at),
            OpenFile::Log(log) => log.write(stored, bytes, at),
            OpenFile::Unencrypted => stored.write(bytes, at),
            OpenFile::Memory(content) => write_memory(content, bytes, at),
        }
    })
}

fn write_memory(content: &mut Vec<u8>, bytes: &[u8], at: u64) -> Result<(), ResultCode> {
    let start = usize::try_from(at).map_err(|_| sys::SQLITE_FULL)?;
    let end = start.checked_add(bytes.len()).ok_or(sys::SQLITE_FULL)?;
    if end > content.len() {
        content.try_reserve(end - content.len()).map_err(|_| sys::SQLITE_NOMEM)?;
        content.resize(end, 0);
    }
    content.get_mut(start..end).ok_or(sys::SQLITE_FULL)?.copy_from_slice(bytes);
    Ok(())
}

unsafe extern "C" fn truncate(file: *mut sys::sqlite3_file, length: i64) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        match CipherFile::opened(file) {
            OpenFile::Memory(content) => {
                content.truncate(usize::try_from(length).unwrap_or(0));
                return sys::SQLITE_OK;
            }
            OpenFile::Database(database) => database.locked(),
            _ => {}
        }
        behind!(file.xTruncate(length), sys::SQLITE_IOERR_TRUNCATE)
    }
}

unsafe extern "C" fn sync(file: *mut sys::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { behind!(file.xSync(flags), sys::SQLITE_OK) }
}

unsafe extern "C" fn file_size(file: *mut sys::sqlite3_file, size: *mut i64) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the result.
    unsafe {
        if let OpenFile::Memory(content) = CipherFile::opened(file) {
            *size = i64::try_from(content.len()).unwrap_or(i64::MAX);
            return sys::SQLITE_OK;
        }
        behind!(file.xFileSize(size), sys::SQLITE_IOERR_FSTAT)
    }
}

/// Others may have changed the file before a lock was taken, or may change it after it was given up.
///
/// # Safety
/// SQLite passes an open file.
unsafe fn locked(file: *mut sys::sqlite3_file) {
    // SAFETY: the caller guarantees it.
    if let OpenFile::Database(database) = unsafe { CipherFile::opened(file) } {
        database.locked();
    }
}

unsafe extern "C" fn lock(file: *mut sys::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        locked(file);
        behind!(file.xLock(level), sys::SQLITE_OK)
    }
}

unsafe extern "C" fn unlock(file: *mut sys::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { behind!(file.xUnlock(level), sys::SQLITE_OK) }
}

unsafe extern "C" fn check_reserved_lock(
    file: *mut sys::sqlite3_file,
    result: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the result.
    unsafe {
        *result = 0;
        behind!(file.xCheckReservedLock(result), sys::SQLITE_OK)
    }
}

unsafe extern "C" fn file_control(
    file: *mut sys::sqlite3_file,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file, and what the operation needs.
    unsafe {
        match operation {
            // Files are not mapped.
            sys::SQLITE_FCNTL_MMAP_SIZE => {
                *argument.cast::<i64>() = 0;
                sys::SQLITE_OK
            }
            // They grow by whole pages that are encrypted.
            sys::SQLITE_FCNTL_SIZE_HINT | sys::SQLITE_FCNTL_CHUNK_SIZE => sys::SQLITE_OK,
            _ => behind!(file.xFileControl(operation, argument), sys::SQLITE_NOTFOUND),
        }
    }
}

unsafe extern "C" fn sector_size(file: *mut sys::sqlite3_file) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { behind!(file.xSectorSize(), 4_096) }
}

unsafe extern "C" fn device_characteristics(file: *mut sys::sqlite3_file) -> c_int {
    /// What does not depend on how SQLite divides the content into writes.
    const KEPT: c_int = sys::SQLITE_IOCAP_SAFE_APPEND
        | sys::SQLITE_IOCAP_SEQUENTIAL
        | sys::SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN
        | sys::SQLITE_IOCAP_POWERSAFE_OVERWRITE
        | sys::SQLITE_IOCAP_IMMUTABLE;
    // SAFETY: SQLite passes an open file.
    KEPT & unsafe { behind!(file.xDeviceCharacteristics(), 0) }
}

unsafe extern "C" fn shm_map(
    file: *mut sys::sqlite3_file,
    region: c_int,
    bytes: c_int,
    create: c_int,
    into: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the result.
    unsafe { behind!(file.xShmMap(region, bytes, create, into), sys::SQLITE_IOERR_SHMMAP) }
}

unsafe extern "C" fn shm_lock(
    file: *mut sys::sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        locked(file);
        behind!(file.xShmLock(first, count, flags), sys::SQLITE_IOERR_SHMLOCK)
    }
}

unsafe extern "C" fn shm_barrier(file: *mut sys::sqlite3_file) {
    // SAFETY: SQLite passes an open file.
    unsafe { behind!(file.xShmBarrier(), ()) }
}

unsafe extern "C" fn shm_unmap(file: *mut sys::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { behind!(file.xShmUnmap(delete), sys::SQLITE_OK) }
}

//! A VFS whose files are on a [`Disk`](crate::faults::Disk): SQLite's calls, handed on.
//!
//! Why it is sound, besides what each block says:
//!
//! * A VFS, once registered, stays in memory for good, some 200 bytes: a thread may be about to
//!   open a file by it while another drops the disk. It holds the disk weakly; each open file holds
//!   it strongly.
//! * SQLite calls the methods of a file only between its opening and its closing, by one thread at
//!   a time, and gives the buffers with their lengths.

use super::connection::Failure;
use crate::faults::{Code, Handle, Shared};
use libsqlite3_sys as sys;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{mem, slice};

/// A VFS that SQLite knows by its name until this is dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    vfs: NonNull<sys::sqlite3_vfs>,
    name: String,
}

// SAFETY: the pointer is used to register and unregister only, which SQLite does behind a lock.
unsafe impl Send for Registration {}
// SAFETY: as above; a shared reference gives only the name.
unsafe impl Sync for Registration {}

impl Registration {
    pub(crate) fn new(disk: &Arc<Shared>) -> Result<Self, Failure> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("bobak-faults-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let c_name = CString::new(name.as_str())
            .map_err(|_| Failure::own(sys::SQLITE_MISUSE, "a name without a NUL has one"))?;
        let disk: *mut Weak<Shared> = Box::into_raw(Box::new(Arc::downgrade(disk)));
        let vfs = Box::leak(Box::new(sys::sqlite3_vfs {
            iVersion: 2,
            szOsFile: mem::size_of::<File>() as c_int,
            mxPathname: 512,
            pNext: ptr::null_mut(),
            zName: c_name.into_raw(),
            pAppData: disk.cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_path),
            // Called to load extensions only, which no connection here may.
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: None,
            xCurrentTimeInt64: Some(current_milliseconds),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        }));
        let vfs = NonNull::from(vfs);
        // SAFETY: the struct, its name and its data stay where they are for good.
        match unsafe { sys::sqlite3_vfs_register(vfs.as_ptr(), 0) } {
            sys::SQLITE_OK => Ok(Self { vfs, name }),
            code => Err(Failure::own(code, "SQLite takes no new VFS")),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: it was registered, and stays in memory for who found it before.
        unsafe { sys::sqlite3_vfs_unregister(self.vfs.as_ptr()) };
    }
}

/// An open file, as SQLite keeps it: its own part first.
#[repr(C)]
struct File {
    base: sys::sqlite3_file,
    handle: *mut Handle,
}

static METHODS: sys::sqlite3_io_methods = sys::sqlite3_io_methods {
    // With shared memory, without files mapped into memory.
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

/// # Safety
/// The VFS is one that [`Registration::new`] made.
unsafe fn disk(vfs: *mut sys::sqlite3_vfs) -> Option<Arc<Shared>> {
    // SAFETY: the caller says so; the data stays for good.
    unsafe { (*(*vfs).pAppData.cast::<Weak<Shared>>()).upgrade() }
}

/// # Safety
/// The file was opened by [`open`], and is not closed; nobody else uses it.
unsafe fn handle<'a>(file: *mut sys::sqlite3_file) -> &'a mut Handle {
    // SAFETY: the caller says so; `open` has put the handle there.
    unsafe { &mut *(*file.cast::<File>()).handle }
}

/// # Safety
/// The pointer is null, or to a text that ends with NUL and lives for `'a`.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller says so.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

fn code(result: Result<(), Code>) -> c_int {
    result.err().unwrap_or(sys::SQLITE_OK)
}

fn unsigned(number: impl TryInto<u64>) -> u64 {
    number.try_into().unwrap_or(0)
}

unsafe extern "C" fn open(
    vfs: *mut sys::sqlite3_vfs,
    name: *const c_char,
    file: *mut sys::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes room for a file as large as the VFS asks for, a name that is null or
    // ends with NUL, and a place for the flags or null.
    unsafe {
        (*file).pMethods = ptr::null();
        let Some(disk) = disk(vfs) else {
            return sys::SQLITE_CANTOPEN;
        };
        match Handle::open(&disk, text(name), flags) {
            Ok(handle) => {
                (*file.cast::<File>()).handle = Box::into_raw(Box::new(handle));
                (*file).pMethods = &METHODS;
                if !out_flags.is_null() {
                    *out_flags = flags;
                }
                sys::SQLITE_OK
            }
            Err(code) => code,
        }
    }
}

unsafe extern "C" fn delete(
    vfs: *mut sys::sqlite3_vfs,
    name: *const c_char,
    sync_folder: c_int,
) -> c_int {
    // SAFETY: SQLite passes this VFS and a name that ends with NUL.
    let (disk, name) = unsafe { (disk(vfs), text(name)) };
    match (disk, name) {
        (Some(disk), Some(name)) => code(disk.delete(name, sync_folder != 0)),
        _ => sys::SQLITE_IOERR_DELETE,
    }
}

unsafe extern "C" fn access(
    vfs: *mut sys::sqlite3_vfs,
    name: *const c_char,
    _: c_int,
    result: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes this VFS, a name that ends with NUL, and a place for the answer.
    unsafe {
        let there = disk(vfs).zip(text(name)).is_some_and(|(disk, name)| disk.exists(name));
        *result = c_int::from(there);
    }
    sys::SQLITE_OK
}

unsafe extern "C" fn full_path(
    _: *mut sys::sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    path: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a name that ends with NUL, and so much room for the path.
    unsafe {
        let name = CStr::from_ptr(name).to_bytes_with_nul();
        if name.len() as u64 > unsigned(room) {
            return sys::SQLITE_CANTOPEN;
        }
        ptr::copy_nonoverlapping(name.as_ptr().cast(), path, name.len());
    }
    sys::SQLITE_OK
}

unsafe extern "C" fn randomness(
    vfs: *mut sys::sqlite3_vfs,
    bytes: c_int,
    into: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes this VFS, and room for so many bytes.
    unsafe {
        let Some(disk) = disk(vfs) else { return 0 };
        for place in 0..unsigned(bytes) as usize {
            *into.add(place) = disk.random_byte() as c_char;
        }
    }
    bytes
}

unsafe extern "C" fn sleep(_: *mut sys::sqlite3_vfs, microseconds: c_int) -> c_int {
    std::thread::sleep(Duration::from_micros(unsigned(microseconds)));
    microseconds
}

/// Milliseconds since noon in Greenwich on 24 November 4714 B.C., as SQLite counts.
fn julian_milliseconds() -> i64 {
    const UNIX: i64 = 210_866_760_000_000;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX + i64::try_from(since.as_millis()).unwrap_or(0)
}

unsafe extern "C" fn current_milliseconds(_: *mut sys::sqlite3_vfs, now: *mut i64) -> c_int {
    // SAFETY: SQLite passes a place for the answer.
    unsafe { *now = julian_milliseconds() };
    sys::SQLITE_OK
}

unsafe extern "C" fn current_time(_: *mut sys::sqlite3_vfs, now: *mut f64) -> c_int {
    // SAFETY: SQLite passes a place for the answer.
    unsafe { *now = julian_milliseconds() as f64 / 86_400_000.0 };
    sys::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut sys::sqlite3_file) -> c_int {
    // SAFETY: `open` made the box, and SQLite closes a file once.
    drop(unsafe { Box::from_raw((*file.cast::<File>()).handle) });
    sys::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut sys::sqlite3_file,
    into: *mut c_void,
    bytes: c_int,
    at: i64,
) -> c_int {
    // SAFETY: SQLite passes an open file, and room for so many bytes, which are zeroed before they
    // are looked at.
    let result = unsafe {
        ptr::write_bytes(into.cast::<u8>(), 0, unsigned(bytes) as usize);
        let into = slice::from_raw_parts_mut(into.cast::<u8>(), unsigned(bytes) as usize);
        handle(file).read(into, unsigned(at))
    };
    match result {
        Ok(true) => sys::SQLITE_OK,
        Ok(false) => sys::SQLITE_IOERR_SHORT_READ,
        Err(code) => code,
    }
}

unsafe extern "C" fn write(
    file: *mut sys::sqlite3_file,
    from: *const c_void,
    bytes: c_int,
    at: i64,
) -> c_int {
    // SAFETY: SQLite passes an open file and so many bytes.
    code(unsafe {
        let bytes = slice::from_raw_parts(from.cast::<u8>(), unsigned(bytes) as usize);
        handle(file).write(bytes, unsigned(at))
    })
}

unsafe extern "C" fn truncate(file: *mut sys::sqlite3_file, length: i64) -> c_int {
    // SAFETY: SQLite passes an open file.
    code(unsafe { handle(file) }.truncate(unsigned(length)))
}

unsafe extern "C" fn sync(file: *mut sys::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    code(unsafe { handle(file) }.sync())
}

unsafe extern "C" fn file_size(file: *mut sys::sqlite3_file, size: *mut i64) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the answer.
    unsafe {
        code(handle(file).size().map(|bytes| *size = i64::try_from(bytes).unwrap_or(i64::MAX)))
    }
}

unsafe extern "C" fn lock(file: *mut sys::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    code(unsafe { handle(file) }.lock(level))
}

unsafe extern "C" fn unlock(file: *mut sys::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { handle(file) }.unlock(level);
    sys::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(
    file: *mut sys::sqlite3_file,
    result: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the answer.
    unsafe { code(handle(file).is_reserved().map(|reserved| *result = c_int::from(reserved))) }
}

unsafe extern "C" fn file_control(_: *mut sys::sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    sys::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut sys::sqlite3_file) -> c_int {
    4096
}

unsafe extern "C" fn device_characteristics(_: *mut sys::sqlite3_file) -> c_int {
    // As SQLite takes it of files on Unix.
    sys::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn shm_map(
    file: *mut sys::sqlite3_file,
    region: c_int,
    bytes: c_int,
    make: c_int,
    into: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the answer; it uses the region until it
    // unmaps it, and the handle keeps it so long.
    unsafe {
        *into = ptr::null_mut();
        let (region, bytes) = (unsigned(region) as usize, unsigned(bytes) as usize);
        let mapped = handle(file).map(region, bytes, make != 0);
        code(mapped.map(|start| *into = start.unwrap_or(ptr::null_mut())))
    }
}

unsafe extern "C" fn shm_lock(
    file: *mut sys::sqlite3_file,
    from: c_int,
    slots: c_int,
    flags: c_int,
) -> c_int {
    let (from, slots) = (unsigned(from) as usize, unsigned(slots) as usize);
    // SAFETY: SQLite passes an open file.
    let handle = unsafe { handle(file) };
    if flags & sys::SQLITE_SHM_UNLOCK != 0 {
        handle.unlock_memory(from, slots);
        return sys::SQLITE_OK;
    }
    code(handle.lock_memory(from, slots, flags & sys::SQLITE_SHM_EXCLUSIVE != 0))
}

unsafe extern "C" fn shm_barrier(_: *mut sys::sqlite3_file) {
    std::sync::atomic::fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut sys::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { handle(file) }.unmap();
    sys::SQLITE_OK
}

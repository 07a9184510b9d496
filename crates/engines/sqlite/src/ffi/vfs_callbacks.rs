//! File systems in Rust behind SQLite's VFS interface: registration and callbacks.
//!
//! Why it is sound, besides what each block says:
//!
//! * A VFS, once registered, is never freed, some 200 bytes: one thread may be about to open a file
//!   by it while another unregisters it. It refers to the file system weakly; nothing is used after
//!   that is gone.
//! * SQLite calls the methods of a file only between its opening and its closing, from one thread at
//!   a time, and passes buffers with their lengths.

use super::connection::Failure;
use super::vfs::{ResultCode, SharedRegion, Vfs, VfsFile};
use libsqlite3_sys as sys;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{mem, slice};

/// A file system that SQLite knows by its name until this is dropped.
#[derive(Debug)]
pub(crate) struct VfsHandle {
    vfs: NonNull<sys::sqlite3_vfs>,
    name: String,
}

// SAFETY: the pointer is used to register and unregister only, which SQLite does under a lock.
unsafe impl Send for VfsHandle {}
// SAFETY: as above; a shared reference gives access to the name only.
unsafe impl Sync for VfsHandle {}

impl VfsHandle {
    pub(crate) fn new<V: Vfs>(name: &str, file_system: &Arc<V>) -> Result<Self, Failure> {
        let c_name = CString::new(name)
            .map_err(|_| Failure::own(sys::SQLITE_MISUSE, "the name of the VFS has a NUL"))?;
        // SAFETY: the name ends with NUL.
        if unsafe { !sys::sqlite3_vfs_find(c_name.as_ptr()).is_null() } {
            return Err(Failure::own(sys::SQLITE_MISUSE, "the name of the VFS is in use"));
        }
        let file_system: *mut Weak<V> = Box::into_raw(Box::new(Arc::downgrade(file_system)));
        let vfs = Box::leak(Box::new(sys::sqlite3_vfs {
            iVersion: 2,
            szOsFile: mem::size_of::<RawFile<V::File>>() as c_int,
            mxPathname: 512,
            pNext: ptr::null_mut(),
            zName: c_name.into_raw(),
            pAppData: file_system.cast(),
            xOpen: Some(open::<V>),
            xDelete: Some(delete::<V>),
            xAccess: Some(access::<V>),
            xFullPathname: Some(full_path),
            // SQLite calls these to load extensions only, which no connection here is allowed to.
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness::<V>),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: None,
            xCurrentTimeInt64: Some(current_milliseconds),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        }));
        let vfs = NonNull::from(vfs);
        // SAFETY: the struct, its name and its data are never freed.
        match unsafe { sys::sqlite3_vfs_register(vfs.as_ptr(), 0) } {
            sys::SQLITE_OK => Ok(Self { vfs, name: name.to_owned() }),
            code => Err(Failure::own(code, "SQLite does not accept the VFS")),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for VfsHandle {
    fn drop(&mut self) {
        // SAFETY: it was registered; its memory remains for threads that have found it before.
        unsafe { sys::sqlite3_vfs_unregister(self.vfs.as_ptr()) };
    }
}

/// An open file, as SQLite stores it: SQLite's part first.
#[repr(C)]
struct RawFile<F> {
    base: sys::sqlite3_file,
    open: *mut OpenFile<F>,
}

/// An open file with the shared memory that SQLite may still access through it.
struct OpenFile<F> {
    file: F,
    regions: Vec<SharedRegion>,
}

struct Methods<F>(PhantomData<F>);

impl<F: VfsFile> Methods<F> {
    const METHODS: &'static sys::sqlite3_io_methods = &sys::sqlite3_io_methods {
        // With shared memory, without memory-mapped files.
        iVersion: 2,
        xClose: Some(close::<F>),
        xRead: Some(read::<F>),
        xWrite: Some(write::<F>),
        xTruncate: Some(truncate::<F>),
        xSync: Some(sync::<F>),
        xFileSize: Some(file_size::<F>),
        xLock: Some(lock::<F>),
        xUnlock: Some(unlock::<F>),
        xCheckReservedLock: Some(check_reserved_lock::<F>),
        xFileControl: Some(file_control),
        xSectorSize: Some(sector_size),
        xDeviceCharacteristics: Some(device_characteristics),
        xShmMap: Some(shm_map::<F>),
        xShmLock: Some(shm_lock::<F>),
        xShmBarrier: Some(shm_barrier),
        xShmUnmap: Some(shm_unmap::<F>),
        xFetch: None,
        xUnfetch: None,
    };
}

/// # Safety
/// The VFS was registered for this type of file system.
unsafe fn file_system<V>(vfs: *mut sys::sqlite3_vfs) -> Option<Arc<V>> {
    // SAFETY: the caller guarantees it; the data is never freed.
    unsafe { (*(*vfs).pAppData.cast::<Weak<V>>()).upgrade() }
}

/// # Safety
/// The file was opened by [`open`] as a file of this type, is not closed, and nobody else uses it.
unsafe fn opened<'a, F>(file: *mut sys::sqlite3_file) -> &'a mut OpenFile<F> {
    // SAFETY: the caller guarantees it; `open` has stored the pointer.
    unsafe { &mut *(*file.cast::<RawFile<F>>()).open }
}

/// # Safety
/// The pointer is null, or to a text that ends with NUL and lives for `'a`.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller guarantees it.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

pub(super) fn code(result: Result<(), ResultCode>) -> c_int {
    result.err().unwrap_or(sys::SQLITE_OK)
}

/// The code for a read; past the end of the file, SQLite gets zeros.
pub(super) fn read_code(result: Result<bool, ResultCode>) -> c_int {
    match result {
        Ok(true) => sys::SQLITE_OK,
        Ok(false) => sys::SQLITE_IOERR_SHORT_READ,
        Err(code) => code,
    }
}

pub(super) fn unsigned(number: impl TryInto<u64>) -> u64 {
    number.try_into().unwrap_or(0)
}

unsafe extern "C" fn open<V: Vfs>(
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
        let Some(file_system) = file_system::<V>(vfs) else {
            return sys::SQLITE_CANTOPEN;
        };
        match file_system.open(text(name), flags) {
            Ok(opened) => {
                let opened = Box::new(OpenFile { file: opened, regions: Vec::new() });
                (*file.cast::<RawFile<V::File>>()).open = Box::into_raw(opened);
                (*file).pMethods = Methods::<V::File>::METHODS;
                if !out_flags.is_null() {
                    *out_flags = flags;
                }
                sys::SQLITE_OK
            }
            Err(code) => code,
        }
    }
}

unsafe extern "C" fn delete<V: Vfs>(
    vfs: *mut sys::sqlite3_vfs,
    name: *const c_char,
    sync_directory: c_int,
) -> c_int {
    // SAFETY: SQLite passes this VFS and a name that ends with NUL.
    let (file_system, name) = unsafe { (file_system::<V>(vfs), text(name)) };
    match (file_system, name) {
        (Some(file_system), Some(name)) => code(file_system.delete(name, sync_directory != 0)),
        _ => sys::SQLITE_IOERR_DELETE,
    }
}

unsafe extern "C" fn access<V: Vfs>(
    vfs: *mut sys::sqlite3_vfs,
    name: *const c_char,
    _: c_int,
    result: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes this VFS, a name that ends with NUL, and a place for the result.
    unsafe {
        let found = file_system::<V>(vfs).zip(text(name));
        *result = c_int::from(found.is_some_and(|(file_system, name)| file_system.exists(name)));
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

unsafe extern "C" fn randomness<V: Vfs>(
    vfs: *mut sys::sqlite3_vfs,
    bytes: c_int,
    into: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes this VFS, and room for so many bytes.
    unsafe {
        let Some(file_system) = file_system::<V>(vfs) else { return 0 };
        ptr::write_bytes(into, 0, unsigned(bytes) as usize);
        file_system.fill_random(slice::from_raw_parts_mut(into.cast(), unsigned(bytes) as usize));
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
    // SAFETY: SQLite passes a place for the result.
    unsafe { *now = julian_milliseconds() };
    sys::SQLITE_OK
}

unsafe extern "C" fn current_time(_: *mut sys::sqlite3_vfs, now: *mut f64) -> c_int {
    // SAFETY: SQLite passes a place for the result.
    unsafe { *now = julian_milliseconds() as f64 / 86_400_000.0 };
    sys::SQLITE_OK
}

unsafe extern "C" fn close<F: VfsFile>(file: *mut sys::sqlite3_file) -> c_int {
    // SAFETY: `open` made the box, and SQLite closes a file once.
    drop(unsafe { Box::from_raw((*file.cast::<RawFile<F>>()).open) });
    sys::SQLITE_OK
}

unsafe extern "C" fn read<F: VfsFile>(
    file: *mut sys::sqlite3_file,
    into: *mut c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite passes an open file, and room for so many bytes, which are zeroed before they
    // are looked at.
    read_code(unsafe {
        ptr::write_bytes(into.cast::<u8>(), 0, unsigned(bytes) as usize);
        let into = slice::from_raw_parts_mut(into.cast::<u8>(), unsigned(bytes) as usize);
        opened::<F>(file).file.read(into, unsigned(offset))
    })
}

unsafe extern "C" fn write<F: VfsFile>(
    file: *mut sys::sqlite3_file,
    from: *const c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite passes an open file and so many bytes.
    code(unsafe {
        let bytes = slice::from_raw_parts(from.cast::<u8>(), unsigned(bytes) as usize);
        opened::<F>(file).file.write(bytes, unsigned(offset))
    })
}

unsafe extern "C" fn truncate<F: VfsFile>(file: *mut sys::sqlite3_file, length: i64) -> c_int {
    // SAFETY: SQLite passes an open file.
    code(unsafe { opened::<F>(file) }.file.truncate(unsigned(length)))
}

unsafe extern "C" fn sync<F: VfsFile>(file: *mut sys::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    code(unsafe { opened::<F>(file) }.file.sync())
}

unsafe extern "C" fn file_size<F: VfsFile>(file: *mut sys::sqlite3_file, size: *mut i64) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the result.
    unsafe {
        code(
            opened::<F>(file)
                .file
                .size()
                .map(|bytes| *size = i64::try_from(bytes).unwrap_or(i64::MAX)),
        )
    }
}

unsafe extern "C" fn lock<F: VfsFile>(file: *mut sys::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    code(unsafe { opened::<F>(file) }.file.lock(level))
}

unsafe extern "C" fn unlock<F: VfsFile>(file: *mut sys::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { opened::<F>(file) }.file.unlock(level);
    sys::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock<F: VfsFile>(
    file: *mut sys::sqlite3_file,
    result: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the result.
    unsafe {
        code(opened::<F>(file).file.is_reserved().map(|reserved| *result = c_int::from(reserved)))
    }
}

unsafe extern "C" fn file_control(_: *mut sys::sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    sys::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut sys::sqlite3_file) -> c_int {
    4096
}

unsafe extern "C" fn device_characteristics(_: *mut sys::sqlite3_file) -> c_int {
    // What SQLite assumes of files on Unix.
    sys::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn shm_map<F: VfsFile>(
    file: *mut sys::sqlite3_file,
    region: c_int,
    bytes: c_int,
    create: c_int,
    into: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the result; it uses the region until it
    // unmaps it or closes the file, and `regions` keeps it until then.
    unsafe {
        *into = ptr::null_mut();
        let (region, bytes) = (unsigned(region) as usize, unsigned(bytes) as usize);
        let opened = opened::<F>(file);
        code(opened.file.map_shared(region, bytes, create != 0).map(|region| {
            if let Some(region) = region.filter(|region| region.0.len() * 8 >= bytes) {
                *into = region.0.as_ptr().cast_mut().cast();
                opened.regions.push(region);
            }
        }))
    }
}

unsafe extern "C" fn shm_lock<F: VfsFile>(
    file: *mut sys::sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    let (first, count) = (unsigned(first) as usize, unsigned(count) as usize);
    // SAFETY: SQLite passes an open file.
    let file = &mut unsafe { opened::<F>(file) }.file;
    if flags & sys::SQLITE_SHM_UNLOCK != 0 {
        file.unlock_shared(first, count);
        return sys::SQLITE_OK;
    }
    code(file.lock_shared(first, count, flags & sys::SQLITE_SHM_EXCLUSIVE != 0))
}

unsafe extern "C" fn shm_barrier(_: *mut sys::sqlite3_file) {
    std::sync::atomic::fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap<F: VfsFile>(file: *mut sys::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    let opened = unsafe { opened::<F>(file) };
    opened.file.unmap_shared();
    opened.regions.clear();
    sys::SQLITE_OK
}

//! A VFS that encrypts: in front of another VFS, whose files it opens.
//!
//! Why it is sound, besides what each block says:
//!
//! * Such a VFS is never freed, nor is the VFS behind it: those of SQLite are static, and `vfs_callbacks` never frees one.
//! * SQLite gives the key of a database to nobody: [`Connection::open_encrypted`] lends it to the thread that opens the
//!   file, for as long as that takes.

use super::cipher_file::{CipherFile, OpenFile};
use super::connection::{Connection, Failure, OpenFlags};
use crate::cipher::{FileKey, JournalFile, LogFile, MainFile, RawKey, TAIL_BYTES};
use libsqlite3_sys as sys;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    /// The key for the database that this thread is opening.
    static GIVEN: RefCell<Option<RawKey>> = const { RefCell::new(None) };
}

/// Files that exist as long as they are open: they stay in memory.
const TEMPORARY: c_int = sys::SQLITE_OPEN_TEMP_DB
    | sys::SQLITE_OPEN_TRANSIENT_DB
    | sys::SQLITE_OPEN_TEMP_JOURNAL
    | sys::SQLITE_OPEN_SUBJOURNAL;

impl Connection {
    /// Opens a database whose file is encrypted with AEGIS-256, or a new one. A wrong key fails at the first read.
    pub(crate) fn open_encrypted(
        path: &CStr,
        flags: OpenFlags,
        vfs: Option<&CStr>,
        key: RawKey,
    ) -> Result<Self, Failure> {
        let vfs = cipher_vfs(vfs)?;
        let opened = lending(Some(key), || Self::open(path, flags, Some(&vfs)))?;
        opened.reserve_bytes(c"main").map(|()| opened)
    }

    /// Has SQLite leave the end of each page of a new database to the encryption.
    pub(crate) fn reserve_bytes(&self, database: &CStr) -> Result<(), Failure> {
        let mut reserved = TAIL_BYTES as c_int;
        let (name, place) = (database.as_ptr(), (&raw mut reserved).cast());
        let option = sys::SQLITE_FCNTL_RESERVE_BYTES;
        // SAFETY: the handle is open, the name ends with NUL, and this call takes a pointer to an int.
        let code = unsafe { sys::sqlite3_file_control(self.raw.as_ptr(), name, option, place) };
        self.check(code)
    }
}

/// Runs `work` with a key for the encrypted databases that it opens, if it opens any.
pub(crate) fn lending<R>(key: Option<RawKey>, work: impl FnOnce() -> R) -> R {
    struct Returned;
    impl Drop for Returned {
        fn drop(&mut self) {
            GIVEN.set(None);
        }
    }
    GIVEN.set(key);
    let _returned = Returned;
    work()
}

/// A path as SQLite's URI, for a file that is accessed by the VFS with a name.
pub(crate) fn file_uri(path: &str, vfs: &CStr) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "file:///" });
    for byte in path.trim_start_matches(r"\\?\").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b':' => {
                uri.push(byte.into());
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    format!("{uri}?vfs={}", vfs.to_string_lossy())
}

/// The VFS with a name, or the system's.
fn find(name: Option<&CStr>) -> Result<*mut sys::sqlite3_vfs, Failure> {
    // SAFETY: the name is null or ends with NUL.
    let found = unsafe { sys::sqlite3_vfs_find(name.map_or(ptr::null(), CStr::as_ptr)) };
    if found.is_null() {
        let name = name.map(CStr::to_string_lossy).unwrap_or_default();
        return Err(Failure::own(sys::SQLITE_ERROR, &format!("no such vfs: {name}")));
    }
    Ok(found)
}

/// The name of a VFS, or of the system's, which does not encrypt.
pub(crate) fn plain_vfs(name: Option<&CStr>) -> Result<CString, Failure> {
    // SAFETY: SQLite knows the VFS; its name ends with NUL.
    find(name).map(|found| unsafe { CStr::from_ptr((*found).zName) }.to_owned())
}

/// The name of the VFS that encrypts the files of another one, or of the system's. It is registered when it is first
/// needed.
pub(crate) fn cipher_vfs(inner: Option<&CStr>) -> Result<CString, Failure> {
    static REGISTERING: Mutex<()> = Mutex::new(());
    let _one = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
    let found = find(inner)?;
    // Another VFS may get the same name later.
    let name = CString::new(format!("bobak-aegis256-{:x}", found.addr()))
        .map_err(|_| Failure::own(sys::SQLITE_ERROR, "the name of the VFS has a NUL"))?;
    // SAFETY: the name ends with NUL.
    if unsafe { sys::sqlite3_vfs_find(name.as_ptr()) }.is_null() {
        // SAFETY: SQLite knows the VFS; it is never freed.
        let new = Box::leak(Box::new(unsafe { in_front_of(found, name.clone()) }));
        // SAFETY: the struct, its name and its data are never freed.
        let code = unsafe { sys::sqlite3_vfs_register(new, 0) };
        if code != sys::SQLITE_OK {
            return Err(Failure::own(code, "SQLite does not accept the VFS"));
        }
    }
    Ok(name)
}

/// # Safety
/// The VFS is never freed.
unsafe fn in_front_of(inner: *mut sys::sqlite3_vfs, name: CString) -> sys::sqlite3_vfs {
    // SAFETY: the caller guarantees it.
    let (bytes, path) = unsafe { ((*inner).szOsFile, (*inner).mxPathname) };
    sys::sqlite3_vfs {
        iVersion: 2,
        szOsFile: mem::size_of::<CipherFile>() as c_int + bytes,
        mxPathname: path,
        pNext: ptr::null_mut(),
        zName: name.into_raw(),
        pAppData: inner.cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_path),
        // SQLite calls these to load extensions only, which no connection here is allowed to.
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(last_error),
        xCurrentTimeInt64: Some(current_milliseconds),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

/// # Safety
/// The VFS is one of [`in_front_of`].
unsafe fn behind(vfs: *mut sys::sqlite3_vfs) -> *mut sys::sqlite3_vfs {
    // SAFETY: the caller guarantees it.
    unsafe { (*vfs).pAppData.cast() }
}

unsafe extern "C" fn open(
    vfs: *mut sys::sqlite3_vfs,
    name: *const c_char,
    file: *mut sys::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes this VFS, room for a file as large as it asks for, a name that is null or ends with NUL, and a
    // place for the flags or null.
    unsafe {
        (*file).pMethods = ptr::null();
        let inner = CipherFile::inner(file);
        (*inner).pMethods = ptr::null();
        if flags & TEMPORARY != 0 {
            if !out_flags.is_null() {
                *out_flags = flags;
            }
            CipherFile::begin(file, OpenFile::Memory(Vec::new()));
            return sys::SQLITE_OK;
        }
        let Some(open) = (*behind(vfs)).xOpen else { return sys::SQLITE_CANTOPEN };
        let opened = match open(behind(vfs), name, inner, flags, out_flags) {
            sys::SQLITE_OK => kind(name, file, flags),
            code => Err(code),
        };
        let Err(code) = opened.map(|opened| CipherFile::begin(file, opened)) else {
            return sys::SQLITE_OK;
        };
        CipherFile::close_inner(file);
        code
    }
}

/// What a file is that was just opened.
///
/// # Safety
/// The file's inner file is open; the name is the one that SQLite passed to `xOpen`.
unsafe fn kind(
    name: *const c_char,
    file: *mut sys::sqlite3_file,
    flags: c_int,
) -> Result<OpenFile, c_int> {
    if flags & sys::SQLITE_OPEN_MAIN_DB != 0 {
        let given = GIVEN.with_borrow(Option::clone).ok_or(sys::SQLITE_CANTOPEN)?;
        // SAFETY: the caller guarantees it.
        let mut stored = unsafe { CipherFile::stored(file) };
        return MainFile::open(given, &mut stored).map(OpenFile::Database);
    }
    let is_log = flags & sys::SQLITE_OPEN_WAL != 0;
    if !is_log && flags & sys::SQLITE_OPEN_MAIN_JOURNAL == 0 {
        return Ok(OpenFile::Unencrypted);
    }
    // SAFETY: it is the name of a journal or log.
    let key = unsafe { key_of_database(name) }?;
    match is_log {
        // SQLite would delete a log of which it can read nothing.
        true if !key.is_right() => Err(sys::SQLITE_NOTADB),
        true => Ok(OpenFile::Log(LogFile::new(key))),
        false => Ok(OpenFile::Journal(JournalFile::new(key))),
    }
}

/// The key of the database that a journal or log belongs to.
///
/// # Safety
/// The name is the one of a journal or log that SQLite passed to `xOpen`.
unsafe fn key_of_database(name: *const c_char) -> Result<Arc<FileKey>, c_int> {
    // SAFETY: SQLite gives the open file of the database, which was opened by the same VFS.
    match unsafe { CipherFile::opened(sys::sqlite3_database_file_object(name)) } {
        OpenFile::Database(database) => Ok(Arc::clone(database.key())),
        _ => Err(sys::SQLITE_CANTOPEN),
    }
}

unsafe extern "C" fn delete(
    vfs: *mut sys::sqlite3_vfs,
    name: *const c_char,
    sync_directory: c_int,
) -> c_int {
    // SAFETY: SQLite passes this VFS; the rest is for the one behind it.
    unsafe {
        let delete = (*behind(vfs)).xDelete;
        delete.map_or(sys::SQLITE_IOERR_DELETE, |delete| delete(behind(vfs), name, sync_directory))
    }
}

unsafe extern "C" fn access(
    vfs: *mut sys::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    result: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes this VFS; the rest is for the one behind it.
    unsafe {
        let access = (*behind(vfs)).xAccess;
        access.map_or(sys::SQLITE_IOERR_ACCESS, |access| access(behind(vfs), name, flags, result))
    }
}

unsafe extern "C" fn full_path(
    vfs: *mut sys::sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    path: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes this VFS; the rest is for the one behind it.
    unsafe {
        let full_path = (*behind(vfs)).xFullPathname;
        full_path.map_or(sys::SQLITE_CANTOPEN, |call| call(behind(vfs), name, room, path))
    }
}

unsafe extern "C" fn randomness(
    vfs: *mut sys::sqlite3_vfs,
    bytes: c_int,
    into: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes this VFS; the rest is for the one behind it.
    unsafe { (*behind(vfs)).xRandomness.map_or(0, |call| call(behind(vfs), bytes, into)) }
}

unsafe extern "C" fn sleep(vfs: *mut sys::sqlite3_vfs, microseconds: c_int) -> c_int {
    // SAFETY: SQLite passes this VFS; the rest is for the one behind it.
    unsafe { (*behind(vfs)).xSleep.map_or(0, |call| call(behind(vfs), microseconds)) }
}

unsafe extern "C" fn current_time(vfs: *mut sys::sqlite3_vfs, now: *mut f64) -> c_int {
    // SAFETY: SQLite passes this VFS; the rest is for the one behind it.
    unsafe { (*behind(vfs)).xCurrentTime.map_or(sys::SQLITE_ERROR, |call| call(behind(vfs), now)) }
}

unsafe extern "C" fn current_milliseconds(vfs: *mut sys::sqlite3_vfs, now: *mut i64) -> c_int {
    // SAFETY: SQLite passes this VFS and a place for the result; the rest is for the one behind it.
    unsafe {
        if (*behind(vfs)).iVersion >= 2
            && let Some(call) = (*behind(vfs)).xCurrentTimeInt64
        {
            return call(behind(vfs), now);
        }
        let mut days = 0.0;
        let code = current_time(vfs, &raw mut days);
        *now = (days * 86_400_000.0) as i64;
        code
    }
}

unsafe extern "C" fn last_error(
    vfs: *mut sys::sqlite3_vfs,
    bytes: c_int,
    into: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes this VFS; the rest is for the one behind it.
    unsafe { (*behind(vfs)).xGetLastError.map_or(0, |call| call(behind(vfs), bytes, into)) }
}

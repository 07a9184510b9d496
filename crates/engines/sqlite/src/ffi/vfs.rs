//! Traits of file systems in Rust; `vfs_callbacks` puts them behind SQLite's VFS interface.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A result code of SQLite.
pub type ResultCode = i32;

/// A file system. Its methods are called from any thread; a panic in one ends the process.
pub trait Vfs: Send + Sync + 'static {
    /// Its open files.
    type File: VfsFile;

    /// Opens a file; without a name, a new temporary one. The flags are those of `xOpen`.
    ///
    /// # Errors
    /// `SQLITE_CANTOPEN`.
    fn open(self: &Arc<Self>, name: Option<&str>, flags: i32) -> Result<Self::File, ResultCode>;

    /// Deletes a file; if `sync_directory`, the deletion is durable when this returns.
    ///
    /// # Errors
    /// `SQLITE_IOERR_DELETE_NOENT` if there is none; `SQLITE_IOERR_DELETE`.
    fn delete(&self, name: &str, sync_directory: bool) -> Result<(), ResultCode>;

    /// Whether a file with this name exists.
    fn exists(&self, name: &str) -> bool;

    /// Fills a buffer with random bytes.
    fn fill_random(&self, bytes: &mut [u8]);
}

/// An open file; it is closed when it is dropped. One thread uses it at a time.
pub trait VfsFile: Send + 'static {
    /// Reads bytes at an offset. Past the end of the file it fills the buffer with zeros and
    /// returns `false`.
    ///
    /// # Errors
    /// `SQLITE_IOERR_READ`.
    fn read(&mut self, into: &mut [u8], offset: u64) -> Result<bool, ResultCode>;

    /// Writes bytes at an offset.
    ///
    /// # Errors
    /// `SQLITE_FULL`, `SQLITE_IOERR_WRITE`.
    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), ResultCode>;

    /// Shortens the file.
    ///
    /// # Errors
    /// `SQLITE_IOERR_TRUNCATE`.
    fn truncate(&mut self, length: u64) -> Result<(), ResultCode>;

    /// Makes the writes durable.
    ///
    /// # Errors
    /// `SQLITE_IOERR_FSYNC`.
    fn sync(&mut self) -> Result<(), ResultCode>;

    /// The file's length in bytes.
    ///
    /// # Errors
    /// `SQLITE_IOERR_FSTAT`.
    fn size(&mut self) -> Result<u64, ResultCode>;

    /// Raises the lock to a level, from `SQLITE_LOCK_SHARED` to `SQLITE_LOCK_EXCLUSIVE`.
    ///
    /// # Errors
    /// `SQLITE_BUSY` if other locks conflict; `SQLITE_IOERR_LOCK`.
    fn lock(&mut self, level: i32) -> Result<(), ResultCode>;

    /// Lowers the lock to a level.
    fn unlock(&mut self, level: i32);

    /// Whether any open file has a lock of level `SQLITE_LOCK_RESERVED` or higher.
    ///
    /// # Errors
    /// `SQLITE_IOERR_CHECKRESERVEDLOCK`.
    fn is_reserved(&mut self) -> Result<bool, ResultCode>;

    /// A region of the memory that all open files of one name share. `None` if it does not exist
    /// and is not to be created.
    ///
    /// # Errors
    /// `SQLITE_IOERR_SHMMAP`.
    fn map_shared(
        &mut self,
        region: usize,
        bytes: usize,
        create: bool,
    ) -> Result<Option<SharedRegion>, ResultCode>;

    /// Locks slots of the shared memory, for all or for itself alone.
    ///
    /// # Errors
    /// `SQLITE_BUSY` if other locks conflict; `SQLITE_IOERR_SHMLOCK`.
    fn lock_shared(
        &mut self,
        first: usize,
        count: usize,
        exclusive: bool,
    ) -> Result<(), ResultCode>;

    /// Unlocks slots of the shared memory.
    fn unlock_shared(&mut self, first: usize, count: usize);

    /// Releases the shared memory.
    fn unmap_shared(&mut self);
}

/// A region of memory that connections share. Its bytes are zero at first, and never move.
#[derive(Clone, Debug)]
pub struct SharedRegion(pub(super) Arc<[AtomicU64]>);

impl SharedRegion {
    /// A new region.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self((0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Whether both are the same memory.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// SQLite's result codes and flags that a [`Vfs`] needs, by their names in C.
#[allow(missing_docs, reason = "documented at https://sqlite.org/rescode.html")]
pub mod vfs_codes {
    pub use libsqlite3_sys::{
        SQLITE_BUSY, SQLITE_CANTOPEN, SQLITE_FULL, SQLITE_IOERR_CHECKRESERVEDLOCK,
        SQLITE_IOERR_CLOSE, SQLITE_IOERR_DELETE, SQLITE_IOERR_DELETE_NOENT, SQLITE_IOERR_DIR_FSYNC,
        SQLITE_IOERR_FSTAT, SQLITE_IOERR_FSYNC, SQLITE_IOERR_LOCK, SQLITE_IOERR_READ,
        SQLITE_IOERR_SHMLOCK, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_UNLOCK,
        SQLITE_IOERR_WRITE, SQLITE_LOCK_EXCLUSIVE, SQLITE_LOCK_NONE, SQLITE_LOCK_PENDING,
        SQLITE_LOCK_RESERVED, SQLITE_LOCK_SHARED, SQLITE_OPEN_CREATE, SQLITE_OPEN_DELETEONCLOSE,
        SQLITE_OPEN_EXCLUSIVE, SQLITE_OPEN_MAIN_JOURNAL, SQLITE_OPEN_SUPER_JOURNAL,
        SQLITE_OPEN_WAL,
    };
}

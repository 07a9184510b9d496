//! Custom virtual file systems: files that SQLite reaches through Rust code.
//!
//! Implement [`Vfs`] and [`VfsFile`], register the file system by [`VfsRegistration::new`], and open
//! a database with [`SqliteBuilder::vfs`](crate::SqliteBuilder::vfs). The methods have the meaning
//! of SQLite's own: see <https://sqlite.org/vfs.html>.

use crate::error::translate;
use crate::ffi;
use bobak_core::Result;
use std::sync::Arc;

pub use crate::ffi::{ResultCode, SharedRegion, Vfs, VfsFile, vfs_codes as codes};

/// A registered file system. SQLite knows its name until this is dropped.
#[derive(Debug)]
pub struct VfsRegistration(ffi::VfsHandle);

impl VfsRegistration {
    /// Registers a file system under a name. Files that are open keep working after the
    /// registration is dropped, as long as `vfs` has other owners.
    ///
    /// # Errors
    /// `Misuse` for a name that is in use, or has a NUL.
    pub fn new<V: Vfs>(name: &str, vfs: &Arc<V>) -> Result<Self> {
        let registered = ffi::VfsHandle::new(name, vfs);
        registered.map(Self).map_err(|failure| translate(failure, None))
    }

    /// The name of the file system.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }
}

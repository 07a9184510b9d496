//! A disk that fails on command: SQLite's files in memory, behind a VFS of their own.
//!
//! For tests and measurements. A [`Disk`] remembers which writes no sync has covered, and loses them
//! at a power cut: all, some, out of order, or in torn sectors. It can be full, fail at the n-th
//! call of a kind, and delay syncs. The same seed and the same calls lose the same writes.
//!
//! The disk guarantees what SQLite assumes on Linux: a write does not damage bytes outside its
//! range; synced bytes survive; syncing a new file makes its name durable; the removal of a file is
//! durable after its directory is synced, and may be undone before.
//!
//! Modules in the order of a call: `disk` (file names, power), `open_file`, `inode` (a file's
//! content, and what a power cut leaves of it), `locks`, `plan` (which call fails).

mod disk;
mod inode;
mod locks;
mod open_file;
mod plan;
mod random;

pub use disk::Disk;
pub use inode::Loss;
pub use plan::DiskCall;
pub use random::Random;

//! A disk that fails where it is told to: SQLite's files in memory, behind a VFS of their own.
//!
//! For tests and measurements; behind the feature `faults`. A [`Disk`] remembers which writes no
//! sync has covered, and at a power cut loses them: all, some, out of order, or in torn sectors. It
//! fills up, fails at the n-th call of a kind, and takes its time for a sync. What is lost is the
//! same for the same seed and the same calls.
//!
//! What it takes for granted, as SQLite does on Linux: bytes that a write does not touch are not
//! harmed by it; what was synced stays; a sync makes the file's own creation durable; the removal
//! of a file is durable once its folder is synced, and may be undone before.
//!
//! The files in the order of a call: `disk` (names, power), `handle` (an open file), `inode` (what
//! is in it, and what a cut leaves), `locks`, `plan` (which call fails).

mod disk;
mod handle;
mod inode;
mod locks;
mod plan;
mod random;

pub use disk::Disk;
pub use inode::Loss;
pub use plan::Call;

pub(crate) use disk::{Code, Shared};
pub(crate) use handle::Handle;

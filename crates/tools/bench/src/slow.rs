//! A disk on which a sync takes a millisecond, whatever the machine's own does: files in memory, by the
//! layer that also simulates power cuts. For what several threads gain by sharing syncs.

use crate::contender::Failure;
use bobak_fault_vfs::Disk;
use std::time::Duration;

/// How long a sync takes at least: the system wakes a sleeper a little later.
const SYNC: Duration = Duration::from_millis(1);

/// A new disk.
///
/// # Errors
/// That SQLite takes no new VFS.
pub fn disk() -> Result<Disk, Failure> {
    let disk = Disk::new(1)?;
    disk.set_sync_delay(SYNC);
    Ok(disk)
}

//! The temporary folder of a run of tests.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use tempfile::TempDir;

use crate::process::Guard;
use crate::{Error, Result, template};

/// A file system in memory: files are created and removed there with a fraction of the work of a disk.
const IN_MEMORY: &str = "/dev/shm";

/// How many bytes must be free there: several times what the tests of `bobak` were seen to take.
const FREE: u64 = 3 << 30;

/// The temporary folder of a run of tests, removed when dropped, or when the process ends in any other way. It is in memory
/// if there is room and no folder was requested by `TMPDIR`.
#[derive(Debug)]
pub struct TestFolder {
    // Before the folder, which it would remove.
    guard: Guard,
    folder: TempDir,
}

impl TestFolder {
    /// Whether this process runs in one.
    #[must_use]
    pub fn is_given() -> bool {
        env::var_os(template::FOLDER).is_some()
    }

    /// Creates it.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn make() -> Result<Self> {
        let parent = parent();
        let making = |e| Error::io("make a folder in", &parent, &e);
        let folder =
            tempfile::Builder::new().prefix("bobak-").tempdir_in(&parent).map_err(making)?;
        // As /tmp: servers run as other users.
        let open = || Permissions::from_mode(0o1777);
        let templates = folder.path().join("templates");
        fs::set_permissions(folder.path(), open())
            .and_then(|()| fs::create_dir(&templates))
            .and_then(|()| fs::set_permissions(&templates, open()))
            .map_err(making)?;
        let guard = Guard::of_folder(folder.path())?;
        Ok(Self { guard, folder })
    }

    /// The variables for tests: where their temporary files are, and the prepared files of servers.
    #[must_use]
    pub fn variables(&self) -> [(&'static str, PathBuf); 2] {
        let path = self.folder.path();
        [("TMPDIR", path.to_owned()), (template::FOLDER, path.join("templates"))]
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        self.guard.dismiss();
    }
}

fn parent() -> PathBuf {
    if env::var_os("TMPDIR").is_none() && is_suitable(Path::new(IN_MEMORY)) {
        return PathBuf::from(IN_MEMORY);
    }
    env::temp_dir()
}

/// Whether there is room, and programs can be started.
fn is_suitable(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|about| {
        about.f_bavail.saturating_mul(about.f_frsize) >= FREE
            && !about.f_flag.contains(StatVfsMountFlags::NOEXEC)
    })
}

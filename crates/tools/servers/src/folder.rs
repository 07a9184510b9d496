//! The temporary folder of one server, its socket included.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;

use crate::account::Account;
use crate::{Error, Result};

/// A Unix socket's path may have 108 bytes, with the folder's own name and the socket's in it.
const LONGEST_PARENT: usize = 60;

/// Creates a folder that `account` owns. It is removed with its contents when dropped.
pub(crate) fn make(account: Account) -> Result<TempDir> {
    let parent = parent(account);
    let folder = tempfile::Builder::new()
        .prefix("bobak-")
        .tempdir_in(&parent)
        .map_err(|e| Error::io("make a folder in", &parent, &e))?;
    account.own(folder.path())?;
    Ok(folder)
}

/// Copies a file or a folder, as `account`, to a path that does not exist.
pub(crate) fn copy(account: Account, from: &Path, to: &Path) -> Result<()> {
    let mut copy = account.command(Path::new("/bin/cp"));
    let output = copy.arg("-R").args([from, to]).stdin(Stdio::null()).output();
    let output = output.map_err(|e| Error::io("copy", from, &e))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::new(String::from_utf8_lossy(&output.stderr).trim_end()))
}

/// The system's temporary folder, or /tmp if a socket's path would be too long or another user could not enter.
fn parent(account: Account) -> PathBuf {
    let usual = env::temp_dir();
    let fits = usual.as_os_str().len() <= LONGEST_PARENT;
    if fits && usual.is_absolute() && (!account.is_other() || is_open(&usual)) {
        usual
    } else {
        PathBuf::from("/tmp")
    }
}

/// Whether everybody may pass through `path` and the folders above it.
fn is_open(path: &Path) -> bool {
    path.ancestors().all(|folder| {
        fs::metadata(folder).is_ok_and(|about| about.permissions().mode() & 0o001 != 0)
    })
}

//! Files that take a server long to prepare: in a run of tests the first server leaves a copy, and the others begin with it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::account::Account;
use crate::{Result, folder};

/// Names the folder of the copies. Without it, each server prepares its own files.
pub(crate) const FOLDER: &str = "BOBAK_TEST_TEMPLATES";

/// Makes `path`, a file or a folder of `account`: a copy of the template `name` if a server has left one, or else by
/// `prepare`, and then leaves a copy.
pub(crate) fn provide(
    name: &str,
    account: Account,
    path: &Path,
    prepare: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return prepare() };
    let template = folder.join(name.replace('/', "_"));
    if template.exists() {
        return folder::copy(account, &template, path);
    }
    prepare()?;
    leave(account, path, &template)
}

/// Copies `path` to `template`, which is complete as soon as it has this name.
fn leave(account: Account, path: &Path, template: &Path) -> Result<()> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let new = template.with_extension(format!("{}-{number}", process::id()));
    folder::copy(account, path, &new)?;
    // It fails for a folder if another server has left one meanwhile.
    if fs::rename(&new, template).is_err() {
        let _ = fs::remove_dir_all(&new);
    }
    Ok(())
}

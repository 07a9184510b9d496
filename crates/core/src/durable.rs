//! The system calls that make writes durable. Tests can intercept each of them, to simulate a power
//! cut or a failing disk between any two.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Result;
use std::path::Path;

/// A durable operation.
#[derive(Clone, Copy, Debug)]
pub enum DurableStep<'a> {
    /// Syncs the content of the file at this path.
    Sync(&'a Path),
    /// Renames a file from the first path to the second, replacing an existing file.
    Rename(&'a Path, &'a Path),
    /// Syncs the folder of the file at this path.
    SyncFolder(&'a Path),
}

/// A function that gets each durable operation of a thread, and performs it or fails. See
/// [`watch_durable`].
pub type DurableWatch =
    Box<dyn FnMut(DurableStep<'_>, &mut dyn FnMut() -> Result<()>) -> Result<()>>;

thread_local! {
    static WATCH: RefCell<Option<DurableWatch>> = const { RefCell::new(None) };
}

/// Syncs a file: its content and metadata reach the disk.
///
/// # Errors
/// Those of the system.
pub fn sync_file(file: &File, path: &Path) -> Result<()> {
    step(DurableStep::Sync(path), &mut || file.sync_all())
}

/// As [`sync_file`], without the modification time.
///
/// # Errors
/// Those of the system.
pub fn sync_content(file: &File, path: &Path) -> Result<()> {
    step(DurableStep::Sync(path), &mut || file.sync_data())
}

/// Renames a file, replacing an existing one.
///
/// # Errors
/// Those of the system.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    step(DurableStep::Rename(from, to), &mut || fs::rename(from, to))
}

/// Syncs the folder of a file, so that created, renamed and removed names reach the disk.
///
/// # Errors
/// Those of the system.
pub fn sync_folder(path: &Path) -> Result<()> {
    step(DurableStep::SyncFolder(path), &mut || {
        if cfg!(unix) {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(())
    })
}

/// Whether an open file still has this path: not if it was removed, renamed or replaced. If the system
/// cannot tell, whether a file exists at the path.
#[must_use]
pub fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |data: fs::Metadata| (data.dev(), data.ino());
        let (own, there) = (file.metadata().map(place), fs::metadata(path).map(place));
        own.is_ok_and(|own| there.is_ok_and(|there| own == there))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// Runs `work` and passes the durable operations of this thread to `watch`: for tests.
pub fn watch_durable<R>(watch: DurableWatch, work: impl FnOnce() -> R) -> R {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            WATCH.take();
        }
    }
    let _reset = Reset;
    WATCH.set(Some(watch));
    work()
}

fn step(step: DurableStep<'_>, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    // Removed while it runs, so that its own operations are not intercepted.
    let Some(mut watch) = WATCH.take() else {
        return work();
    };
    let done = watch(step, work);
    WATCH.set(Some(watch));
    done
}
